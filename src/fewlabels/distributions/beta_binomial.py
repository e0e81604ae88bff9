"""Credible intervals of a beta-binomial count: how many of n further outcomes will be right.

A count is discrete, so its equal-tailed interval covers more than the level (for a dozen items, 98 % instead of 95 %).
The interval is therefore trimmed, end by end, as long as it still covers the level.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaln

from fewlabels.distributions.quantiles import TINY, Array, beta_quantile

EXACT_UP_TO = 20_000  # largest n whose probabilities are enumerated
BLOCK = 2_000_000  # array elements held at a time
TIE_TOLERANCE = 1e-9  # relative difference up to which two probabilities count as equal
Interval = tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]


def count_interval(
    n: Int[np.ndarray, "*shape"],
    alpha: Float[np.ndarray, "*shape"],
    beta: Float[np.ndarray, "*shape"],
    level: float,
    residual_variance: Float[np.ndarray, "*shape"] | None = None,
) -> Interval:
    """Return the beta-binomial interval of the number right among n, element by element, for exchangeable items.

    The residual variance is the share of an outcome's variance that remains given the item's own probability (1 for
    exchangeable items).

    >>> low, high = count_interval(np.array([12]), np.array([40.0]), np.array([10.0]), 0.95)
    >>> int(low[0]), int(high[0])
    (7, 12)
    """
    size, a, b = n.reshape(-1), alpha.reshape(-1), beta.reshape(-1)
    left = np.ones(len(size)) if residual_variance is None else residual_variance.reshape(-1)
    low, high = np.empty(len(size)), np.empty(len(size))
    rough = (size > EXACT_UP_TO) | (left < 1)
    low[rough], high[rough] = (
        _matched_beta_quantile(size[rough].astype(np.float64), a[rough], b[rough], tail, left[rough])
        for tail in ((1 - level) / 2, (1 + level) / 2)
    )
    for m in np.unique(size[~rough]).tolist():
        (same,) = np.nonzero((size == m) & ~rough)
        for part in np.array_split(same, -(-len(same) * (m + 1) // BLOCK)):
            low[part], high[part] = _trim_tails(beta_binomial_probabilities(m, a[part], b[part]), level)
    return low.reshape(n.shape), high.reshape(n.shape)


def beta_binomial_probabilities(
    n: int, alpha: Float[np.ndarray, " row"], beta: Float[np.ndarray, " row"]
) -> Float[np.ndarray, "row count"]:
    """Beta-binomial probabilities of 0 … n; a point mass where alpha or beta is zero."""
    k = np.arange(n + 1)
    a, b = np.maximum(alpha, TINY)[:, None], np.maximum(beta, TINY)[:, None]
    p = np.exp(betaln(k + a, n - k + b) - betaln(a, b) - betaln(n - k + 1, k + 1) - np.log(n + 1))
    p[alpha <= 0], p[beta <= 0] = k == 0, k == n
    return p / p.sum(axis=1, keepdims=True)


def _trim_tails(p: Float[np.ndarray, "row count"], level: float) -> Interval:
    """Trim a beta-binomial's equal tails: drop the less probable end while the level is covered; ties together."""
    row, last, reached = np.arange(len(p)), p.shape[1] - 1, np.cumsum(p, axis=1)
    low, high = (
        (reached < tail * (1 - TINY)).sum(axis=1).clip(max=last) for tail in ((1 - level) / 2, (1 + level) / 2)
    )
    spare = reached[row, high] - reached[row, low] + p[row, low] - level + TINY
    while True:
        first, final = p[row, low], p[row, high]
        same = np.abs(first - final) <= TIE_TOLERANCE * np.maximum(first, final)
        price = np.where(same, first + final, np.minimum(first, final))
        drop = (price <= spare) & (low < high)
        if not drop.any():
            return low.astype(np.float64), high.astype(np.float64)
        spare = np.where(drop, spare - price, spare)
        low, high = low + (drop & (same | (first < final))), high - (drop & (same | (final < first)))


def _matched_beta_quantile(n: Array, alpha: Array, beta: Array, q: float, residual_variance: Array) -> Array:
    """Approximate a beta-binomial by the Beta of the same mean and variance; for large n the error is about one count."""
    total = alpha + beta
    mean = alpha / total
    strength = np.maximum(n / (residual_variance + (n - 1) / (total + 1)) - 1, TINY)
    return np.round(n * beta_quantile(mean * strength, (1 - mean) * strength, q))
