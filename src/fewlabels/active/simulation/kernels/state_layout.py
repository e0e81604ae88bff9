"""Build the states of compiled code (arrays of records) from plain arrays, once per problem, before any label."""

import numpy as np

from fewlabels.active.simulation.kernels.beta_state import BETA_RECORD, BetaState
from fewlabels.active.simulation.kernels.beta_sum_state import BETA_CELL, BetaSumState
from fewlabels.active.simulation.kernels.dirichlet_state import DirichletState
from fewlabels.active.simulation.kernels.item_queue import Floats, Ints, Records
from fewlabels.active.simulation.kernels.pool import Pool
from fewlabels.active.simulation.kernels.pruning import make_pruning_table
from fewlabels.active.simulation.kernels.weighted_shares import CLASS_RECORD, DIRICHLET_CELL, PART
from fewlabels.distributions.quantiles import TINY

MAX_TAIL, MAX_EXPECTED_TAILS = 0.16, 32.0  # measured: a tail draw costs about as much as a Beta draw
MIN_GROUPS_TO_PRUNE = 200  # from which on pruning pays off
MIN_VALUES_FOR_STICKS = 8  # distinct values per cell, above which stick-breaking may be faster
STICK_COST = 28 * 0.6  # pieces per unit of prior strength times the cost of one, in Gamma draws


def make_beta_state(
    pool: Pool, alpha: Floats, beta: Floats, right: Floats, kind: int, *, scale: Floats | float = 0.0,
    slope: float = 0.0, compared: tuple[int, int] = (0, 0), margin: float = 0.0,
) -> BetaState:  # fmt: skip
    """Lay out the state with one Beta per group."""
    assert pool.has_one_cell_per_group, "a gain linear in the rate of a group needs one cell per group"
    records = np.zeros(pool.n_groups, dtype=BETA_RECORD)
    records["alpha"], records["beta"] = np.maximum(alpha, TINY), np.maximum(beta, TINY)
    records["scale"], records["slope"] = scale, slope
    max_tail = min(MAX_TAIL, MAX_EXPECTED_TAILS / pool.n_groups)
    return BetaState(
        records, _as_contiguous(right), kind, *compared, margin, max_tail, np.zeros(1, np.int64), np.empty((5, 2))
    )


def make_beta_sum_state(
    pool: Pool, alpha: Floats, beta: Floats, right: Floats, *, scale: Floats | None = None, kink: Floats | float = 0.0,
    score: Floats | float = 0.0,
) -> BetaSumState:  # fmt: skip
    """Lay out the state with several Betas per group; with a scale, gains are variance reductions."""
    cells = np.zeros(pool.n_cells, dtype=BETA_CELL)
    cells["alpha"], cells["beta"], cells["weight"] = np.maximum(alpha, TINY), np.maximum(beta, TINY), pool.weight
    cells["scale"], cells["kink"], cells["score"] = 0.0 if scale is None else scale, kink, score
    order, start, where = sort_cells(pool)
    cells = cells[order]
    is_pruned = scale is None and pool.n_groups >= MIN_GROUPS_TO_PRUNE and bool(np.all(cells["kink"] >= 0))
    pruning_table = make_pruning_table(cells, start) if is_pruned else make_pruning_table(cells[:0], start[:1])
    return BetaSumState(cells, start, where[pool.cell], _as_contiguous(right), pruning_table, scale is not None)


