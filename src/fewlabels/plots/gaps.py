"""Gaps between groups of people: with their intervals, as densities, and the curves behind them."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator
from scipy.special import betaincinv

from fewlabels.errors import InputError
from fewlabels.gaps import CurvePoint, Fairness, Gap
from fewlabels.plots.sheet import new_axes
from fewlabels.plots.style import BLUE, GREY, INK, MOST, ORANGE, PALE, SMALL, clean_axes, stack_height, stack_names
from fewlabels.plots.words import shorten, write_level

CELLS = 60
MOST_CURVES = 3  # groups whose curves are drawn: the largest
LABELLED = 6  # points that labels are gathered into, in each group
COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#56B4E9", "#E69F00")


def plot_gaps(fairness: Fairness, *, ax: Axes | None = None) -> Axes:
    """Draw every gap with its interval; what lies within the margin is as good as none."""
    gaps = [gap for gap in fairness.gaps if not np.isnan(gap.mean)][:MOST]
    if not gaps:
        raise InputError("there is no gap to draw: every rate is undefined in one of the groups")
    ax = ax or new_axes(stack_height(len(gaps)))
    stack_names(ax, [f"{gap.metric}  {shorten(gap.group, 18)}" for gap in gaps])
    ax.axvspan(-fairness.rope, fairness.rope, color=PALE, linewidth=0, zorder=0.5)
    ax.axvline(0, color=GREY, linewidth=1, zorder=0.6)
    for y, gap in enumerate(gaps):
        colour = _colour(gap, fairness.rope)
        ax.hlines([y], gap.low, gap.high, color=colour, linewidth=1.8, zorder=2)
        ax.plot([gap.mean], [y], "o", markersize=5.5, color=colour, zorder=3)
    _scale_points(ax)
    ax.set_xlabel(f"minus {shorten(fairness.whom, 22)}, points; {write_level(fairness.level)} intervals", color=INK)
    return ax


def plot_gap_densities(fairness: Fairness, *, ax: Axes | None = None) -> Axes:
    """Draw how plausible each size of every gap is."""
    gaps = [gap for gap in fairness.gaps if not np.isnan(gap.draws).any() and np.ptp(gap.draws) > 0][: len(COLOURS)]
    if not gaps:
        raise InputError("there is no gap to draw: none is uncertain")
    ax = ax or new_axes(3.0)
    clean_axes(ax)
    ax.set_yticks([])
    ax.axvspan(-fairness.rope, fairness.rope, color=PALE, linewidth=0, zorder=0.5)
    ax.axvline(0, color=GREY, linewidth=1, zorder=0.6)
    for gap, colour in zip(gaps, COLOURS, strict=False):
        edges = np.linspace(gap.draws.min(), gap.draws.max(), CELLS + 1)
        height = np.histogram(gap.draws, edges, density=True)[0]
        height = np.convolve(np.pad(height, 2), np.array([1, 4, 6, 4, 1]) / 16, mode="same")[2:-2]
        middle = (edges[1:] + edges[:-1]) / 2
        ax.fill_between(middle, height, color=colour, alpha=0.2, linewidth=0)
        ax.plot(middle, height, color=colour, linewidth=1.4, label=f"{gap.metric}, {shorten(gap.group, 18)}")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=SMALL, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _scale_points(ax)
    ax.set_xlabel("difference, points", color=INK)
    return ax


def plot_group_curves(fairness: Fairness, *, ax: Axes | None = None) -> Axes:
    """Draw how often each score is right about being positive, in every group, over what labels say."""
    if not fairness.curve:
        raise InputError(f"method {fairness.method} calibrates no scores; there are no curves to draw")
    ax = ax or new_axes(4.6)
    clean_axes(ax, keep=("bottom", "left"))
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    for group, colour in zip(_largest(fairness), COLOURS, strict=False):
        points = sorted((p for p in fairness.curve if p.group == group), key=lambda p: p.score)
        score, mean, low, high = ([getattr(p, name) for p in points] for name in ("score", "mean", "low", "high"))
        ax.plot(score, mean, color=colour, linewidth=1.6, label=shorten(group, 22), zorder=2)
        ax.fill_between(score, low, high, color=colour, alpha=0.15, linewidth=0, zorder=0.5)
        _draw_labels(ax, points, colour, fairness.level)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g}%"))
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.legend(frameon=False, fontsize=SMALL, loc="upper left")
    ax.set_xlabel(f"score: the model's probability of {fairness.positive!r}", color=INK)
    ax.set_ylabel(f"share that is {fairness.positive!r}", color=INK)
    return ax


def _draw_labels(ax: Axes, points: Sequence[CurvePoint], colour: str, level: float) -> None:
    """Draw the labelled, a few neighbours at a time, with intervals of labels alone."""
    labelled = [p for p in points if p.n_labels]
    if not labelled:
        return
    borders = np.linspace(0, sum(p.n_labels for p in labelled), min(LABELLED, len(labelled)) + 1)
    before = np.cumsum([0, *(p.n_labels for p in labelled)])[:-1]
    for low, high in pairwise(borders):
        near = [p for p, n in zip(labelled, before, strict=True) if low <= n < high]
        n, k = sum(p.n_labels for p in near), sum(p.n_positive for p in near)
        if n:
            at = sum(p.n_labels * p.score for p in near) / n
            bar = betaincinv(k + 0.5, n - k + 0.5, [(1 - level) / 2, (1 + level) / 2])
            ax.vlines([at], *bar, color=colour, linewidth=1, alpha=0.5, zorder=2)
            ax.plot([at], [k / n], "o", markersize=4.5, color=colour, zorder=3)


def _largest(fairness: Fairness) -> list[str]:
    size: dict[str, int] = {}
    for point in fairness.curve:
        size[point.group] = size.get(point.group, 0) + point.n_items
    return sorted(size, key=lambda group: -size[group])[:MOST_CURVES]


def _colour(gap: Gap, rope: float) -> str:
    """Grey where it may be as good as none, orange where it is lower, blue where it is higher."""
    return GREY if not gap.is_settled(rope) else ORANGE if gap.high < -rope else BLUE if gap.low > rope else GREY


def _scale_points(ax: Axes) -> None:
    ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:+g}".replace("-", "−") if x else "0"))
