"""Draw the items that may be labelled: from a large pool, a random subset of every group, without sorting the table.

This is bottom-k sampling: every item has a priority, an integer hash of its id and a seed, and the items of a group
with the smallest priorities are drawn. If a sample in memory holds enough items of a group, they are drawn from it.
Otherwise the engine returns the items below a limit that slightly more than k items should pass, and the surplus is
dropped here.
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
N_COEFFICIENTS = 3  # priorities are 3-wise independent; 2-wise would suffice for the variance of a mean
MARGIN_SD, MARGIN_ITEMS = 6, 12  # margin of the limit: standard deviations, and items, beyond k
Key: TypeAlias = tuple[Any, ...]


def priority_expression(id: ir.Value, engine: BaseBackend, seed: int) -> ir.Value:
    """Return a candidate's priority, an integer below PRIME: a random polynomial of its id (Wegman and Carter, 1981).

    For integer ids it is the same in every engine.
    """
    x = hash_to_integer(id, engine)
    first, *others = _draw_coefficients(seed)
    priority: ir.Value = ibis.literal(first, type="int64")
    for coefficient in others:
        priority = (priority * x + coefficient) % PRIME
    return priority


def compute_priority(ids: Int[np.ndarray, " item"], seed: int) -> Int[np.ndarray, " item"]:
    """Compute the same priorities of candidates in NumPy."""
    x = np.abs(np.fmod(ids, PRIME).astype(np.int64))
    first, *others = _draw_coefficients(seed)
    priority = np.full(len(ids), first)
    for coefficient in others:
        priority = priority * x + coefficient
        priority -= priority // PRIME * PRIME  # ten times as fast as NumPy's %
    return priority


def _draw_coefficients(seed: int) -> list[int]:
    """Draw the coefficients of the polynomial that gives candidates their priorities."""
    coefficients: list[int] = np.random.default_rng([seed, N_COEFFICIENTS]).integers(1, PRIME, N_COEFFICIENTS).tolist()
    return coefficients


def hash_to_integer(id: ir.Value, engine: BaseBackend) -> ir.Value:
    """Hash the id of a candidate to an integer below PRIME."""
    if id.type().is_integer():
        return (id % PRIME).cast("int64").abs()
    name = as_name(id)
    if engine.name == "duckdb":  # Ibis's own hash converts to text there, at ten times the cost
        return (_hash_text(name) % PRIME).cast("int64")
    if engine.has_operation(ops.Hash):
        return (name.hash() % PRIME).cast("int32").cast("int64").abs()  # Spark's hash has 32 bits, Ibis declares 64
    codes = [name.right(i).left(1).ascii_str().cast("int64") for i in range(1, 10)]
    whole: ir.Value = codes[0]
    for code in codes[1:]:
        whole = (whole * 131 + code) % PRIME
    return whole


@ibis.udf.scalar.builtin(name="hash", signature=((dt.string,), dt.uint64))  # type: ignore[untyped-decorator]
def _hash_text(text: Any) -> Any:
    """Hash the text of a candidate's id (DuckDB's function)."""


def allocate_candidates(sizes: Mapping[Key, int], most: int) -> dict[Key, int]:
    """Allocate `most` draws to groups: half of them equally, half in proportion to group size.

    >>> allocate_candidates({("a",): 200, ("b",): 96, ("c",): 4}, 30)
    {('a',): 15, ('b',): 10, ('c',): 4}
    """
    each, ratio = max(1, most // (2 * len(sizes))), most / (2 * sum(sizes.values()))
    return {key: min(n, ceil(each + n * ratio)) for key, n in sizes.items()}


def filter_by_priority(
    items: ir.Table,
    keys: Mapping[str, ir.Value],
    sizes: Mapping[Key, int],
    wanted: Mapping[Key, int],
    within: Sequence[str],
) -> ir.Table:
    """Filter out candidates whose priority is above the limit of their group; `within` are the keys of groups."""
    limits = {key: _find_priority_limit(n, wanted[key]) for key, n in sizes.items()}
    near = items.filter(items["__fl_priority"] < max(limits.values())).mutate(**keys)  # drop most items before the join
    if not within:
        return near
    near = near.mutate(**{name: near[name].fill_null(MISSING) for name in within if near[name].type().is_string()})
    columns = {name: list(values) for name, values in zip(within, zip(*limits, strict=True), strict=True)}
    joined = near.inner_join(ibis.memtable(pa.table({**columns, "__fl_limit": list(limits.values())})), list(within))
    return joined.filter(joined["__fl_priority"] < joined["__fl_limit"])


def _find_priority_limit(n: int, wanted: int) -> int:
    """Return the priority below which about `wanted` candidates of a group lie, with a margin."""
    likely = wanted + MARGIN_SD * sqrt(wanted) + MARGIN_ITEMS
    return PRIME if likely >= n else ceil(PRIME * likely / n)


def draw_candidates(
    ids: Int[np.ndarray, " item"], group: Int[np.ndarray, " item"], wanted: Sequence[int], seed: int
) -> Int[np.ndarray, " drawn"]:
    """Draw the candidates of every group: the indices of the `wanted` items with the smallest priorities."""
    sizes = np.bincount(group, minlength=len(wanted)).tolist()
    limits = np.array([_find_priority_limit(n, w) if w else 0 for n, w in zip(sizes, wanted, strict=True)])
    priority = compute_priority(ids, seed)
    near = np.flatnonzero(priority < limits[group])  # sort only these few
    return near[_smallest_per_group(priority[near], ids[near], group[near], wanted)]


def keep_candidates(
    found: dict[str, list[Any]], within: Sequence[str], wanted: Mapping[Key, int]
) -> dict[str, list[Any]]:
    """Keep the `wanted` candidates with the smallest priorities in every group."""
    at = {key: i for i, key in enumerate(wanted)}
    keys = zip(*(found[key] for key in within), strict=True) if within else [()] * len(found["name"])
    group = np.array([at[key] for key in keys], dtype=np.int64)
    priority, names = np.array(found["__fl_priority"], dtype=np.int64), np.array(found["name"], dtype=np.str_)
    rows = _smallest_per_group(priority, names, group, list(wanted.values())).tolist()
    return {name: [column[i] for i in rows] for name, column in found.items() if name != "__fl_priority"}


def _smallest_per_group(
    priority: Int[np.ndarray, " item"], name: np.ndarray, group: Int[np.ndarray, " item"], wanted: Sequence[int]
) -> Int[np.ndarray, " taken"]:
    """Return the indices of the first `wanted` candidates of every group, ordered by priority, then by name.

    >>> _smallest_per_group(np.array([5, 1, 4, 2]), np.array(["a", "b", "c", "d"]), np.array([0, 0, 1, 0]), [2, 1]).tolist()
    [1, 3, 2]
    """
    order = np.lexsort((name, priority, group))
    place = np.arange(len(order)) - np.searchsorted(group[order], group[order])
    return order[place < np.array(wanted)[group[order]]]
