"""The least accurate arms of a surface, one row each: attribute values, interval, items and labels.

Values that all rows share are written once, in the title; of the other attributes, as many columns are written as fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from fewlabels.analyses.surface.arm_names import find_common, name_values
from fewlabels.analyses.surface.ranking import rank_attributes
from fewlabels.analyses.surface.result import Arm, Surface
from fewlabels.reporting.plots.axes import clean_axes, scale_axis
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import format_level, shorten_label
from fewlabels.reporting.plots.rows import ROW, draw_overall, draw_rows
from fewlabels.reporting.plots.style import GREY, INK, PALE, SMALL

MAX_ARMS = 25  # arms
LETTER_WIDTH, COLUMN_GAP = 5.4, 9  # points: the width of a letter, and the space between columns
TOTAL_WIDTH = 220  # points: the width of all columns of values
MAX_VALUE_LENGTH = 26  # characters of a value
MAX_TITLE_LENGTH = 78  # characters of a line of the title
COUNTS = (("items", "n_items"), ("labels", "n_labels"))


@dataclass(frozen=True)
class TextColumn:
    """A column of text beside the rows: its header and its cells."""

    header: str
    texts: tuple[str, ...]

    @property
    def width(self) -> float:
        """The width of a column beside the arms, in points; a longer header is rotated and may extend beyond it."""
        return LETTER_WIDTH * max(3, *map(len, self.texts)) + COLUMN_GAP


def plot_worst_arms(surface: Surface, *, most: int = MAX_ARMS, ax: Axes | None = None) -> Axes:
    """Draw the least accurate arms of a surface with their intervals; arms without labels are hollow."""
    arms = surface.worst_first[:most]
    common = find_common(arms)
    columns, left_out = _choose_arm_columns(surface, arms, tuple(common))
    title_lines = _write_arms_title(common, left_out)
    ax = ax or new_axes(ROW * len(arms) + 1.1 + _header_height(columns) + 0.17 * len(title_lines))
    clean_axes(ax)
    ax.set_yticks([])
    ax.set_ylim(len(arms) - 0.4, -0.6)
    ax.hlines(range(len(arms)), 0, 1, transform=ax.get_yaxis_transform(), color=PALE, linewidth=0.6, zorder=0)
    draw_rows(ax, arms, unlabelled="no labels")
    low, high = min(arm.low for arm in arms), max(arm.high for arm in arms)
    scale_axis(ax, "accuracy", min(low, surface.overall.low), max(high, surface.overall.high))
    ha = "right" if surface.overall.mean > sum(ax.get_xlim()) / 2 else "left"
    draw_overall(ax, surface.overall, "accuracy", ha=ha)
    _write_arm_columns(ax, columns)
    _write_arm_counts(ax, arms)
    shown = f" · {len(arms)} worst of {len(surface.arms):,} arms" if len(arms) < len(surface.arms) else ""
    ax.set_xlabel(f"accuracy, {format_level(surface.level)} intervals{shown}", color=INK)
    if title_lines:
        ax.set_title(
            "\n".join(title_lines), loc="right", fontsize=SMALL, color=GREY, pad=12 + 72 * _header_height(columns)
        )
    return ax


def _choose_arm_columns(
    surface: Surface, arms: Sequence[Arm], common: Sequence[str]
) -> tuple[list[TextColumn], list[str]]:
    """Choose which attributes of the arms to write: those with the largest effects, as many as fit, in their original order."""
    chosen: list[str] = []
    room = float(TOTAL_WIDTH)
    columns = {
        name: TextColumn(shorten_label(name, 18), tuple(shorten_label(arm.arm[name], MAX_VALUE_LENGTH) for arm in arms))
        for name in surface.attributes
    }
    for name in rank_attributes(surface):
        if name not in common and (columns[name].width <= room or not chosen):
            chosen.append(name)
            room -= columns[name].width
    left_out = [name for name in surface.attributes if name not in chosen and name not in common]
    return [columns[name] for name in surface.attributes if name in chosen], left_out


def _write_arms_title(common: dict[str, str], left_out: Sequence[str]) -> list[str]:
    """Return the title of the plot of arms: the values that all share, and the attributes that are not shown."""
    said = []
    if common:
        said.append(shorten_label(f"all rows: {name_values(common)}", MAX_TITLE_LENGTH))
    if left_out:
        said.append(shorten_label(f"not shown: {', '.join(left_out)}", MAX_TITLE_LENGTH))
    return said


def _is_rotated(columns: Sequence[TextColumn]) -> bool:
    """Are headers beside the arms too long to be written horizontally?"""
    return any(LETTER_WIDTH * len(column.header) > column.width for column in columns)


def _header_height(columns: Sequence[TextColumn]) -> float:
    """Return the height of the headers above the arms in inches."""
    longest = max((len(column.header) for column in columns), default=0)
    return 0.7 * LETTER_WIDTH * longest / 72 if _is_rotated(columns) else 0.1


def _write_arm_columns(ax: Axes, columns: Sequence[TextColumn]) -> None:
    """Write the attribute values of the arms to the left of the rows."""
    at = -sum(column.width for column in columns) - COLUMN_GAP
    lean = 45 if _is_rotated(columns) else 0
    for column in columns:
        _write_beside_rows(ax, -0.75, at, column.header, colour=GREY, va="bottom", rotation=lean)
        for y, text in enumerate(column.texts):
            _write_beside_rows(ax, y, at, text, colour=INK)
        at += column.width


def _write_arm_counts(ax: Axes, arms: Sequence[Arm]) -> None:
    """Write the numbers of items and labels of the arms to the right of the rows."""
    right = 0.0
    for header, name in COUNTS:
        texts = [f"{getattr(arm, name):,}" for arm in arms]
        right += LETTER_WIDTH * max(len(header), *map(len, texts)) + COLUMN_GAP
        _write_beside_rows(ax, -0.75, right, header, side=1, colour=GREY, va="bottom", ha="right")
        for y, text in enumerate(texts):
            _write_beside_rows(ax, y, right, text, side=1, colour=GREY, ha="right")


def _write_beside_rows(
    ax: Axes,
    y: float | int,
    away: float | int,
    text: str,
    *,
    side: int = 0,
    colour: str,
    va: str = "center",
    ha: str = "left",
    rotation: int = 0,
) -> None:
    """Write text beside the rows of arms, `away` points from the left (side 0) or right (side 1) end of the axis."""
    ax.annotate(
        text, (side, y), xycoords=ax.get_yaxis_transform(), xytext=(away, 0), textcoords="offset points", fontsize=SMALL,
        color=colour, va=va, ha=ha, rotation=rotation, rotation_mode="anchor", annotation_clip=False,
    )  # fmt: skip
