"""Partitions of the rows: everything, the predicted class, a column, score bins, and crosses of these.

A partition says how to `cut` a pool: the expressions to group by in the engine, and how to name what comes back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

from fewlabels.errors import InputError, did_you_mean
from fewlabels.table import Predictions, Value, natural_order

CROSS = " × "


@dataclass(frozen=True)
class Cut:
    """Keys to group by, the name of each combination of their values, and the order people expect."""

    keys: Mapping[str, Value]
    name: Callable[[Sequence[Any]], str]
    order: Callable[[Sequence[Any]], Any]


@runtime_checkable
class Groups(Protocol):
    """One way to split a pool into groups."""

    @property
    def name(self) -> str:
        """What it is called on the command line and in results."""
        ...

    def cut(self, pool: Predictions) -> Cut:
        """Say how to split this pool."""
        ...


@dataclass(frozen=True)
class Everything:
    """The whole pool as one group."""

    name: str = "all"

    def cut(self, pool: Predictions) -> Cut:  # noqa: ARG002
        """Group by nothing."""
        return Cut({}, lambda _: "all", lambda _: 0)


@dataclass(frozen=True)
class Predicted:
    """One group per predicted class."""

    name: str = "predicted"

    def cut(self, pool: Predictions) -> Cut:
        """Group by the predicted class."""
        return Cut({"g_predicted": pool.predicted}, _first, lambda key: natural_order(key[0]))


@dataclass(frozen=True)
class Column:
    """One group per value of a column; rows without a value are a group called (missing).

    >>> Column("sex").name, Column("all").name
    ('sex', 'column:all')
    """

    column: str

    @property
    def name(self) -> str:
        """What it is called on the command line, where some words have another meaning."""
        taken = self.column in ("all", "predicted", "bins") or self.column.startswith(("bins:", "column:"))
        return f"column:{self.column}" if taken else self.column

    def cut(self, pool: Predictions) -> Cut:
        """Group by the column's values as text."""
        if self.column not in pool.columns():
            raise InputError(f"by: there is no column {self.column!r}; {did_you_mean(self.column, pool.columns())}")
        if self.column in (pool.roles.label, pool.roles.agreement):
            raise InputError(
                f"by: {self.column!r} holds the labels, which are unknown for most items; for results per true class use --by predicted --metric recall"
            )
        return Cut({f"g_{self.column}": pool.attribute(self.column)}, _first, lambda key: natural_order(key[0]))


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
        """What it is called on the command line."""
        return f"bins:equal-mass:{self.n}" if self.equal_mass else f"bins:{self.n}"

    def edges(self, pool: Predictions) -> list[float]:
        """Return the borders, outer ones included; ties in the scores may leave fewer equal-mass bins."""
        inner = [i / self.n for i in range(1, self.n)]
        if self.equal_mass and inner:
            found = pool.measure({f"q{i}": pool.score.quantile(p) for i, p in enumerate(inner)})
            inner = sorted({float(v) for v in found.values() if v is not None and 0 < v < 1})
        return [0.0, *inner, 1.0]

    def cut(self, pool: Predictions) -> Cut:
        """Group by the index of the bin: [low, high), the last one closed."""
        edges = self.edges(pool)
        return Cut({"g_bin": bin_index(pool, edges)}, lambda key: bin_names(edges)[key[0]], lambda key: key[0])


@dataclass(frozen=True)
class Cross:
    """Every combination of several partitions."""

    parts: tuple[Groups, ...]

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return ",".join(part.name for part in self.parts)

    def cut(self, pool: Predictions) -> Cut:
        """Group by all parts at once."""
        cuts = [part.cut(pool) for part in self.parts]
        ends = [0]
        for cut in cuts:
            ends.append(ends[-1] + len(cut.keys))
        spans = list(zip(cuts, pairwise(ends), strict=True))
        return Cut(
            {f"{i}_{key}": value for i, cut in enumerate(cuts) for key, value in cut.keys.items()},
            lambda key: CROSS.join(cut.name(key[a:b]) for cut, (a, b) in spans),
            lambda key: tuple(cut.order(key[a:b]) for cut, (a, b) in spans),
        )


def column(name: str) -> Column:
    """Group by a column."""
    return Column(name)


def bins(n: int = 10, *, equal_mass: bool = False) -> Bins:
    """Group by ranges of the score."""
    return Bins(n, equal_mass)


def cross(*parts: Groups) -> Cross:
    """Group by every combination of several partitions."""
    return Cross(tuple(parts))


def bin_index(pool: Predictions, edges: Sequence[float]) -> Value:
    """Count the inner borders at or below the score: the same in every engine, and exact at the borders."""
    known = pool.score.notnull().cast("int64")
    return known.nullif(0) * _search(pool.score, edges, 0, len(edges) - 2)


def _search(score: Value, edges: Sequence[float], first: int, last: int) -> Value | int:
    """Halve the bins until one is left: a comparison with every border would cost far more than the scan itself."""
    if first == last:
        return first
    middle = (first + last) // 2
    lower, upper = _search(score, edges, first, middle), _search(score, edges, middle + 1, last)
    return (score < edges[middle + 1]).ifelse(lower, upper)


def bin_names(edges: Sequence[float]) -> tuple[str, ...]:
    """Name the ranges between borders.

    >>> bin_names([0.0, 0.5, 1.0])
    ('[0, 0.5)', '[0.5, 1]')
    """
    for digits in range(4, 18):
        names = [f"[{low:.{digits}g}, {high:.{digits}g})" for low, high in pairwise(edges)]
        if len(set(names)) == len(names):
            break
    return (*names[:-1], names[-1][:-1] + "]")


def _first(key: Sequence[Any]) -> str:
    return str(key[0])


everything = Everything()
predicted = Predicted()
