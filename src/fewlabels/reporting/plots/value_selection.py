"""Select and order the values of an attribute that fit into a plot."""

from collections.abc import Sequence

from fewlabels.analyses.surface.result import Surface, SurfaceEstimate
from fewlabels.reporting.plots.formatting import shorten_label

MAX_WIDTH = 40


def select_values(
    surface: Surface, readings: Sequence[SurfaceEstimate], attribute: str, most: int
) -> tuple[tuple[str, ...], str]:
    """Select the values of an attribute to show, and return its name with a note on how many are left out.

    Ordered values keep their order; if they are too many, those with most items are shown. Unordered values are sorted
    by accuracy, and the least accurate are shown.
    """
    axis = next(axis for axis in surface.axes if axis.name == attribute)
    name = shorten_label(attribute, MAX_WIDTH)
    if axis.ordered:
        kept = sorted(readings, key=lambda one: -one.n_items)[:most]
        kept.sort(key=lambda one: axis.levels.index(one.values[attribute]))
    else:
        kept = sorted(readings, key=lambda one: one.mean)[:most]
    which = "most frequent" if axis.ordered else "worst"
    shown = f" ({len(kept)} {which} of {len(readings):,})" if len(kept) < len(readings) else ""
    return tuple(one.values[attribute] for one in kept), name + shown
