"""Overdispersion: cells that are score bins of a group have accuracies of their own, near what curve and group predict.

Given the predicted accuracy m, a cell's accuracy is Beta(m S, (1 − m) S). The strength S is averaged over a grid by the
evidence of the labels, so that calibration errors converge to the counts however the curve is shaped.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import betaln, softmax

from fewlabels.distributions.randomness import Rng
from fewlabels.models.logit.joint import CellAccuracies

STRENGTHS = np.array([50.0, 200.0, 1000.0, 1e5])  # the last is practically none
PRIOR_WEIGHTS = np.array([0.1, 0.2, 0.3, 0.4])
EDGE = 1e-6


@dataclass(frozen=True)
class OverdispersedAccuracies:
    """Accuracies of cells that depart a little from a model's, as their own labels say."""

    model: CellAccuracies
    right: Float[np.ndarray, " cell"]
    wrong: Float[np.ndarray, " cell"]

    @property
    def mean(self) -> Float[np.ndarray, " cell"]:
        """Expected accuracy of the overdispersed cells."""
        total = self.right + self.wrong
        return sum(
            weight * (self.model.mean * strength + self.right) / (strength + total)
            for weight, strength in zip(self.weights, STRENGTHS, strict=True)
        )

    @property
    def within_variance(self) -> Float[np.ndarray, " cell"]:
        """Variance of the probability of being right over a cell's items."""
        return self.model.within_variance

    def interval(self, level: float) -> tuple[Float[np.ndarray, " cell"], Float[np.ndarray, " cell"]]:
        """Central interval of the accuracy by the model alone, without overdispersion."""
        return self.model.interval(level)

    @cached_property
    def weights(self) -> Float[np.ndarray, " strength"]:
        """Posterior weight of each strength: beta-binomial evidence of the labels around the model's accuracies."""
        mean = np.clip(self.model.mean, EDGE, 1 - EDGE)[:, None] * STRENGTHS
        rest = STRENGTHS - mean
        evidence = betaln(mean + self.right[:, None], rest + self.wrong[:, None]) - betaln(mean, rest)
        return softmax(evidence.sum(axis=0) + np.log(PRIOR_WEIGHTS))

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws with overdispersion; cells without labels are as the model draws them."""
        drawn = self.model.draw(rng, n)
        (labelled,) = np.nonzero(self.right + self.wrong)
        strength = rng.choice(STRENGTHS, size=(n, 1), p=self.weights)
        prior = strength * np.clip(drawn[:, labelled], EDGE, 1 - EDGE)
        drawn[:, labelled] = rng.beta(prior + self.right[labelled], strength - prior + self.wrong[labelled])
        return drawn
