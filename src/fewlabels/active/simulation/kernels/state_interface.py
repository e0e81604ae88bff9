"""Interface of states: functions that each kind of state implements, and that rules are written against."""

import math
from typing import Any

import numpy as np

from fewlabels.active.simulation.kernels.item_queue import ItemQueue
from fewlabels.active.simulation.kernels.jit import compiled, generic
from fewlabels.active.simulation.kernels.top_groups import TopGroups, clear_top, entry_threshold, insert_if_top
from fewlabels.distributions.randomness import Rng

N_DRAWS = 1000  # for the upper quantile of a gain


@generic
def prepare(state: Any, group: int) -> None:
    """Interface of states: initialize the gain of a group from its posterior, before any label."""
    raise NotImplementedError


@generic
def observe(state: Any, item: int, group: int) -> None:
    """Interface of states: update the posterior with the outcome of an item."""
    raise NotImplementedError


@generic
def plug_in_gain(state: Any, group: int) -> float:
    """Interface of states: gain at the posterior mean."""
    raise NotImplementedError


@generic
def upper_gain(rng: Rng, state: Any, group: int, level: float) -> float:
    """Interface of states: quantile of the gain."""
    raise NotImplementedError


@generic
def draw_gain(rng: Rng, state: Any, group: int, floor: float) -> float:
    """Interface of states: gain at a draw; minus infinity as soon as it is certain to stay below the floor."""
    raise NotImplementedError


@generic
def draw_top(rng: Rng, state: Any, item_queue: ItemQueue, top: TopGroups) -> None:
    """Interface of states: fill `top` with the best groups of one joint draw."""
    raise NotImplementedError


@generic
def ranking_key(state: Any, group: int) -> float:
    """Interface of states: sort key of a group in the order in which `draw_top` visits groups.

    Also updates what `draw_top` needs.
    """
    raise NotImplementedError


@generic
def standard_deviation(state: Any, group: int) -> float:
    """Interface of states: standard deviation of an outcome within a group's cells, for Neyman's allocation."""
    raise NotImplementedError


@generic
def is_linked(state: Any) -> bool:
    """Interface of states: does an outcome in one group change the gains of others?"""
    raise NotImplementedError


@generic
def is_quantile_sampled(state: Any) -> bool:
    """Interface of states: is the upper quantile of the gain estimated from draws?

    If so, it changes at every step, for every group.
    """
    raise NotImplementedError


@compiled
def draw_all_groups(rng: Rng, state: Any, item_queue: ItemQueue, top: TopGroups) -> None:
    """Draw all open groups by any state's interface, likely winners first.

    A draw is abandoned once it cannot be among the best.
    """
    clear_top(top)
    for i in range(item_queue.n_ranked[0]):
        group = item_queue.order[i]
        insert_if_top(rng, top, group, draw_gain(rng, state, group, entry_threshold(top)))


@compiled
def draw_quantile(rng: Rng, state: Any, group: int, level: float) -> float:
    """Quantile of the gain from draws by any state's interface, interpolated as NumPy does.

    Only the largest draws are kept, in increasing order; the others are abandoned early.
    """
    at = level * (N_DRAWS - 1)
    below = math.floor(at)
    kept = np.full(N_DRAWS - below, -np.inf)
    for _ in range(N_DRAWS):
        gain = draw_gain(rng, state, group, kept[0])
        if gain > kept[0]:
            i = 1
            while i < len(kept) and kept[i] < gain:
                kept[i - 1] = kept[i]
                i += 1
            kept[i - 1] = gain
    return kept[0] if len(kept) == 1 else kept[0] + (at - below) * (kept[1] - kept[0])
