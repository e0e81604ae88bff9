"""The share of arms of a surface, and of the items in them, by labels per arm."""

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from fewlabels.analyses.surface.coverage import count_bands
from fewlabels.analyses.surface.result import Surface
from fewlabels.errors import count
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.style import BLUE, GREY, INK, SMALL

BAR_HEIGHT = 0.36  # height of a bar, in rows
AXIS_END = 1.32  # end of the axis, so that text beside a full bar fits


def plot_coverage(surface: Surface, *, ax: Axes | None = None) -> Axes:
    """Draw the share of arms, and of items, by labels per arm: none, few, many."""
    bands = count_bands(surface)
    ax = ax or new_axes(2.9)
    clean_axes(ax)
    ax.set_yticks(range(len(bands)), [band.name for band in bands])
    ax.set_ylim(len(bands) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    for y, band in enumerate(bands):
        _draw_bar(ax, y - BAR_HEIGHT / 2, band.n_arms, len(surface.arms), "arm", GREY)
        _draw_bar(ax, y + BAR_HEIGHT / 2, band.n_items, surface.n_items, "item", BLUE)
    ax.set_xlim(0, AXIS_END)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    ax.spines["bottom"].set_bounds(0, 1)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g}%"))
    ax.set_ylabel("labels per arm", color=INK)
    ax.set_xlabel(
        f"share of {count(len(surface.arms), 'arm')} (grey) and of {count(surface.n_items, 'item')} (blue)", color=INK
    )
    return ax


def _draw_bar(ax: Axes, y: float, n: int, whole: int, what: str, colour: str) -> None:
    """Draw a bar of the coverage plot with its percentage and count."""
    ax.barh([y], [n / whole], height=BAR_HEIGHT, color=colour, zorder=2)
    ax.annotate(
        f"{100 * n / whole:.0f}% · {count(n, what)}", (n / whole, y), xytext=(4, 0), textcoords="offset points", va="center",
        fontsize=SMALL, color=INK,
    )  # fmt: skip
