"""What was learned about the scores, for people."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import expit, ndtri

from fewlabels.latent import Fit
from fewlabels.trust.layout import Layout, bend, to_logit


@dataclass(frozen=True)
class Trust:
    """What was learned about the scores: the curve, and how far groups depart from it."""

    fit: Fit
    layout: Layout

    @property
    def scale(self) -> float:
        """σ: how far groups depart from the curve, in logits."""
        return float(np.exp(self.fit.mode[-1]))

    def curve(self, scores: Float[np.ndarray, " score"], level: float = 0.95) -> dict[str, Any]:
        """Chance of being right at these scores, in a group like the pool, with its band."""
        design = bend(to_logit(scores), self.layout.knots)
        k = design.shape[1]
        middle = design @ self.fit.mode[:k]
        spread = np.sqrt(np.einsum("st,tu,su->s", design, self.fit.covariance[:k, :k], design))
        reach = ndtri((1 + level) / 2) * spread
        return {"score": scores, "mean": expit(middle), "low": expit(middle - reach), "high": expit(middle + reach)}
