"""Quantiles and intervals of Beta distributions."""

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv

Array = Float[np.ndarray, "..."]
TINY = 1e-12


def beta_interval(alpha: Array, beta: Array, level: float) -> tuple[Array, Array]:
    """Return the equal-tailed interval of a Beta, from its quantiles."""
    return beta_quantile(alpha, beta, (1 - level) / 2), beta_quantile(alpha, beta, (1 + level) / 2)


def beta_quantile(alpha: Array, beta: Array, q: float) -> Array:
    """Return the quantile of a Beta distribution, with SciPy's precision; 0 or 1 where a parameter is zero."""
    inner = betaincinv(np.where(alpha > 0, alpha, 1.0), np.where(beta > 0, beta, 1.0), q)
    return np.where(alpha <= 0, 0.0, np.where(beta <= 0, 1.0, inner))
