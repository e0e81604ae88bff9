"""Convert values to names: the text of a class, group or id, independent of the type in which it was stored."""

from collections.abc import Sequence
from itertools import pairwise

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.types as ir

MISSING = "(missing)"
ItemId = str | int  # as users give it; its name is text


def natural_order(name: str) -> tuple[int, float, str]:
    """Sort key of names: numbers by value, then words.

    >>> sorted(["10", "b", "9", "nan", "a"], key=natural_order)
    ['9', '10', 'a', 'b', 'nan']
    """
    try:
        value = float(name)
    except ValueError:
        return (1, 0.0, name)
    return (0, value, name) if value == value else (1, 0.0, name)


def to_name(value: object) -> str:
    """Convert a Python value to its name; the counterpart of `as_name` outside the engine.

    >>> to_name(3), to_name(3.0), to_name("3"), to_name(True)
    ('3', '3', '3', 'True')
    """
    item = getattr(value, "item", None)
    value = item() if callable(item) else value  # a NumPy scalar
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def as_name(value: ir.Value, *, booleans: tuple[str, str] = ("False", "True")) -> ir.Value:
    """Return the name of a value in the engine: the same for 1, 1.0 and '1', as frames convert integers to floats."""
    kind = value.type()
    if kind.is_string():
        return value
    if kind.is_boolean():
        false, true = booleans
        return ibis.cases((value, true), (~value, false), else_=ibis.null("string"))
    if isinstance(kind, dt.Decimal):
        text = value.cast("string")  # exact: ids of more than 15 digits would collide as floats
        return text.contains(".").ifelse(text.re_replace(r"\.?0+$", ""), text)
    if kind.is_floating():
        real = value.cast("float64")
        whole = (real.abs() < 2**53) & (real.floor() == real)
        number = whole.ifelse(real, 0.0).cast("int64")  # engines may cast rows that the case leaves out
        return ibis.cases(
            (real.isnan(), ibis.null("string")), (whole, number.cast("string")), else_=real.cast("string")
        )
    return value.cast("string")


def bin_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the names of ranges between edges, with as many digits as make them distinct.

    >>> bin_names([0.0, 0.5, 1.0])
    ('[0, 0.5)', '[0.5, 1]')
    """
    for digits in range(4, 18):
        names = [f"[{low:.{digits}g}, {high:.{digits}g})" for low, high in pairwise(edges)]
        if len(set(names)) == len(names):
            break
    return (*names[:-1], names[-1][:-1] + "]")
