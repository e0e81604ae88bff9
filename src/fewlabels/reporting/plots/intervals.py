"""Estimates of all groups with their intervals, worst first, over the overall estimate.

Groups without labels are hollow and grey: their estimates come from the prior alone.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Row
from fewlabels.reporting.plots.axes import scale_axis
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import format_level, format_n_shown, spell_metric
from fewlabels.reporting.plots.rows import draw_overall, draw_rows, label_rows, rows_height, write_text_column
from fewlabels.reporting.plots.style import INK, MAX_ROWS


def plot_intervals(assessment: Assessment, *, ax: Axes | None = None) -> Axes:
    """Draw the mean and interval of every group, worst first."""
    rows = assessment.worst_first[:MAX_ROWS]
    ax = ax or new_axes(rows_height(len(rows)))
    label_rows(ax, [row.group for row in rows])
    scale_axis(ax, assessment.metric, *_find_interval_limits(assessment, rows))
    if len(assessment.groups) > 1:
        draw_overall(ax, assessment.overall, assessment.metric)
    draw_rows(ax, rows, unlabelled="prior only")
    write_text_column(ax, [f"{row.n_labels:,}" if row.n_labels else "prior only" for row in rows], "labels")
    text = f"{spell_metric(assessment.metric)}, {format_level(assessment.level)} intervals"
    ax.set_xlabel(text + format_n_shown(len(rows), len(assessment.groups)), color=INK)
    return ax


def _find_interval_limits(assessment: Assessment, rows: Sequence[Row]) -> tuple[float, float]:
    """Return the limits of an axis in which all intervals fit."""
    whole = assessment.overall
    return min(whole.low, *(row.low for row in rows)), max(whole.high, *(row.high for row in rows))
