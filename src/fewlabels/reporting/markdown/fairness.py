"""A fairness result as Markdown: every gap with its interval, and sentences about settled gaps."""

from math import isnan

from fewlabels.analyses.fairness.gaps import Gap
from fewlabels.analyses.fairness.result import Fairness
from fewlabels.errors import count
from fewlabels.reporting.markdown.markup import escape, format_interval, join, render_table, render_warnings
from fewlabels.text import format_probability


def render_fairness(f: Fairness) -> str:
    """Return a fairness result as Markdown."""
    title = f"### {escape(f.by)}, compared with {escape(f.whom)}"
    about = (
        f"{escape(f.source)}: {count(f.n_items, 'item')}, {f.n_labels:,} labelled; method {escape(f.method)}, "
        f"{100 * f.level:g}% intervals, gaps within ±{f.rope:g} count as equal."
    )
    return join(title, about, _render_gap_table(f), _describe_findings(f), render_warnings(f.warnings))


def _render_gap_table(f: Fairness) -> str:
    """Return fairness gaps as a Markdown table."""
    header = (
        "metric", "group", "gap", f"{100 * f.level:g}% interval", "P(> 0)", f"P(within ±{f.rope:g})", "more labels",
    )  # fmt: skip
    return render_table(header, [_list_gap_cells(gap) for gap in f.gaps], n_names=2)


def _list_gap_cells(gap: Gap) -> tuple[str, ...]:
    """Return the cells of a fairness gap in its Markdown table."""
    needed = "settled" if gap.is_settled else "–" if gap.more_labels is None else f"about {gap.more_labels:,}"
    if isnan(gap.mean):
        return (escape(gap.metric), escape(gap.group), "", "undefined", "", "", needed)
    chances = (format_probability(gap.p_greater) if gap.has_sign else "", format_probability(gap.p_practically_fair))
    interval = format_interval(gap.low, gap.high, "+")
    return (escape(gap.metric), escape(gap.group), f"{gap.mean:+.3f}", interval, *chances, needed)


def _describe_findings(f: Fairness) -> str:
    """State in Markdown the settled fairness gaps and the four-fifths rule."""
    said = [
        sentence
        for gap in f.gaps
        for sentence in (f.say(gap) if gap.is_settled else None, f.say_four_fifths(gap))
        if sentence
    ]
    return "\n".join(f"- {escape(sentence)}" for sentence in said)
