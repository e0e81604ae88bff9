"""Several Betas per group, and a gain that adds up over them: a calibration error over score bins, or variances.

Each cell adds base + slope · θ + bend · |θ − score|.
"""

import math
from typing import NamedTuple

import numpy as np

from fewlabels.active.simulation.kernels.interface import (
    deviation,
    draw_every,
    draw_gain,
    draw_quantile,
    draw_top,
    is_linked,
    is_redrawn,
    observe,
    plug_in_gain,
    prepare,
    standing,
    upper_gain,
)
from fewlabels.active.simulation.kernels.jit import implements, inner, pasted
from fewlabels.active.simulation.kernels.pruning import Climbs, climb, draw_climbers, follow_belief
from fewlabels.active.simulation.kernels.queue import Deck, Floats, Ints, Records
from fewlabels.active.simulation.kernels.top import Top
from fewlabels.active.simulation.kernels.variates import draw_beta
from fewlabels.distributions.belief import Rng

BIN = np.dtype(
    [
        ("alpha", "f8"),
        ("beta", "f8"),
        ("weight", "f8"),  # within its group
        ("scale", "f8"),  # what a variance is worth
        ("base", "f8"),
        ("slope", "f8"),
        ("bend", "f8"),
        ("score", "f8"),
        ("reach", "f8"),  # most that this cell and the later ones of its group can add
    ]
)


class Sums(NamedTuple):
    """Belief and gains of one run; cells stand group by group, the weightiest first."""

    cells: Records
    start: Ints  # of each group's cells
    cell: Ints  # of each item
    right: Floats  # per item
    climbs: Climbs  # for many groups of steady gains, how likely each is to matter
    shrinking: bool  # are the gains variances?


@implements(prepare, Sums)
def prepare_sum(state: Sums, group: int) -> None:
    """Set all cells of a group."""
    if state.shrinking:
        for i in range(state.start[group], state.start[group + 1]):
            set_line(state, i)
    set_reach(state, group)


@implements(observe, Sums)
def observe_sum(state: Sums, item: int, group: int) -> None:
    """Add an outcome to its cell."""
    cell = state.cells[state.cell[item]]
    cell.alpha += state.right[item]
    cell.beta += 1.0 - state.right[item]
    if state.shrinking:
        prepare(state, group)


@inner
def set_line(state: Sums, i: int) -> None:
    """Variance now, less its expectation after a label."""
    cell = state.cells[i]
    total = cell.alpha + cell.beta
    later = (total + 1.0) ** 2 * (total + 2.0)
    now = cell.alpha * cell.beta / (total**2 * (total + 1.0))
    cell.base = cell.scale * (now - cell.alpha * (cell.beta + 1.0) / later)
    cell.slope = cell.scale * (cell.alpha - cell.beta) / later


@inner
def set_reach(state: Sums, group: int) -> None:
    """Add up, from the last cell to the first, the most each can add."""
    reach = 0.0
    for i in range(state.start[group + 1] - 1, state.start[group] - 1, -1):
        cell = state.cells[i]
        low = cell.base + cell.bend * cell.score
        high = cell.base + cell.slope + cell.bend * (1.0 - cell.score)
        reach += max(low, high, cell.base + cell.slope * cell.score)
        cell.reach = reach


@implements(is_linked, Sums)
def is_sum_linked(state: Sums) -> bool:  # noqa: ARG001
    """Groups do not look at each other."""
    return False


@implements(is_redrawn, Sums)
def is_sum_redrawn(state: Sums) -> bool:  # noqa: ARG001
    """Quantiles of sums have no closed form."""
    return True


@implements(plug_in_gain, Sums)
def plug_in_sum(state: Sums, group: int) -> float:
    """The sum at the posterior means."""
    gain = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        mean = cell.alpha / (cell.alpha + cell.beta)
        gain += cell.base + cell.slope * mean + cell.bend * abs(mean - cell.score)
    return gain


@implements(standing, Sums)
def stand_sum(state: Sums, group: int) -> float:
    """Likely winners first: the gain at the posterior mean."""
    if climbs_are_known(state):
        follow_belief(state.climbs, state.cells, group)
    return plug_in_gain(state, group)


@pasted
def climbs_are_known(state: Sums) -> bool:
    """Is it known how high groups climb?"""
    return len(state.climbs.steps) > 0


@implements(draw_gain, Sums)
def draw_sum(rng: Rng, state: Sums, group: int, floor: float) -> float:
    """The sum at a draw, given up where the cells not yet drawn cannot bring it to the floor."""
    if climbs_are_known(state):
        return climb(rng, state.climbs, group, floor)
    gain = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        if gain + cell.reach < floor:
            return -np.inf
        chance = draw_beta(rng, cell.alpha, cell.beta)
        gain += cell.base + cell.slope * chance + cell.bend * abs(chance - cell.score)
    return gain


@implements(draw_top, Sums)
def draw_top_sums(rng: Rng, state: Sums, deck: Deck, top: Top) -> None:
    """Visit every open group; where it is known how high they climb, draw those only that climb to the floor."""
    if climbs_are_known(state):
        draw_climbers(rng, state.climbs, deck.order[: deck.n_ranked[0]], top)
    else:
        draw_every(rng, state, deck, top)


@implements(upper_gain, Sums)
def upper_sum(rng: Rng, state: Sums, group: int, level: float) -> float:
    """From draws."""
    if climbs_are_known(state):
        follow_belief(state.climbs, state.cells, group)
    return draw_quantile(rng, state, group, level)


@implements(deviation, Sums)
def deviate_sum(state: Sums, group: int) -> float:
    """Of a yes or no, variances averaged over the cells of the group."""
    variance = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        variance += cell.weight * cell.alpha * cell.beta / (cell.alpha + cell.beta) ** 2
    return math.sqrt(variance)
