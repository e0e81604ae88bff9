"""Likelihood of labelled items with uncertain arms: a mixture, P(right | x) = Σ_a P(a|x) P(right | a, score).

Fractional labels would bias arms towards each other and overstate what is known of each. Instead the logit of the
mixture is linearized at the current fit, with the derivative with respect to every arm's logit. Alternating fits and
linearizations converges to the mode of the mixture likelihood, with its Fisher information. For arms' random effects,
an item informs only its most probable arm.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.special import logit

from fewlabels.models.additive.effect_priors import EffectPriors
from fewlabels.models.additive.fit import fit_additive
from fewlabels.models.additive.fit_result import AdditiveFit
from fewlabels.models.additive.strata import Strata
from fewlabels.models.logit.random_effects import expit

MOST_ROUNDS = 8
TOLERANCE = 0.02  # largest change, in logits, at convergence
EDGE = 1e-9


@dataclass(frozen=True)
class MembershipMixture:
    """Labelled items, sorted by their most probable arm."""

    chance: csr_array  # (item, arm)
    arm: Int[np.ndarray, " item"]  # the most probable
    right: Float[np.ndarray, " item"]
    curve: Float[np.ndarray, "item curve_term"]
    design: Float[np.ndarray, "arm effect_term"]

    def linearize(self, terms: Float[np.ndarray, " term"], own: Float[np.ndarray, " arm"]) -> Strata:
        """Linearize the mixture likelihood in the terms and in the random effect of each item's most probable arm."""
        n_curve, n = self.curve.shape[1], len(self.arm)
        item, arm = np.repeat(np.arange(n), np.diff(self.chance.indptr)), self.chance.indices
        arm_logits = self.design @ terms[n_curve:] + own
        right = expit((self.curve @ terms[:n_curve])[item] + arm_logits[arm])
        accuracy = np.clip(np.bincount(item, weights=self.chance.data * right, minlength=n), EDGE, 1 - EDGE)
        derivative = self.chance.data * right * (1 - right) / (accuracy * (1 - accuracy))[item]
        jacobian = csr_array((derivative, arm, self.chance.indptr), shape=self.chance.shape)
        design = np.concatenate([jacobian.sum(axis=1)[:, None] * self.curve, jacobian @ self.design], axis=1)
        share = np.bincount(item, weights=derivative * (arm == self.arm[item]), minlength=n)
        base = logit(accuracy) - design @ terms - share * own[self.arm]
        return Strata(design, self.arm, self.right, np.ones(n), share, base)


def select_labelled(
    chance: csr_array,
    outcome: Float[np.ndarray, " item"],
    curve: Float[np.ndarray, "item curve_term"],
    design: Float[np.ndarray, "arm effect_term"],
) -> MembershipMixture:
    """Select the labelled items with uncertain arms for the likelihood."""
    (labelled,) = np.nonzero(~np.isnan(outcome))
    arm = np.asarray(chance[labelled].argmax(axis=1), dtype=np.int64).reshape(-1)
    order = np.argsort(arm, kind="stable")
    rows = labelled[order]
    return MembershipMixture(csr_array(chance[rows]).astype(np.float64), arm[order], outcome[rows], curve[rows], design)


def fit_mixture(mixture: MembershipMixture, priors: EffectPriors) -> AdditiveFit:
    """Fit the mixture likelihood of uncertain arms: alternate fits and linearizations until convergence."""
    terms, own = priors.centre, np.zeros(len(mixture.design))
    found = fit_additive(mixture.linearize(terms, own), priors)
    for _ in range(MOST_ROUNDS):
        before = np.append(terms, own)
        terms, own = np.zeros(len(priors.centre)), np.zeros(len(own))
        terms[: len(found.mode.terms)], own[found.labelled] = found.mode.terms, found.mode.own
        if np.abs(np.append(terms, own) - before).max() < TOLERANCE:
            break
        found = fit_additive(mixture.linearize(terms, own), priors, found.mode.scales)
    return found
