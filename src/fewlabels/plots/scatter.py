"""Accuracy against calibration error, both with their intervals: which groups are bad, and which do not know it."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from fewlabels.errors import InputError
from fewlabels.plots.sheet import new_axes
from fewlabels.plots.style import BLUE, GREY, INK, SMALL, clean_axes, scale_axis
from fewlabels.plots.words import shorten, spell, write_level
from fewlabels.summary import Assessment, Row

NAMED = 3  # groups named for each axis


def plot_scatter(first: Assessment, second: Assessment, *, ax: Axes | None = None) -> Axes:
    """Draw one metric against another for the same groups, the worst of each named."""
    if [row.group for row in first.groups] != [row.group for row in second.groups]:
        raise InputError("a scatter needs two assessments of the same groups, for instance a and a.about(fl.ece)")
    ax = ax or new_axes(4.6)
    clean_axes(ax, keep=("bottom", "left"))
    for labelled in (True, False):
        _draw_groups(ax, first.groups, second.groups, labelled=labelled)
    for one, axis in ((first, "x"), (second, "y")):
        scale_axis(ax, one.metric, min(r.low for r in one.groups), max(r.high for r in one.groups), axis=axis)
    _name_worst(ax, first, second)
    level = write_level(first.level)
    ax.set_xlabel(f"{spell(first.metric)}, {level} intervals", color=INK)
    ax.set_ylabel(spell(second.metric), color=INK)
    return ax


def _draw_groups(ax: Axes, first: Sequence[Row], second: Sequence[Row], *, labelled: bool) -> None:
    at = [i for i, row in enumerate(first) if (row.n_labels > 0) == labelled]
    if not at:
        return
    x, y = (np.array([(rows[i].mean, rows[i].low, rows[i].high) for i in at]).T for rows in (first, second))
    faint = float(np.clip(6 / len(first), 0.12, 0.5))
    colour = BLUE if labelled else GREY
    ax.hlines(y[0], x[1], x[2], color=colour, alpha=faint, linewidth=1)
    ax.vlines(x[0], y[1], y[2], color=colour, alpha=faint, linewidth=1)
    ax.plot(
        x[0], y[0], "o", markersize=5 if len(first) <= 100 else 3, color=colour, zorder=3,
        markerfacecolor=colour if labelled else "white", label="labelled" if labelled else "prior only",
    )  # fmt: skip


def _name_worst(ax: Axes, first: Assessment, second: Assessment) -> None:
    worst = {row.group for one in (first, second) for row in one.worst_first[:NAMED] if row.n_labels}
    middle = sum(ax.get_xlim()) / 2
    for a, b in zip(first.groups, second.groups, strict=True):
        if a.group in worst:
            left = a.mean > middle
            ax.annotate(
                shorten(a.group), (a.mean, b.mean), xytext=(-5 if left else 5, 4), textcoords="offset points",
                ha="right" if left else "left", fontsize=SMALL, color=INK, zorder=4,
            )  # fmt: skip
