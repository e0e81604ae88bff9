"""Importance sampling around a mode, for posteriors that a normal does not describe.

Draws of a multivariate t around the mode are weighted by the posterior's density over their own. The points with their
weights then stand for the posterior itself.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

FREEDOM = 4.0  # of the t that points are drawn from: heavier tails than most posteriors have
N_POINTS, SEED = 192, 18
NEGLIGIBLE = 1e-4  # weight of a point that is left out, of the greatest
Points = Float[np.ndarray, "point parameter"]
Weights = Float[np.ndarray, " point"]


def spread_points(
    mode: Float[np.ndarray, " parameter"], covariance: Float[np.ndarray, "parameter parameter"]
) -> Points:
    """Draw points in pairs on either side of the mode, always the same for the same mode and covariance."""
    rng, root = np.random.default_rng(SEED), np.linalg.cholesky(covariance)
    normal = rng.standard_normal((N_POINTS // 2, len(mode))) / np.sqrt(
        rng.chisquare(FREEDOM, (N_POINTS // 2, 1)) / FREEDOM
    )
    return mode + np.concatenate([normal, -normal]) @ root.T


def weigh_points(
    points: Points,
    mode: Float[np.ndarray, " parameter"],
    covariance: Float[np.ndarray, "parameter parameter"],
    log_density: Weights,
) -> Weights:
    """Weigh points by the posterior's density over that of the t; those that weigh next to nothing get no weight."""
    away = points - mode
    square = np.einsum("pi,pi->p", away, np.linalg.solve(covariance, away.T).T)
    proposed = -(FREEDOM + len(mode)) / 2 * np.log1p(square / FREEDOM)
    weight = softmax(log_density - proposed)
    weight[weight <= NEGLIGIBLE * weight.max()] = 0.0
    return weight / weight.sum()


def count_effective(weight: Weights) -> float:
    """Kish's effective number of points."""
    return float(weight.sum() ** 2 / (weight**2).sum())
