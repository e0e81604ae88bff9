"""From the relief to ties: what a label in one cell tells of the others, as chances and not as logits.

One set of scales is enough to say where to look. Of hundreds of terms that cells have in common, a few dozen directions
carry nearly all; what is left counts as each cell's own.
"""

import numpy as np
from jaxtyping import Float

from fewlabels.surfaces.relief import PerArm, Relief
from fewlabels.ties import LEAST, Ties

FACTORS = 40
EDGE = 1e-9


def tie(relief: Relief, strange: PerArm) -> Ties:
    """Tie cells together as the likeliest scales do; `strange` is variance of each cell's own that these do not know of."""
    part = max(relief.slices, key=lambda one: one.weight)
    steep = relief.mean * (1 - relief.mean)
    shared, rest = _condense((steep[:, None] * part.lean).astype(np.float32) @ part.root.astype(np.float32))
    own = (steep * part.own) ** 2 + rest
    known = np.einsum("cf,cf->c", shared, shared) + own
    return Ties(shared, own, strange, np.maximum(steep - known, LEAST * steep + EDGE))


def _condense(shared: Float[np.ndarray, "cell term"]) -> tuple[Float[np.ndarray, "cell factor"], PerArm]:
    """Keep the directions that carry most, and say how much variance is left of each cell."""
    if shared.shape[1] <= FACTORS:
        return shared.astype(np.float64), np.zeros(len(shared))
    _, turn = np.linalg.eigh((shared.T @ shared).astype(np.float64))
    kept = (shared @ turn[:, -FACTORS:].astype(np.float32)).astype(np.float64)
    left = np.einsum("ct,ct->c", shared, shared) - np.einsum("cf,cf->c", kept, kept)
    return kept, np.maximum(left.astype(np.float64), 0.0)