def make_dirichlet_state(
    pool: Pool, alpha: Floats, label: Ints, *, scale: Floats | None = None, slope: Floats | float = 1.0,
    price: Floats | None = None,
) -> DirichletState:  # fmt: skip
    """Lay out the state of Dirichlets; with a scale, gains are variance reductions, else expected costs."""
    cells, class_records = np.zeros(pool.n_cells, dtype=DIRICHLET_CELL), np.zeros(alpha.shape, dtype=CLASS_RECORD)
    class_records["alpha"], class_records["price"] = alpha, 0.0 if price is None else price
    cells["total"], cells["squares"] = alpha.sum(axis=1), (alpha**2).sum(axis=1)
    cells["cost_sum"] = (class_records["price"] * alpha).sum(axis=1)
    cells["weight"], cells["scale"], cells["slope"] = pool.weight, 0.0 if scale is None else scale, slope
    value = class_records["price"] if scale is None else alpha
    seen = count_distinct(pool, label, alpha.shape[1])
    n_values = np.array([len(np.unique(row)) for row in value])
    uses_stick_breaking = bool(n_values.mean() > max(MIN_VALUES_FOR_STICKS, STICK_COST * cells["total"].mean()))
    if uses_stick_breaking:
        parts = make_stick_tables(cells, class_records, value, seen)
    else:
        parts = make_parts(cells, class_records, value, min(alpha.shape[1], int(n_values.max()) + seen))
    order, start, where = sort_cells(pool)
    rows = cells[order], class_records[order], parts[order]
    return DirichletState(
        *rows, start, where[pool.cell], label.astype(np.int64), scale is not None, uses_stick_breaking
    )


def sort_cells(pool: Pool) -> tuple[Ints, Ints, Ints]:
    """Lay out cells by group and decreasing weight: their order, each group's first cell, each cell's position."""
    order = np.lexsort((-pool.weight, pool.group))
    return order, np.searchsorted(pool.group[order], np.arange(pool.n_groups + 1)), np.argsort(order)


def count_distinct(pool: Pool, label: Ints, n_classes: int) -> int:
    """Return the largest number of distinct labels in a cell, for which a state is laid out."""
    pairs = np.unique(pool.cell * n_classes + label)
    return int(np.bincount(pairs // n_classes).max())


def make_parts(cells: Records, class_records: Records, value: Floats, capacity: int) -> Records:
    """Lay out one part for every distinct value of a cell."""
    parts = np.zeros((len(cells), capacity), dtype=PART)
    for c in range(len(cells)):
        found, part, members = np.unique(value[c], return_inverse=True, return_counts=True)
        n = len(found)
        cells["n_parts"][c], class_records["part"][c] = n, part
        parts["value"][c, :n], parts["members"][c, :n] = found, members
        parts["shape"][c, :n] = np.bincount(part, weights=class_records["alpha"][c])
    return parts


def make_stick_tables(cells: Records, class_records: Records, value: Floats, capacity: int) -> Records:
    """Lay out a state's class of largest prior as the lead, and alias tables for the prior of the others."""
    class_records["part"] = -1
    lead = class_records["alpha"].argmax(axis=1)
    for c in range(len(cells)):
        others = np.arange(class_records.shape[1]) != lead[c]
        chance = np.where(others, class_records["alpha"][c], 0.0)
        rising = cells["slope"][c] >= 0
        cells["lead"][c], cells["prior_rest"][c] = lead[c], chance.sum()
        cells["other"][c] = value[c][others].max() if rising else value[c][others].min()
        class_records["keep_probability"][c], class_records["alias"][c] = make_alias(chance)
    return np.zeros((len(cells), capacity), dtype=PART)


def make_alias(chance: Floats) -> tuple[Floats, Ints]:
    """Lay out an alias table of a state, to draw from a distribution in constant time (Walker 1977)."""
    n = len(chance)
    scaled = chance * n / max(chance.sum(), np.finfo(np.float64).tiny)
    keep_probability, alias = np.ones(n), np.arange(n)
    small, large = list(np.flatnonzero(scaled < 1)), list(np.flatnonzero(scaled >= 1))
    while small and large:
        low, high = small.pop(), large[-1]
        keep_probability[low], alias[low] = scaled[low], high
        scaled[high] -= 1 - scaled[low]
        if scaled[high] < 1:
            small.append(large.pop())
    return keep_probability, alias


def _as_contiguous(right: Floats) -> Floats:
    """Return contiguous floats, as the layout of states needs."""
    return np.ascontiguousarray(right, dtype=np.float64)
