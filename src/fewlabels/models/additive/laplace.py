"""The posterior of all effects: a Laplace approximation, with scales estimated by the evidence (marginal likelihood).

logit P(right) is a curve of the score, plus effects of attributes, plus a random effect of the arm. Effects are
normal, with estimated scales. Each arm's random effect depends on its own labels only, so arms are eliminated first
(Schur complement) and the remaining system has the size of the number of terms, not of arms.

Models without interactions, and with one scale for all interactions, are fitted as well: one scale for each of 66
pairs overfits a little, and a Laplace approximation of its evidence in 66 dimensions is poor. All models are averaged
by their evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from fewlabels.models.additive.effect_priors import FIXED, EffectPriors, Scales, Terms, Variant
from fewlabels.models.additive.expectation_propagation import Sites
from fewlabels.models.additive.strata import Strata
from fewlabels.models.logit.laplace_check import find_contradicted
from fewlabels.models.logit.random_effects import expit
from fewlabels.models.optimize import maximize_bfgs

MOST_STEPS, MAX_HALVINGS = 40, 12
CLOSE = 1e-3  # gain in log posterior below which Newton stops
MIN_WEIGHT = 1e-10  # smallest weight of a stratum
MOST_ROUNDS, EP_TOLERANCE = 60, 0.02  # of EP; change of logits at convergence, in standard deviations
N_SCALE_SAMPLES = 8  # sets of scales to average over, in antithetic pairs around the mode
INFORMATION_STEP = 0.7  # from the mode, where the information on log scales is measured: it grows with the scales
MIN_MODEL_PROBABILITY = 0.01  # probability below which a model is dropped from the average
BRIEF = np.float32  # precision of Hessians and covariances, for speed; gradients are in double precision


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
class Fit:
    """Fits at several sets of scales, which represent the posterior of the scales."""

    priors: EffectPriors
    labelled: Int[np.ndarray, " labelled"]  # indices of the labelled arms
    conditionals: tuple[ConditionalFit, ...]  # centred at the mean
    mode: ConditionalFit  # at the scales of largest evidence, centred at the mode
    n_evaluations: int  # of the evidence
    gradient_norm: float  # largest absolute component of the gradient of the log evidence at the mode
    together: float = 0.0  # posterior probability of interactions

    def without_arms(self) -> "Fit":
        """Return the same fit for arms without labels."""
        nothing = np.zeros(0)
        conditionals = [
            replace(one, own=nothing, arm_precision=nothing, loadings=one.loadings[:0]) for one in self.conditionals
        ]
        return replace(self, labelled=self.labelled[:0], conditionals=tuple(conditionals))


@dataclass(frozen=True)
class _Evaluation:
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


class _LaplaceEvidence:
    """Laplace approximation of the evidence of scales; starts the search for each mode from the last one."""

    def __init__(self, evidence: Strata, priors: EffectPriors) -> None:
        self.evidence, self.priors = evidence, priors
        self.labelled, self.start, self.arm = np.unique(evidence.group, return_index=True, return_inverse=True)
        # Where every arm is one stratum, blocks of the Hessian simplify.
        self.one_stratum_per_arm = len(self.labelled) == len(evidence.group) and bool(np.all(evidence.share == 1))
        self.terms, self.own = priors.centre.copy(), np.zeros(len(self.labelled))
        self.design_float32 = evidence.design.astype(BRIEF)
        self.n_evaluations = 0

    def begin(self, terms: Terms, own: Float[np.ndarray, " labelled"]) -> None:
        """Set the start of the next search for the mode."""
        self.terms, self.own = terms, own

    def evaluate(self, at: Scales) -> _Evaluation:
        """Compute the log evidence and its gradient."""
        self.n_evaluations += 1
        prior_precision, arm_prior_precision = self._term_prior_precisions(at), float(np.exp(-2 * at[self.priors.n]))
        value, right, (arm_precision, cross_precision, term_precision) = self._find_mode(
            prior_precision, arm_prior_precision
        )
        seen = self.evidence
        covariance = np.linalg.inv(term_precision)
        loadings = cross_precision / arm_precision[:, None]
        log_determinant = (
            np.linalg.slogdet(term_precision)[1]
            - np.log(prior_precision).sum()
            + np.log(arm_precision / arm_prior_precision).sum()
        )
        prior, gradient = self.priors.log_prior(at)
        logit_variance, arm_variance = self._variances(covariance, arm_precision, loadings, arm_prior_precision)
        # the derivative of -1/2 log determinant with respect to each logit
        tilt = -0.5 * logit_variance * seen.total * right * (1 - right) * (1 - 2 * right)
        term_shift, arm_shift = self._solve(
            covariance, arm_precision, cross_precision, seen.design.T @ tilt, self._sum_by_arm(seen.share * tilt)
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
        conditional = ConditionalFit(1.0, at, self.terms, covariance, self.own, arm_precision, loadings)
        return _Evaluation(
            value - 0.5 * log_determinant + prior, gradient, conditional, (term_shift, arm_shift), logit_variance
        )

    def describe(self, evaluation: _Evaluation) -> ConditionalFit:
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
            variance, _ = self._variances(
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
        arm_precision, cross_precision, term_precision = self._eliminate(
            sites.precision, prior_precision, arm_prior_precision
        )
        covariance = np.linalg.inv(term_precision)
        residual = sites.shift - sites.precision * self._logits(conditional.terms, conditional.own)
        term_gradient = seen.design.T @ residual - prior_precision * (conditional.terms - self.priors.centre)
        terms, own = self._solve(
            covariance,
            arm_precision,
            cross_precision,
            term_gradient,
            self._sum_by_arm(seen.share * residual) - arm_prior_precision * conditional.own,
        )
        return replace(
            conditional,
            terms=conditional.terms + terms,
            own=conditional.own + own,
            covariance=covariance,
            arm_precision=arm_precision,
            loadings=cross_precision / arm_precision[:, None],
        )

    def scale_information(self, conditional: ConditionalFit) -> Scales:
        """Fisher information on each log scale: twice the effective number of its terms that labels determine."""
        priors, out = self.priors, np.zeros(len(conditional.scales))
        inside = priors.block != FIXED
        told = (1 - self._term_prior_precisions(conditional.scales) * np.diag(conditional.covariance))[inside]
        out[: priors.n] = np.bincount(priors.block[inside], weights=2 * told**2, minlength=priors.n)
        arm_variance = _square(conditional.loadings, conditional.covariance) + 1 / conditional.arm_precision
        out[priors.n] = 2 * ((1 - np.exp(-2 * conditional.scales[priors.n]) * arm_variance) ** 2).sum()
        return out

    def inverse_hessian(self, evaluation: _Evaluation) -> Float[np.ndarray, "scale scale"]:
        """Approximate the inverse Hessian of the negative log evidence."""
        return np.linalg.inv(self.priors.precision + np.diag(self.scale_information(evaluation.conditional)))

    def _find_mode(
        self, prior_precision: Terms, arm_prior_precision: float
    ) -> tuple[float, Float[np.ndarray, " stratum"], tuple[Float[np.ndarray, "..."], ...]]:
        """Find the mode by Newton's method; return the log posterior, P(right) and the Hessian blocks there."""
        seen = self.evidence
        value = self._log_posterior(self.terms, self.own, prior_precision, arm_prior_precision)
        for _ in range(MOST_STEPS):
            right = expit(self._logits(self.terms, self.own))
            residual = seen.right - seen.total * right
            hessian_blocks = arm_precision, cross_precision, term_precision = self._eliminate(
                seen.total * right * (1 - right) + MIN_WEIGHT, prior_precision, arm_prior_precision
            )
            term_gradient = seen.design.T @ residual - prior_precision * (self.terms - self.priors.centre)
            arm_gradient = self._sum_by_arm(seen.share * residual) - arm_prior_precision * self.own
            step = np.linalg.solve(term_precision, term_gradient - cross_precision.T @ (arm_gradient / arm_precision))
            own = (arm_gradient - cross_precision @ step) / arm_precision
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
        return value, right, hessian_blocks

    def _eliminate(
        self, weight: Float[np.ndarray, " stratum"], prior_precision: Terms, arm_prior_precision: float
    ) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, "labelled term"], Float[np.ndarray, "term term"]]:
        """Eliminate the arms; return their precisions, the cross block, and the Schur complement of the terms."""
        design, share = self.evidence.design, self.evidence.share
        arm_precision = self._sum_by_arm(share**2 * weight) + arm_prior_precision
        cross_precision = self._sum_by_arm((share * weight)[:, None] * design)
        if self.one_stratum_per_arm:  # the Schur complement is a single weighted product
            term_precision = _multiply(self.design_float32, weight * arm_prior_precision / arm_precision)
        else:
            term_precision = _multiply(self.design_float32, weight) - _multiply(cross_precision, 1 / arm_precision)
        term_precision[np.diag_indices_from(term_precision)] += prior_precision
        return arm_precision, cross_precision, term_precision

    def _variances(
        self,
        covariance: Float[np.ndarray, "term term"],
        arm_precision: Float[np.ndarray, " labelled"],
        loadings: Float[np.ndarray, "labelled term"],
        arm_prior_precision: float,
    ) -> tuple[Float[np.ndarray, " stratum"], Float[np.ndarray, " labelled"]]:
        """Variance of the logit of every stratum, and of every arm's random effect."""
        design, share = self.evidence.design, self.evidence.share
        if self.one_stratum_per_arm:  # both follow from the variance due to the terms
            alone, given = _square(self.design_float32, covariance), 1 - arm_prior_precision / arm_precision
            return (1 - given) ** 2 * alone + 1 / arm_precision, given**2 * alone + 1 / arm_precision
        moved = design - share[:, None] * loadings[self.arm]
        return _square(moved, covariance) + share**2 / arm_precision[self.arm], _square(
            loadings, covariance
        ) + 1 / arm_precision

    def _solve(
        self,
        covariance: Float[np.ndarray, "term term"],
        arm_precision: Float[np.ndarray, " labelled"],
        cross_precision: Float[np.ndarray, "labelled term"],
        term_gradient: Terms,
        arm_gradient: Float[np.ndarray, " labelled"],
    ) -> tuple[Terms, Float[np.ndarray, " labelled"]]:
        """Newton step of terms and arm effects for these gradients."""
        step = covariance @ (term_gradient - cross_precision.T @ (arm_gradient / arm_precision))
        return step, (arm_gradient - cross_precision @ step) / arm_precision

    def _log_posterior(
        self, terms: Terms, own: Float[np.ndarray, " labelled"], prior_precision: Terms, arm_prior_precision: float
    ) -> float:
        logits, off = self._logits(terms, own), terms - self.priors.centre
        likely = (self.evidence.right * logits - self.evidence.total * np.logaddexp(0.0, logits)).sum()
        return float(likely - 0.5 * prior_precision @ off**2 - 0.5 * arm_prior_precision * own @ own)

    def _logits(self, terms: Terms, own: Float[np.ndarray, " labelled"]) -> Float[np.ndarray, " stratum"]:
        return self.evidence.base + self.evidence.design @ terms + self.evidence.share * own[self.arm]

    def _term_prior_precisions(self, at: Scales) -> Terms:
        """Prior precision of every term at these scales."""
        inside = self.priors.block != FIXED
        log_spread = np.log(self.priors.spread)
        log_spread[inside] = at[self.priors.block[inside]]
        return np.exp(-2 * log_spread)

    def _sum_by_arm(self, values: Float[np.ndarray, "stratum *rest"]) -> Float[np.ndarray, "labelled *rest"]:
        """Sum over the strata of each arm."""
        if len(self.start) == len(values):
            return values
        return np.add.reduceat(values, self.start, axis=0)


