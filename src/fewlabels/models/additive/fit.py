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
from jaxtyping import Float
from scipy.special import softmax

from fewlabels.models.additive.effect_priors import EffectPriors, PriorVariant, Scales
from fewlabels.models.additive.fit_result import AdditiveFit, ConditionalFit
from fewlabels.models.additive.laplace_evidence import Evaluation, LaplaceEvidence
from fewlabels.models.additive.strata import Strata
from fewlabels.models.optimize import maximize_bfgs

N_SCALE_SAMPLES = 8  # sets of scales to average over, in antithetic pairs around the mode
INFORMATION_STEP = 0.7  # from the mode, where the information on log scales is measured: it grows with the scales
MIN_EXPECTED_GAIN, MIN_GAIN = 5e-3, 1e-2  # in log evidence, below which the search for the mode of the scales stops
MAX_STEP = 1.0  # largest change of a log scale in one step of that search
MIN_MODEL_PROBABILITY = 0.01  # probability below which a model is dropped from the average


@dataclass(frozen=True)
class _AdditiveScaleMode:
    """The mode of the scales of one variant that is fitted, with a Laplace approximation around it."""

    problem: LaplaceEvidence
    evaluation: Evaluation

    @cached_property
    def precision(self) -> Float[np.ndarray, "scale scale"]:
        """Precision of the log scales in the normal approximation of the fit at their mode."""
        above = self.problem.evaluate(self.evaluation.conditional.scales + INFORMATION_STEP)
        return self.problem.priors.precision + np.diag(self.problem.scale_information(above.conditional))

    @cached_property
    def evidence(self) -> float:
        """Log evidence of the fitted additive model, with scales integrated out (Laplace)."""
        before, after = (np.linalg.slogdet(one)[1] for one in (self.problem.priors.precision, self.precision))
        return float(self.evaluation.value + 0.5 * (before - after))

    def sample_scales(self, weight: float) -> list[ConditionalFit]:
        """Fit the additive model at sets of scales drawn from the normal approximation around the mode."""
        cholesky_factor = np.linalg.inv(np.linalg.cholesky(self.precision)).T
        aside = (
            np.random.default_rng(0).standard_normal((N_SCALE_SAMPLES // 2, len(cholesky_factor))) @ cholesky_factor.T
        )
        pairs = [self._evaluate_pair(step) for step in aside]
        evaluations = [evaluation for side in zip(*pairs, strict=True) for evaluation in side]
        return [
            replace(self.problem.describe(evaluation), weight=weight / N_SCALE_SAMPLES) for evaluation in evaluations
        ]

    def _evaluate_pair(self, step: Scales) -> tuple[Evaluation, Evaluation]:
        """Fit at an antithetic pair of scales; the second search starts at the reflection of the first result."""
        top = self.evaluation.conditional
        self.problem.begin(top.terms, top.own)
        one = self.problem.evaluate(top.scales + step)
        self.problem.begin(2 * top.terms - one.conditional.terms, 2 * top.own - one.conditional.own)
        return one, self.problem.evaluate(top.scales - step)


def fit_additive(evidence: Strata, priors: EffectPriors, start: Scales | None = None) -> AdditiveFit:
    """Fit variants of the additive model by Laplace: find the mode of scales (from `start` if given), sample by it."""
    begin = priors.start if start is None else np.where(np.isfinite(start), start, priors.start)
    variants, modes = priors.list_variants(), list[_AdditiveScaleMode]()
    for variant in variants:  # each starts from the mode of the simpler one
        modes.append(_find_scale_mode(evidence, variant.priors, variant.read(begin)))
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
    return AdditiveFit(
        priors,
        modes[0].problem.labelled,
        tuple(conditionals),
        _to_full_scales(variants[best], top),
        n_evaluations,
        gradient_norm,
        together,
    )


def _find_scale_mode(evidence: Strata, priors: EffectPriors, start: Scales) -> _AdditiveScaleMode:
    """Fit one variant of the additive model: find the mode of its scales."""
    design = np.ascontiguousarray(evidence.design[:, : len(priors.block)])  # terms of pairs come last and may be absent
    problem = LaplaceEvidence(replace(evidence, design=design), priors)
    _, evaluation = maximize_bfgs(
        problem.evaluate, start, problem.inverse_hessian,
        min_expected_gain=MIN_EXPECTED_GAIN, min_gain=MIN_GAIN, max_step=MAX_STEP,
    )  # fmt: skip
    return _AdditiveScaleMode(problem, evaluation)


def _model_probabilities(
    variants: Sequence[PriorVariant], modes: Sequence[_AdditiveScaleMode]
) -> Float[np.ndarray, " variant"]:
    """Posterior probability of every fitted variant of the additive model."""
    if len(variants) == 1:
        return np.ones(1)
    return softmax([np.log(v.likely) + mode.evidence for v, mode in zip(variants, modes, strict=True)])


def _to_full_scales(variant: PriorVariant, conditional: ConditionalFit) -> ConditionalFit:
    """Convert the scales of a fitted variant to those of the full model."""
    return replace(conditional, scales=variant.to_full_scales(conditional.scales))
