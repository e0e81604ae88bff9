"""The evidence (marginal likelihood) of scales, and the posterior of all effects given scales, by Laplace.

The posterior is centred at its mean; where a normal at the mode contradicts labels, it is found by expectation
propagation instead. `laplace` searches and averages over scales.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.additive.effect_priors import FIXED, EffectPriors, Scales, Terms
from fewlabels.models.additive.expectation_propagation import Sites
from fewlabels.models.additive.fit import ConditionalFit
from fewlabels.models.additive.schur_complement import ArmElimination, JointPrecision, propagate_variance
from fewlabels.models.additive.strata import Strata
from fewlabels.models.logit.laplace_check import find_contradicted
from fewlabels.models.logit.random_effects import expit

MOST_STEPS, MAX_HALVINGS = 40, 12
CLOSE = 1e-3  # gain in log posterior below which Newton stops
MIN_WEIGHT = 1e-10  # smallest weight of a stratum
MOST_ROUNDS, EP_TOLERANCE = 60, 0.02  # of EP; change of logits at convergence, in standard deviations


@dataclass(frozen=True)
class Evaluation:
    """Log evidence of scales and its gradient, the mode of terms and arm effects, and the shift from mode to mean."""

    value: float
    gradient: Scales
    conditional: ConditionalFit
    mean_shift: tuple[Terms, Float[np.ndarray, " labelled"]]
    variance: Float[np.ndarray, " stratum"]  # of every logit

    @property
    def mean(self) -> ConditionalFit:
        """The fit centred at the mean instead of the mode: the posterior is skewed, as probabilities are bounded."""
        terms, own = self.mean_shift
        return replace(self.conditional, terms=self.conditional.terms + terms, own=self.conditional.own + own)


class LaplaceEvidence:
    """Laplace approximation of the evidence of scales; starts the search for each mode from the last one."""

    def __init__(self, evidence: Strata, priors: EffectPriors) -> None:
        self.evidence, self.priors = evidence, priors
        self.algebra = ArmElimination(evidence)
        self.terms, self.own = priors.centre.copy(), np.zeros(len(self.labelled))
        self.n_evaluations = 0

    @property
    def labelled(self) -> Int[np.ndarray, " labelled"]:
        """Indices of the labelled arms."""
        return self.algebra.labelled

    def begin(self, terms: Terms, own: Float[np.ndarray, " labelled"]) -> None:
        """Set the start of the next search for the mode."""
        self.terms, self.own = terms, own

    def evaluate(self, at: Scales) -> Evaluation:
        """Compute the log evidence and its gradient."""
        self.n_evaluations += 1
        prior_precision, arm_prior_precision = self._term_prior_precisions(at), float(np.exp(-2 * at[self.priors.n]))
        value, right, joint = self._find_mode(prior_precision, arm_prior_precision)
        seen = self.evidence
        covariance = np.linalg.inv(joint.terms)
        loadings = joint.loadings
        log_determinant = (
            np.linalg.slogdet(joint.terms)[1]
            - np.log(prior_precision).sum()
            + np.log(joint.arms / arm_prior_precision).sum()
        )
        prior, gradient = self.priors.log_prior(at)
        logit_variance, arm_variance = self.algebra.variances(covariance, joint.arms, loadings, arm_prior_precision)
        # the derivative of -1/2 log determinant with respect to each logit
        tilt = -0.5 * logit_variance * seen.total * right * (1 - right) * (1 - 2 * right)
        term_shift, arm_shift = joint.solve(
            covariance, seen.design.T @ tilt, self.algebra.sum_by_arm(seen.share * tilt)
        )
        off = self.terms - self.priors.centre
        each = (
            prior_precision * off**2
            - (1 - prior_precision * np.diag(covariance))
            + 2 * prior_precision * off * term_shift
        )
        inside = self.priors.block != FIXED
        gradient[: self.priors.n] += np.bincount(
            self.priors.block[inside], weights=each[inside], minlength=self.priors.n
        )
        gradient[self.priors.n] += (
            arm_prior_precision * self.own**2
            - (1 - arm_prior_precision * arm_variance)
            + 2 * arm_prior_precision * self.own * arm_shift
        ).sum()
        conditional = ConditionalFit(1.0, at, self.terms, covariance, self.own, joint.arms, loadings)
        return Evaluation(
            value - 0.5 * log_determinant + prior, gradient, conditional, (term_shift, arm_shift), logit_variance
        )

    def describe(self, evaluation: Evaluation) -> ConditionalFit:
        """Return the fit centred at the mean; by EP where the normal at the mode contradicts labels."""
        seen, mean = self.evidence, evaluation.mean
        at, sd = self._logits(mean.terms, mean.own), np.sqrt(evaluation.variance)
        contradicted = find_contradicted(at, sd, seen.right, seen.total).any()
        return self._propagate(evaluation.conditional) if contradicted else mean

    def _propagate(self, conditional: ConditionalFit) -> ConditionalFit:
        """Run expectation propagation from the mode until logits no longer change."""
        seen, prior_precision, arm_prior_precision = (
            self.evidence,
            self._term_prior_precisions(conditional.scales),
            float(np.exp(-2 * conditional.scales[self.priors.n])),
        )
        at = self._logits(conditional.terms, conditional.own)
        right = expit(at)
        weight = seen.total * right * (1 - right) + MIN_WEIGHT
        sites = Sites(weight, weight * at + seen.right - seen.total * right)
        for _ in range(MOST_ROUNDS):
            variance, _ = self.algebra.variances(
                conditional.covariance, conditional.arm_precision, conditional.loadings, arm_prior_precision
            )
            sites = sites.update(at, variance, seen.right, seen.total)
            conditional = self._combine(sites, conditional, prior_precision, arm_prior_precision)
            before, at = at, self._logits(conditional.terms, conditional.own)
            if np.all(np.abs(at - before) < EP_TOLERANCE * np.sqrt(variance)):
                break
        return conditional

    def _combine(
        self, sites: Sites, conditional: ConditionalFit, prior_precision: Terms, arm_prior_precision: float
    ) -> ConditionalFit:
        """Combine the prior and the sites of all strata into one normal."""
        seen = self.evidence
        joint = self.algebra.eliminate(sites.precision, prior_precision, arm_prior_precision)
        covariance = np.linalg.inv(joint.terms)
        residual = sites.shift - sites.precision * self._logits(conditional.terms, conditional.own)
        term_gradient = seen.design.T @ residual - prior_precision * (conditional.terms - self.priors.centre)
        arm_gradient = self.algebra.sum_by_arm(seen.share * residual) - arm_prior_precision * conditional.own
        terms, own = joint.solve(covariance, term_gradient, arm_gradient)
        return replace(
            conditional,
            terms=conditional.terms + terms,
            own=conditional.own + own,
            covariance=covariance,
            arm_precision=joint.arms,
            loadings=joint.loadings,
        )

    def scale_information(self, conditional: ConditionalFit) -> Scales:
        """Fisher information on each log scale: twice the effective number of its terms that labels determine."""
        priors, out = self.priors, np.zeros(len(conditional.scales))
        inside = priors.block != FIXED
        told = (1 - self._term_prior_precisions(conditional.scales) * np.diag(conditional.covariance))[inside]
        out[: priors.n] = np.bincount(priors.block[inside], weights=2 * told**2, minlength=priors.n)
        arm_variance = propagate_variance(conditional.loadings, conditional.covariance) + 1 / conditional.arm_precision
        out[priors.n] = 2 * ((1 - np.exp(-2 * conditional.scales[priors.n]) * arm_variance) ** 2).sum()
        return out

    def inverse_hessian(self, evaluation: Evaluation) -> Float[np.ndarray, "scale scale"]:
        """Approximate the inverse Hessian of the negative log evidence."""
        return np.linalg.inv(self.priors.precision + np.diag(self.scale_information(evaluation.conditional)))

    def _find_mode(
        self, prior_precision: Terms, arm_prior_precision: float
    ) -> tuple[float, Float[np.ndarray, " stratum"], JointPrecision]:
        """Find the mode by Newton's method; return the log posterior, P(right) and the joint precision there."""
        seen = self.evidence
        value = self._log_posterior(self.terms, self.own, prior_precision, arm_prior_precision)
        for _ in range(MOST_STEPS):
            right = expit(self._logits(self.terms, self.own))
            residual = seen.right - seen.total * right
            joint = self.algebra.eliminate(
                seen.total * right * (1 - right) + MIN_WEIGHT, prior_precision, arm_prior_precision
            )
            term_gradient = seen.design.T @ residual - prior_precision * (self.terms - self.priors.centre)
            arm_gradient = self.algebra.sum_by_arm(seen.share * residual) - arm_prior_precision * self.own
            step = np.linalg.solve(joint.terms, joint.eliminate_arms(term_gradient, arm_gradient))
            own = joint.substitute(step, arm_gradient)
            if term_gradient @ step + arm_gradient @ own < 2 * CLOSE:
                break
            length = 1.0
            for _ in range(MAX_HALVINGS):
                ahead = self._log_posterior(
                    self.terms + length * step, self.own + length * own, prior_precision, arm_prior_precision
                )
                if ahead >= value:
                    break
                length /= 2
            else:
                break
            self.terms, self.own, value = self.terms + length * step, self.own + length * own, ahead
        return value, right, joint

    def _log_posterior(
        self, terms: Terms, own: Float[np.ndarray, " labelled"], prior_precision: Terms, arm_prior_precision: float
    ) -> float:
        logits, off = self._logits(terms, own), terms - self.priors.centre
        likely = (self.evidence.right * logits - self.evidence.total * np.logaddexp(0.0, logits)).sum()
        return float(likely - 0.5 * prior_precision @ off**2 - 0.5 * arm_prior_precision * own @ own)

    def _logits(self, terms: Terms, own: Float[np.ndarray, " labelled"]) -> Float[np.ndarray, " stratum"]:
        return self.evidence.base + self.evidence.design @ terms + self.evidence.share * own[self.algebra.arm]

    def _term_prior_precisions(self, at: Scales) -> Terms:
        """Prior precision of every term at these scales."""
        inside = self.priors.block != FIXED
        log_spread = np.log(self.priors.spread)
        log_spread[inside] = at[self.priors.block[inside]]
        return np.exp(-2 * log_spread)
