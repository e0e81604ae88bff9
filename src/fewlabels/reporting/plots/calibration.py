"""The posterior of the expected calibration error (ECE), with its mean and interval."""

import numpy as np
from matplotlib.axes import Axes

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Row
from fewlabels.errors import InputError
from fewlabels.reporting.plots.axes import clean_axes, format_axis
from fewlabels.reporting.plots.densities import estimate_density
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import format_level, format_value, spell_metric
from fewlabels.reporting.plots.style import BLUE, INK


def plot_ece(assessment: Assessment, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior of the calibration error of a one-group assessment, for instance `a.merged(fl.ece)`."""
    if len(assessment.groups) != 1:
        raise InputError(
            f"this plot shows one group, and the assessment has {len(assessment.groups):,}; merge them with a.merged(fl.ece)"
        )
    ax = ax or new_axes(2.6)
    clean_axes(ax)
    ax.set_yticks([])
    row = assessment.groups[0]
    top = _draw_ece_density(ax, assessment.draws[:, 0])
    _mark_interval(ax, row, top)
    whole, ends = (
        format_value(row.mean, assessment.metric),
        [format_value(x, assessment.metric) for x in (row.low, row.high)],
    )
    ax.set_title(
        f"mean {whole}, {format_level(assessment.level)} interval {ends[0]} to {ends[1]}",
        loc="left",
        fontsize=10,
        color=INK,
    )
    ax.set_xlabel(spell_metric(assessment.metric), color=INK)
    format_axis(ax, assessment.metric)
    return ax


def _draw_ece_density(ax: Axes, draws: np.ndarray) -> float:
    """Draw the density of the calibration error and return its height; draw none if all draws are equal."""
    found = estimate_density(draws)
    if found is None:
        return 1.0
    points, density = found
    ax.fill_between(points, density, color=BLUE, alpha=0.3, linewidth=0)
    return float(density.max())


def _mark_interval(ax: Axes, row: Row, top: float) -> None:
    """Mark the mean and the interval of the calibration error under the density."""
    ax.axvline(row.mean, ymax=0.92, color=BLUE, linewidth=1.4)
    ax.hlines(-0.06 * top, row.low, row.high, color=BLUE, linewidth=2.5)
    ax.plot([row.mean], [-0.06 * top], "o", color=BLUE, markersize=6)
    ax.set_ylim(-0.14 * top, 1.08 * top)
