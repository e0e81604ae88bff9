"""Accuracy by two attributes of a surface, as a heat map: below the overall accuracy in orange, above it in blue."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.patches import Rectangle

from fewlabels.analyses.surface.arm_names import name_values
from fewlabels.analyses.surface.ranking import rank_attributes
from fewlabels.analyses.surface.result import Surface, SurfaceEstimate
from fewlabels.errors import InputError
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import format_level, format_value, shorten_label
from fewlabels.reporting.plots.style import BLUE, GREY, INK, ORANGE, SMALL
from fewlabels.reporting.plots.value_selection import select_values

MAX_ROWS, MAX_COLUMNS = 30, 16  # values of an attribute that are shown
MAX_COLUMNS_WITH_WIDTHS = 8  # up to this many columns, half-widths of intervals are written too
ALL_ITEMS = "all items"
COLOUR_MAP = LinearSegmentedColormap.from_list("below and above", [ORANGE, "white", BLUE])
MIN_COLOUR_RANGE = 0.1  # least distance from the overall accuracy that gets the full colour
HATCH_COLOUR = "#C4C4C4"
LUMINANCE = (0.2126, 0.7152, 0.0722)  # of red, green and blue
Grid = Float[np.ndarray, "row column"]


@dataclass(frozen=True)
class HeatmapAxis:
    """An axis of the heat map: the attribute, the values shown, and a caption that says how many are left out."""

    attribute: str
    values: tuple[str, ...]
    caption: str


@dataclass(frozen=True)
class HeatmapCells:
    """Mean, interval width and number of labels of every cell; NaN where the pool has no item."""

    mean: Grid
    width: Grid
    n_labels: Int[np.ndarray, "row column"]


def plot_attribute_heatmap(
    surface: Surface,
    *,
    rows: str | None = None,
    columns: str | None = None,
    fixed: Mapping[str, object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw accuracy for each pair of values of two attributes, with the others as in the pool or `fixed`.

    By default, the two attributes with the largest effects. Combinations that the pool does not have are hatched.
    """
    names = _choose_attributes(surface, rows, columns, tuple(fixed or ()))
    down, across = _make_heatmap_axis(surface, names[0], fixed, MAX_ROWS), ALL_ITEMS_AXIS
    if len(names) == 2:
        across = _make_heatmap_axis(surface, names[1], fixed, MAX_COLUMNS)
    cells = _fill_cells(surface.marginals(*names, fixed=fixed), down, across)
    ax = ax or new_axes(0.24 * len(down.values) + 1.3 + 0.07 * max(map(len, map(shorten_label, across.values))))
    _draw_cells(ax, cells, surface.overall.mean, written=len(across.values) <= MAX_COLUMNS_WITH_WIDTHS)
    _label_heatmap_axes(ax, down, across)
    ax.set_title(_write_heatmap_title(surface, cells, across, fixed), loc="left", fontsize=SMALL, color=GREY)
    return ax


ALL_ITEMS_AXIS = HeatmapAxis("", (ALL_ITEMS,), "")


def _choose_attributes(
    surface: Surface, rows: str | None, columns: str | None, fixed: Sequence[str]
) -> tuple[str, ...]:
    """Return the attributes of the heat map: the named ones, completed by those with the largest effects."""
    free = [name for name in rank_attributes(surface) if name not in (rows, columns, *fixed)]
    chosen = [
        name for name in (rows or (free.pop(0) if free else None), columns or (free.pop(0) if free else None)) if name
    ]
    if not chosen or (rows is not None and rows == columns):
        raise InputError("plot: a heat map takes two different attributes that are not fixed, as rows and columns")
    if rows is None and columns is None and len(chosen) == 2:
        size = {axis.name: len(axis.levels) for axis in surface.axes}
        chosen.sort(key=lambda name: -size[name])  # rows have more space than columns
    return tuple(chosen)


def _make_heatmap_axis(surface: Surface, attribute: str, fixed: Mapping[str, object] | None, most: int) -> HeatmapAxis:
    """Return an axis of the heat map: the values of an attribute, as many as fit."""
    readings = surface.marginals(attribute, fixed=fixed)
    if not readings:
        raise InputError(
            f"plot: no item has {name_values({name: str(value) for name, value in (fixed or {}).items()})}"
        )
    values, caption = select_values(surface, readings, attribute, most)
    return HeatmapAxis(attribute, tuple(values), caption)


