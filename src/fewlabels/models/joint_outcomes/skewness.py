"""The mean of a posterior whose normal approximation is centred at its mode, corrected for skewness.

Where one outcome is rare, the posterior of its logit is skewed, and a normal approximation around the mode takes the
outcome to be more frequent than the labels say: by about half a label. To first order, the mean is the mode minus half the
covariance times the gradient of the log determinant of the negative Hessian (Tierney and Kadane 1986).
"""

import numpy as np
from jaxtyping import Float

MAX_SHIFT = 1.0  # standard deviations; the first order is no guide beyond
Chances = Float[np.ndarray, "row candidate"]


def differentiate_variance(
    chance: Chances, variance: Float[np.ndarray, "row candidate candidate"], n: Float[np.ndarray, " row"]
) -> Chances:
    """Differentiate, for the skewness, the variance of the outcome's height n times, by every candidate's height.

    `variance` is the posterior covariance of the heights of a row's candidates; the height of "none" is 0.
    """
    own = np.einsum("rcc->rc", variance)
    shared = (variance @ chance[:, :, None])[:, :, 0]
    mean, whole = (chance * own).sum(axis=1, keepdims=True), (chance * shared).sum(axis=1, keepdims=True)
    return n[:, None] * chance * (own - mean - 2 * (shared - whole))


def limit_skewness_shift(
    shift: Float[np.ndarray, " term"], precision: Float[np.ndarray, "term term"]
) -> Float[np.ndarray, " term"]:
    """Scale a correction for skewness down to the largest one that is trusted."""
    size = float(np.sqrt(max(shift @ precision @ shift, 0.0)))
    return shift * min(1.0, MAX_SHIFT / max(size, 1e-12))
