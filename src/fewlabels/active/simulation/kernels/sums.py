"""Several Beta posteriors per group, and a gain summed over them: a calibration error over score bins, or variances.

The gain of a cell is base + slope · θ + bend · |θ − score|.
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
        ("scale", "f8"),  # weight of a variance
        ("base", "f8"),
        ("slope", "f8"),
        ("bend", "f8"),
        ("score", "f8"),
        ("reach", "f8"),  # largest gain of this and the later cells of its group
    ]
)


class Sums(NamedTuple):
    """Posterior and gains of one run; cells are sorted by group, then by decreasing weight."""

    cells: Records
    start: Ints  # first cell of each group
    cell: Ints  # of each item
    right: Floats  # per item
    climbs: Climbs  # for pruning, with many groups whose gains are not variances
    shrinking: bool  # are the gains variances?


@implements(prepare, Sums)
def prepare_sum(state: Sums, group: int) -> None:
    """Initialize all cells of a group."""
    if state.shrinking:
        for i in range(state.start[group], state.start[group + 1]):
            set_line(state, i)
    set_reach(state, group)


@implements(observe, Sums)
def observe_sum(state: Sums, item: int, group: int) -> None:
    """Update the posterior of a cell with an outcome."""
    cell = state.cells[state.cell[item]]
    cell.alpha += state.right[item]
    cell.beta += 1.0 - state.right[item]
    if state.shrinking:
        prepare(state, group)


@inner
def set_line(state: Sums, i: int) -> None:
    """Set the gain to the variance minus its expectation after a label."""
    cell = state.cells[i]
    total = cell.alpha + cell.beta
    later = (total + 1.0) ** 2 * (total + 2.0)
    now = cell.alpha * cell.beta / (total**2 * (total + 1.0))
    cell.base = cell.scale * (now - cell.alpha * (cell.beta + 1.0) / later)
    cell.slope = cell.scale * (cell.alpha - cell.beta) / later


@inner
def set_reach(state: Sums, group: int) -> None:
    """Sum the upper bounds of the cells' gains, from the last cell to the first."""
    reach = 0.0
    for i in range(state.start[group + 1] - 1, state.start[group] - 1, -1):
        cell = state.cells[i]
        low = cell.base + cell.bend * cell.score
        high = cell.base + cell.slope + cell.bend * (1.0 - cell.score)
        reach += max(low, high, cell.base + cell.slope * cell.score)
        cell.reach = reach


@implements(is_linked, Sums)
def is_sum_linked(state: Sums) -> bool:  # noqa: ARG001
    """Gains of groups are independent."""
    return False


@implements(is_redrawn, Sums)
def is_sum_redrawn(state: Sums) -> bool:  # noqa: ARG001
    """Quantiles of sums have no closed form."""
    return True


@implements(plug_in_gain, Sums)
def plug_in_sum(state: Sums, group: int) -> float:
    """Gain at the posterior means."""
    gain = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        mean = cell.alpha / (cell.alpha + cell.beta)
        gain += cell.base + cell.slope * mean + cell.bend * abs(mean - cell.score)
    return gain


@implements(standing, Sums)
def stand_sum(state: Sums, group: int) -> float:
    """Gain at the posterior mean, so that likely winners come first."""
    if climbs_are_known(state):
        follow_belief(state.climbs, state.cells, group)
    return plug_in_gain(state, group)


@pasted
def climbs_are_known(state: Sums) -> bool:
    """Is pruning used?"""
    return len(state.climbs.steps) > 0


@implements(draw_gain, Sums)
def draw_sum(rng: Rng, state: Sums, group: int, floor: float) -> float:
    """Gain at a draw; minus infinity as soon as the remaining cells cannot reach the floor."""
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
    """Draw every open group; with pruning, only those that can reach the floor."""
    if climbs_are_known(state):
        draw_climbers(rng, state.climbs, deck.order[: deck.n_ranked[0]], top)
    else:
        draw_every(rng, state, deck, top)


@implements(upper_gain, Sums)
def upper_sum(rng: Rng, state: Sums, group: int, level: float) -> float:
    """Quantile of the gain, from draws."""
    if climbs_are_known(state):
        follow_belief(state.climbs, state.cells, group)
    return draw_quantile(rng, state, group, level)


@implements(deviation, Sums)
def deviate_sum(state: Sums, group: int) -> float:
    """Standard deviation of a Bernoulli outcome: variances averaged over the cells of the group."""
    variance = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        variance += cell.weight * cell.alpha * cell.beta / (cell.alpha + cell.beta) ** 2
    return math.sqrt(variance)
