"""A plan as Markdown: how many more labels a goal needs."""

from fewlabels.active.simulation.plan_result import Plan
from fewlabels.errors import count
from fewlabels.reporting.markdown.markup import escape, join, render_table, render_warnings
from fewlabels.reporting.summaries import QUANTILE_COLUMNS, list_quantiles, summarize_plan


def render_plan(p: Plan) -> str:
    """Return a plan as Markdown."""
    title = f"### {escape(p.goal)}, {escape(p.metric)} by {escape(p.by)}"
    about = (
        f"{escape(p.provenance.source)}: {count(p.n_items, 'item')}, {p.n_labels:,} labelled; policy {escape(p.policy)}, "
        f"prior {escape(p.prior)}; {count(p.runs, 'simulated future')}, of which {p.p_settled:.0%} are settled."
    )
    remedy = f"What would help: {escape(p.remedy)}" if p.remedy else ""
    table = render_table(QUANTILE_COLUMNS, list_quantiles(p))
    return join(title, f"**{escape(summarize_plan(p))}**", about, table, remedy, render_warnings(p.warnings))
