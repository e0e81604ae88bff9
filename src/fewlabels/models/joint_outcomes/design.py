"""Terms of the conditional logit, their prior, and the features of every candidate class of a stratum.

Where the models differ, the logit of a candidate against "none is right" is the sum, over the models that predict it, of a
level and a slope in the logit of the score, divided by the square root of their number. Levels and slopes of the models
vary around common ones. Where all agree, the level and the slopes are others: what a score tells there says little about
what it tells where models differ. An effect per group and model, and one per group for unanimous items, is shared by the
strata of a group.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.joint_outcomes.strata import JointStrata

LEVEL, SLOPE = (0.0, 1.2), (0.7, 0.5)  # prior mean and sd of the common level and slope
OWN_LEVEL, OWN_SLOPE = 1.5, 0.4  # prior sd of a model's departure from them
UNANIMOUS_LEVEL, UNANIMOUS_SLOPE, OWN_UNANIMOUS_SLOPE = (0.5, 1.2), (1.0, 0.5), 0.3
SUPPORT = (1.0, 1.0)  # of the log of the number of models that predict a candidate, where not all agree


@dataclass(frozen=True)
class JointDesign:
    """The features of the strata."""

    strata: JointStrata

    @property
    def n_models(self) -> int:
        """The number of models."""
        return len(self.strata.models)

    @property
    def n_terms(self) -> int:
        """The number of terms of the joint design, without effects of groups."""
        return 3 * (1 + self.n_models) + 2

    @property
    def n_effects(self) -> int:
        """The number of effects of one group."""
        return self.n_models + 1

    @cached_property
    def weight(self) -> Float[np.ndarray, "stratum model"]:
        """One over the square root of the number of models that predict the same class; 0 where all agree."""
        strata = self.strata
        shared = 1 / np.sqrt(np.take_along_axis(strata.supporters, strata.first, axis=1))
        return np.where(strata.is_unanimous[:, None], 0.0, shared)

    @cached_property
    def log_support(self) -> Float[np.ndarray, "stratum candidate"]:
        """Log of the number of models that predict a candidate, where not all agree."""
        found = np.log(np.maximum(self.strata.supporters, 1))
        return np.where(self.strata.is_unanimous[:, None], 0.0, found)

    def prior(self, scale: float) -> tuple[Float[np.ndarray, " term"], Float[np.ndarray, " term"]]:
        """Prior mean and standard deviation of the terms, whose standard deviations are scaled."""
        m, zeros = self.n_models, np.zeros(self.n_models)
        mean = np.r_[LEVEL[0], zeros, SLOPE[0], zeros, UNANIMOUS_LEVEL[0], UNANIMOUS_SLOPE[0], zeros, SUPPORT[0]]
        own = (np.full(m, sd) for sd in (OWN_LEVEL, OWN_SLOPE, OWN_UNANIMOUS_SLOPE))
        levels, slopes, unanimous = own
        spread = np.r_[
            LEVEL[1], levels, SLOPE[1], slopes, UNANIMOUS_LEVEL[1], UNANIMOUS_SLOPE[1], unanimous, SUPPORT[1]
        ]
        return mean, scale * spread

    def features(self, rows: Int[np.ndarray, " row"]) -> Float[np.ndarray, "row candidate term"]:
        """Return the features of every candidate in these strata."""
        m, at, strata = self.n_models, np.arange(len(rows)), self.strata
        out = np.zeros((len(rows), m, self.n_terms))
        logits, scored = strata.logits[rows], max(int(strata.has_scores.sum()), 1)
        for j in range(m):
            candidate, weight = strata.first[rows, j], self.weight[rows, j]
            slope = weight * logits[:, j]
            for term, value in ((0, weight), (1 + j, weight), (1 + m, slope), (2 + m + j, slope)):
                out[at, candidate, term] += value
        unanimous = strata.is_unanimous[rows][:, None]
        own = unanimous * logits / scored
        out[:, 0, 2 * m + 2] = unanimous[:, 0]
        out[:, 0, 2 * m + 3] = own.sum(axis=1)
        out[:, 0, 2 * m + 4 : 3 * m + 4] = own
        out[:, :, 3 * m + 4] = self.log_support[rows]
        return out

    def effect_features(self, rows: Int[np.ndarray, " row"]) -> Float[np.ndarray, "row candidate effect"]:
        """Return the features, in the joint design, of the effects of a stratum's own group."""
        at, strata = np.arange(len(rows)), self.strata
        out = np.zeros((len(rows), self.n_models, self.n_effects))
        for j in range(self.n_models):
            out[at, strata.first[rows, j], j] += self.weight[rows, j]
        out[:, 0, -1] = strata.is_unanimous[rows]
        return out