def _fill_cells(readings: Sequence[SurfaceEstimate], down: HeatmapAxis, across: HeatmapAxis) -> HeatmapCells:
    """Return the matrices of the heat map: means, interval widths and labels of every pair of values."""
    mean, width = np.full((2, len(down.values), len(across.values)), np.nan)
    n_labels = np.zeros(mean.shape, dtype=np.int64)
    row, column = ({value: i for i, value in enumerate(side.values)} for side in (down, across))
    for one in readings:
        i, j = row.get(one.values[down.attribute]), column.get(one.values.get(across.attribute, ALL_ITEMS))
        if i is not None and j is not None:
            mean[i, j], width[i, j], n_labels[i, j] = one.mean, one.high - one.low, one.n_labels
    return HeatmapCells(mean, width, n_labels)


def _draw_cells(ax: Axes, cells: HeatmapCells, middle: float, *, written: bool) -> None:
    """Colour every cell of the heat map by its distance from the overall accuracy, and write its numbers."""
    far = max(MIN_COLOUR_RANGE, float(np.nanmax(np.abs(cells.mean - middle))))
    norm = Normalize(middle - far, middle + far)
    for (i, j), mean in np.ndenumerate(cells.mean):
        if np.isnan(mean):
            ax.add_patch(
                Rectangle(
                    (j - 0.5, i - 0.5), 1, 1, facecolor="white", edgecolor=HATCH_COLOUR, hatch="////", linewidth=0
                )
            )
            continue
        ax.add_patch(
            Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=COLOUR_MAP(norm(mean)), edgecolor="white", linewidth=1)
        )
        text = f"{100 * mean:.0f}" + (f" ±{50 * cells.width[i, j]:.0f}" if written else "")
        colour = "white" if _is_dark(COLOUR_MAP(norm(mean))) else INK
        known = cells.n_labels[i, j] > 0
        ax.text(
            j, i, text, ha="center", va="center", fontsize=SMALL, color=colour, style="normal" if known else "italic",
            alpha=1 if known else 0.7, in_layout=False,
        )  # fmt: skip


def _is_dark(colour: tuple[float, ...]) -> bool:
    """Is white text easier to read on a colour of the heat map than dark text, by its luminance?"""
    return float(np.dot(colour[:3], LUMINANCE)) < 0.55


def _label_heatmap_axes(ax: Axes, down: HeatmapAxis, across: HeatmapAxis) -> None:
    """Label the axes of the heat map with the values of both attributes."""
    clean_axes(ax, keep=())
    ax.set_xlim(-0.5, len(across.values) - 0.5)
    ax.set_ylim(len(down.values) - 0.5, -0.5)
    names = [shorten_label(value, 20) for value in across.values]
    crowded = max(map(len, names)) * len(names) > 60
    ax.set_xticks(
        range(len(names)),
        names,
        rotation=40 if crowded else 0,
        ha="right" if crowded else "center",
        rotation_mode="anchor" if crowded else "default",
    )
    ax.set_yticks(range(len(down.values)), [shorten_label(value) for value in down.values])
    ax.tick_params(length=0)
    ax.set_xlabel(across.caption, color=INK)
    ax.set_ylabel(down.caption, color=INK)


def _write_heatmap_title(
    surface: Surface, cells: HeatmapCells, across: HeatmapAxis, fixed: Mapping[str, object] | None
) -> str:
    """Return the title of the heat map, which explains colours, numbers and marks."""
    half = (
        f" ± half the {format_level(surface.level)} interval" if len(across.values) <= MAX_COLUMNS_WITH_WIDTHS else ""
    )
    said = [f"accuracy in %{half}; white: {format_value(surface.overall.mean, 'accuracy')}, as overall"]
    if fixed:
        said.append(shorten_label(f"where {name_values({name: str(value) for name, value in fixed.items()})}", 76))
    there = ~np.isnan(cells.mean)
    marks = ["italic: no labels"] if (there & (cells.n_labels == 0)).any() else []
    marks += [] if there.all() else ["hatched: no items"]
    return "\n".join([*said, *(["; ".join(marks)] if marks else [])])
