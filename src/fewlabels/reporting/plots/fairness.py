"""Plots of a fairness result: gaps with intervals, posterior densities of gaps, and calibration curves of groups."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator
from scipy.special import betaincinv

from fewlabels.analyses.fairness.gaps import Gap
from fewlabels.analyses.fairness.result import CurvePoint, Fairness
from fewlabels.errors import InputError, count
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.densities import estimate_density
from fewlabels.reporting.plots.figure import WIDTH, new_axes
from fewlabels.reporting.plots.formatting import format_level, shorten_label
from fewlabels.reporting.plots.rows import label_rows, rows_height
from fewlabels.reporting.plots.style import BLUE, GREY, INK, MAX_ROWS, ORANGE, PALE, SMALL

MAX_DENSITIES, DENSITY_HEIGHT = 20, 0.38  # densities in one plot, and inches for each
MAX_CURVES, PANELS_PER_ROW = 6, 3  # groups whose curves are drawn (the largest), and panels per row
PANEL_MARGIN = 0.07  # margin around a panel, as a share of its cell
N_LABEL_BINS = 6  # bins of labels in each group


def plot_gaps(fairness: Fairness, *, ax: Axes | None = None) -> Axes:
    """Draw every gap of a fairness result with its interval, and the margin (ROPE) as a band."""
    gaps = [gap for gap in fairness.pick(MAX_ROWS) if not np.isnan(gap.mean)]
    if not gaps:
        raise InputError("there is no gap to draw: every gap involves an undefined rate")
    ax = ax or new_axes(rows_height(len(gaps)))
    label_rows(ax, [f"{gap.metric}  {shorten_label(gap.group, 18)}" for gap in gaps])
    ax.axvspan(-fairness.rope, fairness.rope, color=PALE, linewidth=0, zorder=0.5)
    ax.axvline(0, color=GREY, linewidth=1, zorder=0.6)
    for y, gap in enumerate(gaps):
        colour = _choose_colour(gap, fairness.rope)
        ax.hlines([y], gap.low, gap.high, color=colour, linewidth=1.8, zorder=2)
        ax.plot([gap.mean], [y], "o", markersize=5.5, color=colour, zorder=3)
    _format_points(ax)
    ax.set_xlabel(
        f"minus {shorten_label(fairness.whom, 22)}, points; {format_level(fairness.level)} intervals", color=INK
    )
    return ax


def plot_gap_densities(fairness: Fairness, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior density of every gap of a fairness result, one row each, scaled to the same height."""
    gaps = [gap for gap in fairness.pick(MAX_ROWS) if not np.isnan(gap.draws).any() and np.ptp(gap.draws) > 0][
        :MAX_DENSITIES
    ]
    if not gaps:
        raise InputError("there is no density to draw: no gap is both defined and uncertain")
    ax = ax or new_axes(DENSITY_HEIGHT * len(gaps) + 0.8)
    label_rows(ax, [f"{gap.metric}  {shorten_label(gap.group, 18)}" for gap in gaps])
    ax.set_ylim(len(gaps) - 0.7, -1.0)
    ax.axvspan(-fairness.rope, fairness.rope, color=PALE, linewidth=0, zorder=0.5)
    ax.axvline(0, color=GREY, linewidth=1, zorder=0.6)
    for y, gap in enumerate(gaps):
        _draw_density(ax, y, gap, _choose_colour(gap, fairness.rope))
    _format_points(ax)
    ax.set_xlabel(f"minus {shorten_label(fairness.whom, 22)}, points", color=INK)
    return ax


def _draw_density(ax: Axes, y: int, gap: Gap, colour: str) -> None:
    """Draw the density of a fairness gap above its row, with the interval darker."""
    found = estimate_density(gap.draws)
    if found is None:  # nearly all draws are equal
        ax.vlines([float(np.median(gap.draws))], y, y - 0.85, color=colour, linewidth=1.4, zorder=2)
        return
    middle, height = found
    height = height * 0.85 / height.max()
    ax.fill_between(middle, y, y - height, color=colour, alpha=0.18, linewidth=0, zorder=1)
    inside = (middle >= gap.low) & (middle <= gap.high)
    ax.fill_between(middle, y, y - height, where=inside.tolist(), color=colour, alpha=0.35, linewidth=0, zorder=1)
    ax.plot(middle, y - height, color=colour, linewidth=1.1, zorder=2)


