"""What every family of gains can do; each kind of state implements these, and rules are written over them alone."""

import math
from typing import Any

import numpy as np

from fewlabels.active.simulation.kernels.jit import generic, inner
from fewlabels.active.simulation.kernels.queue import Deck
from fewlabels.active.simulation.kernels.top import Top, clear, least, offer
from fewlabels.distributions.belief import Rng

N_DRAWS = 1000  # of a gain, for its upper quantile


@generic
def prepare(state: Any, group: int) -> None:
    """Derive what a group's gain needs from its belief, before any label."""
    raise NotImplementedError


@generic
def observe(state: Any, item: int, group: int) -> None:
    """Learn the outcome of an item."""
    raise NotImplementedError


@generic
def plug_in_gain(state: Any, group: int) -> float:
    """Gain at the posterior mean."""
    raise NotImplementedError


@generic
def upper_gain(rng: Rng, state: Any, group: int, level: float) -> float:
    """Quantile of the gain."""
    raise NotImplementedError


@generic
def draw_gain(rng: Rng, state: Any, group: int, floor: float) -> float:
    """Gain at a draw of the belief; minus infinity as soon as it is certain to stay below the floor."""
    raise NotImplementedError


@generic
def draw_top(rng: Rng, state: Any, deck: Deck, top: Top) -> None:
    """Fill `top` with the best groups of one joint draw."""
    raise NotImplementedError


@generic
def standing(state: Any, group: int) -> float:
    """Key of a group in the order `draw_top` visits groups, after preparing what it needs of the group."""
    raise NotImplementedError


@generic
def deviation(state: Any, group: int) -> float:
    """Standard deviation of an outcome within the cells of a group at the posterior mean, for Neyman's allocation."""
    raise NotImplementedError


@generic
def is_linked(state: Any) -> bool:
    """Does an outcome in one group change the gains of others?"""
    raise NotImplementedError


@generic
def is_redrawn(state: Any) -> bool:
    """Is the upper quantile of the gain from draws, and so another one at every step, labelled or not?"""
    raise NotImplementedError


@inner
def draw_every(rng: Rng, state: Any, deck: Deck, top: Top) -> None:
    """Visit all open groups, likely winners first, each only as far as it may still win."""
    clear(top)
    for i in range(deck.n_ranked[0]):
        group = deck.order[i]
        offer(rng, top, group, draw_gain(rng, state, group, least(top)))


@inner
def draw_quantile(rng: Rng, state: Any, group: int, level: float) -> float:
    """Quantile of the gain from draws, interpolated as NumPy does.

    Only the greatest draws are kept, smallest first; the others need not even be finished.
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
