"""The posterior covariance of the cells' accuracies, low rank plus diagonal: the information of a label on other cells.

Correlations come from the most probable set of scales, which is accurate enough for acquisition; variances come from
the whole mixture. A few dozen principal directions carry nearly all of the shared variance. The rest is added to the
diagonal.
"""

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.covariance import LEAST, Ties
from fewlabels.models.additive.arm_posterior import PerArm, Relief

FACTORS = 40
EDGE = 1e-9


def tie(relief: Relief, strange: PerArm) -> Ties:
    """Return the covariance of cells on the probability scale, with an extra variance per cell for outliers."""
    part = max(relief.slices, key=lambda one: one.weight)
    shared, rest = _condense(part.lean.astype(np.float32) @ part.root.astype(np.float32))
    own = part.own**2 + rest
    spread = np.einsum("cf,cf->c", shared, shared) + own
    steep = relief.variance / np.maximum(spread, EDGE)  # probability scale over logit scale
    outcome = relief.mean * (1 - relief.mean)
    noise = np.maximum(outcome - relief.variance, LEAST * outcome + EDGE)
    return Ties(shared * np.sqrt(steep)[:, None], own * steep, strange, noise)


def _condense(shared: Float[np.ndarray, "cell term"]) -> tuple[Float[np.ndarray, "cell factor"], PerArm]:
    """Project on the principal directions; also return the variance per cell that they leave out."""
    if shared.shape[1] <= FACTORS:
        return shared.astype(np.float64), np.zeros(len(shared))
    _, turn = np.linalg.eigh((shared.T @ shared).astype(np.float64))
    kept = (shared @ turn[:, -FACTORS:].astype(np.float32)).astype(np.float64)
    left = np.einsum("ct,ct->c", shared, shared) - np.einsum("cf,cf->c", kept, kept)
    return kept, np.maximum(left.astype(np.float64), 0.0)
