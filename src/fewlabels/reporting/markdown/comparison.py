"""A comparison as Markdown: the difference, the verdict, and the two groups."""

from fewlabels.analyses.comparison import Comparison
from fewlabels.reporting.markdown.markup import escape, format_interval, join, render_table, render_warnings
from fewlabels.text import format_probability


def render_comparison(c: Comparison) -> str:
    """Return a comparison of two groups as Markdown."""
    a, b = (escape(name) for name in c.groups)
    title = f"### {escape(c.metric)} of {a} minus {b}: {c.mean:+.3f} ({format_interval(c.low, c.high, '+')})"
    verdict = f"**{escape(c.sentence)}** ({100 * c.level:g}% interval above)."
    chances = render_table(
        (f"P(below −{c.rope:g})", f"P(within ±{c.rope:g})", f"P(above +{c.rope:g})"),
        [tuple(format_probability(p) for p in (c.p_below, c.p_equivalent, c.p_above))],
        n_names=0,
    )
    return join(title, verdict, chances, _list_compared_groups(c), render_warnings(c.warnings))


def _list_compared_groups(c: Comparison) -> str:
    """Return the two groups of a comparison as a Markdown table."""
    header = ("group", "items", "labels", escape(c.metric), f"{100 * c.level:g}% interval")
    rows = (
        (escape(r.group), f"{r.n_items:,}", f"{r.n_labels:,}", f"{r.mean:.3f}", format_interval(r.low, r.high))
        for r in c.rows
    )
    return render_table(header, rows)
