"""Partitions of items into groups: everything, by predicted class, column, range or score bin, and their crosses.

A partition's `cut` of a pool holds the GROUP BY expressions, and the names and order of the groups in the result.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from fewlabels.data.names import MISSING, bin_names, natural_order
from fewlabels.data.relation import Columns, Value
from fewlabels.data.role_table import RoleTable
from fewlabels.errors import InputError, did_you_mean, format_option

CROSS = " × "


@dataclass(frozen=True)
class Facet:
    """One attribute by which groups differ: the GROUP BY expression, and the names and order of its values."""

    name: str
    key: Value
    show: Callable[[Any], str] = str
    order: Callable[[Any], Any] = natural_order
    ordered: bool = False  # are neighbouring values similar?
    edges: tuple[float, ...] = ()  # if values are ranges of a number
    blank: str | None = None  # name of missing values; naming them in the query would double the cost of the scan


@dataclass(frozen=True)
class Cut:
    """The facets of a pool; their combinations are the groups."""

    facets: tuple[Facet, ...]

    @property
    def keys(self) -> Mapping[str, Value]:
        """The GROUP BY expressions of the groups."""
        return {f"g{i}_{facet.name}": facet.key for i, facet in enumerate(self.facets)}

    def fill(self, found: Columns) -> Columns:
        """Return the groups of a query result, with missing values named."""
        blanks = {key: facet.blank for key, facet in zip(self.keys, self.facets, strict=True)}
        return {key: [blank if value is None else value for value in found[key]] for key, blank in blanks.items()}

    def name(self, key: Sequence[Any]) -> str:
        """The name of a group."""
        return CROSS.join(facet.show(value) for facet, value in zip(self.facets, key, strict=True)) if key else "all"

    def order(self, key: Sequence[Any]) -> tuple[Any, ...]:
        """The sort key of a group."""
        return tuple(facet.order(value) for facet, value in zip(self.facets, key, strict=True))


@runtime_checkable
class Groups(Protocol):
    """A partition of a pool into groups."""

    @property
    def name(self) -> str:
        """The name on the command line and in results."""
        ...

    def cut(self, pool: RoleTable) -> Cut:
        """Return the facets of this pool."""
        ...


@dataclass(frozen=True)
class Everything:
    """The whole pool as one group."""

    name: str = "all"

    def cut(self, pool: RoleTable) -> Cut:  # noqa: ARG002
        """Group by nothing."""
        return Cut(())


@dataclass(frozen=True)
class Predicted:
    """One group per predicted class."""

    name: str = "predicted"

    def cut(self, pool: RoleTable) -> Cut:
        """Group by the predicted class; graded outputs may have none."""
        return Cut((Facet(self.name, pool.predicted, blank=MISSING),))


@dataclass(frozen=True)
class Column:
    """One group per value of a column; rows without a value are a group called (missing).

    >>> Column("sex").name, Column("all").name
    ('sex', 'column:all')
    """

    column: str
    order: tuple[str, ...] = ()  # of its values; by default numbers by value, then words

    @property
    def name(self) -> str:
        """The name of the groups on the command line; `column:` precedes names that have another meaning there."""
        taken = self.column in ("all", "predicted", "bins") or self.column.startswith(("bins:", "column:", "ranges:"))
        return f"column:{self.column}" if taken else self.column

    def cut(self, pool: RoleTable) -> Cut:
        """Group by the column's values as text."""
        _require_column(pool, self.column)
        ordered = bool(self.order) or pool.is_number(self.column)
        return Cut(
            (Facet(self.column, pool.attribute(self.column), order=self._order_of, ordered=ordered, blank=MISSING),)
        )

    def _order_of(self, value: str) -> tuple[int, tuple[int, float, str]]:
        """Return the sort key of a group: the stated order, then the natural one."""
        return self.order.index(value) if value in self.order else len(self.order), natural_order(value)


@dataclass(frozen=True)
class Ranges:
    """One group per range of a column of numbers, with about as many items in each.

    >>> Ranges("age").name, Ranges("age", 4).name
    ('ranges:age', 'ranges:age:4')
    """

    column: str
    n: int = 8

    def __post_init__(self) -> None:
        if not 2 <= self.n <= 100:
            raise InputError(f"ranges: {self.n} ranges of {self.column!r} were asked for; use 2 to 100")

    @property
    def name(self) -> str:
        """The name of the groups on the command line."""
        return f"ranges:{self.column}" if self.n == 8 else f"ranges:{self.column}:{self.n}"

    def cut(self, pool: RoleTable) -> Cut:
        """Group by the index of the range, [low, high); missing values come last."""
        _require_column(pool, self.column)
        if not pool.is_number(self.column):
            raise InputError(f"ranges: {self.column!r} holds no numbers; group by its values instead")
        number = pool.number(self.column)
        inner = {f"q{i}": number.quantile(i / self.n) for i in range(1, self.n)}
        low, high, *found = pool.measure({"low": number.min(), "high": number.max(), **inner}).values()
        if low is None:
            raise InputError(f"ranges: every value of {self.column!r} is missing")
        edges = [low, *sorted({value for value in found if low < value <= high}), high]
        names = (*bin_names(edges), MISSING)
        index = number.notnull().ifelse(search(number, edges), len(edges) - 1)
        return Cut((Facet(self.column, index, names.__getitem__, int, ordered=True, edges=tuple(edges)),))


