"""The evidence (marginal likelihood) of scales, and the posterior of all effects given scales, by Laplace.

The posterior is centred at its mean; where a normal at the mode contradicts labels, it is found by expectation
propagation instead. `fit` searches and averages over scales.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.additive.arm_quadrature import correct_evidence
from fewlabels.models.additive.effect_priors import FIXED, EffectPriors, Scales, Terms
from fewlabels.models.additive.expectation_propagation import Sites
from fewlabels.models.additive.fit_result import ConditionalFit
from fewlabels.models.additive.schur_complement import ArmElimination, JointPrecision, propagate_variance
from fewlabels.models.additive.strata import Strata
from fewlabels.models.logit.laplace_check import find_contradicted
from fewlabels.models.logit.random_effects import expit
from fewlabels.models.optimize import Parameters, maximize_newton

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
        """The evidence's Laplace fit centred at the mean, not the mode: it is skewed, as probabilities are bounded."""
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
        """Set the start of the next search for the mode of terms and arm effects."""
        self.terms, self.own = terms, own

    def evaluate(self, at: Scales) -> Evaluation:
        """Compute the Laplace approximation of the log evidence of scales, and its gradient."""
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
        correction = correct_evidence(
            self.algebra, self.logits(self.terms, self.own), self.own, joint.arms, arm_prior_precision
        )
        term_change, arm_change = joint.solve(  # of the mode along the gradient of what is added to the log posterior
            covariance,
            seen.design.T @ (tilt + correction.by_logit),
            self.algebra.sum_by_arm(seen.share * tilt) + correction.by_own,
        )
        off = self.terms - self.priors.centre
        each = (
            prior_precision * off**2
            - (1 - prior_precision * np.diag(covariance))
            + 2 * prior_precision * off * term_change
        )
        inside = self.priors.block != FIXED
        gradient[: self.priors.n] += np.bincount(
            self.priors.block[inside], weights=each[inside], minlength=self.priors.n
        )
        gradient[self.priors.n] += (
            arm_prior_precision * self.own**2
            - (1 - arm_prior_precision * arm_variance)
            + 2 * arm_prior_precision * self.own * arm_change
        ).sum() + correction.by_log_scale
        conditional = ConditionalFit(1.0, at, self.terms, covariance, self.own, joint.arms, loadings)
        return Evaluation(
            value + correction.value - 0.5 * log_determinant + prior,
            gradient,
            conditional,
            (term_shift, arm_shift),
            logit_variance,
        )

    def describe(self, evaluation: Evaluation) -> ConditionalFit:
        """Return the fit centred at the mean; by expectation propagation where Laplace's normal contradicts labels."""
        seen, mean = self.evidence, evaluation.mean
        at, sd = self.logits(mean.terms, mean.own), np.sqrt(evaluation.variance)
        contradicted = find_contradicted(at, sd, seen.right, seen.total).any()
        return self._propagate(evaluation.conditional) if contradicted else mean

    def _propagate(self, conditional: ConditionalFit) -> ConditionalFit:
        """Run expectation propagation from Laplace's mode until logits no longer change."""
        seen, prior_precision, arm_prior_precision = (
            self.evidence,
            self._term_prior_precisions(conditional.scales),
            float(np.exp(-2 * conditional.scales[self.priors.n])),
        )
        at = self.logits(conditional.terms, conditional.own)
        right = expit(at)
        weight = seen.total * right * (1 - right) + MIN_WEIGHT
        sites = Sites(weight, weight * at + seen.right - seen.total * right)
        for _ in range(MOST_ROUNDS):
            variance, _ = self.algebra.variances(
                conditional.covariance, conditional.arm_precision, conditional.loadings, arm_prior_precision
            )
            sites = sites.update(at, variance, seen.right, seen.total)
            conditional = self._combine(sites, conditional, prior_precision, arm_prior_precision)
            before, at = at, self.logits(conditional.terms, conditional.own)
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
        residual = sites.shift - sites.precision * self.logits(conditional.terms, conditional.own)
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
        at, point = maximize_newton(
            lambda at: _TermsPoint(self, at, prior_precision, arm_prior_precision),
            np.concatenate([self.terms, self.own]), lambda point: point.step,
            max_steps=MOST_STEPS, max_halvings=MAX_HALVINGS, min_expected_gain=2 * CLOSE,
        )  # fmt: skip
        self.terms, self.own = self.split(at)
        return point.value, point.right, point.joint

    def split(self, at: Parameters) -> tuple[Terms, Float[np.ndarray, " labelled"]]:
        """Split parameters into terms and the random effects of labelled arms."""
        return at[: len(self.priors.centre)], at[len(self.priors.centre) :]

    def logits(self, terms: Terms, own: Float[np.ndarray, " labelled"]) -> Float[np.ndarray, " stratum"]:
        """Return the logit of every stratum."""
        return self.evidence.base + self.evidence.design @ terms + self.evidence.share * own[self.algebra.arm]

    def _term_prior_precisions(self, at: Scales) -> Terms:
        """Prior precision of every term at these scales."""
        inside = self.priors.block != FIXED
        log_spread = np.log(self.priors.spread)
        log_spread[inside] = at[self.priors.block[inside]]
        return np.exp(-2 * log_spread)


class _TermsPoint:
    """Log posterior of terms and arm effects that Laplace's approximation maximizes; a Newton step's parts are lazy."""

    def __init__(
        self, problem: LaplaceEvidence, at: Parameters, prior_precision: Terms, arm_prior_precision: float
    ) -> None:
        self.problem, self.prior_precision, self.arm_prior_precision = problem, prior_precision, arm_prior_precision
        terms, self.own = problem.split(at)
        self.off = terms - problem.priors.centre
        self.logits = problem.logits(terms, self.own)
        seen = problem.evidence
        likely = (seen.right * self.logits - seen.total * np.logaddexp(0.0, self.logits)).sum()
        self.value = float(
            likely - 0.5 * prior_precision @ self.off**2 - 0.5 * arm_prior_precision * self.own @ self.own
        )

    @cached_property
    def right(self) -> Float[np.ndarray, " stratum"]:
        """P(right) of every stratum at a point of the search for Laplace's mode."""
        return expit(self.logits)

    @cached_property
    def joint(self) -> JointPrecision:
        """Joint precision of terms and arm effects, for Laplace's approximation."""
        weight = self.problem.evidence.total * self.right * (1 - self.right) + MIN_WEIGHT
        return self.problem.algebra.eliminate(weight, self.prior_precision, self.arm_prior_precision)

    @cached_property
    def gradient(self) -> Parameters:
        """Gradient of the log posterior of terms and arm effects, arms last."""
        seen = self.problem.evidence
        residual = seen.right - seen.total * self.right
        arms = self.problem.algebra.sum_by_arm(seen.share * residual) - self.arm_prior_precision * self.own
        return np.concatenate([seen.design.T @ residual - self.prior_precision * self.off, arms])

    @property
    def step(self) -> Parameters:
        """Newton step of terms and arm effects towards Laplace's mode."""
        terms, arms = self.problem.split(self.gradient)
        step = np.linalg.solve(self.joint.terms, self.joint.eliminate_arms(terms, arms))
        return np.concatenate([step, self.joint.substitute(step, arms)])
