"""The least accurate arms of a surface, one row each: attribute values, interval, items and labels.

Values that all rows share are written once, in the title; of the other attributes, as many columns are written as fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from fewlabels.analyses.surface.naming import find_common, name_values
from fewlabels.analyses.surface.ranking import rank_attributes
from fewlabels.analyses.surface.result import Arm, Surface
from fewlabels.reporting.plots.sheet import new_axes
from fewlabels.reporting.plots.style import BLUE, GREY, INK, PALE, ROW, SMALL, clean_axes, scale_axis
from fewlabels.reporting.plots.words import shorten, write_level, write_value

SHOWN = 25  # arms
LETTER, GAP = 5.4, 9  # points: the width of a letter, and the space between columns
ROOM = 265  # points: the width of all columns of values
WIDEST = 26  # characters of a value
LINE = 78  # characters of a line of the title
COUNTS = (("items", "n_items"), ("labels", "n_labels"))


@dataclass(frozen=True)
class Strip:
    """A column of text beside the rows: its header and its cells."""

    header: str
    texts: tuple[str, ...]

    @property
    def width(self) -> float:
        """The width in points; a longer header is rotated and may extend beyond it."""
        return LETTER * max(3, *map(len, self.texts)) + GAP


def plot_worst(surface: Surface, *, most: int = SHOWN, ax: Axes | None = None) -> Axes:
    """Draw the least accurate arms with their intervals; arms without labels are hollow."""
    arms = surface.worst_first[:most]
    common = find_common(arms)
    strips, left_out = _choose_strips(surface, arms, tuple(common))
    head = _write_head(common, left_out)
    ax = ax or new_axes(ROW * len(arms) + 1.1 + _header_height(strips) + 0.17 * len(head))
    clean_axes(ax)
    ax.set_yticks([])
    ax.set_ylim(len(arms) - 0.4, -0.6)
    ax.hlines(range(len(arms)), 0, 1, transform=ax.get_yaxis_transform(), color=PALE, linewidth=0.6, zorder=0)
    _draw_arms(ax, arms)
    low, high = min(arm.low for arm in arms), max(arm.high for arm in arms)
    scale_axis(ax, "accuracy", min(low, surface.overall.low), max(high, surface.overall.high))
    _draw_overall(ax, surface)
    _write_strips(ax, strips)
    _write_counts(ax, arms)
    shown = f" · {len(arms)} worst of {len(surface.arms):,} arms" if len(arms) < len(surface.arms) else ""
    ax.set_xlabel(f"accuracy, {write_level(surface.level)} intervals{shown}", color=INK)
    if head:
        ax.set_title("\n".join(head), loc="right", fontsize=SMALL, color=GREY, pad=12 + 72 * _header_height(strips))
    return ax


def _choose_strips(surface: Surface, arms: Sequence[Arm], common: Sequence[str]) -> tuple[list[Strip], list[str]]:
    """Choose the attributes with the largest effects, as many as fit, in their original order."""
    chosen: list[str] = []
    room = float(ROOM)
    strips = {
        name: Strip(shorten(name, 18), tuple(shorten(arm.arm[name], WIDEST) for arm in arms))
        for name in surface.attributes
    }
    for name in rank_attributes(surface):
        if name not in common and (strips[name].width <= room or not chosen):
            chosen.append(name)
            room -= strips[name].width
    left_out = [name for name in surface.attributes if name not in chosen and name not in common]
    return [strips[name] for name in surface.attributes if name in chosen], left_out


def _write_head(common: dict[str, str], left_out: Sequence[str]) -> list[str]:
    said = []
    if common:
        said.append(shorten(f"all rows: {name_values(common)}", LINE))
    if left_out:
        said.append(shorten(f"not shown: {', '.join(left_out)}", LINE))
    return said


def _leans(strips: Sequence[Strip]) -> bool:
    """Return whether headers are too long to be written horizontally."""
    return any(LETTER * len(strip.header) > strip.width for strip in strips)


def _header_height(strips: Sequence[Strip]) -> float:
    """Return the height of the headers in inches."""
    longest = max((len(strip.header) for strip in strips), default=0)
    return 0.7 * LETTER * longest / 72 if _leans(strips) else 0.1


def _write_strips(ax: Axes, strips: Sequence[Strip]) -> None:
    """Write the attribute values to the left of the rows."""
    at = -sum(strip.width for strip in strips) - GAP
    lean = 45 if _leans(strips) else 0
    for strip in strips:
        _write(ax, -0.75, at, strip.header, colour=GREY, va="bottom", rotation=lean)
        for y, text in enumerate(strip.texts):
            _write(ax, y, at, text, colour=INK)
        at += strip.width


def _write_counts(ax: Axes, arms: Sequence[Arm]) -> None:
    """Write the numbers of items and labels to the right of the rows."""
    right = 0.0
    for header, name in COUNTS:
        texts = [f"{getattr(arm, name):,}" for arm in arms]
        right += LETTER * max(len(header), *map(len, texts)) + GAP
        _write(ax, -0.75, right, header, side=1, colour=GREY, va="bottom", ha="right")
        for y, text in enumerate(texts):
            _write(ax, y, right, text, side=1, colour=GREY, ha="right")


def _write(
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
    """Write text beside the rows, `away` points from the left (side 0) or right (side 1) end of the axis."""
    ax.annotate(
        text, (side, y), xycoords=ax.get_yaxis_transform(), xytext=(away, 0), textcoords="offset points", fontsize=SMALL,
        color=colour, va=va, ha=ha, rotation=rotation, rotation_mode="anchor", annotation_clip=False,
    )  # fmt: skip


def _draw_arms(ax: Axes, arms: Sequence[Arm]) -> None:
    for labelled in (True, False):
        y = np.array([i for i, arm in enumerate(arms) if (arm.n_labels > 0) == labelled], dtype=np.int64)
        if len(y) == 0:
            continue
        low, mean, high = (np.array([getattr(arms[i], name) for i in y]) for name in ("low", "mean", "high"))
        colour = BLUE if labelled else GREY
        ax.hlines(y, low, high, color=colour, linewidth=1.8, alpha=1 if labelled else 0.6, zorder=2)
        ax.plot(
            mean, y, "o", markersize=5.5, color=colour, markerfacecolor=colour if labelled else "white", zorder=3,
            label="labelled" if labelled else "no labels",
        )  # fmt: skip


def _draw_overall(ax: Axes, surface: Surface) -> None:
    whole = surface.overall
    ax.axvspan(whole.low, whole.high, color=PALE, linewidth=0, zorder=0.5)
    ax.axvline(whole.mean, color=GREY, linewidth=1, zorder=0.6)
    ax.annotate(
        f"overall {write_value(whole.mean, 'accuracy')}", (whole.mean, 1), xycoords=("data", "axes fraction"),
        xytext=(0, 3), textcoords="offset points", ha="right" if whole.mean > sum(ax.get_xlim()) / 2 else "left",
        va="bottom", fontsize=SMALL, color=GREY,
    )  # fmt: skip