@dataclass(frozen=True)
class Bins:
    """One group per range of the score: `n` of equal width, or of equal mass over the pool.

    >>> Bins(4).name, Bins(10, equal_mass=True).name
    ('bins:4', 'bins:equal-mass:10')
    """

    n: int = 10
    equal_mass: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.n <= 1000:
            raise InputError(f"bins: {self.n} bins were asked for; use 1 to 1000")

    @property
    def name(self) -> str:
        """The name of the groups on the command line."""
        return f"bins:equal-mass:{self.n}" if self.equal_mass else f"bins:{self.n}"

    def edges(self, pool: RoleTable) -> list[float]:
        """Return the edges of the groups by score, including the outer ones; tied scores may leave fewer equal-mass bins."""
        inner = [i / self.n for i in range(1, self.n)]
        if self.equal_mass and inner:
            found = pool.measure({f"q{i}": pool.score.quantile(p) for i, p in enumerate(inner)})
            inner = sorted({float(v) for v in found.values() if v is not None and 0 < v < 1})
        return [0.0, *inner, 1.0]

    def cut(self, pool: RoleTable) -> Cut:
        """Group by the index of the bin, [low, high); the last bin is closed."""
        edges = self.edges(pool)
        return Cut((Facet("score", bin_index(pool, edges), bin_names(edges).__getitem__, int, ordered=True),))


@dataclass(frozen=True)
class DecisionRanges:
    """One group per predicted class and range of its score, of equal mass over the pool; without scores, per class."""

    n: int = 5
    name: str = "decisions"

    def cut(self, pool: RoleTable) -> Cut:
        """Group by the predicted class and the range of the score."""
        facets = Predicted().cut(pool).facets
        return Cut(facets + Bins(self.n, equal_mass=True).cut(pool).facets) if pool.has("score") else Cut(facets)


@dataclass(frozen=True)
class Cross:
    """Every combination of several partitions."""

    parts: tuple[Groups, ...]

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise InputError(f"by: {twice[0]!r} is named twice; name every attribute once")

    @property
    def name(self) -> str:
        """The name of the crossed groups on the command line."""
        return ",".join(part.name for part in self.parts)

    def cut(self, pool: RoleTable) -> Cut:
        """Group by all parts at once."""
        return Cut(tuple(facet for part in self.parts for facet in part.cut(pool).facets))


def column(name: str, *, order: Sequence[str] = ()) -> Column:
    """Group by a column; `order` lists its values in order, if they are ordinal."""
    return Column(name, tuple(order))


def ranges(name: str, n: int = 8) -> Ranges:
    """Group by ranges of a column of numbers."""
    return Ranges(name, n)


def bins(n: int = 10, *, equal_mass: bool = False) -> Bins:
    """Group by ranges of the score."""
    return Bins(n, equal_mass)


def bin_index(pool: RoleTable, edges: Sequence[float]) -> Value:
    """Return the bin of the score as the index of a group; it is the same in every engine, and exact at the edges."""
    return pool.score.notnull().ifelse(search(pool.score, edges), None)


def search(score: Value, edges: Sequence[float], first: int = 0) -> Value | int:
    """Return the group (bin index) by binary search: comparing with every edge would cost far more than the scan."""
    if len(edges) == 2:
        return first
    middle = len(edges) // 2
    lower, upper = search(score, edges[: middle + 1], first), search(score, edges[middle:], first + middle)
    return (score < edges[middle]).ifelse(lower, upper)


def _require_column(pool: RoleTable, column: str) -> None:
    """Raise if there is no such column to group by, or if it holds the labels."""
    if column not in pool.columns():
        raise InputError(f"by: there is no column {column!r}; {did_you_mean(column, pool.columns())}")
    if column in (pool.roles.label, pool.roles.agreement):
        raise InputError(
            f"by: {column!r} holds the labels, which are unknown for most items; for results per true class use {format_option('by', 'predicted')} and {format_option('metric', 'recall')}"
        )


everything = Everything()
predicted = Predicted()
