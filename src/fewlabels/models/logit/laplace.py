"""Laplace approximation of the posterior of the curve and of the spread of the random effects.

The hyper-parameters (scale of miscalibration, scale of random effects, shares of groups that are never right and of
outliers) control shrinkage, and few labels determine them poorly, so the fit is a mixture of components: for each scale of miscalibration one
at each node of a cubature rule over the others, weighted by the posterior density there. The terms' mean is their mode plus
a correction for skewness.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from fewlabels.models.logit.importance_sampling import ImportanceSample, Normal, Points, sample
from fewlabels.models.logit.log_posterior import MAX_STEP, LogPosterior, PosteriorPoint, Square, find_mean_shift
from fewlabels.models.logit.model import N_HYPER, Model, Observations, Params
from fewlabels.models.logit.random_effects import N_SHIFTS, N_T, NODES, expit
from fewlabels.models.optimize import maximize_newton

MAX_STEPS, MAX_HALVINGS = 40, 12
MIN_EXPECTED_GAIN, NOISE = (
    1e-3,
    3e-2,
)  # of the log posterior: expected gain at which to stop; error from grids that move
MIN_CURVATURE = 1e-2  # least curvature of the precision matrix
GUESS_STEPS = 6  # Newton steps for the curve alone
CUBATURE = np.sqrt(3.0) * np.repeat(np.eye(3), 2, axis=0) * np.tile([[1], [-1]], (3, 1))  # nodes, of equal weight:
# exact to the third degree for three standard normal variables
MIN_DISTANCE = 1.0  # standard deviations between modes up to which they are one
MANY = 0.25  # share of groups with labels
MIN_WEIGHT = 0.01  # weight up to which a component is dropped
WORTH_INTEGRATING = 0.25  # weight of a scale of miscalibration from which the hyper-parameters are integrated over
MAX_ELEMENTS = 500_000  # array elements evaluated in one pass


@dataclass(frozen=True)
class LogitComponent:
    """One mixture component of the fit: parameters, and the random effects' grid of every group with labels."""

    at: Params
    shift: Float[np.ndarray, " moving"]  # posterior mean of the terms minus their mode; no terms at a point
    weight: float  # of this component
    covariance: Float[np.ndarray, "curve curve"]  # of the terms, given the hyper-parameters; zero at a point
    nodes: Float[np.ndarray, "labelled node"]  # random effect at each node
    probability: Float[np.ndarray, "labelled node"]  # posterior probability of each node
    score_by_node: Float[np.ndarray, "labelled node term"]  # score: gradient of the log likelihood; no terms at a point

    @property
    def terms(self) -> Float[np.ndarray, " term"]:
        """The curve's terms in this component of the logit model's Laplace approximation."""
        return self.at[:-N_HYPER]


@dataclass(frozen=True)
class LogitFit:
    """Mean and covariance of the parameters, and the mixture components."""

    model: Model
    mean: Params
    covariance: Square
    group: Int[np.ndarray, " labelled"]  # groups with labels
    components: tuple[LogitComponent, ...]
    normals: tuple[Normal, ...]  # approximations given each scale of miscalibration
    sample: ImportanceSample | None = None  # where components are importance-sampling points

    @property
    def is_sampled(self) -> bool:
        """Are the components of the logit's Laplace fit importance-sampling points instead?"""
        return self.sample is not None


def fit(evidence: Observations, model: Model) -> LogitFit:
    """Fit the logit model by Laplace approximation, given each scale of miscalibration, and average over the scales."""
    modes = _find_modes(evidence, model)
    weight = softmax([mode.log_evidence for mode in modes])
    components = [
        replace(component, weight=component.weight * float(w))
        for w, mode in zip(weight, modes, strict=True)
        for component in (mode.integrate_over_spread() if w > WORTH_INTEGRATING else [mode.as_component()])
    ]
    mean, covariance = _mix_moments(weight, modes)
    normals = tuple(
        Normal(float(w), mode.mean, mode.covariance) for w, mode in zip(weight, modes, strict=True) if w > MIN_WEIGHT
    )
    return LogitFit(model, mean, covariance, np.unique(evidence.group), _drop_negligible(components), normals)


def _find_modes(evidence: Observations, model: Model) -> "list[_LaplaceMode]":
    """Find the logit model's modes for Laplace's approximation, one for each scale of miscalibration.

    Where groups are likely to be never right, or many to be outliers, another mode may have a low curve instead: the search
    is also started from a curve without random effects.
    """
    modes: list[_LaplaceMode] = []
    for conditional in model.conditionals:
        problem = LogPosterior(evidence, conditional)
        found = _LaplaceMode.find(problem, modes[-1].at if modes else _initial_guess(problem))
        modes.append(found)
        if modes[1:] and found.has_exceptions:
            other = _LaplaceMode.find(problem, _initial_guess(problem))
            modes += [other] if other.distance(found) > MIN_DISTANCE else []
    return modes


