"""The posterior covariance of the cells' accuracies, low rank plus diagonal: the information of a label on other cells.

Correlations come from the most probable set of scales, which is accurate enough for acquisition; variances come from
the whole mixture. A few dozen principal directions carry nearly all of the shared variance. The rest is added to the
diagonal.
"""

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.covariance import LEAST, CellCovariance
from fewlabels.models.additive.arm_posterior import ArmPosterior, PerArm

N_FACTORS = 40
EDGE = 1e-9


def build_covariance(posterior: ArmPosterior, outlier: PerArm) -> CellCovariance:
    """Return the additive model's posterior covariance of cells' accuracies, with extra variance for outliers."""
    part = max(posterior.components, key=lambda one: one.weight)
    shared, rest = _reduce_rank(part.loadings.astype(np.float32) @ part.cholesky_factor.astype(np.float32))
    own = part.own**2 + rest
    spread = np.einsum("cf,cf->c", shared, shared) + own
    variance_ratio = posterior.variance / np.maximum(spread, EDGE)  # probability scale over logit scale
    outcome = posterior.mean * (1 - posterior.mean)
    noise = np.maximum(outcome - posterior.variance, LEAST * outcome + EDGE)
    return CellCovariance(shared * np.sqrt(variance_ratio)[:, None], own * variance_ratio, outlier, noise)


def _reduce_rank(shared: Float[np.ndarray, "cell term"]) -> tuple[Float[np.ndarray, "cell factor"], PerArm]:
    """Project the covariance of cells on its principal directions; also return the variance per cell left out."""
    if shared.shape[1] <= N_FACTORS:
        return shared.astype(np.float64), np.zeros(len(shared))
    _, eigenvectors = np.linalg.eigh((shared.T @ shared).astype(np.float64))
    kept = (shared @ eigenvectors[:, -N_FACTORS:].astype(np.float32)).astype(np.float64)
    residual = np.einsum("ct,ct->c", shared, shared) - np.einsum("cf,cf->c", kept, kept)
    return kept, np.maximum(residual.astype(np.float64), 0.0)
