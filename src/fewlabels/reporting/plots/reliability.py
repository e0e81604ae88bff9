"""The reliability diagram: accuracy against score, bin by bin, with intervals.

Below the diagonal the model is overconfident; the difference to the score is shaded. A histogram above shows the share
of items per bin.
"""

import re
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Row
from fewlabels.errors import InputError
from fewlabels.reporting.plots.axes import clean_axes, format_axis
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import format_level
from fewlabels.reporting.plots.style import BLUE, GREY, INK, ORANGE, SMALL

BIN_NAME = re.compile(r"\[([\d.e+-]+), ([\d.e+-]+)[)\]]")
BAR_WIDTH = 0.03  # width of the bar of a bin, around its mean score


def has_bins(assessment: Assessment) -> bool:
    """Return whether a reliability diagram is possible: the groups are score bins and nothing else."""
    named = all(BIN_NAME.fullmatch(row.group) for row in assessment.groups)
    return assessment.by.startswith("bins") and named and all(row.score is not None for row in assessment.groups)


def plot_reliability(assessment: Assessment, *, ax: Axes | None = None) -> Axes:
    """Draw the reliability diagram: accuracy against score by bin, with intervals, gaps and a histogram of scores."""
    if not has_bins(assessment):
        raise InputError("a reliability diagram needs groups by score bin; use a.reliability(), or by=fl.bins(10)")
    ax = ax or new_axes(5.4)
    rows = assessment.groups
    clean_axes(ax, keep=("bottom", "left"))
    _draw_gaps(ax, rows)
    for row in rows:
        _draw_bin(ax, row)
    if assessment.posterior.trust is not None:
        _draw_curve(ax, assessment.posterior.trust.draw_curve(assessment.level))
    start = min(_parse_edges(rows[0])[0], *(row.low for row in rows))
    _set_square_limits(ax, start)
    ax.set_xlabel("score (the model's confidence)", color=INK)
    ax.set_ylabel(f"accuracy, {format_level(assessment.level)} intervals", color=INK)
    _draw_histogram(ax, rows)
    return ax


def _parse_edges(row: Row) -> tuple[float, float]:
    """Return the edges of a bin of the reliability diagram from its name."""
    found = BIN_NAME.fullmatch(row.group)
    assert found is not None
    return float(found[1]), float(found[2])


def _draw_gaps(ax: Axes, rows: Sequence[Row]) -> None:
    """Shade the calibration gaps of the reliability diagram, from the score on the diagonal to the accuracy."""
    for row in rows:
        assert row.score is not None
        corner, gap = (row.score - BAR_WIDTH / 2, row.score), row.mean - row.score
        ax.add_patch(Rectangle(corner, BAR_WIDTH, gap, color=ORANGE if gap < 0 else BLUE, alpha=0.25, linewidth=0))


def _draw_bin(ax: Axes, row: Row) -> None:
    """Draw the accuracy and interval of a bin of the reliability diagram."""
    assert row.score is not None
    colour, fill = (BLUE, BLUE) if row.n_labels else (GREY, "white")
    ax.vlines([row.score], row.low, row.high, color=colour, linewidth=1.8, zorder=2)
    ax.plot([row.score], [row.mean], "o", markersize=5.5, color=colour, markerfacecolor=fill, zorder=3)


def _draw_curve(ax: Axes, points: Sequence[Any]) -> None:
    """Draw the fitted calibration curve with its band in the reliability diagram."""
    score, mean, low, high = ([getattr(p, name) for p in points] for name in ("score", "mean", "low", "high"))
    ax.plot(score, mean, color=INK, linewidth=1.2, zorder=2)
    ax.fill_between(score, low, high, color=INK, alpha=0.1, linewidth=0, zorder=0)


def _set_square_limits(ax: Axes, start: float) -> None:
    """Draw the diagonal of the reliability diagram, and set the same limits for both axes."""
    ax.plot([start, 1], [start, 1], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    ax.set_xlim(start - 0.01, 1.01)
    ax.set_ylim(start - 0.01, 1.01)
    for axis in ("x", "y"):
        format_axis(ax, "accuracy", axis=axis)
    for at, side, colour, text in (
        (0, "left", BLUE, "above the diagonal: underconfident"),
        (1, "right", ORANGE, "below: overconfident"),
    ):
        ax.text(at, 1.015, text, transform=ax.transAxes, ha=side, fontsize=SMALL, color=colour)


def _draw_histogram(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw a histogram of items per bin above the reliability diagram."""
    histogram = ax.inset_axes((0, 1.07, 1, 0.16), sharex=ax)
    clean_axes(histogram)
    for row in rows:
        assert row.score is not None
        histogram.bar(row.score, row.share, width=BAR_WIDTH, color=GREY, alpha=0.6)
    histogram.tick_params(labelbottom=False, bottom=False)
    histogram.set_yticks([])
    histogram.set_ylabel("share of\nitems", rotation=0, ha="right", va="center", fontsize=SMALL, color=GREY)
