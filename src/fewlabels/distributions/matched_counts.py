"""Draws of counts with a given mean and variance: binomial where the variance is smaller, negative binomial where larger."""

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.quantiles import Array
from fewlabels.distributions.randomness import Rng

NEARLY_POISSON = 1e-3  # |variance / mean − 1| below which counts are Poisson
TINY = 1e-300


def draw_matched_counts(
    rng: Rng, mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]
) -> Int[np.ndarray, "*shape"]:
    """Draw counts matched to this mean and variance; whole ones may vary a little more.

    >>> drawn = draw_matched_counts(np.random.default_rng(0), np.full(100_000, 3.0), np.full(100_000, 1.2))
    >>> round(float(drawn.mean()), 1), round(float(drawn.var()), 1), int(drawn.max())
    (3.0, 1.2, 5)
    """
    ratio = variance / np.maximum(mean, TINY)
    out = np.empty(mean.shape, dtype=np.int64)
    small, large = ratio < 1 - NEARLY_POISSON, ratio > 1 + NEARLY_POISSON
    poisson = ~(small | large)
    out[small] = _draw_binomial(rng, mean[small], 1 - ratio[small])
    excess = ratio[large] - 1
    out[large] = rng.poisson(excess * rng.standard_gamma(mean[large] / excess))
    out[poisson] = rng.poisson(mean[poisson])
    return out


def _draw_binomial(
    rng: Rng, mean: Float[np.ndarray, " count"], chance: Float[np.ndarray, " count"]
) -> Int[np.ndarray, " count"]:
    """Draw binomial matched counts; n is one of the integers around mean / chance, so that mean and variance are kept.

    Where the lower integer is below the mean, only the higher one is possible, and the variance is larger.
    """
    n = mean / np.maximum(chance, TINY)
    low = np.floor(n)
    high_share = np.where(
        low < np.maximum(mean, 1), 1.0, (1 / np.maximum(low, 1) - 1 / np.maximum(n, TINY)) * low * (low + 1)
    )
    trials = low + (rng.random(n.shape) < high_share)
    return rng.binomial(trials.astype(np.int64), np.minimum(mean / np.maximum(trials, 1), 1.0))


def draw_matched_masses(rng: Rng, mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"]) -> Array:
    """Draw positive masses, like counts, matched to this mean and variance: Gamma; the mean where the variance is 0."""
    is_open = (variance > TINY) & (mean > TINY)
    ratio = np.where(is_open, variance / np.maximum(mean, TINY), 1.0)
    drawn = ratio * rng.standard_gamma(np.where(is_open, mean / ratio, 1.0))
    return np.where(is_open, drawn, mean)
