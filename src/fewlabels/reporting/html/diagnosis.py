"""Render a diagnosis as one self-contained HTML file."""

from collections.abc import Iterator

from fewlabels.analyses.diagnosis import Diagnosis
from fewlabels.reporting.html.captions import CaptionedFigure, render_figure
from fewlabels.reporting.html.tables import ReportTable
from fewlabels.reporting.html.template import render
from fewlabels.reporting.plots.diagnosis import plot_diagnosis
from fewlabels.reporting.summaries import summarize_diagnosis

HEADINGS = ("What can be assessed", "What to check")
VISIBLE_ROWS = 40
CAPTION = "Bars are the items of each predicted class, the largest first; the coloured part is labelled."
METHOD = "Roles are recognised by the names of columns, unless they are given. Items and labels are counted in the whole table."


def render_diagnosis(d: Diagnosis) -> str:
    """Return the HTML report of a diagnosis."""
    facts = [("columns", f"{len(d.columns):,}"), ("classes", f"{len(d.classes):,}")]
    return render(
        title="Diagnosis",
        source=d.source,
        headline=summarize_diagnosis(d),
        facts=[("items", f"{d.n_items:,}"), ("labelled", f"{d.n_labels:,}"), *facts] if d.is_sound else facts[:1],
        headings=HEADINGS,
        supported=d.can,
        unsupported=d.warnings,
        pictures=_draw_diagnosis_figures(d),
        tables=list(_make_diagnosis_tables(d)),
        method=[METHOD],
        made=d.provenance,
    )


def _draw_diagnosis_figures(d: Diagnosis) -> Iterator[CaptionedFigure]:
    """Draw the figures of the HTML report of a diagnosis."""
    if d.sizes:
        yield render_figure(plot_diagnosis(d), "Items and labels", CAPTION)


def _make_diagnosis_tables(d: Diagnosis) -> Iterator[ReportTable]:
    """Make the HTML tables of a diagnosis: columns, and sizes of groups."""
    columns = [
        (row["column"], row["type"], row["role"] or "", "" if row["n_values"] is None else f"{row['n_values']:,}")
        for row in d.list_rows()
    ]
    yield ReportTable("Columns", ("column", "type", "role", "values"), columns, n_names=3, shown=VISIBLE_ROWS)
    if d.sizes:
        sizes = [(size.group, f"{size.n_items:,}", f"{size.n_labels:,}") for size in d.sizes]
        yield ReportTable("Items and labels", ("predicted" if d.classes else "", "items", "labels"), sizes, shown=VISIBLE_ROWS)  # fmt: skip
    if d.next:
        yield ReportTable("What to run next", ("command",), [(line,) for line in d.next])
