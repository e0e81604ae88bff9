"""Several Beta posteriors per group, and a gain summed over them: a calibration error over score bins, or variances.

The gain of a cell is base + slope · θ + kink · |θ − score|.
"""

import math
from typing import NamedTuple

import numpy as np

from fewlabels.active.simulation.kernels.item_queue import Floats, Ints, ItemQueue, Records
from fewlabels.active.simulation.kernels.jit import compiled, force_inlined, implements
from fewlabels.active.simulation.kernels.pruning import (
    PruningTable,
    draw_pruned_gain,
    draw_top_pruned,
    update_pruning_table,
)
from fewlabels.active.simulation.kernels.random_variates import draw_beta
from fewlabels.active.simulation.kernels.state_interface import (
    draw_all_groups,
    draw_gain,
    draw_quantile,
    draw_top,
    is_linked,
    is_quantile_sampled,
    observe,
    plug_in_gain,
    prepare,
    ranking_key,
    standard_deviation,
    upper_gain,
)
from fewlabels.active.simulation.kernels.top_groups import TopGroups
from fewlabels.active.simulation.kernels.variance_gain import set_variance_gain
from fewlabels.distributions.randomness import Rng

BETA_CELL = np.dtype(
    [
        ("alpha", "f8"),
        ("beta", "f8"),
        ("weight", "f8"),  # within its group
        ("scale", "f8"),  # weight of a variance
        ("base", "f8"),
        ("slope", "f8"),
        ("kink", "f8"),
        ("score", "f8"),
        ("bound", "f8"),  # largest gain of this and the later cells of its group
    ]
)


class BetaSumState(NamedTuple):
    """Posterior and gains of one run; cells are sorted by group, then by decreasing weight."""

    cells: Records
    start: Ints  # first cell of each group
    cell: Ints  # of each item
    right: Floats  # per item
    pruning_table: PruningTable  # for pruning, with many groups whose gains are not variances
    is_variance: bool  # are the gains variances?


@implements(prepare, BetaSumState)
def prepare_beta_sum(state: BetaSumState, group: int) -> None:
    """Initialize all cells of a group whose gain is a sum over Betas."""
    if state.is_variance:
        for i in range(state.start[group], state.start[group + 1]):
            set_variance_gain(state.cells[i])
    set_beta_sum_bounds(state, group)


@implements(observe, BetaSumState)
def observe_beta_sum(state: BetaSumState, item: int, group: int) -> None:
    """Update the Beta posterior of one of the group's cells with an outcome."""
    cell = state.cells[state.cell[item]]
    cell.alpha += state.right[item]
    cell.beta += 1.0 - state.right[item]
    if state.is_variance:
        prepare(state, group)


@compiled
def set_beta_sum_bounds(state: BetaSumState, group: int) -> None:
    """Sum the upper bounds of the gains of a group's Betas, from the last cell to the first."""
    bound = 0.0
    for i in range(state.start[group + 1] - 1, state.start[group] - 1, -1):
        cell = state.cells[i]
        low = cell.base + cell.kink * cell.score
        high = cell.base + cell.slope + cell.kink * (1.0 - cell.score)
        bound += max(low, high, cell.base + cell.slope * cell.score)
        cell.bound = bound


@implements(is_linked, BetaSumState)
def is_beta_sum_linked(state: BetaSumState) -> bool:  # noqa: ARG001
    """Are the gains of groups linked in a state of sums over Betas? No: they are independent."""
    return False


@implements(is_quantile_sampled, BetaSumState)
def is_beta_sum_quantile_sampled(state: BetaSumState) -> bool:  # noqa: ARG001
    """Does a state of sums over Betas draw its quantiles? Yes: sums have no closed form."""
    return True


@implements(plug_in_gain, BetaSumState)
def plug_in_beta_sum(state: BetaSumState, group: int) -> float:
    """Gain at the posterior means, summed over the Betas of the group's cells."""
    gain = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        mean = cell.alpha / (cell.alpha + cell.beta)
        gain += cell.base + cell.slope * mean + cell.kink * abs(mean - cell.score)
    return gain


@implements(ranking_key, BetaSumState)
def beta_sum_ranking_key(state: BetaSumState, group: int) -> float:
    """Gain, a sum over Betas, at the posterior mean, so that likely winners come first."""
    if has_pruning_table(state):
        update_pruning_table(state.pruning_table, state.cells, group)
    return plug_in_gain(state, group)


@force_inlined
def has_pruning_table(state: BetaSumState) -> bool:
    """Is pruning used for these sums of Betas?"""
    return len(state.pruning_table.pruning_cells) > 0


@implements(draw_gain, BetaSumState)
def draw_beta_sum_gain(rng: Rng, state: BetaSumState, group: int, floor: float) -> float:
    """Sum of gains at a draw of Betas; minus infinity as soon as the remaining cells cannot reach the floor."""
    if has_pruning_table(state):
        return draw_pruned_gain(rng, state.pruning_table, group, floor)
    gain = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        if gain + cell.bound < floor:
            return -np.inf
        chance = draw_beta(rng, cell.alpha, cell.beta)
        gain += cell.base + cell.slope * chance + cell.kink * abs(chance - cell.score)
    return gain


@implements(draw_top, BetaSumState)
def draw_top_beta_sums(rng: Rng, state: BetaSumState, item_queue: ItemQueue, top: TopGroups) -> None:
    """Draw the sums of Betas of every open group; with pruning, only of those that can reach the floor."""
    if has_pruning_table(state):
        draw_top_pruned(rng, state.pruning_table, item_queue.order[: item_queue.n_ranked[0]], top)
    else:
        draw_all_groups(rng, state, item_queue, top)


@implements(upper_gain, BetaSumState)
def upper_beta_sum(rng: Rng, state: BetaSumState, group: int, level: float) -> float:
    """Quantile of a gain that is a sum over Betas, from draws."""
    if has_pruning_table(state):
        update_pruning_table(state.pruning_table, state.cells, group)
    return draw_quantile(rng, state, group, level)


@implements(standard_deviation, BetaSumState)
def beta_sum_standard_deviation(state: BetaSumState, group: int) -> float:
    """Standard deviation of a Bernoulli outcome: variances averaged over the Betas of the group's cells."""
    variance = 0.0
    for i in range(state.start[group], state.start[group + 1]):
        cell = state.cells[i]
        variance += cell.weight * cell.alpha * cell.beta / (cell.alpha + cell.beta) ** 2
    return math.sqrt(variance)
