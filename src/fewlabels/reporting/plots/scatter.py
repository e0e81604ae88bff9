"""Accuracy against calibration error of each group, both with intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Row
from fewlabels.errors import InputError
from fewlabels.reporting.plots.axes import clean_axes, scale_axis
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import format_level, shorten_label, spell_metric
from fewlabels.reporting.plots.style import BLUE, GREY, INK, SMALL

N_NAMED = 3  # groups named for each metric
MAX_WITH_INTERVALS = 150  # with more groups, only the named ones have intervals drawn
MIN_DISTANCE = 0.04  # share of an axis within which two names would overlap


def plot_scatter(first: Assessment, second: Assessment, *, ax: Axes | None = None) -> Axes:
    """Draw a scatter plot of one metric against another for the same groups, and name the worst by each."""
    if [row.group for row in first.groups] != [row.group for row in second.groups]:
        raise InputError("a scatter needs two assessments of the same groups, for instance a and a.about(fl.ece)")
    ax = ax or new_axes(4.6)
    clean_axes(ax, keep=("bottom", "left"))
    named = _select_named(first, second)
    with_intervals = list(range(len(first.groups))) if len(first.groups) <= MAX_WITH_INTERVALS else named
    _draw_crossed_intervals(ax, first.groups, second.groups, with_intervals)
    for labelled in (True, False):
        _draw_points(ax, first.groups, second.groups, labelled=labelled)
    for one, axis in ((first, "x"), (second, "y")):
        scale_axis(ax, one.metric, min(r.low for r in one.groups), max(r.high for r in one.groups), axis=axis)
    for i in named:
        _label_point(ax, first.groups[i], second.groups[i])
    whose = "" if len(first.groups) <= MAX_WITH_INTERVALS else " of the named groups"
    ax.set_xlabel(f"{spell_metric(first.metric)}, {format_level(first.level)} intervals{whose}", color=INK)
    ax.set_ylabel(spell_metric(second.metric), color=INK)
    return ax


def _select_named(first: Assessment, second: Assessment) -> list[int]:
    """Choose the points of the scatter plot to name: the worst groups by either metric whose names do not overlap."""
    place = np.array([(a.mean, b.mean) for a, b in zip(first.groups, second.groups, strict=True)])
    place = place / np.array(
        [max(r.high for r in one.groups) - min(r.low for r in one.groups) or 1 for one in (first, second)]
    )
    picked: list[int] = []
    for one in (first, second):
        for row in one.worst_first[:N_NAMED]:
            i = one.groups.index(row)
            if row.n_labels and all(np.abs(place[i] - place[j]).max() > MIN_DISTANCE for j in picked):
                picked.append(i)
    return picked


def _draw_crossed_intervals(ax: Axes, first: Sequence[Row], second: Sequence[Row], at: Sequence[int]) -> None:
    """Draw the intervals of both metrics at points of the scatter plot."""
    for i in at:
        a, b = first[i], second[i]
        look: dict[str, Any] = {
            "color": BLUE if a.n_labels else GREY,
            "alpha": float(np.clip(8 / len(at), 0.15, 0.5)),
            "linewidth": 1,
        }
        ax.plot([a.low, a.high], [b.mean, b.mean], **look)
        ax.plot([a.mean, a.mean], [b.low, b.high], **look)


def _draw_points(ax: Axes, first: Sequence[Row], second: Sequence[Row], *, labelled: bool) -> None:
    """Draw groups as points of the scatter plot, hollow without labels."""
    at = [i for i, row in enumerate(first) if (row.n_labels > 0) == labelled]
    colour, few = BLUE if labelled else GREY, len(first) <= MAX_WITH_INTERVALS
    ax.plot(
        [first[i].mean for i in at], [second[i].mean for i in at], "o", color=colour, zorder=3, alpha=1 if few else 0.5,
        markersize=5 if few else 3.5, markerfacecolor=colour if labelled else "white",
        label="labelled" if labelled else "prior only",
    )  # fmt: skip


def _label_point(ax: Axes, a: Row, b: Row) -> None:
    """Write the name of a group beside its point of the scatter plot."""
    left = a.mean > sum(ax.get_xlim()) / 2
    ax.annotate(
        shorten_label(a.group), (a.mean, b.mean), xytext=(-5 if left else 5, 4), textcoords="offset points",
        ha="right" if left else "left", fontsize=SMALL, color=INK, zorder=4,
    )  # fmt: skip
