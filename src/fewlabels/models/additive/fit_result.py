"""A fit of the additive model: normal approximations of terms and arm effects, at several sets of scales."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.additive.effect_priors import EffectPriors, Scales, Terms


@dataclass(frozen=True)
class ConditionalFit:
    """Normal approximation of terms and arm effects given one set of scales, centred at the mode or at the mean.

    Models without interactions have no terms of pairs; the scales of pairs are 0.
    """

    weight: float
    scales: Scales
    terms: Terms
    covariance: Float[np.ndarray, "term term"]
    own: Float[np.ndarray, " labelled"]  # random effect of every labelled arm
    arm_precision: Float[np.ndarray, " labelled"]  # its conditional precision, given the terms
    loadings: Float[np.ndarray, "labelled term"]  # minus its derivative with respect to the terms


@dataclass(frozen=True)
class AdditiveFit:
    """Fits at several sets of scales, which represent the posterior of the scales."""

    priors: EffectPriors
    labelled: Int[np.ndarray, " labelled"]  # indices of the labelled arms
    conditionals: tuple[ConditionalFit, ...]  # centred at the mean
    mode: ConditionalFit  # at the scales of largest evidence, centred at the mode
    n_evaluations: int  # of the evidence
    gradient_norm: float  # largest absolute component of the gradient of the log evidence at the mode
    together: float = 0.0  # posterior probability of interactions

    def without_arms(self) -> "AdditiveFit":
        """Return the same result of a fit for arms without labels."""
        nothing = np.zeros(0)
        conditionals = [
            replace(one, own=nothing, arm_precision=nothing, loadings=one.loadings[:0]) for one in self.conditionals
        ]
        return replace(self, labelled=self.labelled[:0], conditionals=tuple(conditionals))
