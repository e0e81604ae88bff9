"""Estimates of all groups with their intervals, worst first, over the overall estimate.

Groups without labels are hollow and grey: their estimates come from the prior alone.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.rows import Row
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import describe_shown, format_level, format_value, spell_metric
from fewlabels.reporting.plots.style import (
    BLUE,
    GREY,
    INK,
    MAX_ROWS,
    PALE,
    SMALL,
    label_rows,
    rows_height,
    scale_axis,
    write_text_column,
)


def plot_intervals(assessment: Assessment, *, ax: Axes | None = None) -> Axes:
    """Draw the mean and interval of every group, worst first."""
    rows = assessment.worst_first[:MAX_ROWS]
    ax = ax or new_axes(rows_height(len(rows)))
    label_rows(ax, [row.group for row in rows])
    scale_axis(ax, assessment.metric, *_find_limits(assessment, rows))
    if len(assessment.groups) > 1:
        _draw_overall(ax, assessment)
    for labelled in (True, False):
        _draw_rows(ax, rows, labelled=labelled)
    write_text_column(ax, [f"{row.n_labels:,}" if row.n_labels else "prior only" for row in rows], "labels")
    text = f"{spell_metric(assessment.metric)}, {format_level(assessment.level)} intervals"
    ax.set_xlabel(text + describe_shown(len(rows), len(assessment.groups)), color=INK)
    return ax


def _find_limits(assessment: Assessment, rows: Sequence[Row]) -> tuple[float, float]:
    whole = assessment.overall
    return min(whole.low, *(row.low for row in rows)), max(whole.high, *(row.high for row in rows))


def _draw_overall(ax: Axes, assessment: Assessment) -> None:
    whole = assessment.overall
    ax.axvspan(whole.low, whole.high, color=PALE, linewidth=0, zorder=0.5)
    ax.axvline(whole.mean, color=GREY, linewidth=1, zorder=0.6)
    ax.annotate(
        f"overall {format_value(whole.mean, assessment.metric)}",
        (whole.mean, 1), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
        ha="center", va="bottom", fontsize=SMALL, color=GREY,
    )  # fmt: skip


def _draw_rows(ax: Axes, rows: Sequence[Row], *, labelled: bool) -> None:
    y = np.array([i for i, row in enumerate(rows) if (row.n_labels > 0) == labelled])
    if len(y) == 0:
        return
    low, mean, high = (np.array([getattr(rows[i], name) for i in y]) for name in ("low", "mean", "high"))
    colour = BLUE if labelled else GREY
    ax.hlines(y, low, high, color=colour, linewidth=1.8, alpha=1 if labelled else 0.6, zorder=2)
    ax.plot(
        mean, y, "o", markersize=5.5, color=colour, markerfacecolor=colour if labelled else "white", zorder=3,
        label="labelled" if labelled else "prior only",
    )  # fmt: skip
