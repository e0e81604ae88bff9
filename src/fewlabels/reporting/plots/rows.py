"""Rows of named groups: a dot and an interval each, over the overall estimate and its interval, with text beside them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fewlabels.analyses.assessment_rows import Estimate, Row
from fewlabels.analyses.surface.result import Arm
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.formatting import format_value, shorten_labels
from fewlabels.reporting.plots.style import BLUE, GREY, PALE, SMALL

ROW, MARGIN = 0.25, 0.95  # inches per group, and for the axis below them


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


def rows_height(n: int) -> float:
    """Return the height of a figure with n rows, in inches."""
    return ROW * n + MARGIN


def label_rows(ax: Axes, names: Sequence[str]) -> None:
    """Label rows with names, the first on top, with faint grid lines."""
    clean_axes(ax)
    ax.set_yticks(range(len(names)), shorten_labels(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color=PALE, linewidth=0.6)
    ax.set_axisbelow(True)


def write_text_column(ax: Axes, texts: Sequence[str], header: str) -> None:
    """Write a column of small text to the right of the rows."""
    place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "color": GREY, "fontsize": SMALL, "ha": "right"}
    right = 1.02 + 0.014 * max(map(len, (header, *texts)))  # about the width of a character
    ax.text(right, -0.75, header, va="bottom", **place)
    for y, text in enumerate(texts):
        ax.text(right, y, text, va="center", **place)
