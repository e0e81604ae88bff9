"""Linear algebra of terms and arm effects: arms are eliminated, so that systems have the size of the number of terms.

Each arm's random effect depends on its own labels only, so that block of the joint precision is diagonal, and its
Schur complement is the marginal precision of the terms. `laplace_evidence` is the caller.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fewlabels.models.additive.effect_priors import Terms
from fewlabels.models.additive.strata import Strata

BRIEF = np.float32  # precision of Hessians and covariances, for speed; gradients are in double precision


@dataclass(frozen=True)
class JointPrecision:
    """Precision of terms and arm effects, in blocks."""

    arms: Float[np.ndarray, " labelled"]  # conditional precision of every arm's random effect, given the terms
    cross: Float[np.ndarray, "labelled term"]
    terms: Float[np.ndarray, "term term"]  # Schur complement: marginal precision of the terms

    @property
    def loadings(self) -> Float[np.ndarray, "labelled term"]:
        """Minus the derivative of every arm's random effect by the terms, from the Schur complement's blocks."""
        return self.cross / self.arms[:, None]

    def solve(
        self,
        covariance: Float[np.ndarray, "term term"],
        term_gradient: Terms,
        arm_gradient: Float[np.ndarray, " labelled"],
    ) -> tuple[Terms, Float[np.ndarray, " labelled"]]:
        """Newton step of terms and arm effects for these gradients, given the inverse of the Schur complement."""
        step = covariance @ self.eliminate_arms(term_gradient, arm_gradient)
        return step, self.substitute(step, arm_gradient)

    def eliminate_arms(self, term_gradient: Terms, arm_gradient: Float[np.ndarray, " labelled"]) -> Terms:
        """Gradient of the terms in the Schur complement, after the arms are eliminated."""
        return term_gradient - self.cross.T @ (arm_gradient / self.arms)

    def substitute(
        self, term_step: Terms, arm_gradient: Float[np.ndarray, " labelled"]
    ) -> Float[np.ndarray, " labelled"]:
        """Step of the arm effects given that of the terms: back substitution after the Schur complement is solved."""
        return (arm_gradient - self.cross @ term_step) / self.arms


class ArmElimination:
    """Eliminates the arms of some strata from the joint precision of terms and arm effects."""

    def __init__(self, evidence: Strata) -> None:
        self.evidence = evidence
        self.labelled, self.start, self.arm = np.unique(evidence.group, return_index=True, return_inverse=True)
        # Where every arm is one stratum, blocks of the Hessian simplify.
        self.one_stratum_per_arm = len(self.labelled) == len(evidence.group) and bool(np.all(evidence.share == 1))
        self.design_float32 = evidence.design.astype(BRIEF)

    def eliminate(
        self, weight: Float[np.ndarray, " stratum"], prior_precision: Terms, arm_prior_precision: float
    ) -> JointPrecision:
        """Combine prior precisions with the weights of all strata, and eliminate the arms (Schur complement)."""
        design, share = self.evidence.design, self.evidence.share
        arm_precision = self.sum_by_arm(share**2 * weight) + arm_prior_precision
        cross_precision = self.sum_by_arm((share * weight)[:, None] * design)
        if self.one_stratum_per_arm:  # the Schur complement is a single weighted product
            term_precision = _multiply_weighted(self.design_float32, weight * arm_prior_precision / arm_precision)
        else:
            term_precision = _multiply_weighted(self.design_float32, weight) - _multiply_weighted(
                cross_precision, 1 / arm_precision
            )
        term_precision[np.diag_indices_from(term_precision)] += prior_precision
        return JointPrecision(arm_precision, cross_precision, term_precision)

    def variances(
        self,
        covariance: Float[np.ndarray, "term term"],
        arm_precision: Float[np.ndarray, " labelled"],
        loadings: Float[np.ndarray, "labelled term"],
        arm_prior_precision: float,
    ) -> tuple[Float[np.ndarray, " stratum"], Float[np.ndarray, " labelled"]]:
        """Variance of the logit of every stratum and of every arm's effect, from the Schur complement's inverse."""
        design, share = self.evidence.design, self.evidence.share
        if self.one_stratum_per_arm:  # both follow from the variance due to the terms
            alone, given = propagate_variance(self.design_float32, covariance), 1 - arm_prior_precision / arm_precision
            return (1 - given) ** 2 * alone + 1 / arm_precision, given**2 * alone + 1 / arm_precision
        moved = design - share[:, None] * loadings[self.arm]
        return propagate_variance(moved, covariance) + share**2 / arm_precision[self.arm], propagate_variance(
            loadings, covariance
        ) + 1 / arm_precision

    def sum_by_arm(self, values: Float[np.ndarray, "stratum *rest"]) -> Float[np.ndarray, "labelled *rest"]:
        """Sum over the strata of each arm, the blocks that the Schur complement eliminates."""
        if len(self.start) == len(values):
            return values
        return np.add.reduceat(values, self.start, axis=0)


def _multiply_weighted(
    design: Float[np.ndarray, "row term"], weight: Float[np.ndarray, " row"]
) -> Float[np.ndarray, "term term"]:
    """Σ w x xᵀ for the Schur complement, as AᵀA of one matrix, which takes half the time of a general product."""
    rooted = np.sqrt(weight).astype(BRIEF)[:, None] * design.astype(BRIEF, copy=False)
    return (rooted.T @ rooted).astype(np.float64)


def propagate_variance(
    rows: Float[np.ndarray, "row term"], covariance: Float[np.ndarray, "term term"]
) -> Float[np.ndarray, " row"]:
    """Variance of x · terms, row by row, in the Schur complement's system of terms."""
    design_float32 = rows.astype(BRIEF, copy=False)
    return np.einsum("rt,rt->r", design_float32 @ covariance.astype(BRIEF), design_float32).astype(np.float64)
