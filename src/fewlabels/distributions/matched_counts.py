"""Draws of counts with a given mean and variance: binomial where the variance is smaller, negative binomial where larger."""

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.belief import Array, Rng

NEARLY_POISSON = 1e-3  # |variance / mean − 1| below which counts are Poisson
TINY = 1e-300


def draw_counts(
    rng: Rng, mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]
) -> Int[np.ndarray, "*shape"]:
    """Draw counts with this mean and variance; where the binomial's n is not an integer, it is rounded at random.

    >>> drawn = draw_counts(np.random.default_rng(0), np.full(100_000, 3.0), np.full(100_000, 1.2))
    >>> round(float(drawn.mean()), 1), round(float(drawn.var()), 1), int(drawn.max())
    (3.0, 1.2, 5)
    """
    ratio = variance / np.maximum(mean, TINY)
    out = np.empty(mean.shape, dtype=np.int64)
    small, large = ratio < 1 - NEARLY_POISSON, ratio > 1 + NEARLY_POISSON
    poisson = ~(small | large)
    chance = 1 - ratio[small]
    out[small] = rng.binomial(
        np.floor(mean[small] / chance + rng.random(chance.shape) * (1 - 1e-9)).astype(np.int64), chance
    )
    excess = ratio[large] - 1
    out[large] = rng.poisson(excess * rng.standard_gamma(mean[large] / excess))
    out[poisson] = rng.poisson(mean[poisson])
    return out


def draw_masses(rng: Rng, mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]) -> Array:
    """Draw positive masses with this mean and variance: Gamma; the mean itself where the variance is 0."""
    is_open = (variance > TINY) & (mean > TINY)
    ratio = np.where(is_open, variance / np.maximum(mean, TINY), 1.0)
    drawn = ratio * rng.standard_gamma(np.where(is_open, mean / ratio, 1.0))
    return np.where(is_open, drawn, mean)
