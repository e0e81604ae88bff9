"""Print the gaps of a fairness analysis to a terminal."""

from collections.abc import Sequence
from math import isnan

from rich.console import Console
from rich.table import Table

from fewlabels.analyses.fairness.gaps import Gap
from fewlabels.analyses.fairness.result import Fairness
from fewlabels.cli.console import escape
from fewlabels.cli.tables import MAX_SHOWN
from fewlabels.errors import count
from fewlabels.text import format_probability


def print_fairness(out: Console, f: Fairness) -> None:
    """Print the table of fairness gaps, and a sentence for each settled one."""
    where = "on exactly these items" if f.finite_pool else "on the population these items came from"
    out.print(
        f"[bold]{escape(f.by)}[/], compared with {escape(f.whom)}, {where}: {count(f.n_items, 'item')}, {f.n_labels:,} "
        f"labelled; positive class {escape(f.positive)}, method {escape(f.method)}, {100 * f.level:g}% intervals",
        soft_wrap=True,
    )
    shown = f.pick(2 * MAX_SHOWN)
    out.print(_make_gap_table(f, shown))
    if len(f.gaps) > len(shown):
        out.print(
            f"… and {count(len(f.gaps) - len(shown), 'more gap')}, more likely within the margin; --json or --html has them all"
        )
    if any(gap.more_labels is None for gap in shown):
        whole = (
            "all these items are labelled, which does not"
            if f.n_labels == f.n_items
            else "labelling all these items might not"
        )
        out.print(f"–: {whole} settle whether the gap is within the margin", style="dim")
    sentences = [(f.say(gap) if gap.is_settled else None, f.say_four_fifths(gap)) for gap in shown]
    for sentence in [sentence for pair in sentences for sentence in pair if sentence is not None][:MAX_SHOWN]:
        out.print(escape(sentence), soft_wrap=True)


def _make_gap_table(f: Fairness, gaps: Sequence[Gap]) -> Table:
    """Make the table of fairness gaps for the terminal."""
    grid = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("metric", "group", "gap", "low", "high", "P(> 0)", f"P(within ±{f.rope:g})", "more labels"):
        grid.add_column(name, justify="left" if name in ("metric", "group") else "right", overflow="fold")
    for gap in gaps:
        numbers = (_format_number(value, "+.3f") for value in (gap.mean, gap.low, gap.high))
        probabilities = (
            format_probability(gap.p_greater) if gap.has_sign else "",
            format_probability(gap.p_practically_fair),
        )
        more = "settled" if gap.is_settled else "–" if gap.more_labels is None else f"about {gap.more_labels:,}"
        grid.add_row(escape(gap.metric), escape(gap.group), *numbers, *probabilities, more)
    return grid


def _format_number(value: float, format_spec: str) -> str:
    """Format a number in the table of fairness gaps; NaN is left blank."""
    return "" if isnan(value) else format(value, format_spec)
