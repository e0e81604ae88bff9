"""A plan as Markdown: how many more labels a goal needs."""

from fewlabels.active.simulation.results import Plan
from fewlabels.errors import count
from fewlabels.reporting.markdown.markup import escape, join, render_notes, render_table
from fewlabels.reporting.summaries import list_quantiles, summarize_plan


def render_plan(p: Plan) -> str:
    """Return a plan as Markdown."""
    title = f"### {escape(p.goal)}, {escape(p.metric)} by {escape(p.by)}"
    about = (
        f"{escape(p.provenance.source)}: {count(p.n_items, 'item')}, {p.n_labels:,} labelled; policy {escape(p.policy)}, "
        f"prior {escape(p.prior)}, {count(p.runs, 'simulated future')}."
    )
    rows = [*map(_escape_cells, list_quantiles(p)), ("futures that settle", f"{p.p_settled:.0%}")]
    remedy = f"What would help: {escape(p.remedy)}" if p.remedy else ""
    table = render_table(("labels needed", ""), rows)
    return join(title, f"**{escape(summarize_plan(p))}**", about, table, remedy, render_notes(p.warnings))


def _escape_cells(cells: tuple[str, str]) -> tuple[str, str]:
    return escape(cells[0]), escape(cells[1])
