"""Pruned draws, exact: most groups whose gain, a sum over their cells, stays below a floor are not drawn.

Each cell's Beta is discretized into slots, and the largest gain of a slot is rounded up to an integer number of units.
The units of a group sum to a number whose distribution is a convolution. A group whose units do not reach the floor is
skipped; otherwise its slots are drawn, given that they reach it, and then the values within the slots.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.active.simulation.kernels.beta_quantiles import TINIEST
from fewlabels.active.simulation.kernels.histogram import (
    EDGES,
    N_SLOTS,
    add_outcome,
    discretize_beta,
    discretize_betas,
    draw_within_slot,
)
from fewlabels.active.simulation.kernels.item_queue import Floats, Ints, Record, Records
from fewlabels.active.simulation.kernels.jit import compiled, entry_point, force_inlined
from fewlabels.active.simulation.kernels.top_groups import TopGroups, clear_top, entry_threshold, insert_if_top
from fewlabels.distributions.randomness import Rng

Units = NDArray[np.int16]
N_UNITS = 256  # up to the largest gain of any group
ROUNDING = 1e-6
PRUNING_CELL = np.dtype(
    [
        ("alpha", "f8"),  # the Beta that is discretized
        ("beta", "f8"),
        ("weight", "f8"),  # the cell's gain is weight · |θ − score|
        ("score", "f8"),
        ("next", "i8"),  # next cell of its group; the number of cells after the last
        ("bound", "i8"),  # largest number of units of this and the later cells of its group
        ("slot", "i8"),  # of the current draw
    ]
)


class PruningTable(NamedTuple):
    """Discretized cells, sorted by group; empty if pruning is not used."""

    pruning_cells: Records  # per cell
    start: Ints  # first cell of each group
    below: Floats  # (cell, edge)
    units: Units  # (cell, slot): largest gain of a draw in this slot, in units
    chance: Floats  # (cell, n): probability of n units or more in this and the later cells of its group; last row: none
    unit: float  # gain of one unit


def make_pruning_table(cells: Records, start: Ints) -> PruningTable:
    """Discretize the cells of groups whose gains are Σ weight · |θ − score|, for pruning."""
    pruning_cells = np.zeros(len(cells), dtype=PRUNING_CELL)
    for name in ("alpha", "beta", "score"):
        pruning_cells[name] = cells[name]
    pruning_cells["weight"], pruning_cells["next"] = cells["kink"], np.arange(1, len(cells) + 1)
    pruning_cells["next"][start[1:] - 1] = len(cells)
    units, unit = discretize_gains(cells, start)
    below = discretize_betas(np.ascontiguousarray(cells["alpha"]), np.ascontiguousarray(cells["beta"]))
    return PruningTable(pruning_cells, start, below, units, convolve_all(pruning_cells, below, units), unit)


def discretize_gains(cells: Records, start: Ints) -> tuple[Units, float]:
    """Return the largest gain of each slot in the pruning table's units, and the gain of one unit."""
    ends = np.abs(EDGES - cells["score"][:, None]) * cells["kink"][:, None]
    most = np.maximum(ends[:, :-1], ends[:, 1:])
    highest = np.add.reduceat(most.max(axis=1), start[:-1]).max() if len(cells) else 1.0
    unit = max(float(highest) / N_UNITS, TINIEST)
    return np.ceil(most / unit + ROUNDING).astype(np.int16), unit


@entry_point
def convolve_all(pruning_cells: Records, below: Floats, units: Units) -> Floats:
    """Convolve the cells of every group for pruning, from its last cell to its first."""
    n, most = len(pruning_cells), 0
    for i in range(n - 1, -1, -1):
        pruning_cells[i].bound = units[i].max() + (pruning_cells[i + 1].bound if pruning_cells[i].next < n else 0)
        most = max(most, pruning_cells[i].bound)
    chance = np.zeros((n + 1, most + 1))
    chance[n, 0] = 1.0
    for i in range(n - 1, -1, -1):
        convolve(pruning_cells, below, units, chance, i)
    return chance


@compiled
def convolve(pruning_cells: Records, below: Floats, units: Units, chance: Floats, i: int) -> None:
    """Probability, for pruning, that a cell and the later ones have n units or more: summed over its slots."""
    after = pruning_cells[i].next
    bound = pruning_cells[after].bound if after < len(pruning_cells) else 0
    row, later = chance[i], chance[after][: bound + 1]
    row[:] = 0.0
    share = 0.0
    for j in range(N_SLOTS):
        share += max(below[i, j + 1] - below[i, j], 0.0)
        if j + 1 == N_SLOTS or units[i, j + 1] != units[i, j]:
            add_shifted(row, later, share, units[i, j])
            share = 0.0


