"""Estimates as rows: a dot and an interval each, over the overall estimate and its interval."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from fewlabels.analyses.assessment_rows import Estimate, Row
from fewlabels.analyses.surface.result import Arm
from fewlabels.reporting.plots.formatting import format_value
from fewlabels.reporting.plots.style import BLUE, GREY, PALE, SMALL


def draw_overall(ax: Axes, overall: Estimate, metric: str, *, ha: str = "center") -> None:
    """Draw the overall estimate behind rows as a line with a band, and write its value above."""
    ax.axvspan(overall.low, overall.high, color=PALE, linewidth=0, zorder=0.5)
    ax.axvline(overall.mean, color=GREY, linewidth=1, zorder=0.6)
    ax.annotate(
        f"overall {format_value(overall.mean, metric)}", (overall.mean, 1), xycoords=("data", "axes fraction"),
        xytext=(0, 3), textcoords="offset points", ha=ha, va="bottom", fontsize=SMALL, color=GREY,
    )  # fmt: skip


def draw_rows(ax: Axes, rows: Sequence[Row | Arm], *, unlabelled: str) -> None:
    """Draw the mean and the interval of every row; those without labels are hollow, and `unlabelled` in the legend."""
    for labelled in (True, False):
        y = np.array([i for i, row in enumerate(rows) if (row.n_labels > 0) == labelled], dtype=np.int64)
        if len(y) == 0:
            continue
        low, mean, high = (np.array([getattr(rows[i], name) for i in y]) for name in ("low", "mean", "high"))
        colour = BLUE if labelled else GREY
        ax.hlines(y, low, high, color=colour, linewidth=1.8, alpha=1 if labelled else 0.6, zorder=2)
        ax.plot(
            mean, y, "o", markersize=5.5, color=colour, markerfacecolor=colour if labelled else "white", zorder=3,
            label="labelled" if labelled else unlabelled,
        )  # fmt: skip
