"""Accuracy by value of each attribute: marginal in the pool, and adjusted for the other attributes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from fewlabels.analyses.surface.ranking import rank_attributes
from fewlabels.analyses.surface.result import Surface, SurfaceEstimate
from fewlabels.reporting.plots.axes import clean_axes, scale_axis
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import format_level, shorten_label
from fewlabels.reporting.plots.rows import ROW, write_text_column
from fewlabels.reporting.plots.style import BLUE, GREY, INK, PALE, SMALL
from fewlabels.reporting.plots.value_selection import select_values

MAX_ROWS = 42  # values and headings in all
MAX_VALUES = 12  # of one attribute, if all values of all attributes are too many
MAX_ATTRIBUTES = 8
MARK_OFFSET = 0.16  # between the two marks of a value, in rows
ADJUSTED, MARGINAL = "adjusted: others as in the whole pool", "as in the pool"


@dataclass(frozen=True)
class AttributeEffect:
    """Estimates for the values of one attribute: marginal in the pool, and adjusted (None if not available)."""

    heading: str
    marginal: tuple[SurfaceEstimate, ...]
    adjusted: tuple[SurfaceEstimate | None, ...]


def plot_effects(surface: Surface, *, attributes: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw accuracy for every value of each attribute, by default of the attributes with the largest effects."""
    effects = _collect_effects(surface, attributes)
    n = sum(len(effect.marginal) + 1 for effect in effects)
    ax = ax or new_axes(ROW * n + 1.1)
    clean_axes(ax)
    ax.set_ylim(n - 0.4, -0.6)
    places = list(_place_rows(effects))
    _label_effect_rows(ax, effects, places)
    for y, marginal, adjusted in places:
        _draw_effect_interval(ax, y + (MARK_OFFSET if adjusted else 0), marginal, GREY, MARGINAL, filled=False)
        if adjusted:
            _draw_effect_interval(ax, y - MARK_OFFSET, adjusted, BLUE, ADJUSTED, filled=True)
    every = [one for _, marginal, adjusted in places for one in (marginal, adjusted) if one]
    whole = surface.overall
    scale_axis(ax, "accuracy", min(whole.low, *(r.low for r in every)), max(whole.high, *(r.high for r in every)))
    ax.axvspan(whole.low, whole.high, color=PALE, linewidth=0, zorder=0.5)
    _add_legend(ax, surface, effects)
    return ax


def _collect_effects(surface: Surface, attributes: Sequence[str] | None) -> list[AttributeEffect]:
    """Estimate the effects of as many attributes as fit."""
    names = rank_attributes(surface)[:MAX_ATTRIBUTES] if attributes is None else tuple(attributes)
    marginal = {name: surface.marginals(name) for name in names}
    most = MAX_ROWS if sum(len(readings) + 1 for readings in marginal.values()) <= MAX_ROWS else MAX_VALUES
    effects: list[AttributeEffect] = []
    room = MAX_ROWS
    for name, readings in marginal.items():
        room -= min(len(readings), most) + 1
        if room < 0 and effects:
            break
        effects.append(_estimate_effect(surface, name, readings, most))
    return effects


def _estimate_effect(
    surface: Surface, attribute: str, readings: Sequence[SurfaceEstimate], most: int
) -> AttributeEffect:
    """Return the effect of one attribute: the marginal and the adjusted accuracy of each value."""
    values, heading = select_values(surface, readings, attribute, most)
    marginal = {one.values[attribute]: one for one in readings}
    others = surface.fitted is not None and len(surface.attributes) > 1
    adjusted = {one.values[attribute]: one for one in surface.adjust(attribute)} if others else {}
    return AttributeEffect(
        heading, tuple(marginal[value] for value in values), tuple(adjusted.get(value) for value in values)
    )


def _place_rows(effects: Sequence[AttributeEffect]) -> Iterator[tuple[int, SurfaceEstimate, SurfaceEstimate | None]]:
    """Assign each value of the attributes with effects a row, below a heading row per attribute."""
    y = 0
    for effect in effects:
        for i, (marginal, adjusted) in enumerate(zip(effect.marginal, effect.adjusted, strict=True)):
            yield y + 1 + i, marginal, adjusted
        y += len(effect.marginal) + 1


def _label_effect_rows(
    ax: Axes, effects: Sequence[AttributeEffect], places: Sequence[tuple[int, SurfaceEstimate, SurfaceEstimate | None]]
) -> None:
    """Label the rows of the plot of effects with values, and the heading rows with attributes."""
    ax.set_yticks([y for y, *_ in places], [shorten_label(next(iter(one.values.values()))) for _, one, _ in places])
    ax.tick_params(axis="y", length=0)
    rows = [y for y, *_ in places]
    ax.hlines(rows, 0, 1, transform=ax.get_yaxis_transform(), color=PALE, linewidth=0.6, zorder=0)
    y = 0
    for effect in effects:
        ax.text(
            0.0,
            y + 0.05,
            effect.heading,
            transform=ax.get_yaxis_transform(),
            va="center",
            fontsize=SMALL,
            color=INK,
            weight="bold",
        )
        y += len(effect.marginal) + 1
    texts = {y: f"{one.n_labels:,}" for y, one, _ in places}
    write_text_column(ax, [texts.get(y, "") for y in range(max(texts) + 1)], "labels")


def _draw_effect_interval(
    ax: Axes, y: float | int, one: SurfaceEstimate, colour: str, label: str, *, filled: bool
) -> None:
    """Draw the accuracy of a value and its interval, marginal (filled) or adjusted (hollow), in the plot of effects."""
    ax.hlines([y], one.low, one.high, color=colour, linewidth=1.8 if filled else 1.2, zorder=2)
    ax.plot(
        [one.mean],
        [y],
        "o",
        markersize=4.5,
        color=colour,
        markerfacecolor=colour if filled else "white",
        zorder=3,
        label=label,
    )


def _add_legend(ax: Axes, surface: Surface, effects: Sequence[AttributeEffect]) -> None:
    """Add the legend of marginal and adjusted effects."""
    handles, labels = ax.get_legend_handles_labels()
    first = dict(zip(labels, handles, strict=True))
    if len(first) > 1:
        ax.legend(
            first.values(),
            first.keys(),
            frameon=False,
            fontsize=SMALL,
            labelcolor=INK,
            ncols=2,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0.2,
        )
    n = len(surface.attributes)
    shown = f" · {len(effects)} of {n} attributes" if len(effects) < n else ""
    ax.set_xlabel(f"accuracy, {format_level(surface.level)} intervals{shown}; band: overall", color=INK)
