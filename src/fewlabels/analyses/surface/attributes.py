"""Resolve the attributes of a surface: names to columns, ranges or uncertain attributes."""

from collections.abc import Sequence

from fewlabels.analyses.surface.uncertain_attributes import Uncertain, uncertain
from fewlabels.data.counts import Axis, CountTable
from fewlabels.data.groups import Column, Groups, Ranges
from fewlabels.data.parsing import parse_group, split_names
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, did_you_mean, join_names, require_instance

NAME_COLUMNS = "attributes: name columns, separated by commas; write column:all for a column called all"
MOST_VALUES = 1000  # per attribute
FEW_NUMBERS = 12  # distinct values up to which a numeric column is not cut into ranges


def resolve_attributes(
    pool: Predictions, attributes: str | Sequence[str | Groups | Uncertain]
) -> tuple[Groups | Uncertain, ...]:
    """Resolve every attribute of a surface; numeric columns with many values are cut into ranges."""
    if not attributes:
        raise InputError(
            f"attributes: name the columns, for instance attributes=({', '.join(map(repr, pool.attributes[:2]))})"
        )
    several = parse_attributes(attributes) if isinstance(attributes, str) else attributes
    parts = tuple(_resolve_attribute(pool, one) for one in several)
    names = [part.name for part in parts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"attributes: {join_names(twice)} is there twice")
    return parts


def parse_attributes(text: str) -> tuple[str | Groups | Uncertain, ...]:
    """Parse a surface's attributes separated by commas; a column stays a string, to be cut into ranges later.

    >>> parse_attributes("age,uncertain:rain")
    ('age', Uncertain(name='rain', scores='rain_'))
    """
    words = split_names(text)
    if not words:
        raise InputError(NAME_COLUMNS)
    return tuple(map(_parse_attribute, words))


def _parse_attribute(word: str) -> str | Groups | Uncertain:
    """Parse one attribute of a surface."""
    if word == "all":
        raise InputError(NAME_COLUMNS)
    if word.startswith("uncertain:"):
        name, _, prefix = word.removeprefix("uncertain:").partition(":")
        if not name:
            raise InputError("attributes: uncertain: needs a name; write uncertain:NAME or uncertain:NAME:PREFIX")
        return uncertain(name, prefix or None)
    part = parse_group(word)
    return word if isinstance(part, Column) and part.column == word else part


def _resolve_attribute(pool: Predictions, one: str | Groups | Uncertain) -> Groups | Uncertain:
    """Resolve one attribute of a surface to a column, ranges or an uncertain attribute."""
    one = _parse_attribute(one) if isinstance(one, str) else one
    if isinstance(one, Uncertain):
        return one.find(pool)
    if not isinstance(one, str):
        return require_instance("attributes", one, "cut", "fl.ranges('age')")
    name, by = one, Column(one)
    if name not in pool.columns():
        raise InputError(f"attributes: there is no column {name!r}; {did_you_mean(name, pool.columns())}")
    if pool.is_number(name) and pool.count_distinct(by.cut(pool).keys) > FEW_NUMBERS:
        return Ranges(name)
    return by


def warn_constant(axes: Sequence[Axis]) -> tuple[str, ...]:
    """Warn about attributes of a surface with a single value."""
    single = [axis.name for axis in axes if len(axis.levels) == 1]
    return (f"these attributes have a single value, so they have no effect: {join_names(single)}",) if single else ()


def require_few_values(counts: CountTable) -> None:
    """Raise if an attribute of a surface has too many values."""
    for axis in counts.axes:
        if len(axis.levels) > MOST_VALUES:
            raise InputError(
                f"attributes: {axis.name!r} has {len(axis.levels):,} values, and at most {MOST_VALUES:,} are supported; "
                "leave it out, or group its values first"
            )
