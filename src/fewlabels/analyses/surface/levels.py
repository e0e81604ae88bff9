"""Find the levels of an attribute that a query names: one value, several, or a range of numbers."""

import re

from fewlabels.data.counts import NONE, Axis
from fewlabels.errors import InputError, did_you_mean

RANGE = re.compile(r"\s*(-?[\d.eE+-]*\d\.?)?\s*\.\.\s*(-?[\d.][\d.eE+-]*)?\s*")


def find_levels(axis: Axis, value: object) -> tuple[int, ...]:
    """Return the indices of the levels that a query means; raise if there are none.

    >>> find_levels(Axis("age", ("20", "30", "50"), True), "25..60"), find_levels(Axis("sex", ("f", "m"), False), ["m"])
    ((1, 2), (1,))
    """
    if isinstance(value, list | tuple | set | frozenset):
        if not value:
            raise InputError(f"{axis.name}: give at least one value")
        return tuple(sorted({at for one in value for at in find_levels(axis, one)}))
    at = axis.find(value)
    if at != NONE:
        return (at,)
    ends = RANGE.fullmatch(value) if isinstance(value, str) else None
    if ends is not None and any(ends.groups()):
        return _find_between(axis, str(value), *ends.groups())
    raise InputError(f"{axis.name}: no item has the value {value!r}; {did_you_mean(str(value), list(axis.levels))}")


def _find_between(axis: Axis, text: str, first: str | None, last: str | None) -> tuple[int, ...]:
    """Return the levels of an attribute whose number, or whose range's middle, lies between two numbers."""
    try:
        low, high = float(first or "-inf"), float(last or "inf")
    except ValueError:
        raise InputError(f"{axis.name}: cannot parse the range {text!r}; write numbers such as 18..40") from None
    if low > high:
        raise InputError(f"{axis.name}: the range {text} begins above its end; write the smaller number first")
    numbers = [_to_number(axis, at) for at in range(len(axis.levels))]
    found = tuple(at for at, number in enumerate(numbers) if number is not None and low <= number <= high)
    if not found:
        cut = "it is cut into ranges, and none of them has its middle in" if axis.edges else "no item has a value in"
        raise InputError(f"{axis.name}: {cut} {text}; its values are {', '.join(axis.levels[:5])} ...")
    return found


def _to_number(axis: Axis, at: int) -> float | None:
    """Return the number of a level, or the middle of its range."""
    if axis.edges and at < len(axis.edges) - 1:
        return (axis.edges[at] + axis.edges[at + 1]) / 2
    try:
        return float(axis.levels[at])
    except ValueError:
        return None
