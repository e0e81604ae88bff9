"""Print results to a terminal as tables and warnings."""

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from math import isnan

from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Table

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.comparison import Comparison
from fewlabels.analyses.diagnosis import Diagnosis
from fewlabels.analyses.fairness.api import Fairness
from fewlabels.analyses.fairness.gaps import Gap
from fewlabels.analyses.rows import Row
from fewlabels.cli.console import SafeConsole, replace_unencodable
from fewlabels.errors import count
from fewlabels.reporting.summaries import describe_size
from fewlabels.text import format_probability, sanitize_line

MAX_SHOWN = 25


def stdout_console() -> Console:
    """Return a console on standard output, 120 columns wide in a pipe."""
    replace_unencodable()
    return SafeConsole(width=None if sys.stdout.isatty() else 120)


def stderr_console() -> Console:
    """Return a console on standard error."""
    return SafeConsole(stderr=True, soft_wrap=True)


def escape(text: str) -> str:
    """Escape rich markup and control characters in text that comes from a file."""
    return escape_markup(sanitize_line(text))


def spinner(what: str) -> AbstractContextManager[object]:
    """Show a spinner on a terminal while the block runs; nothing in a pipe."""
    stderr = stderr_console()
    return stderr.status(f"{what} …") if stderr.is_terminal else nullcontext()


def print_assessment(out: Console, a: Assessment) -> None:
    """Print the overall estimate and a row per group, worst first (score bins in order of score)."""
    quantity = "on exactly these items" if a.finite_pool else "on the population these items came from"
    of = f" of class {escape(a.positive)}" if a.positive is not None else ""
    out.print(
        f"[bold]{escape(a.metric)}[/]{of} {quantity}: {count(a.n_items, 'item')}, {a.n_labels:,} labelled; prior {escape(a.prior)}, {100 * a.level:g}% intervals"
    )
    interval = escape(f"[{a.overall.low:.3f}, {a.overall.high:.3f}]")
    out.print(f"overall [bold]{a.overall.mean:.3f}[/]  {interval}")
    rows = a.in_order
    if len(rows) > 1:
        out.print(_make_table(a, rows[:MAX_SHOWN]))
    if len(rows) > MAX_SHOWN:
        out.print(f"… and {count(len(rows) - MAX_SHOWN, 'more group')}; --json or --html has them all")


def _make_table(a: Assessment, rows: tuple[Row, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in (a.by, "items", "labels", a.metric, f"{100 * a.level:g}% interval", "P(worst)", "rank"):
        table.add_column(escape(name), justify="left" if name == a.by else "right", overflow="fold")
    for r in rows:
        interval = escape(f"[{r.low:.3f}, {r.high:.3f}]")
        table.add_row(
            escape(r.group), f"{r.n_items:,}", f"{r.n_labels:,}", f"{r.mean:.3f}", interval, r.chance_of_worst, r.ranks
        )
    return table


def print_comparison(out: Console, c: Comparison) -> None:
    """Print the difference, its credible interval, its ROPE probabilities and the verdict."""
    a, b = (escape(name) for name in c.groups)
    out.print(
        f"[bold]{escape(c.metric)}[/] of {a} minus {b}: {c.mean:+.3f}  {escape(f'[{c.low:+.3f}, {c.high:+.3f}]')}  ({100 * c.level:g}%)"
    )
    out.print(
        f"P(below −{c.rope:g}) {format_probability(c.p_below)}   P(within) {format_probability(c.p_equivalent)}   P(above +{c.rope:g}) {format_probability(c.p_above)}"
    )
    out.print(f"verdict: [bold]{escape(c.sentence)}[/]", soft_wrap=True)


def print_fairness(out: Console, f: Fairness) -> None:
    """Print a table of gaps, and a sentence for each settled one."""
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
        out.print("–: labelling all these items might not settle whether the gap is within the margin", style="dim")
    sentences = [(f.say(gap) if gap.is_settled else None, f.say_four_fifths(gap)) for gap in shown]
    for sentence in [sentence for pair in sentences for sentence in pair if sentence is not None][:MAX_SHOWN]:
        out.print(escape(sentence), soft_wrap=True)


def _make_gap_table(f: Fairness, gaps: Sequence[Gap]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("metric", "group", "gap", "low", "high", "P(> 0)", f"P(within ±{f.rope:g})", "more labels"):
        grid.add_column(name, justify="left" if name in ("metric", "group") else "right", overflow="fold")
    for gap in gaps:
        numbers = (_format_number(value, "+.3f") for value in (gap.mean, gap.low, gap.high))
        probabilities = (format_probability(p) for p in (gap.p_greater, gap.p_practically_fair))
        more = "settled" if gap.is_settled else "–" if gap.more_labels is None else f"about {gap.more_labels:,}"
        grid.add_row(escape(gap.metric), escape(gap.group), *numbers, *probabilities, more)
    return grid


def _format_number(value: float, format_spec: str) -> str:
    """Format a number; NaN is left blank."""
    return "" if isnan(value) else format(value, format_spec)


def print_diagnosis(out: Console, d: Diagnosis) -> None:
    """Print the roles of columns, the findings, what can be assessed, and the next commands."""
    out.print(f"[bold]{escape(d.source)}[/]")
    if d.is_sound:
        out.print(f"  {describe_size(d)}")
    for role, name in d.roles.items():
        out.print(f"  {role:15} {escape(name)}")
    if d.attributes:
        listed = ", ".join(f"{name} ({n:,})" for name, n in d.attributes.items())
        out.print(f"  {'to group by':15} {escape(listed)}")
    if not d.roles:
        out.print(f"  {'columns':15} {escape(', '.join(f'{name} ({kind})' for name, kind in d.columns.items()))}")
    for finding in d.findings:
        colour = "red" if finding.severity == "error" else "yellow"
        out.print(f"[{colour}]{finding.severity}[/]: {escape(finding.message)}")
    if d.can:
        out.print(f"can be assessed: {'; '.join(d.can)}")
    for line in d.next:
        out.print(f"  [bold]$ {escape(line)}[/]", soft_wrap=True)


def print_warnings(out: Console, warnings: tuple[str, ...]) -> None:
    """Print each warning on its own line."""
    for warning in warnings:
        out.print(f"[yellow]warning[/]: {escape(warning)}", soft_wrap=not out.is_terminal)
