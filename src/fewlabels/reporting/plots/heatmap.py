"""Cells of a confusion heat map: right predictions in blue, wrong ones in orange, with numbers or colour bars."""

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from fewlabels.reporting.plots.style import BLUE, GREY, INK, ORANGE, PALE, SMALL

Grid = Float[np.ndarray, "predicted label"]
MIN_COLOUR_RANGE = 0.2  # the colour scale of wrong cells ends at their maximum, or here if that is lower


def draw_cells(ax: Axes, mean: Grid, size: Grid) -> tuple[PatchCollection, PatchCollection]:
    """Draw the cells of a heat map as squares, darker for higher means; return those on and off the diagonal."""
    _draw_grid_lines(ax, len(mean))
    known, right = ~np.isnan(mean), np.eye(len(mean), dtype=bool)
    wrong = known & ~right
    top = max(MIN_COLOUR_RANGE, float(mean[wrong].max(initial=0)))
    return (
        _draw_squares(ax, mean, size, known & right, BLUE, 1.0),
        _draw_squares(ax, mean, size, wrong, ORANGE, top),
    )


def _draw_squares(
    ax: Axes, mean: Grid, size: Grid, where: Bool[np.ndarray, "predicted label"], colour: str, top: float
) -> PatchCollection:
    """Draw cells of a heat map as squares in shades of one colour."""
    squares = [
        Rectangle((j - size[i, j] / 2, i - size[i, j] / 2), size[i, j], size[i, j]) for i, j in np.argwhere(where)
    ]
    shades = LinearSegmentedColormap.from_list(colour, ["white", colour])
    drawn = PatchCollection(squares, cmap=shades, norm=Normalize(0, top), linewidth=0, zorder=1)
    drawn.set_array(mean[where])
    ax.add_collection(drawn)
    return drawn


def _draw_grid_lines(ax: Axes, n: int) -> None:
    """Draw faint lines between the cells of a heat map."""
    ax.hlines(np.arange(n + 1) - 0.5, -0.5, n - 0.5, color=PALE, linewidth=0.6, zorder=2)
    ax.vlines(np.arange(n + 1) - 0.5, -0.5, n - 0.5, color=PALE, linewidth=0.6, zorder=2)


def write_cells(ax: Axes, mean: Grid, width: Grid) -> None:
    """Write mean and half-width of the interval into every cell of a heat map, in percent."""
    for i, j in np.argwhere(~np.isnan(mean)):
        dark = mean[i, j] > 0.6 if i == j else False
        colour = "white" if dark else GREY if mean[i, j] < 0.005 else INK
        text = f"{100 * mean[i, j]:.0f}\n±{50 * width[i, j]:.0f}"
        ax.text(j, i, text, ha="center", va="center", fontsize=SMALL, color=colour, linespacing=1.05, zorder=3)


def add_colour_bars(ax: Axes, drawn: tuple[PatchCollection, PatchCollection]) -> None:
    """Add the colour bars of both colours to a heat map."""
    for squares, text in zip(reversed(drawn), ("wrong", "right"), strict=True):
        bar = ax.figure.colorbar(
            squares, ax=ax, shrink=0.4, aspect=14, pad=0.01, format=FuncFormatter(lambda x, _: f"{100 * x:g}%")
        )
        bar.outline.set_visible(False)
        bar.ax.set_title(text, fontsize=SMALL, color=INK, loc="left")
        bar.ax.tick_params(length=0, labelsize=SMALL, colors=INK)
