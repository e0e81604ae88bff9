"""Grids of curves in the look of the library's own pictures: a row per m, a column per pool, a line per method."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from experiments.replays import Curve
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.figure import QuietFigure
from fewlabels.reporting.plots.simulation import PALETTE
from fewlabels.reporting.plots.style import INK, PALE, SMALL

WIDTH, HEIGHT = 3.0, 2.4  # inches of a panel


class Panel(NamedTuple):
    """Curves that share axes."""

    title: str
    curves: Sequence[Curve]
    n_items: int


class Axis(NamedTuple):
    """What the vertical axis says, and from where to where it goes."""

    label: str
    low: float | None = None
    high: float | None = None


MRR = Axis("mean reciprocal rank", 0.0, 1.0)


def draw_grid(
    panels: Sequence[Sequence[Panel]], path: Path, axis: Axis = MRR, *, percent: bool = True, log: bool = False
) -> None:
    """Draw the panels of a figure into a PNG file, with one legend for all."""
    n_rows, n_columns = len(panels), max(map(len, panels))
    sheet = QuietFigure(figsize=(WIDTH * n_columns, HEIGHT * n_rows + 0.4), layout="constrained")
    grid = sheet.subplots(n_rows, n_columns, squeeze=False)
    for row, line in zip(grid, panels, strict=True):
        for ax, panel in zip(row, line, strict=True):
            ax.set_xscale("log" if log else "linear")
            _draw_panel(ax, panel, axis, percent)
        row[0].set_ylabel(axis.label, color=INK, fontsize=SMALL)
    for ax in grid[-1]:
        ax.set_xlabel("labels, % of the pool" if percent else "labels", color=INK, fontsize=SMALL)
    handles, names = grid[0, 0].get_legend_handles_labels()
    sheet.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=min(len(names), round(WIDTH * n_columns / 2)),
        frameon=False,
        fontsize=SMALL,
    )
    sheet.savefig(path, dpi=150)


def _draw_panel(ax: Axes, panel: Panel, axis: Axis, percent: bool) -> None:
    clean_axes(ax, keep=("bottom", "left"))
    ax.grid(color=PALE, linewidth=0.6)
    for curve, colour in zip(panel.curves, cycle(PALETTE), strict=False):
        x = curve.n_labels * (100 / panel.n_items if percent else 1)
        band = 2 * np.nan_to_num(curve.se)
        ax.plot(x, curve.mean, color=colour, linewidth=1.4, label=curve.name, clip_on=False)
        ax.fill_between(x, curve.mean - band, curve.mean + band, color=colour, alpha=0.18, linewidth=0)
    ax.set_title(panel.title, fontsize=SMALL + 1, color=INK)
    ax.set_ylim(axis.low, axis.high)
    if axis.low is None:
        ax.axhline(0, color=INK, linewidth=0.8, zorder=1)
    if ax.get_xscale() == "linear":
        ax.set_xlim(0, x[-1])
        ax.xaxis.set_major_locator(MaxNLocator(5) if percent else MaxNLocator(4, prune="upper"))  # thousands need room
    if not percent:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
