"""Which items may be asked about: of a large pool a random few of every group, drawn without sorting.

Every item has a chance, a whole number that its id and a seed determine. The items of a group with the smallest chances
are drawn. Where a sample holds enough of a group they are drawn from it here; in the engine, all below a limit that a few
more than wanted will pass are fetched, and the surplus is dropped here.
"""

from collections.abc import Mapping, Sequence
from math import ceil, sqrt
from typing import Any, TypeAlias

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from ibis.backends import BaseBackend
from jaxtyping import Int

from fewlabels.data.names import MISSING, as_name

PRIME = 2**31 - 1
TERMS = 3  # the chances of any so many items are independent of each other; two would do for the variance of a mean
SURE, SPARE = 6, 12  # of so many standard deviations and items more than wanted, none is ever missed
Key: TypeAlias = tuple[Any, ...]


def find_chance(id: ir.Value, engine: BaseBackend, seed: int) -> ir.Value:
    """Return the chance of an item, a whole number below PRIME: a random polynomial of its id (Wegman and Carter, 1981).

    Of ids that are whole numbers it is the same in every engine.
    """
    x = as_whole(id, engine)
    first, *others = _list_terms(seed)
    chance: ir.Value = ibis.literal(first, type="int64")
    for term in others:
        chance = (chance * x + term) % PRIME
    return chance


def work_out_chance(ids: Int[np.ndarray, " item"], seed: int) -> Int[np.ndarray, " item"]:
    """Return the chances of items here, as an engine would."""
    x = np.abs(np.fmod(ids, PRIME).astype(np.int64))
    first, *others = _list_terms(seed)
    chance = np.full(len(ids), first)
    for term in others:
        chance = chance * x + term
        chance -= chance // PRIME * PRIME  # NumPy divides by one number ten times as fast as it takes remainders
    return chance


def _list_terms(seed: int) -> list[int]:
    terms: list[int] = np.random.default_rng([seed, TERMS]).integers(1, PRIME, TERMS).tolist()
    return terms


def as_whole(id: ir.Value, engine: BaseBackend) -> ir.Value:
    """Return a whole number below PRIME made of an id."""
    if id.type().is_integer():
        return (id % PRIME).cast("int64").abs()
    name = as_name(id)
    if engine.name == "duckdb":  # what Ibis makes of a hash there goes by way of text, at ten times the cost
        return (_hash_text(name) % PRIME).cast("int64")
    if engine.has_operation(ops.Hash):
        return (name.hash() % PRIME).cast("int32").cast("int64").abs()  # Spark's hash has half the bits that Ibis says
    codes = [name.right(i).left(1).ascii_str().cast("int64") for i in range(1, 10)]
    whole: ir.Value = codes[0]
    for code in codes[1:]:
        whole = (whole * 131 + code) % PRIME
    return whole


@ibis.udf.scalar.builtin(name="hash", signature=((dt.string,), dt.uint64))  # type: ignore[untyped-decorator]
def _hash_text(text: Any) -> Any: ...


def share_out(sizes: Mapping[Key, int], most: int) -> dict[Key, int]:
    """Say how many items of every group to draw: half of `most` goes to groups alike, half by their size.

    >>> share_out({("a",): 200, ("b",): 96, ("c",): 4}, 30)
    {('a',): 15, ('b',): 10, ('c',): 4}
    """
    each, ratio = max(1, most // (2 * len(sizes))), most / (2 * sum(sizes.values()))
    return {key: min(n, ceil(each + n * ratio)) for key, n in sizes.items()}


def keep_likely(
    items: ir.Table,
    keys: Mapping[str, ir.Value],
    sizes: Mapping[Key, int],
    wanted: Mapping[Key, int],
    within: Sequence[str],
) -> ir.Table:
    """Leave out the items that will not be drawn, and work the keys of the others out; `within` are those of groups."""
    limits = {key: _find_limit(n, wanted[key]) for key, n in sizes.items()}
    near = items.filter(items["__fl_chance"] < max(limits.values())).mutate(**keys)  # most are out before anything else
    if not within:
        return near
    near = near.mutate(**{name: near[name].fill_null(MISSING) for name in within if near[name].type().is_string()})
    columns = {name: list(values) for name, values in zip(within, zip(*limits, strict=True), strict=True)}
    joined = near.inner_join(ibis.memtable(pa.table({**columns, "__fl_limit": list(limits.values())})), list(within))
    return joined.filter(joined["__fl_chance"] < joined["__fl_limit"])


def _find_limit(n: int, wanted: int) -> int:
    likely = wanted + SURE * sqrt(wanted) + SPARE
    return PRIME if likely >= n else ceil(PRIME * likely / n)


def draw_least(
    ids: Int[np.ndarray, " item"], group: Int[np.ndarray, " item"], wanted: Sequence[int], seed: int
) -> Int[np.ndarray, " drawn"]:
    """Return the places of the items with the smallest chances of every group, as many as are wanted."""
    sizes = np.bincount(group, minlength=len(wanted)).tolist()
    limits = np.array([_find_limit(n, w) if w else 0 for n, w in zip(sizes, wanted, strict=True)])
    chance = work_out_chance(ids, seed)
    near = np.flatnonzero(chance < limits[group])  # few are left to be sorted
    return near[_take_first(chance[near], ids[near], group[near], wanted)]


def drop_surplus(found: dict[str, list[Any]], within: Sequence[str], wanted: Mapping[Key, int]) -> dict[str, list[Any]]:
    """Keep, of every group, as many as are wanted."""
    at = {key: i for i, key in enumerate(wanted)}
    keys = zip(*(found[key] for key in within), strict=True) if within else [()] * len(found["name"])
    group = np.array([at[key] for key in keys], dtype=np.int64)
    chance, names = np.array(found["__fl_chance"], dtype=np.int64), np.array(found["name"], dtype=np.str_)
    rows = _take_first(chance, names, group, list(wanted.values())).tolist()
    return {name: [column[i] for i in rows] for name, column in found.items() if name != "__fl_chance"}


def _take_first(
    chance: Int[np.ndarray, " item"], name: np.ndarray, group: Int[np.ndarray, " item"], wanted: Sequence[int]
) -> Int[np.ndarray, " taken"]:
    """Return the places of those that come first in their groups: by chance and, of equal chances, by name.

    >>> _take_first(np.array([5, 1, 4, 2]), np.array(["a", "b", "c", "d"]), np.array([0, 0, 1, 0]), [2, 1]).tolist()
    [1, 3, 2]
    """
    order = np.lexsort((name, chance, group))
    place = np.arange(len(order)) - np.searchsorted(group[order], group[order])
    return order[place < np.array(wanted)[group[order]]]
