"""Importance sampling around a mode, for posteriors that are far from normal.

Draws of a multivariate t around the mode are weighted by the ratio of posterior to proposal density.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

DEGREES_OF_FREEDOM = 4.0  # degrees of freedom of the proposal: heavier tails than most posteriors
N_POINTS, SEED = 192, 18
NEGLIGIBLE = 1e-4  # weight, relative to the largest, up to which a point is dropped
Points = Float[np.ndarray, "point parameter"]
Weights = Float[np.ndarray, " point"]


def draw_points(mode: Float[np.ndarray, " parameter"], covariance: Float[np.ndarray, "parameter parameter"]) -> Points:
    """Draw antithetic pairs of points around the mode, with a fixed seed."""
    rng, root = np.random.default_rng(SEED), np.linalg.cholesky(covariance)
    normal = rng.standard_normal((N_POINTS // 2, len(mode))) / np.sqrt(
        rng.chisquare(DEGREES_OF_FREEDOM, (N_POINTS // 2, 1)) / DEGREES_OF_FREEDOM
    )
    return mode + np.concatenate([normal, -normal]) @ root.T


def importance_weights(
    points: Points,
    mode: Float[np.ndarray, " parameter"],
    covariance: Float[np.ndarray, "parameter parameter"],
    log_density: Weights,
) -> Weights:
    """Return normalised importance weights; negligible ones are set to zero."""
    away = points - mode
    square = np.einsum("pi,pi->p", away, np.linalg.solve(covariance, away.T).T)
    proposed = -(DEGREES_OF_FREEDOM + len(mode)) / 2 * np.log1p(square / DEGREES_OF_FREEDOM)
    weight = softmax(log_density - proposed)
    weight[weight <= NEGLIGIBLE * weight.max()] = 0.0
    return weight / weight.sum()


def effective_sample_size(weight: Weights) -> float:
    """Kish's effective sample size."""
    return float(weight.sum() ** 2 / (weight**2).sum())
