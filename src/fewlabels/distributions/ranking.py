"""Ranks of groups within each draw."""

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.randomness import Rng


def rank_groups(
    rng: Rng, draws: Float[np.ndarray, "draw group"], *, lowest_is_best: bool
) -> Int[np.ndarray, "draw group"]:
    """Rank the groups within each draw, 1 for the best; ties are broken at random."""
    jitter = 1e-10 * max(float(np.abs(draws).max()), 1e-300)
    order = np.argsort((draws if lowest_is_best else -draws) + jitter * rng.random(draws.shape), axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, draws.shape[1] + 1)[None], axis=1)
    return ranks
