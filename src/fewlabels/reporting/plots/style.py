"""The style of all plots: a colour-blind safe palette (Okabe and Ito), light axes, rows of named groups."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewlabels.reporting.plots.formatting import is_share, shorten_labels

BLUE, ORANGE, GREY, PALE = "#0072B2", "#D55E00", "#737373", "#E4E4E4"
INK = "#222222"
SMALL = 9  # points: the smallest font size
MAX_ROWS = 40  # groups in one plot
ROW, MARGIN = 0.25, 0.95  # inches per group, and for the axis below them


def rows_height(n: int) -> float:
    """Return the height of a figure with n rows in the common style, in inches."""
    return ROW * n + MARGIN


def clean_axes(ax: Axes, *, keep: Sequence[str] = ("bottom",)) -> None:
    """Style axes: hide all spines but those in `keep`, and style the ticks."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in keep)
        spine.set_color(GREY)
    ax.tick_params(colors=INK, labelsize=SMALL, color=GREY)


def label_rows(ax: Axes, names: Sequence[str]) -> None:
    """Style rows: label them with names, the first on top, with faint grid lines."""
    clean_axes(ax)
    ax.set_yticks(range(len(names)), shorten_labels(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", color=PALE, linewidth=0.6)
    ax.set_axisbelow(True)


def write_text_column(ax: Axes, texts: Sequence[str], header: str) -> None:
    """Write a column of small text, in the common style, to the right of the rows."""
    place: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "color": GREY, "fontsize": SMALL, "ha": "right"}
    right = 1.02 + 0.014 * max(map(len, (header, *texts)))  # about the width of a character
    ax.text(right, -0.75, header, va="bottom", **place)
    for y, text in enumerate(texts):
        ax.text(right, y, text, va="center", **place)


def scale_axis(ax: Axes, metric: str, low: float, high: float, *, axis: str = "x") -> None:
    """Style an axis: set limits a little wider than the data; shares stay within 0 and 1."""
    pad = 0.04 * (high - low) or 0.02
    limits = (low - pad, high + pad)
    if is_share(metric):
        limits = max(limits[0], -0.01), min(limits[1], 1.01)
    (ax.set_xlim if axis == "x" else ax.set_ylim)(*limits)
    format_axis(ax, metric, axis=axis)


def format_axis(ax: Axes, metric: str, *, axis: str = "x") -> None:
    """Style an axis: set a few ticks, in percent for shares."""
    which = ax.xaxis if axis == "x" else ax.yaxis
    which.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if is_share(metric):
        which.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g}%"))
