"""Fit the conditional logit by Laplace approximation, averaged by evidence over the scales of terms and of effects.

The Hessian is dense in the common terms and block-diagonal in the effects of groups, so thousands of groups cost little.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from fewlabels.distributions.randomness import Rng
from fewlabels.models.joint_outcomes.design import JointDesign
from fewlabels.models.joint_outcomes.skewness import differentiate_variance, limit_skewness_shift
from fewlabels.models.optimize import maximize_newton

TERM_SCALES = (0.5, 1.0, 2.0)  # of the terms' prior; averaged by evidence
EFFECT_SCALES = (0.1, 0.4, 1.2)  # standard deviation of the effects of groups
MIN_WEIGHT = 0.005
MAX_STEPS, MAX_HALVINGS, MIN_EXPECTED_GAIN, MAX_STEP, NOISE = 60, 20, 1e-4, 5.0, 1e-9
Params = Float[np.ndarray, " parameter"]


@dataclass(frozen=True)
class JointEvidence:
    """The labelled strata of several models' joint outcomes that the fit sees, sorted by group."""

    features: Float[np.ndarray, "row candidate term"]
    effect_features: Float[np.ndarray, "row candidate effect"]
    group: Int[np.ndarray, " row"]  # index among the groups that have labels
    known_groups: Int[np.ndarray, " labelled"]  # their indices among all groups
    exists: Float[np.ndarray, "row outcome"]  # 0 for outcomes that can occur, else minus infinity
    outcomes: Float[np.ndarray, "row outcome"]

    @cached_property
    def n(self) -> Float[np.ndarray, " row"]:
        """Labels per stratum of the joint outcomes."""
        return self.outcomes.sum(axis=1)


@dataclass(frozen=True)
class JointComponent:
    """A normal approximation of the posterior of the joint outcomes' terms, given the scales."""

    terms: Params
    effects: Float[np.ndarray, "labelled effect"]
    root: Float[np.ndarray, "term term"]  # of the covariance of the terms
    response: Float[np.ndarray, "labelled effect term"]  # shift of the effects per shift of the terms
    effect_root: Float[np.ndarray, "labelled effect effect"]  # of the covariance of the effects given the terms
    scale: float  # of effects
    log_evidence: float

    def draw(
        self, rng: Rng, n: int
    ) -> tuple[Float[np.ndarray, "draw term"], Float[np.ndarray, "draw labelled effect"]]:
        """Draw terms of the fit, and effects of the groups that have labels."""
        shift = rng.standard_normal((n, len(self.terms))) @ self.root.T
        noise = np.einsum("geh,dgh->dge", self.effect_root, rng.standard_normal((n, *self.effects.shape)))
        return self.terms + shift, self.effects + np.einsum("get,dt->dge", self.response, shift) + noise


