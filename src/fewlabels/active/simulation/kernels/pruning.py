"""Pruned draws, exact: most groups whose gain, a sum over their cells, stays below a floor are not drawn.

Each cell's Beta is discretized into slots, and the largest gain of a slot is rounded up to an integer number of units.
The units of a group sum to a number whose distribution is a convolution. A group whose units do not reach the floor is
skipped; otherwise its slots are drawn, given that they reach it, and then the values within the slots.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewlabels.active.simulation.kernels.histogram import (
    EDGES,
    N_SLOTS,
    add_outcome,
    cut_afresh,
    cut_betas,
    draw_within,
)
from fewlabels.active.simulation.kernels.jit import door, inner, pasted
from fewlabels.active.simulation.kernels.quantiles import SMALLEST
from fewlabels.active.simulation.kernels.queue import Floats, Ints, Record, Records
from fewlabels.active.simulation.kernels.top import Top, clear, least, offer
from fewlabels.distributions.belief import Rng

Rungs = NDArray[np.int16]
N_RUNGS = 256  # up to the largest gain of any group
ROUNDING = 1e-6
STEP = np.dtype(
    [
        ("alpha", "f8"),  # the Beta that is discretized
        ("beta", "f8"),
        ("weight", "f8"),  # the cell's gain is weight · |θ − score|
        ("score", "f8"),
        ("next", "i8"),  # next cell of its group; the number of cells after the last
        ("reach", "i8"),  # largest number of units of this and the later cells of its group
        ("slot", "i8"),  # of the current draw
    ]
)


class Climbs(NamedTuple):
    """Discretized cells, sorted by group; empty if pruning is not used."""

    steps: Records  # per cell
    start: Ints  # first cell of each group
    below: Floats  # (cell, edge)
    rungs: Rungs  # (cell, slot): largest gain of a draw in this slot, in units
    chance: Floats  # (cell, n): probability of n units or more in this and the later cells of its group; last row: none
    unit: float  # gain of one unit


def lay_climbs(cells: Records, start: Ints) -> Climbs:
    """Discretize the cells of groups whose gains are Σ weight · |θ − score|."""
    steps = np.zeros(len(cells), dtype=STEP)
    for name in ("alpha", "beta", "score"):
        steps[name] = cells[name]
    steps["weight"], steps["next"] = cells["bend"], np.arange(1, len(cells) + 1)
    steps["next"][start[1:] - 1] = len(cells)
    rungs, unit = count_rungs(cells, start)
    below = cut_betas(np.ascontiguousarray(cells["alpha"]), np.ascontiguousarray(cells["beta"]))
    return Climbs(steps, start, below, rungs, convolve_all(steps, below, rungs), unit)


def count_rungs(cells: Records, start: Ints) -> tuple[Rungs, float]:
    """Return the largest gain of each slot in units, and the gain of one unit."""
    ends = np.abs(EDGES - cells["score"][:, None]) * cells["bend"][:, None]
    most = np.maximum(ends[:, :-1], ends[:, 1:])
    highest = np.add.reduceat(most.max(axis=1), start[:-1]).max() if len(cells) else 1.0
    unit = max(float(highest) / N_RUNGS, SMALLEST)
    return np.ceil(most / unit + ROUNDING).astype(np.int16), unit


@door
def convolve_all(steps: Records, below: Floats, rungs: Rungs) -> Floats:
    """Convolve the cells of every group, from its last cell to its first."""
    n, most = len(steps), 0
    for i in range(n - 1, -1, -1):
        steps[i].reach = rungs[i].max() + (steps[i + 1].reach if steps[i].next < n else 0)
        most = max(most, steps[i].reach)
    chance = np.zeros((n + 1, most + 1))
    chance[n, 0] = 1.0
    for i in range(n - 1, -1, -1):
        convolve(steps, below, rungs, chance, i)
    return chance


@inner
def convolve(steps: Records, below: Floats, rungs: Rungs, chance: Floats, i: int) -> None:
    """Probability that a cell and the later ones have n units or more: summed over its slots."""
    after = steps[i].next
    reach = steps[after].reach if after < len(steps) else 0
    row, later = chance[i], chance[after][: reach + 1]
    row[:] = 0.0
    share = 0.0
    for j in range(N_SLOTS):
        share += max(below[i, j + 1] - below[i, j], 0.0)
        if j + 1 == N_SLOTS or rungs[i, j + 1] != rungs[i, j]:
            add_shifted(row, later, share, rungs[i, j])
            share = 0.0


@inner
def add_shifted(row: Floats, later: Floats, share: float, own: int) -> None:
    """Add the case, with probability `share`, that a cell has its own units, and the later cells the remaining ones."""
    beyond = row[own:]  # a view, so that the loop is over contiguous memory
    for n in range(own):
        row[n] += share
    for n in range(len(later)):
        beyond[n] += share * later[n]


@inner
def follow_belief(climbs: Climbs, cells: Records, group: int) -> None:
    """Update the probabilities of a group to its posterior: of the last changed cell and of those before it."""
    steps, changed = climbs.steps, False
    for i in range(climbs.start[group + 1] - 1, climbs.start[group] - 1, -1):
        if steps[i].alpha != cells[i].alpha or steps[i].beta != cells[i].beta:
            cut_again(steps[i], climbs.below[i], cells[i].alpha, cells[i].beta)
            changed = True
        if changed:
            convolve(steps, climbs.below, climbs.rungs, climbs.chance, i)


@inner
def cut_again(step: Record, below: Floats, a: float, b: float) -> None:
    """Update the slots of a cell; usually by one more outcome."""
    right, wrong = a - step.alpha, b - step.beta
    if right == 1.0 and wrong == 0.0:
        add_outcome(below, step.alpha, step.beta, True)
    elif right == 0.0 and wrong == 1.0:
        add_outcome(below, step.alpha, step.beta, False)
    else:
        cut_afresh(below, a, b)
    step.alpha, step.beta = a, b


@pasted
def count_missing(climbs: Climbs, floor: float) -> int:
    """Return the units that a group needs to reach a floor."""
    return min(int(max(floor, 0.0) / climbs.unit), climbs.chance.shape[1] - 1)


@inner
def climb(rng: Rng, climbs: Climbs, group: int, floor: float) -> float:
    """Gain of a group at a draw; minus infinity if it stays below the floor, usually decided by its units alone."""
    missing = count_missing(climbs, floor)
    if rng.random() >= climbs.chance[climbs.start[group], missing]:
        return -np.inf
    return draw_climb(rng, climbs, group, missing, floor)


@inner
def draw_climbers(rng: Rng, climbs: Climbs, groups: Ints, top: Top) -> None:
    """Fill `top` from one joint draw: the same as drawing the groups one by one, in a tight loop."""
    clear(top)
    start, chance, missing = climbs.start, climbs.chance, 0
    for group in groups:
        if rng.random() < chance[start[group], missing]:
            offer(rng, top, group, draw_climb(rng, climbs, group, missing, least(top)))
            missing = count_missing(climbs, least(top))


@inner
def draw_climb(rng: Rng, climbs: Climbs, group: int, missing: int, floor: float) -> float:
    """Gain of a group, given that it has the missing units: draw slots first, then values within them."""
    first, last, climbed, gain = climbs.start[group], climbs.start[group + 1], 0, 0.0
    steps, below, rungs, chance, unit = climbs.steps, climbs.below, climbs.rungs, climbs.chance, climbs.unit
    for i in range(first, last):
        rest = max(missing - climbed, 0)
        left = rng.random() * chance[i, rest]
        steps[i].slot = find_slot(below[i], rungs[i], chance[steps[i].next], rest, left)
        climbed += rungs[i, steps[i].slot]
    for i in range(first, last):
        if gain + unit * climbed < floor:
            return -np.inf
        step = steps[i]
        gain += step.weight * abs(draw_within(rng, step.alpha, step.beta, step.slot) - step.score)
        climbed -= rungs[i, step.slot]
    return gain


@inner
def find_slot(below: Floats, rungs: Rungs, later: Floats, missing: int, chance: float) -> int:
    """Invert the distribution of slots, given that this and the later cells have the missing units."""
    found = 0
    for j in range(N_SLOTS):
        share = (below[j + 1] - below[j]) * later[max(missing - rungs[j], 0)]
        if share > 0.0:
            found = j
            chance -= share
            if chance < 0.0:
                break
    return found
