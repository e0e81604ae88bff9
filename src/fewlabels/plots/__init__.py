"""Pictures of what `summary` made: numbers in, matplotlib Axes out, nothing computed on the way but layout.

Each picture has its own file; `plot_assessment`, `plot_comparison` and `plot_surface` are what `.plot()` calls. Figures are made
without pyplot, so there is no global state; `render_svg` is what the report embeds.
"""

from fewlabels.plots.calibration import plot_ece
from fewlabels.plots.confusion import plot_confusion
from fewlabels.plots.curves import check_format, plot_simulation, write_curves
from fewlabels.plots.difference import plot_comparison
from fewlabels.plots.displays import ConfusionDisplay, IntervalsDisplay, ReliabilityDisplay
from fewlabels.plots.extremes import plot_extremes
from fewlabels.plots.gaps import plot_gap_densities, plot_gaps, plot_group_curves
from fewlabels.plots.intervals import plot_intervals
from fewlabels.plots.kinds import KINDS, plot_assessment
from fewlabels.plots.ranks import plot_ranks
from fewlabels.plots.reliability import plot_reliability
from fewlabels.plots.scatter import plot_scatter
from fewlabels.plots.sheet import render_svg
from fewlabels.plots.surface import SURFACE_KINDS, plot_surface

__all__ = [
    "KINDS", "SURFACE_KINDS", "ConfusionDisplay", "IntervalsDisplay", "ReliabilityDisplay", "check_format", "plot_assessment", "plot_comparison", "plot_confusion", "plot_ece", "plot_extremes",
    "plot_gap_densities", "plot_gaps", "plot_group_curves", "plot_intervals",
    "plot_ranks", "plot_reliability", "plot_scatter", "plot_simulation", "plot_surface",
    "render_svg", "write_curves",
]  # fmt: skip