def _mix_moments(weight: Float[np.ndarray, " mode"], modes: "Sequence[_LaplaceMode]") -> tuple[Params, Square]:
    """Mean and covariance of a mixture of normals, Laplace approximations of the logit model."""
    places = np.stack([mode.mean for mode in modes])
    mean = weight @ places
    within = sum(w * mode.covariance for w, mode in zip(weight, modes, strict=True))
    return mean, within + (weight[:, None] * (places - mean)).T @ (places - mean)


def _drop_negligible(components: Sequence[LogitComponent]) -> tuple[LogitComponent, ...]:
    """Drop components of the logit's Laplace fit of negligible weight, and let the others sum to one."""
    kept = [component for component in components if component.weight > MIN_WEIGHT]
    total = sum(component.weight for component in kept)
    return tuple(replace(component, weight=component.weight / total) for component in kept)


def integrate(evidence: Observations, near: LogitFit) -> LogitFit:
    """Replace a Laplace fit, where the posterior is far from normal, by importance sampling around it.

    Every point is a component without uncertainty in its terms.
    """
    problem = LogPosterior(evidence, near.model)
    return from_sample(problem, near, sample(lambda points: _evaluate_points(problem, points)[0], near.normals))


def from_sample(problem: LogPosterior, near: LogitFit, found: ImportanceSample) -> LogitFit:
    """Return a Laplace fit whose components are weighted points."""
    _, nodes, probability = _evaluate_points(problem, found.points)
    still = np.zeros((*probability.shape[1:], 0))
    zero = np.zeros((len(near.mean) - N_HYPER,) * 2)
    components = [
        LogitComponent(at, zero[0, :0], float(weight), zero, place, chance, still)
        for at, weight, place, chance in zip(found.points, found.weight, nodes, probability, strict=True)
    ]
    moments = found.moments
    return replace(near, mean=moments.mean, covariance=moments.covariance, components=tuple(components), sample=found)