def _multiply(
    design: Float[np.ndarray, "row term"], weight: Float[np.ndarray, " row"]
) -> Float[np.ndarray, "term term"]:
    """Σ w x xᵀ, as AᵀA of one matrix, which takes half the time of a general product."""
    rooted = np.sqrt(weight).astype(BRIEF)[:, None] * design.astype(BRIEF, copy=False)
    return (rooted.T @ rooted).astype(np.float64)


def _square(
    rows: Float[np.ndarray, "row term"], covariance: Float[np.ndarray, "term term"]
) -> Float[np.ndarray, " row"]:
    """Variance of x · terms, row by row."""
    design_float32 = rows.astype(BRIEF, copy=False)
    return np.einsum("rt,rt->r", design_float32 @ covariance.astype(BRIEF), design_float32).astype(np.float64)


@dataclass(frozen=True)
class _ScaleMode:
    """The mode of the scales of one model, with a Laplace approximation around it."""

    problem: _LaplaceEvidence
    evaluation: _Evaluation

    @cached_property
    def precision(self) -> Float[np.ndarray, "scale scale"]:
        """Precision of the log scales in a normal approximation at the mode."""
        above = self.problem.evaluate(self.evaluation.conditional.scales + INFORMATION_STEP)
        return self.problem.priors.precision + np.diag(self.problem.scale_information(above.conditional))

    @cached_property
    def evidence(self) -> float:
        """Log evidence of the model, with scales integrated out (Laplace)."""
        before, after = (np.linalg.slogdet(one)[1] for one in (self.problem.priors.precision, self.precision))
        return float(self.evaluation.value + 0.5 * (before - after))

    def sample_scales(self, weight: float) -> list[ConditionalFit]:
        """Fit at sets of scales drawn from the normal approximation around the mode."""
        cholesky_factor = np.linalg.inv(np.linalg.cholesky(self.precision)).T
        aside = (
            np.random.default_rng(0).standard_normal((N_SCALE_SAMPLES // 2, len(cholesky_factor))) @ cholesky_factor.T
        )
        pairs = [self._evaluate_pair(step) for step in aside]
        evaluations = [evaluation for side in zip(*pairs, strict=True) for evaluation in side]
        return [
            replace(self.problem.describe(evaluation), weight=weight / N_SCALE_SAMPLES) for evaluation in evaluations
        ]

    def _evaluate_pair(self, step: Scales) -> tuple[_Evaluation, _Evaluation]:
        """Evaluate an antithetic pair; the second search starts at the reflection of the first result."""
        top = self.evaluation.conditional
        self.problem.begin(top.terms, top.own)
        one = self.problem.evaluate(top.scales + step)
        self.problem.begin(2 * top.terms - one.conditional.terms, 2 * top.own - one.conditional.own)
        return one, self.problem.evaluate(top.scales - step)


def fit(evidence: Strata, priors: EffectPriors, start: Scales | None = None) -> Fit:
    """Fit all model variants: find the mode of their scales (from `start` if given), and sample scales around it."""
    begin = priors.start if start is None else np.where(np.isfinite(start), start, priors.start)
    variants, modes = priors.list_variants(), list[_ScaleMode]()
    for variant in variants:  # each starts from the mode of the simpler one
        modes.append(_maximize(evidence, variant.priors, variant.read(begin)))
        begin = variant.to_full_scales(modes[-1].evaluation.conditional.scales, begin)
    probabilities = _model_probabilities(variants, modes)
    kept = (
        np.where(probabilities < MIN_MODEL_PROBABILITY, 0.0, probabilities)
        / probabilities[probabilities >= MIN_MODEL_PROBABILITY].sum()
    )
    conditionals = [
        _to_full_scales(variant, conditional)
        for variant, mode, weight in zip(variants, modes, kept.tolist(), strict=True)
        for conditional in (mode.sample_scales(weight) if weight else [])
    ]
    together = float(probabilities[1:].sum())
    best = 1 + int(kept[1:].argmax()) if together > 0.5 else 0
    top, gradient = modes[best].evaluation.conditional, modes[best].evaluation.gradient
    n_evaluations = sum(mode.problem.n_evaluations for mode in modes)
    gradient_norm = float(np.abs(gradient).max(initial=0.0))
    return Fit(
        priors,
        modes[0].problem.labelled,
        tuple(conditionals),
        _to_full_scales(variants[best], top),
        n_evaluations,
        gradient_norm,
        together,
    )


def _maximize(evidence: Strata, priors: EffectPriors, start: Scales) -> _ScaleMode:
    design = np.ascontiguousarray(evidence.design[:, : len(priors.block)])  # terms of pairs come last and may be absent
    problem = _LaplaceEvidence(replace(evidence, design=design), priors)
    return _ScaleMode(problem, maximize_bfgs(problem.evaluate, start, problem.inverse_hessian))


def _model_probabilities(variants: Sequence[Variant], modes: Sequence[_ScaleMode]) -> Float[np.ndarray, " variant"]:
    """Posterior probability of every variant."""
    if len(variants) == 1:
        return np.ones(1)
    return softmax([np.log(v.likely) + mode.evidence for v, mode in zip(variants, modes, strict=True)])


def _to_full_scales(variant: Variant, conditional: ConditionalFit) -> ConditionalFit:
    """Convert the scales of a variant to those of the full model."""
    return replace(conditional, scales=variant.to_full_scales(conditional.scales))
