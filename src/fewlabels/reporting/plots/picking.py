"""Which values of an attribute a picture has room for, and in which order they come."""

from collections.abc import Sequence

from fewlabels.analyses.surface.result import Reading, Surface
from fewlabels.reporting.plots.words import shorten

LONGEST = 40


def pick_values(
    surface: Surface, readings: Sequence[Reading], attribute: str, most: int
) -> tuple[tuple[str, ...], str]:
    """Return values to show, and the attribute's name, which says what was left out.

    Ordered values keep their order, and where they are too many those of most items are shown. Of others the least
    accurate are, and come first.
    """
    axis = next(axis for axis in surface.axes if axis.name == attribute)
    name = shorten(attribute, LONGEST)
    if axis.ordered:
        kept = sorted(readings, key=lambda one: -one.n_items)[:most]
        kept.sort(key=lambda one: axis.levels.index(one.values[attribute]))
    else:
        kept = sorted(readings, key=lambda one: one.mean)[:most]
    which = "most frequent" if axis.ordered else "worst"
    shown = f" ({len(kept)} {which} of {len(readings):,})" if len(kept) < len(readings) else ""
    return tuple(one.values[attribute] for one in kept), name + shown
