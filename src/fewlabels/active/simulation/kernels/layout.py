"""Build the states of compiled code (arrays of records) from plain arrays, once per problem, before any label."""

import numpy as np

from fewlabels.active.simulation.kernels.beta import ARM, Chances
from fewlabels.active.simulation.kernels.dirichlet import Columns
from fewlabels.active.simulation.kernels.pool import Pool
from fewlabels.active.simulation.kernels.pruning import lay_climbs
from fewlabels.active.simulation.kernels.queue import Floats, Ints, Records
from fewlabels.active.simulation.kernels.sums import BIN, Sums
from fewlabels.active.simulation.kernels.weighted_shares import COLUMN, LOT, PART
from fewlabels.distributions.belief import TINY

MOST_IN_TAIL, MOST_TAILS = 0.16, 32.0  # measured: a tail draw costs about as much as a Beta draw
MANY_GROUPS = 200  # from which on pruning pays off
MANY = 8  # distinct values per cell, above which stick-breaking may be faster
PIECES = 28 * 0.6  # pieces per unit of prior strength times the cost of one, in Gamma draws


def lay_chances(
    pool: Pool, alpha: Floats, beta: Floats, right: Floats, kind: int, *, scale: Floats | float = 0.0,
    slope: float = 0.0, compared: tuple[int, int] = (0, 0), margin: float = 0.0,
) -> Chances:  # fmt: skip
    """Make the state with one Beta per group."""
    assert pool.is_plain, "a gain linear in the rate of a group needs one cell per group"
    arms = np.zeros(pool.n_groups, dtype=ARM)
    arms["alpha"], arms["beta"] = np.maximum(alpha, TINY), np.maximum(beta, TINY)
    arms["scale"], arms["slope"] = scale, slope
    cap = min(MOST_IN_TAIL, MOST_TAILS / pool.n_groups)
    return Chances(arms, _plain(right), kind, *compared, margin, cap, np.zeros(1, np.int64), np.empty((5, 2)))


def lay_sums(
    pool: Pool, alpha: Floats, beta: Floats, right: Floats, *, scale: Floats | None = None, bend: Floats | float = 0.0,
    score: Floats | float = 0.0,
) -> Sums:  # fmt: skip
    """Make the state with several Betas per group; with a scale, gains are variance reductions."""
    cells = np.zeros(pool.n_cells, dtype=BIN)
    cells["alpha"], cells["beta"], cells["weight"] = np.maximum(alpha, TINY), np.maximum(beta, TINY), pool.weight
    cells["scale"], cells["bend"], cells["score"] = 0.0 if scale is None else scale, bend, score
    order, start, where = sort_cells(pool)
    cells = cells[order]
    climbing = scale is None and pool.n_groups >= MANY_GROUPS and bool(np.all(cells["bend"] >= 0))
    climbs = lay_climbs(cells, start) if climbing else lay_climbs(cells[:0], start[:1])
    return Sums(cells, start, where[pool.cell], _plain(right), climbs, scale is not None)


def lay_columns(
    pool: Pool, alpha: Floats, label: Ints, *, scale: Floats | None = None, slope: Floats | float = 1.0,
    price: Floats | None = None,
) -> Columns:  # fmt: skip
    """Make the state of Dirichlets; with a scale, gains are variance reductions, else expected costs."""
    cells, lots = np.zeros(pool.n_cells, dtype=COLUMN), np.zeros(alpha.shape, dtype=LOT)
    lots["alpha"], lots["price"] = alpha, 0.0 if price is None else price
    cells["total"], cells["squares"] = alpha.sum(axis=1), (alpha**2).sum(axis=1)
    cells["priced"] = (lots["price"] * alpha).sum(axis=1)
    cells["weight"], cells["scale"], cells["slope"] = pool.weight, 0.0 if scale is None else scale, slope
    value = lots["price"] if scale is None else alpha
    seen = count_distinct(pool, label, alpha.shape[1])
    n_values = np.array([len(np.unique(row)) for row in value])
    in_sticks = bool(n_values.mean() > max(MANY, PIECES * cells["total"].mean()))
    if in_sticks:
        parts = lay_sticks(cells, lots, value, seen)
    else:
        parts = lay_parts(cells, lots, value, min(alpha.shape[1], int(n_values.max()) + seen))
    order, start, where = sort_cells(pool)
    rows = cells[order], lots[order], parts[order]
    return Columns(*rows, start, where[pool.cell], label.astype(np.int64), scale is not None, in_sticks)


def sort_cells(pool: Pool) -> tuple[Ints, Ints, Ints]:
    """Sort cells by group and decreasing weight: return the order, each group's first cell, each cell's position."""
    order = np.lexsort((-pool.weight, pool.group))
    return order, np.searchsorted(pool.group[order], np.arange(pool.n_groups + 1)), np.argsort(order)


def count_distinct(pool: Pool, label: Ints, n_classes: int) -> int:
    """Return the largest number of distinct labels in a cell."""
    pairs = np.unique(pool.cell * n_classes + label)
    return int(np.bincount(pairs // n_classes).max())


def lay_parts(cells: Records, lots: Records, value: Floats, room: int) -> Records:
    """Make one part for every distinct value of a cell."""
    parts = np.zeros((len(cells), room), dtype=PART)
    for c in range(len(cells)):
        found, part, members = np.unique(value[c], return_inverse=True, return_counts=True)
        n = len(found)
        cells["n_parts"][c], lots["part"][c] = n, part
        parts["value"][c, :n], parts["members"][c, :n] = found, members
        parts["shape"][c, :n] = np.bincount(part, weights=lots["alpha"][c])
    return parts


def lay_sticks(cells: Records, lots: Records, value: Floats, room: int) -> Records:
    """Take the class of largest prior as the lead; make alias tables for the prior of the others."""
    lots["part"] = -1
    lead = lots["alpha"].argmax(axis=1)
    for c in range(len(cells)):
        others = np.arange(lots.shape[1]) != lead[c]
        chance = np.where(others, lots["alpha"][c], 0.0)
        rising = cells["slope"][c] >= 0
        cells["lead"][c], cells["spare"][c] = lead[c], chance.sum()
        cells["other"][c] = value[c][others].max() if rising else value[c][others].min()
        lots["cut"][c], lots["alias"][c] = make_alias(chance)
    return np.zeros((len(cells), room), dtype=PART)


def make_alias(chance: Floats) -> tuple[Floats, Ints]:
    """Make an alias table, to draw from a distribution in constant time (Walker 1977)."""
    n = len(chance)
    scaled = chance * n / max(chance.sum(), np.finfo(np.float64).tiny)
    cut, alias = np.ones(n), np.arange(n)
    small, large = list(np.flatnonzero(scaled < 1)), list(np.flatnonzero(scaled >= 1))
    while small and large:
        low, high = small.pop(), large[-1]
        cut[low], alias[low] = scaled[low], high
        scaled[high] -= 1 - scaled[low]
        if scaled[high] < 1:
            small.append(large.pop())
    return cut, alias


def _plain(right: Floats) -> Floats:
    return np.ascontiguousarray(right, dtype=np.float64)
