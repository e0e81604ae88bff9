"""From the relief to ties: what a label in one cell tells of the others, as chances and not as logits.

How cells vary together is taken from one set of scales, which is enough to say where to look, and how far each varies from
all. Of hundreds of terms that cells have in common, a few dozen directions carry nearly all; what is left counts as each
cell's own.
"""

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.covariance import LEAST, Ties
from fewlabels.models.additive.arm_posterior import PerArm, Relief

FACTORS = 40
EDGE = 1e-9


def tie(relief: Relief, strange: PerArm) -> Ties:
    """Tie cells together; `strange` is variance of each cell's own that the relief does not know of."""
    part = max(relief.slices, key=lambda one: one.weight)
    shared, rest = _condense(part.lean.astype(np.float32) @ part.root.astype(np.float32))
    own = part.own**2 + rest
    spread = np.einsum("cf,cf->c", shared, shared) + own
    steep = relief.variance / np.maximum(spread, EDGE)  # variance of a chance, by that of its logit
    outcome = relief.mean * (1 - relief.mean)
    noise = np.maximum(outcome - relief.variance, LEAST * outcome + EDGE)
    return Ties(shared * np.sqrt(steep)[:, None], own * steep, strange, noise)


def _condense(shared: Float[np.ndarray, "cell term"]) -> tuple[Float[np.ndarray, "cell factor"], PerArm]:
    """Keep the directions that carry most, and say how much variance is left of each cell."""
    if shared.shape[1] <= FACTORS:
        return shared.astype(np.float64), np.zeros(len(shared))
    _, turn = np.linalg.eigh((shared.T @ shared).astype(np.float64))
    kept = (shared @ turn[:, -FACTORS:].astype(np.float32)).astype(np.float64)
    left = np.einsum("ct,ct->c", shared, shared) - np.einsum("cf,cf->c", kept, kept)
    return kept, np.maximum(left.astype(np.float64), 0.0)
