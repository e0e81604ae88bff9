"""Kinds of plots of a surface, and the options of each."""

from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.axes import Axes

from fewlabels.analyses.surface.result import Surface
from fewlabels.errors import InputError, did_you_mean, join_names
from fewlabels.reporting.plots.arms import plot_worst_arms
from fewlabels.reporting.plots.attribute_heatmap import plot_attribute_heatmap
from fewlabels.reporting.plots.coverage import plot_coverage
from fewlabels.reporting.plots.effects import plot_effects

SURFACE_KINDS: Mapping[str, Callable[..., Axes]] = {
    "worst": plot_worst_arms,
    "heatmap": plot_attribute_heatmap,
    "effects": plot_effects,
    "coverage": plot_coverage,
}
PLOT_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "worst": ("most",),
    "heatmap": ("rows", "columns", "fixed"),
    "effects": ("attributes",),
    "coverage": (),
}


def plot_surface(surface: Surface, kind: str | None = None, *, ax: Axes | None = None, **choices: Any) -> Axes:
    """Draw a surface; `kind` is worst, heatmap, effects or coverage.

    Options: `most` (worst: how many arms), `rows`, `columns` and `fixed` (heatmap: its attributes, and fixed values of
    others), `attributes` (effects: which attributes).
    """
    kind = kind or "worst"
    if kind not in SURFACE_KINDS:
        raise InputError(
            f"plot: there is no kind {kind!r} for a surface; {did_you_mean(kind, SURFACE_KINDS)} (all: {', '.join(SURFACE_KINDS)})"
        )
    unknown = [name for name in choices if name not in PLOT_OPTIONS[kind]]
    if unknown:
        may = f"its options: {join_names(PLOT_OPTIONS[kind])}" if PLOT_OPTIONS[kind] else "it takes no options"
        raise InputError(f"plot: {kind} has no option {join_names(map(repr, unknown))}; {may}")
    return SURFACE_KINDS[kind](surface, ax=ax, **choices)