def plot_group_curves(fairness: Fairness, *, ax: Axes | None = None) -> Axes:
    """Draw the calibration curve of each group of a fairness result in a panel of its own, with binned labels."""
    if not fairness.curve:
        raise InputError(f"method {fairness.method} calibrates no scores, so there are no curves to draw")
    curves = {group: _select_curve(fairness, group) for group in _select_largest_groups(fairness)}
    n_columns = min(len(curves), PANELS_PER_ROW if len(curves) > 4 else 2)
    n_rows = ceil(len(curves) / n_columns)
    ax = ax or new_axes(WIDTH * n_rows / n_columns)
    ax.set_axis_off()
    for i, group in enumerate(curves):
        row, column = divmod(i, n_columns)
        corner = (column + PANEL_MARGIN) / n_columns, 1 - (row + 1 - PANEL_MARGIN) / n_rows
        panel = ax.inset_axes((*corner, (1 - 2 * PANEL_MARGIN) / n_columns, (1 - 3 * PANEL_MARGIN) / n_rows))
        _draw_panel(panel, curves, group, fairness.level)
        panel.tick_params(labelleft=column == 0, labelbottom=i + n_columns >= len(curves))
    ax.text(
        0.5,
        -0.11 / n_rows,
        f"score: the model's probability of {fairness.positive!r}",
        ha="center",
        va="top",
        color=INK,
    )
    ax.text(-0.1, 0.5, f"share that is {fairness.positive!r}", ha="right", va="center", rotation=90, color=INK)
    return ax


def _select_curve(fairness: Fairness, group: str) -> list[CurvePoint]:
    """Return the points of a group's calibration curve in a fairness result, by score."""
    return sorted((p for p in fairness.curve if p.group == group), key=lambda p: p.score)


def _draw_panel(ax: Axes, curves: dict[str, list[CurvePoint]], group: str, level: float) -> None:
    """Draw a group's calibration curve and labels in a panel of a fairness plot, with the curves of other groups as thin lines."""
    clean_axes(ax, keep=("bottom", "left"))
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for name, points in curves.items():
        score, mean, low, high = ([getattr(p, part) for p in points] for part in ("score", "mean", "low", "high"))
        if name != group:
            ax.plot(score, mean, color=GREY, linewidth=0.7, alpha=0.6, zorder=1.5)
            continue
        ax.plot(score, mean, color=BLUE, linewidth=1.6, zorder=2)
        ax.fill_between(score, low, high, color=BLUE, alpha=0.15, linewidth=0, zorder=0.5)
        _draw_labels(ax, points, ORANGE, level)
    n = sum(p.n_labels for p in curves[group])
    ax.set_title(f"{shorten_label(group, 16)}: {count(n, 'label')}", fontsize=SMALL, color=INK, loc="left")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MultipleLocator(0.5))
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g}%"))
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)


def _draw_labels(ax: Axes, points: Sequence[CurvePoint], colour: str, level: float) -> None:
    """Draw rates of labels binned by score, with Jeffreys intervals, in a panel of a fairness plot."""
    labelled = [p for p in points if p.n_labels]
    if not labelled:
        return
    borders = np.linspace(0, sum(p.n_labels for p in labelled), min(N_LABEL_BINS, len(labelled)) + 1)
    before = np.cumsum([0, *(p.n_labels for p in labelled)])[:-1]
    for low, high in pairwise(borders):
        near = [p for p, n in zip(labelled, before, strict=True) if low <= n < high]
        n, k = sum(p.n_labels for p in near), sum(p.n_positive for p in near)
        if n:
            at = sum(p.n_labels * p.score for p in near) / n
            bar = betaincinv(k + 0.5, n - k + 0.5, [(1 - level) / 2, (1 + level) / 2])
            ax.vlines([at], *bar, color=colour, linewidth=1, alpha=0.5, zorder=2)
            ax.plot([at], [k / n], "o", markersize=4.5, color=colour, zorder=3)


def _select_largest_groups(fairness: Fairness) -> list[str]:
    """Return the largest groups of a fairness result, as many as get a panel."""
    size: dict[str, int] = {}
    for point in fairness.curve:
        size[point.group] = size.get(point.group, 0) + point.n_items
    return sorted(size, key=lambda group: -size[group])[:MAX_CURVES]


def _choose_colour(gap: Gap, rope: float) -> str:
    """Return the colour of a fairness gap: orange if its interval lies below the margin, blue if above, grey otherwise."""
    return GREY if not gap.is_settled else ORANGE if gap.high < -rope else BLUE if gap.low > rope else GREY


def _format_points(ax: Axes) -> None:
    """Write the axis of fairness gaps in percentage points."""
    ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:+g}".replace("-", "−") if x else "0"))
