"""Render a plan as one self-contained HTML file."""

from collections.abc import Iterator

from fewlabels.active.simulation.plan_result import Plan
from fewlabels.errors import count
from fewlabels.reporting.html.captions import CaptionedFigure, render_figure
from fewlabels.reporting.html.tables import ReportTable
from fewlabels.reporting.html.template import SIMULATED, render
from fewlabels.reporting.plots.plan import plot_plan
from fewlabels.reporting.summaries import QUANTILE_COLUMNS, list_quantiles, summarize_plan

CAPTION = "The share of simulated futures in which the goal is settled, by the number of further labels. The line is the median, the band the central 80% of futures. A curve that ends below 100% means that some futures do not settle with every item labelled."
CAVEATS = (
    "This is a prediction from simulated labels: with the true labels, the goal may be settled earlier or later.",
    "Labels are simulated from the current posterior, or from the prior if there are none; if its model is wrong for this table, so is the plan.",
    "A prior that learns from labels stays fixed at its current fit; its further learning may save labels.",
)
METHOD = (
    "Each future draws a truth from the posterior, simulates labels from it, and asks for them with the policy until the goal is first settled.",
    "The goal is checked after each of the first 20 labels, then whenever there are 5% more; counts are rounded up to two digits.",
)


def render_plan(p: Plan) -> str:
    """Return the HTML report of a plan."""
    facts = [
        ("items", f"{p.n_items:,}"), ("labelled", f"{p.n_labels:,}"), ("goal", p.goal), ("metric", p.metric),
        ("policy", p.policy), ("prior", p.prior), ("simulated futures", f"{p.runs:,}"),
    ]  # fmt: skip
    return render(
        title=f"Plan: {p.goal}, {p.metric} by {p.by}",
        source=p.provenance.source,
        headline=summarize_plan(p),
        facts=facts,
        headings=SIMULATED,
        supported=list(_list_plan_findings(p)),
        unsupported=[*p.warnings, *CAVEATS],
        pictures=_draw_plan_figures(p),
        tables=[ReportTable("Labels needed", QUANTILE_COLUMNS, list_quantiles(p))],
        method=METHOD,
        made=p.provenance,
    )


def _list_plan_findings(p: Plan) -> Iterator[str]:
    """State in the HTML report what a plan found."""
    yield f"The goal is settled in {p.p_settled:.0%} of {count(p.runs, 'simulated future')}, labelling every item if needed."
    if p.remedy:
        yield f"What would help: {p.remedy}."


def _draw_plan_figures(p: Plan) -> Iterator[CaptionedFigure]:
    """Draw the figures of the HTML report of a plan."""
    if p.needed:
        yield render_figure(plot_plan(p), "Labels until the goal is settled", CAPTION)
