"""Render a surface as one self-contained HTML file; its sentences are in `surface_text`."""

from collections.abc import Iterator, Sequence

from fewlabels.analyses.surface.result import Arm, Surface, SurfaceEstimate
from fewlabels.errors import choose_words
from fewlabels.reporting.html.captions import CaptionedFigure, render_figure
from fewlabels.reporting.html.next_steps import propose_after_surface
from fewlabels.reporting.html.surface_text import (
    explain_method,
    format_percent,
    headline,
    list_caveats,
    list_findings,
)
from fewlabels.reporting.html.tables import ReportTable
from fewlabels.reporting.html.template import render
from fewlabels.reporting.plots.surface import plot_surface
from fewlabels.text import format_probability

VISIBLE_ARMS, KEPT = 50, 1000  # arms that are visible at once, and arms that the page holds
Cells = tuple[str | float, ...]
Answers = Sequence[tuple[str, SurfaceEstimate]]
WORST_CAPTION = "The least accurate arms. Dots are estimates and bars their intervals; the line and band are the overall estimate and its interval. Hollow dots mark arms without labels: their estimates come from the surface model alone."
HEATMAP_CAPTION = "Accuracy for each pair of values of the two attributes with the largest effects, averaged over the other attributes as they occur in the pool. Orange is below the overall estimate, blue above it."
EFFECTS_CAPTION = "Accuracy for each value of an attribute: as it occurs in the pool, and adjusted, as if the other attributes were distributed as in the whole pool. Where the two differ, other attributes explain the difference."
COVERAGE_CAPTION = "The share of arms, and of items in them, by labels per arm. Estimates of arms without labels come from the surface model alone."


def render_surface(s: Surface, answers: Answers = ()) -> str:
    """Return the HTML report of a surface."""
    facts = [
        ("items", f"{s.n_items:,}"), ("labelled", f"{s.n_labels:,}"), ("arms", f"{len(s.arms):,}"), ("model", s.model),
        ("level", f"{100 * s.level:g}%"), ("about", "these items" if s.finite_pool else "their population"),
    ]  # fmt: skip
    return render(
        title=f"Accuracy over {', '.join(s.attributes)}",
        source=s.source,
        headline=headline(s),
        facts=facts,
        supported=list(list_findings(s)),
        unsupported=list(list_caveats(s)),
        pictures=_draw_surface_figures(s),
        number=format_percent,
        tables=[*([_make_answer_table(answers)] if answers else []), _make_arm_table(s)],
        method=explain_method(s),
        made=s.provenance,
        next_steps=propose_after_surface(s),
    )


def _draw_surface_figures(s: Surface) -> Iterator[CaptionedFigure]:
    """Draw the figures of the HTML report of a surface."""
    yield render_figure(plot_surface(s, "worst"), "Least accurate arms", WORST_CAPTION)
    yield render_figure(plot_surface(s, "effects"), "Effect of each attribute", EFFECTS_CAPTION)
    yield render_figure(plot_surface(s, "heatmap"), "Accuracy by two attributes", HEATMAP_CAPTION)
    yield render_figure(plot_surface(s, "coverage"), "Labels per arm", COVERAGE_CAPTION)


def _make_answer_table(answers: Answers) -> ReportTable:
    """Make the HTML table of questions about a surface and their answers."""
    rows = [(question or "all items", *_format_counts(one), one.mean, one.low, one.high) for question, one in answers]
    return ReportTable("Questions and answers", ("question", "items", "labels", "accuracy", "low", "high"), rows)


def _make_arm_table(s: Surface) -> ReportTable:
    """Make the HTML table of a surface's overall estimate and its arms, worst first."""
    arms, n = s.worst_first[:KEPT], len(s.attributes)
    counts = f"{s.n_items:,}", f"{s.n_labels:,}"
    rows: list[Cells] = [("overall", *[""] * (n - 1), *counts, s.overall.mean, s.overall.low, s.overall.high, "")]
    rows += [
        (*arm.arm.values(), *_format_counts(arm), arm.mean, arm.low, arm.high, format_probability(arm.p_worst))
        for arm in arms
    ]
    left = f"Only the {KEPT:,} worst of {len(s.arms):,} arms are listed; {choose_words('--json', 'to_json')} gives them all."
    return ReportTable(
        "Every arm, worst first" if len(arms) == len(s.arms) else f"The worst of {len(s.arms):,} arms",
        (*s.attributes, "items", "labels", "accuracy", "low", "high", "P(worst)"), rows, n_names=n, shown=VISIBLE_ARMS + 1,
        note="" if len(arms) == len(s.arms) else left, has_whole=True,
    )  # fmt: skip


def _format_counts(one: Arm | SurfaceEstimate) -> tuple[str, str]:
    """Format items and labels for the HTML tables of a surface."""
    return f"{one.n_items:,}", f"{one.n_labels:,}"
