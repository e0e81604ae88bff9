"""A comparison of models as Markdown: the verdict, every model's figure, and the differences."""

from fewlabels.analyses.models.result import ModelComparison
from fewlabels.reporting.markdown.markup import collapse, escape, format_interval, join, render_table, render_warnings
from fewlabels.text import format_probability

MAX_ROWS = 10  # differences outside the collapsed section


def render_models(c: ModelComparison) -> str:
    """Return a comparison of several models as Markdown."""
    title = (
        f"### {escape(c.metric)}: {escape(' and '.join(c.models) if len(c.models) == 2 else f'{len(c.models)} models')}"
    )
    agree = f"; they disagree on {c.n_disagree:,}" if c.paired else ""
    facts = f"{c.n_items:,} items, {c.n_labels:,} labelled{agree}. Differences up to {c.rope:g} do not matter."
    header = ("model", escape(c.metric), f"{100 * c.level:g}% interval", "P(best)", "expected loss")
    figures = render_table(header, (
        (escape(row.model), f"{row.mean:.3f}", format_interval(row.low, row.high), format_probability(row.p_best), f"{row.regret:.4f}")
        for row in c.list_figures()
    ))  # fmt: skip
    return join(
        title, f"**{escape(c.sentence)}**", facts, figures, _render_difference_table(c), render_warnings(c.warnings)
    )


def _render_difference_table(c: ModelComparison) -> str:
    """Return the differences of models as a Markdown table."""
    header = (
        "difference",
        escape(c.by),
        "mean",
        f"{100 * c.level:g}% interval",
        f"P(< −{c.rope:g})",
        "P(within)",
        f"P(> {c.rope:g})",
        "verdict",
    )
    rows = [
        (f"{escape(row.a)} − {escape(row.b)}", escape(row.group), f"{row.mean:+.3f}", format_interval(row.low, row.high, "+"),
         *map(format_probability, (row.p_below, row.p_equivalent, row.p_above)), row.verdict)
        for row in c.differences
    ]  # fmt: skip
    shown, rest = render_table(header, rows[:MAX_ROWS], n_names=2), rows[MAX_ROWS:]
    more = collapse(f"{len(rest):,} more differences", render_table(header, rest, n_names=2)) if rest else ""
    return join(shown, more).rstrip()
