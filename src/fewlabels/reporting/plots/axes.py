"""The axes of all plots: few spines, few ticks, shares in percent."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewlabels.reporting.plots.formatting import is_share
from fewlabels.reporting.plots.style import GREY, INK, SMALL


def clean_axes(ax: Axes, *, keep: Sequence[str] = ("bottom",)) -> None:
    """Hide all spines of axes but those in `keep`, and make the ticks small."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in keep)
        spine.set_color(GREY)
    ax.tick_params(colors=INK, labelsize=SMALL, color=GREY)


def scale_axis(ax: Axes, metric: str, low: float, high: float, *, axis: str = "x") -> None:
    """Set the limits of an axis a little wider than the data; shares stay within 0 and 1."""
    pad = 0.04 * (high - low) or 0.02
    limits = (low - pad, high + pad)
    if is_share(metric):
        limits = max(limits[0], -0.01), min(limits[1], 1.01)
    (ax.set_xlim if axis == "x" else ax.set_ylim)(*limits)
    format_axis(ax, metric, axis=axis)


def format_axis(ax: Axes, metric: str, *, axis: str = "x") -> None:
    """Set a few ticks on an axis, in percent for shares."""
    which = ax.xaxis if axis == "x" else ax.yaxis
    which.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if is_share(metric):
        which.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g}%"))