def _evaluate_points(
    problem: LogPosterior, points: Points, most: int = MAX_ELEMENTS
) -> tuple[
    Float[np.ndarray, " point"], Float[np.ndarray, "point labelled node"], Float[np.ndarray, "point labelled node"]
]:
    """Evaluate points of the logit's Laplace fit: log posterior, random effects' nodes and probabilities, in blocks."""
    n_strata, n_groups = len(problem.evidence.group), len(problem.start)
    step = max(1, most // max(1, n_strata * NODES))
    blocks = [points[i : i + step] for i in range(0, len(points), step)]
    repeated = {n: problem.repeat(n) for n in {len(block) for block in blocks}}
    out = []
    for block in blocks:
        base = (block[:, :-N_HYPER] @ problem.evidence.design.T).reshape(-1)
        same = repeated[len(block)]
        found = same.marginalize(base, problem.model.read_spread(np.repeat(block, n_groups, axis=0), same.traits))
        grid = (len(block), n_groups, NODES)
        value = found.log_likelihood.reshape(grid[:2]).sum(axis=1) + [problem.model.log_prior(at) for at in block]
        out.append((value, found.grid.nodes.reshape(grid), found.probability.reshape(grid)))
    value, nodes, probability = (np.concatenate(parts) for parts in zip(*out, strict=True))
    return value, nodes, probability


def _initial_guess(problem: LogPosterior) -> Params:
    """Start of the search for the logit's Laplace mode: logistic regression without random effects."""
    seen, model = problem.evidence, problem.model
    terms, precision = model.centre, -model.hessian[:-N_HYPER, :-N_HYPER]
    for _ in range(GUESS_STEPS):
        right = expit(seen.design @ terms)
        gradient = seen.design.T @ (seen.right - seen.total * right) - precision @ (terms - model.centre)
        step = np.linalg.solve((seen.design.T * (seen.total * right * (1 - right))) @ seen.design + precision, gradient)
        terms = terms + step * min(1.0, MAX_STEP / max(float(np.abs(step).max()), MAX_STEP))
    return np.append(terms, model.start[-N_HYPER:])


@dataclass(frozen=True)
class _LaplaceMode:
    """The mode given the scale of miscalibration, and the normal approximation around it."""

    problem: LogPosterior
    at: Params
    view: PosteriorPoint
    covariance: Square

    @property
    def log_evidence(self) -> float:
        """Laplace approximation of the log probability of the labels, up to a constant."""
        return self.view.value + float(np.linalg.slogdet(self.covariance)[1]) / 2

    @cached_property
    def conditional(self) -> "_LaplaceConditional":
        """The logit's terms given the hyper-parameters at the mode, by Laplace's approximation."""
        return _LaplaceConditional(self.view)

    @classmethod
    def find(cls, problem: LogPosterior, at: Params) -> "_LaplaceMode":
        """Find a mode of the logit model by Newton's method."""
        at, view = maximize_newton(
            problem.evaluate, at, lambda view: _invert(-view.hessian) @ view.gradient, max_steps=MAX_STEPS,
            max_halvings=MAX_HALVINGS, min_expected_gain=MIN_EXPECTED_GAIN, max_step=MAX_STEP, noise=NOISE,
        )  # fmt: skip
        return cls(problem, at, view, _invert(-view.hessian))

    @property
    def has_exceptions(self) -> bool:
        """At the logit's mode, is a group with labels likely to be never right, or are many likely to be outliers?"""
        probability = self.view.probability
        outliers = probability[:, N_SHIFTS:].sum(axis=1) > 1 / 2
        return bool(np.any(probability[:, N_T] > 1 / 2) or outliers.sum() > MANY * len(outliers))

    def distance(self, other: "_LaplaceMode") -> float:
        """Mahalanobis distance of another mode of the logit model."""
        away = other.at - self.at
        return float(np.sqrt(away @ np.linalg.solve(self.covariance, away)))

    @property
    def mean(self) -> Params:
        """Posterior mean of the logit model's parameters, by Laplace's approximation."""
        return self.at + np.append(self.conditional.shift, np.zeros(N_HYPER))

    def as_component(self) -> LogitComponent:
        """Return the logit's mode as one component of the Laplace fit."""
        return self.conditional.to_component(1.0)

    def integrate_over_spread(self) -> list[LogitComponent]:
        """Components at the nodes of a cubature rule, each with the terms' normal approximation there (nested Laplace)."""
        nodes = [_LaplaceConditional(self.problem.evaluate(self.at + self._steps @ z)) for z in CUBATURE]
        density = np.array([node.log_evidence for node in nodes]) + (CUBATURE**2).sum(axis=1) / 2
        return [node.to_component(float(w)) for node, w in zip(nodes, softmax(density), strict=True)]

    @cached_property
    def _steps(self) -> Float[np.ndarray, "parameter hyper"]:
        """Steps from the logit's Laplace mode along the principal directions of the hyper-parameters."""
        root = np.linalg.cholesky(self.covariance[-N_HYPER:, -N_HYPER:])
        return np.linalg.solve(root, self.covariance[-N_HYPER:]).T


@dataclass(frozen=True)
class _LaplaceConditional:
    """The terms given the hyper-parameters: their normal approximation, at a point near their conditional mode."""

    view: PosteriorPoint

    @cached_property
    def covariance(self) -> Square:
        """Covariance of the logit's terms given the hyper-parameters, by Laplace's approximation."""
        return _invert(-self.view.hessian[:-N_HYPER, :-N_HYPER])

    @cached_property
    def shift(self) -> Float[np.ndarray, " term"]:
        """Posterior mean of the logit's terms minus the point, given the hyper-parameters."""
        return self._step + find_mean_shift(self.view, self.covariance)

    @property
    def log_evidence(self) -> float:
        """Laplace approximation of the log density of the hyper-parameters, up to a constant."""
        gain = self.view.gradient[:-N_HYPER] @ self._step / 2
        return self.view.value + float(gain) + float(np.linalg.slogdet(self.covariance)[1]) / 2

    @cached_property
    def _step(self) -> Float[np.ndarray, " term"]:
        """Newton step of the logit's terms given the hyper-parameters, limited in length."""
        step = self.covariance @ self.view.gradient[:-N_HYPER]
        return step * min(1.0, MAX_STEP / max(float(np.abs(step).max()), MAX_STEP))

    def to_component(self, weight: float) -> LogitComponent:
        """Return a component of the logit's Laplace fit of this weight."""
        view = self.view
        return LogitComponent(
            view.at, self.shift, weight, self.covariance, view.grid.nodes, view.probability, view.score_by_node
        )


def _invert(precision: Square) -> Square:
    """Invert the precision of the logit's Laplace approximation; away from the mode, by absolute eigenvalues."""
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    return (vectors / np.maximum(np.abs(values), MIN_CURVATURE)) @ vectors.T