@compiled
def add_shifted(row: Floats, later: Floats, share: float, own: int) -> None:
    """Add the case, with probability `share`, that a cell has its own units, for the convolution of pruning.

    The later cells then have the remaining ones.
    """
    beyond = row[own:]  # a view, so that the loop is over contiguous memory
    for n in range(own):
        row[n] += share
    for n in range(len(later)):
        beyond[n] += share * later[n]


@compiled
def update_pruning_table(pruning_table: PruningTable, cells: Records, group: int) -> None:
    """Update the probabilities of a group to its posterior: of the last changed cell and of those before it."""
    pruning_cells, changed = pruning_table.pruning_cells, False
    for i in range(pruning_table.start[group + 1] - 1, pruning_table.start[group] - 1, -1):
        if pruning_cells[i].alpha != cells[i].alpha or pruning_cells[i].beta != cells[i].beta:
            update_histogram(pruning_cells[i], pruning_table.below[i], cells[i].alpha, cells[i].beta)
            changed = True
        if changed:
            convolve(pruning_cells, pruning_table.below, pruning_table.units, pruning_table.chance, i)


@compiled
def update_histogram(pruning_cell: Record, below: Floats, a: float, b: float) -> None:
    """Update the slots of a cell in the pruning table; usually by one more outcome."""
    right, wrong = a - pruning_cell.alpha, b - pruning_cell.beta
    if right == 1.0 and wrong == 0.0:
        add_outcome(below, pruning_cell.alpha, pruning_cell.beta, True)
    elif right == 0.0 and wrong == 1.0:
        add_outcome(below, pruning_cell.alpha, pruning_cell.beta, False)
    else:
        discretize_beta(below, a, b)
    pruning_cell.alpha, pruning_cell.beta = a, b


@force_inlined
def count_required_units(pruning_table: PruningTable, floor: float) -> int:
    """Return the units that a group needs to reach a floor, or be pruned."""
    return min(int(max(floor, 0.0) / pruning_table.unit), pruning_table.chance.shape[1] - 1)


@compiled
def draw_pruned_gain(rng: Rng, pruning_table: PruningTable, group: int, floor: float) -> float:
    """Gain of a group at a draw; minus infinity if it is pruned, below the floor, usually by its units alone."""
    required = count_required_units(pruning_table, floor)
    if rng.random() >= pruning_table.chance[pruning_table.start[group], required]:
        return -np.inf
    return draw_gain_above(rng, pruning_table, group, required, floor)


@compiled
def draw_top_pruned(rng: Rng, pruning_table: PruningTable, groups: Ints, top: TopGroups) -> None:
    """Fill `top` from one joint draw with pruning: the same as drawing the groups one by one, in a tight loop."""
    clear_top(top)
    start, chance, required = pruning_table.start, pruning_table.chance, 0
    for group in groups:
        if rng.random() < chance[start[group], required]:
            insert_if_top(rng, top, group, draw_gain_above(rng, pruning_table, group, required, entry_threshold(top)))
            required = count_required_units(pruning_table, entry_threshold(top))


@compiled
def draw_gain_above(rng: Rng, pruning_table: PruningTable, group: int, required: int, floor: float) -> float:
    """Gain of a group that is not pruned, as it has the missing units: draw slots first, then values in them."""
    first, last, reached, gain = pruning_table.start[group], pruning_table.start[group + 1], 0, 0.0
    pruning_cells, below, units, chance, unit = (
        pruning_table.pruning_cells,
        pruning_table.below,
        pruning_table.units,
        pruning_table.chance,
        pruning_table.unit,
    )
    for i in range(first, last):
        rest = max(required - reached, 0)
        left = rng.random() * chance[i, rest]
        pruning_cells[i].slot = find_slot(below[i], units[i], chance[pruning_cells[i].next], rest, left)
        reached += units[i, pruning_cells[i].slot]
    for i in range(first, last):
        if gain + unit * reached < floor:
            return -np.inf
        pruning_cell = pruning_cells[i]
        gain += pruning_cell.weight * abs(
            draw_within_slot(rng, pruning_cell.alpha, pruning_cell.beta, pruning_cell.slot) - pruning_cell.score
        )
        reached -= units[i, pruning_cell.slot]
    return gain


@compiled
def find_slot(below: Floats, units: Units, later: Floats, required: int, chance: float) -> int:
    """Invert the distribution of slots in the pruning table, given that this and later cells have the missing units."""
    found = 0
    for j in range(N_SLOTS):
        share = (below[j + 1] - below[j]) * later[max(required - units[j], 0)]
        if share > 0.0:
            found = j
            chance -= share
            if chance < 0.0:
                break
    return found