@dataclass(frozen=True)
class JointFit:
    """The posterior of terms and effects: a mixture over the scales."""

    design: JointDesign
    known_groups: Int[np.ndarray, " labelled"]
    components: tuple[JointComponent, ...]
    weights: Float[np.ndarray, " component"]

    def draw(self, rng: Rng, n: int) -> tuple[Float[np.ndarray, "draw term"], Float[np.ndarray, "draw group effect"]]:
        """Joint draws of the terms, and of the effects of all groups."""
        counts = rng.multinomial(n, self.weights).tolist()
        drawn = [self._draw_one(rng, one, k) for one, k in zip(self.components, counts, strict=True) if k]
        order = rng.permutation(n)
        return tuple(np.concatenate(parts)[order] for parts in zip(*drawn, strict=True))  # type: ignore[return-value]

    def _draw_one(self, rng: Rng, one: JointComponent, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw terms and effects of all groups from one component of the fit."""
        n_groups = len(self.design.strata.groups)
        if n_groups == 1:
            return one.draw(rng, n)[0], np.zeros((n, 1, self.design.n_effects))
        terms, known = one.draw(rng, n)
        effects = one.scale * rng.standard_normal((n, n_groups, self.design.n_effects))
        effects[:, self.known_groups] = known
        return terms, effects


def fit_joint(design: JointDesign) -> JointFit:
    """Fit the joint outcomes of several models to the labels."""
    evidence = _collect_evidence(design)
    scales = EFFECT_SCALES if len(design.strata.groups) > 1 else (0.0,)
    components: list[JointComponent] = []
    for term in TERM_SCALES:
        for effect in scales:
            components.append(_fit_given(evidence, *design.prior(term), effect, near=components[-1:]))
    weights = softmax([one.log_evidence for one in components])
    kept = [i for i, weight in enumerate(weights) if weight > MIN_WEIGHT]
    return JointFit(
        design, evidence.known_groups, tuple(components[i] for i in kept), weights[kept] / weights[kept].sum()
    )


def _collect_evidence(design: JointDesign) -> JointEvidence:
    """Collect the labelled strata to fit the joint outcomes to, sorted by group."""
    strata = design.strata
    (rows,) = np.nonzero(strata.n_labels > 0)
    rows = rows[np.argsort(strata.group[rows], kind="stable")]
    known, group = np.unique(strata.group[rows], return_inverse=True)
    return JointEvidence(
        design.features(rows), design.effect_features(rows), group.reshape(-1), known, list_possible(design, rows),
        strata.outcomes[rows],
    )  # fmt: skip


def list_possible(design: JointDesign, rows: Int[np.ndarray, " row"]) -> Float[np.ndarray, "row outcome"]:
    """Return 0 for joint outcomes of models that can occur in strata of the fit, minus infinity for the others."""
    can = np.column_stack([design.strata.supporters[rows] > 0, design.strata.can_miss[rows]])
    return np.where(can, 0.0, -np.inf)


@dataclass(frozen=True)
class _JointPoint:
    """The log posterior of the joint outcomes' fit at a point, with lazy derivatives."""

    problem: "_JointProblem"
    at: Params
    value: float
    chance: Float[np.ndarray, "row candidate"]

    @cached_property
    def _terms_and_effects(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of the fit by the terms, and by the effects of every group."""
        seen, problem = self.problem.evidence, self.problem
        miss = seen.outcomes[:, :-1] - seen.n[:, None] * self.chance
        terms, effects = problem.split(self.at)
        by_terms = np.einsum("rc,rct->t", miss, seen.features) - problem.precision * (terms - problem.mean)
        by_effects = problem.sum_by_group(np.einsum("rc,rce->re", miss, seen.effect_features))
        return by_terms, by_effects - problem.effect_precision * effects

    @property
    def gradient(self) -> Params:
        """Gradient of the log posterior of the fit of joint outcomes."""
        by_terms, by_effects = self._terms_and_effects
        return np.concatenate([by_terms, by_effects.reshape(-1)])

    @cached_property
    def blocks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Negative Hessian of the fit: of the terms, between effects and terms, and of the effects of every group."""
        seen, problem = self.problem.evidence, self.problem
        weighted = self.chance * seen.n[:, None]
        mean, own = (np.einsum("rc,rct->rt", self.chance, f) for f in (seen.features, seen.effect_features))
        flat = seen.features.reshape(-1, seen.features.shape[2])
        terms = (flat * weighted.reshape(-1, 1)).T @ flat - (mean * seen.n[:, None]).T @ mean
        sides = (weighted[:, :, None] * seen.effect_features).transpose(0, 2, 1)
        cross = sides @ seen.features
        cross -= (seen.n[:, None] * own)[:, :, None] * mean[:, None, :]
        effects = sides @ seen.effect_features
        effects -= (seen.n[:, None] * own)[:, :, None] * own[:, None, :]
        diagonal = problem.effect_precision * np.eye(own.shape[1])
        return (
            terms + np.diag(problem.precision),
            problem.sum_by_group(cross),
            problem.sum_by_group(effects) + diagonal,
        )

    def step(self) -> Params:
        """Newton step of the fit of joint outcomes, by the Schur complement of the effects."""
        by_terms, by_effects = self._terms_and_effects
        response, complement = self.reduced
        terms = np.linalg.solve(complement, by_terms + np.einsum("get,ge->t", response, by_effects))
        effects = np.linalg.solve(self.blocks[2], by_effects[:, :, None])[:, :, 0] + response @ terms
        return np.concatenate([terms, effects.reshape(-1)])

    @cached_property
    def reduced(self) -> tuple[np.ndarray, np.ndarray]:
        """Shift of the fit's effects per shift of the terms, and the negative Hessian of the terms without the effects."""
        terms, cross, effects = self.blocks
        response = -np.linalg.solve(effects, cross)
        return response, terms + np.einsum("get,geu->tu", cross, response)


@dataclass(frozen=True)
class _JointProblem:
    """The log posterior of the fit's terms and effects, given their scales."""

    evidence: JointEvidence
    mean: Params
    precision: Params
    effect_precision: float
    has_effects: bool

    @property
    def n_groups(self) -> int:
        """Groups that have effects in the fit: those with labels."""
        return len(self.evidence.known_groups) if self.has_effects else 0

    @cached_property
    def _starts(self) -> Int[np.ndarray, " labelled"]:
        """Index of every group's first labelled stratum in the fit."""
        return np.searchsorted(self.evidence.group, np.arange(self.n_groups))

    def sum_by_group(self, values: np.ndarray) -> np.ndarray:
        """Sum the labelled strata of the fit by group."""
        return np.add.reduceat(values, self._starts, axis=0) if self.n_groups else np.zeros((0, *values.shape[1:]))

    def split(self, at: Params) -> tuple[np.ndarray, np.ndarray]:
        """Split the fit's parameters into terms and effects."""
        k = len(self.mean)
        return at[:k], at[k:].reshape(self.n_groups, self.evidence.effect_features.shape[2])

    def evaluate(self, at: Params) -> _JointPoint:
        """Evaluate the log posterior of the joint outcomes' fit at a point."""
        seen, (terms, effects) = self.evidence, self.split(at)
        height = seen.features @ terms
        if self.n_groups:
            height += np.einsum("rce,re->rc", seen.effect_features, effects[seen.group])
        log_chance = normalize(np.concatenate([height, np.zeros((len(height), 1))], axis=1) + seen.exists)
        value = (seen.outcomes[seen.outcomes > 0] * log_chance[seen.outcomes > 0]).sum()
        value -= (self.precision * (terms - self.mean) ** 2).sum() / 2 + self.effect_precision * (effects**2).sum() / 2
        return _JointPoint(self, at, float(value), np.exp(log_chance[:, :-1]))


def normalize(height: Float[np.ndarray, "... outcome"]) -> Float[np.ndarray, "... outcome"]:
    """Return normalised log probabilities of joint outcomes of models, for their fit."""
    highest = height.max(axis=-1, keepdims=True)
    away = height - highest
    return away - np.log(np.exp(away).sum(axis=-1, keepdims=True))


def _fit_given(
    evidence: JointEvidence, mean: Params, spread: Params, scale: float, near: Sequence[JointComponent] = ()
) -> JointComponent:
    """Fit the joint outcomes given the terms' prior and the effects' scale; start from the fit to other scales."""
    problem = _JointProblem(evidence, mean, spread**-2.0, scale**-2.0 if scale else 0.0, scale > 0)
    start = np.concatenate([mean, np.zeros(problem.n_groups * evidence.effect_features.shape[2])])
    if near:
        start = np.concatenate([near[0].terms, near[0].effects.reshape(-1)])
    at, view = maximize_newton(
        problem.evaluate, start, _JointPoint.step, max_steps=MAX_STEPS, max_halvings=MAX_HALVINGS,
        min_expected_gain=MIN_EXPECTED_GAIN, max_step=MAX_STEP, noise=NOISE,
    )  # fmt: skip
    response, complement = view.reduced
    covariance = np.linalg.inv(complement)
    terms, effects = problem.split(at)
    log_determinant = np.linalg.slogdet(complement)[1] + sum(_log_determinants(view.blocks[2]))
    evidence_value = view.value - np.log(spread).sum() - log_determinant / 2
    if scale:
        evidence_value -= effects.size * np.log(scale)
    root, effect_root = np.linalg.cholesky((covariance + covariance.T) / 2), _inverse_roots(view.blocks[2])
    found = JointComponent(terms, effects, root, response, effect_root, scale, float(evidence_value))
    return _center_at_mean(found, view, complement)


def _center_at_mean(at_mode: JointComponent, view: _JointPoint, precision: np.ndarray) -> JointComponent:
    """Move the centre of the fit of joint outcomes from the mode to the mean, to first order."""
    seen, problem = view.problem.evidence, view.problem
    whole = seen.features  # how the heights follow the terms, the effects' response to them included
    variance = np.zeros((len(whole), whole.shape[1], whole.shape[1]))
    if problem.n_groups:
        whole = whole + seen.effect_features @ at_mode.response[seen.group]
        noise = seen.effect_features @ at_mode.effect_root[seen.group]
        variance += noise @ noise.transpose(0, 2, 1)
    spread = whole @ at_mode.root
    variance += spread @ spread.transpose(0, 2, 1)
    slope = differentiate_variance(view.chance, variance, seen.n)
    by_terms = np.einsum("rc,rct->t", slope, whole)
    terms = limit_skewness_shift(-at_mode.root @ (at_mode.root.T @ by_terms) / 2, precision)
    effects = np.einsum("get,t->ge", at_mode.response, terms)
    if problem.n_groups:
        by_effects = problem.sum_by_group(np.einsum("rc,rce->re", slope, seen.effect_features))
        own = np.einsum("geh,gfh->gef", at_mode.effect_root, at_mode.effect_root)
        effects = effects - np.einsum("gef,gf->ge", own, by_effects) / 2
    return replace(at_mode, terms=at_mode.terms + terms, effects=at_mode.effects + effects)


def _log_determinants(blocks: np.ndarray) -> Iterator[float]:
    """Yield the log determinant of every Hessian block of the joint outcomes' fit."""
    yield from (np.linalg.slogdet(blocks)[1] if len(blocks) else np.zeros(0))


def _inverse_roots(blocks: np.ndarray) -> np.ndarray:
    """Return a root of the inverse of every Hessian block of the joint outcomes' fit."""
    return np.linalg.cholesky(np.linalg.inv(blocks)) if len(blocks) else blocks
