"""Laplace approximation of the posterior of the curve and of the spread of the random effects.

The random effects are integrated out on grids, so the likelihood of a group is nearly exact. Derivatives follow from the
complete-data log likelihood: the gradient is its mean gradient over the grid, the Hessian its mean Hessian plus the
variance of its gradient. The hyper-parameters (scale of miscalibration, scale of random effects, share of groups that are never right)
control shrinkage, and few labels determine them poorly, so the fit is a mixture of components: for each scale of
miscalibration one at each node of a cubature rule over the others, weighted by the posterior density there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit, softmax

from fewlabels.models.logit.importance_sampling import draw_points, effective_sample_size, importance_weights
from fewlabels.models.logit.model import N_HYPER, Model, Observations, Params, read_spread
from fewlabels.models.logit.random_effects import MAX_LOGIT, NODES, Grid, Spread, clip_magnitude, expit
from fewlabels.models.optimize import maximize_newton

MAX_STEPS, MAX_HALVINGS = 40, 12
MIN_EXPECTED_GAIN, NOISE = (
    1e-3,
    3e-2,
)  # of the log posterior: expected gain at which to stop; error from grids that move
MAX_STEP = 2.0  # largest step of any parameter
MIN_CURVATURE = 1e-2  # least curvature of the precision matrix
MODE_STEPS, GUESS_STEPS = 4, 6  # Newton steps for a single random effect, and for the curve alone
CUBATURE = np.sqrt(3.0) * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])  # nodes: exact to the third degree for
MASSES = np.array([1 / 3, *(1 / 6 for _ in range(4))])  # two standard normal variables, with these weights
MIN_WEIGHT = 0.01  # weight up to which a component is dropped
WORTH_INTEGRATING = 0.25  # weight of a scale of miscalibration from which the hyper-parameters are integrated over
MAX_ELEMENTS = 500_000  # array elements evaluated in one pass
Square = Float[np.ndarray, "parameter parameter"]
PerStratum = Float[np.ndarray, " stratum"]


@dataclass(frozen=True)
class Component:
    """One mixture component of the fit: parameters, and the random effects' grid of every group with labels."""

    at: Params
    weight: float  # of this component
    covariance: Float[np.ndarray, "curve curve"]  # of the terms, given the hyper-parameters; zero at a point
    nodes: Float[np.ndarray, "labelled node"]  # random effect at each node
    probability: Float[np.ndarray, "labelled node"]  # posterior probability of each node
    score_by_node: Float[np.ndarray, "labelled node term"]  # score: gradient of the log likelihood; no terms at a point

    @property
    def terms(self) -> Float[np.ndarray, " term"]:
        """The curve's terms."""
        return self.at[:-N_HYPER]

    @property
    def spread(self) -> Spread:
        """The spread of the random effects."""
        return read_spread(self.at)


@dataclass(frozen=True)
class Fit:
    """Mean and covariance of the parameters, and the mixture components."""

    model: Model
    mode: Params
    covariance: Square
    group: Int[np.ndarray, " labelled"]  # groups with labels
    components: tuple[Component, ...]
    n_points: float | None = None  # effective sample size, where components are importance-sampling points

    @property
    def is_sampled(self) -> bool:
        """Are the components importance-sampling points?"""
        return self.n_points is not None


@dataclass(frozen=True)
class _Marginal:
    """Marginal log likelihood of each group, and the posterior probabilities of its random effect's nodes."""

    grid: Grid
    right: Float[np.ndarray, "stratum node"]
    log_likelihood: Float[np.ndarray, " labelled"]
    probability: Float[np.ndarray, "labelled node"]


@dataclass(frozen=True)
class _PosteriorPoint:
    """The log posterior at a point, with lazy derivatives."""

    problem: "_Problem"
    at: Params
    grid: Grid
    right: Float[np.ndarray, "stratum node"]
    value: float
    probability: Float[np.ndarray, "labelled node"]

    @cached_property
    def score_by_node(self) -> Float[np.ndarray, "labelled node term"]:
        """Score: gradient of each group's log likelihood by the terms, at each node of its random effect."""
        seen = self.problem.evidence
        miss = seen.right[:, None] - seen.total[:, None] * self.right
        return self.problem.sum_by_group(miss[:, :, None] * seen.design[:, None, :])

    @cached_property
    def gradient(self) -> Params:
        """Gradient."""
        return self._mean.sum(axis=0) + self.problem.model.gradient(self.at)

    @cached_property
    def hessian(self) -> Square:
        """Hessian."""
        seen = self.problem.evidence
        probability = self.probability[self.problem.group_index]
        doubt = seen.total * np.einsum("sn,sn->s", probability, self.right * (1 - self.right))
        scores = self._scores_by_node
        squares = np.matmul((self.probability[:, :, None] * scores).transpose(0, 2, 1), scores)
        hessian = squares.sum(axis=0) - self._mean.T @ self._mean  # not one long product: it would start BLAS threads
        hessian[:-N_HYPER, :-N_HYPER] -= (seen.design.T * doubt) @ seen.design
        expected = self.probability[:, :, None, None] * self.grid.hessian
        hessian[-N_HYPER:, -N_HYPER:] += expected.sum(axis=(0, 1))
        return hessian + self.problem.model.hessian

    @cached_property
    def _scores_by_node(self) -> Float[np.ndarray, "labelled node parameter"]:
        return np.concatenate([self.score_by_node, self.grid.gradient], axis=2)

    @cached_property
    def _mean(self) -> Float[np.ndarray, "labelled parameter"]:
        return np.matmul(self.probability[:, None, :], self._scores_by_node)[:, 0]


@dataclass(frozen=True)
class _Problem:
    """The log posterior of the parameters."""

    evidence: Observations
    model: Model

    @cached_property
    def start(self) -> Int[np.ndarray, " labelled"]:
        """Index of the first stratum of each group."""
        return np.unique(self.evidence.group, return_index=True)[1]

    @cached_property
    def group_index(self) -> Int[np.ndarray, " stratum"]:
        """Index, among groups with labels, of each stratum's group."""
        return np.repeat(np.arange(len(self.start)), np.diff(np.append(self.start, len(self.evidence.group))))

    @cached_property
    def ranks(self) -> tuple[Int[np.ndarray, " having"], ...]:
        """Groups with at least one stratum, at least two, and so on."""
        n_strata = np.bincount(self.group_index, minlength=len(self.start))
        return tuple(np.nonzero(n_strata > rank)[0] for rank in range(int(n_strata.max(initial=0))))

    @cached_property
    def _outcomes(self) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, " labelled"]]:
        """Right labels and all labels of each group."""
        return self._count_by_group(self.evidence.right), self._count_by_group(self.evidence.total)

    def evaluate(self, at: Params) -> _PosteriorPoint:
        """Log posterior, with the random effects integrated out."""
        summed = self.marginalize(self.evidence.design @ at[:-N_HYPER], read_spread(at))
        value = float(summed.log_likelihood.sum()) + self.model.log_prior(at)
        return _PosteriorPoint(self, at, summed.grid, summed.right, value, summed.probability)

    def marginalize(self, base: PerStratum, spread: Spread) -> _Marginal:
        """Integrate the random effects out of each group's likelihood, given the strata's logits without them."""
        seen = self.evidence
        grid = self.model.random_effects.build_grid(spread, seen.doubt[self.start], *self._find_modes(base))
        height = clip_magnitude(base[:, None] + grid.nodes[self.group_index], MAX_LOGIT)
        right = expit(height)
        n_wrong = seen.total - seen.right
        likely = self.sum_by_group(seen.total[:, None] * np.log(right) - n_wrong[:, None] * height)
        highest = likely.max(axis=1, keepdims=True)
        probability = np.exp(likely - highest) * grid.weight
        total = probability.sum(axis=1, keepdims=True)
        return _Marginal(grid, right, (highest + np.log(total))[:, 0], probability / total)

    def repeat(self, n: int) -> "_Problem":
        """Return n copies of the data as one problem, to evaluate n points in one pass."""
        seen, n_groups = self.evidence, len(self.start)
        group = self.group_index + n_groups * np.arange(n)[:, None]
        right, total, doubt = (np.tile(values, n) for values in (seen.right, seen.total, seen.doubt))
        return _Problem(Observations(np.tile(seen.design, (n, 1)), group.reshape(-1), right, total, doubt), self.model)

    def _find_modes(self, base: PerStratum) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, " labelled"]]:
        """Mode and standard deviation of each group's random effect under the outlier prior, by Newton's method."""
        seen, loose = self.evidence, self.model.random_effects.outlier_scale**-2
        n_right, n = self._outcomes
        expected = self._count_by_group(seen.total * expit(base)) / n
        at = logit((n_right + 0.5) / (n + 1)) - logit(expected)
        for _ in range(MODE_STEPS):
            expected = expit(base + at[self.group_index])
            stiff = self._count_by_group(seen.total * expected * (1 - expected)) + loose
            step = (self._count_by_group(seen.right - seen.total * expected) - loose * at) / stiff
            at += clip_magnitude(step, MAX_STEP)
        return at, 1 / np.sqrt(stiff)

    def _count_by_group(self, values: PerStratum) -> Float[np.ndarray, " labelled"]:
        return np.bincount(self.group_index, weights=values, minlength=len(self.start)).astype(np.float64)

    def sum_by_group(self, values: Float[np.ndarray, "stratum *rest"]) -> Float[np.ndarray, "labelled *rest"]:
        """Sum the strata of each group: all first strata, then all second ones, and so on (few groups have many)."""
        out = values[self.start]
        for rank, having in enumerate(self.ranks[1:], start=1):
            out[having] += values[self.start[having] + rank]
        return out


def fit(evidence: Observations, model: Model) -> Fit:
    """Fit the model by Laplace approximation, given each scale of miscalibration, and average over these scales."""
    modes: list[_Mode] = []
    for conditional in model.conditionals:
        problem = _Problem(evidence, conditional)
        at, view = _find_mode(problem, modes[-1].at if modes else _initial_guess(problem))
        modes.append(_Mode(problem, at, view, _invert(-view.hessian)))
    weight = softmax([mode.log_evidence for mode in modes])
    components = [
        replace(component, weight=component.weight * float(w))
        for w, mode in zip(weight, modes, strict=True)
        for component in (mode.integrate_over_spread() if w > WORTH_INTEGRATING else [mode.as_component()])
    ]
    mean, covariance = _mix_moments(weight, modes)
    return Fit(model, mean, covariance, np.unique(evidence.group), _drop_negligible(components))


def _mix_moments(weight: Float[np.ndarray, " mode"], modes: "Sequence[_Mode]") -> tuple[Params, Square]:
    """Mean and covariance of a mixture of normals."""
    places = np.stack([mode.at for mode in modes])
    mean = weight @ places
    within = sum(w * mode.covariance for w, mode in zip(weight, modes, strict=True))
    return mean, within + (weight[:, None] * (places - mean)).T @ (places - mean)


def _drop_negligible(components: Sequence[Component]) -> tuple[Component, ...]:
    """Drop components of negligible weight, and let the others sum to one."""
    kept = [component for component in components if component.weight > MIN_WEIGHT]
    total = sum(component.weight for component in kept)
    return tuple(replace(component, weight=component.weight / total) for component in kept)


def integrate(evidence: Observations, near: Fit) -> Fit:
    """Integrate over the posterior by importance sampling around a fit, where it is far from normal.

    Every point is a component without uncertainty in its terms.
    """
    problem = _Problem(evidence, near.model)
    points = draw_points(near.mode, near.covariance)
    value, nodes, probability = _evaluate_points(problem, points)
    weight = importance_weights(points, near.mode, near.covariance, value)
    (kept,) = np.nonzero(weight)
    still = np.zeros((*probability.shape[1:], 0))
    zero = np.zeros((len(near.mode) - N_HYPER,) * 2)
    components = [Component(points[i], float(weight[i]), zero, nodes[i], probability[i], still) for i in kept]
    centre = weight @ points
    spread = (weight * (points - centre).T) @ (points - centre)
    return Fit(near.model, centre, spread, near.group, tuple(components), n_points=effective_sample_size(weight))


def _evaluate_points(
    problem: _Problem, points: Float[np.ndarray, "point parameter"], most: int = MAX_ELEMENTS
) -> tuple[
    Float[np.ndarray, " point"], Float[np.ndarray, "point labelled node"], Float[np.ndarray, "point labelled node"]
]:
    """Log posterior, random effects' nodes and their probabilities at every point, in blocks that fit in memory."""
    n_strata, n_groups = len(problem.evidence.group), len(problem.start)
    step = max(1, most // max(1, n_strata * NODES))
    blocks = [points[i : i + step] for i in range(0, len(points), step)]
    repeated = {n: problem.repeat(n) for n in {len(block) for block in blocks}}
    out = []
    for block in blocks:
        base = (block[:, :-N_HYPER] @ problem.evidence.design.T).reshape(-1)
        found = repeated[len(block)].marginalize(base, read_spread(np.repeat(block, n_groups, axis=0)))
        grid = (len(block), n_groups, NODES)
        value = found.log_likelihood.reshape(grid[:2]).sum(axis=1) + [problem.model.log_prior(at) for at in block]
        out.append((value, found.grid.nodes.reshape(grid), found.probability.reshape(grid)))
    value, nodes, probability = (np.concatenate(parts) for parts in zip(*out, strict=True))
    return value, nodes, probability


def _initial_guess(problem: _Problem) -> Params:
    """Starting point: logistic regression without random effects."""
    seen, model = problem.evidence, problem.model
    terms, precision = model.centre, -model.hessian[:-N_HYPER, :-N_HYPER]
    for _ in range(GUESS_STEPS):
        right = expit(seen.design @ terms)
        gradient = seen.design.T @ (seen.right - seen.total * right) - precision @ (terms - model.centre)
        step = np.linalg.solve((seen.design.T * (seen.total * right * (1 - right))) @ seen.design + precision, gradient)
        terms = terms + step * min(1.0, MAX_STEP / max(float(np.abs(step).max()), MAX_STEP))
    return np.append(terms, model.start[-N_HYPER:])


def _find_mode(problem: _Problem, at: Params) -> tuple[Params, _PosteriorPoint]:
    return maximize_newton(
        problem.evaluate, at, lambda view: _invert(-view.hessian) @ view.gradient, max_steps=MAX_STEPS,
        max_halvings=MAX_HALVINGS, min_expected_gain=MIN_EXPECTED_GAIN, max_step=MAX_STEP, noise=NOISE,
    )  # fmt: skip


@dataclass(frozen=True)
class _Mode:
    """The mode given the scale of miscalibration, and the normal approximation around it."""

    problem: _Problem
    at: Params
    view: _PosteriorPoint
    covariance: Square

    @property
    def log_evidence(self) -> float:
        """Laplace approximation of the log probability of the labels, up to a constant."""
        return self.view.value + float(np.linalg.slogdet(self.covariance)[1]) / 2

    def as_component(self) -> Component:
        """Return the mode as one component."""
        return self._to_component(self.view, 1.0)

    def integrate_over_spread(self) -> list[Component]:
        """Components at the nodes of a cubature rule, terms at their conditional mean, reweighted by the log posterior."""
        places = [self.at + self._steps @ z for z in CUBATURE]
        evaluated = zip(CUBATURE, places, strict=True)
        views = [self.problem.evaluate(at) if z.any() else self.view for z, at in evaluated]
        density = np.log(MASSES) + np.array([view.value for view in views]) + (CUBATURE**2).sum(axis=1) / 2
        return [self._to_component(view, float(w)) for view, w in zip(views, softmax(density), strict=True)]

    def _to_component(self, view: _PosteriorPoint, weight: float) -> Component:
        return Component(view.at, weight, self._given_spread, view.grid.nodes, view.probability, view.score_by_node)

    @cached_property
    def _steps(self) -> Float[np.ndarray, "parameter 2"]:
        """Steps of all parameters along the principal directions of the hyper-parameters."""
        root = np.linalg.cholesky(self.covariance[-N_HYPER:, -N_HYPER:])
        return np.linalg.solve(root, self.covariance[-N_HYPER:]).T

    @cached_property
    def _given_spread(self) -> Float[np.ndarray, "term term"]:
        """Covariance of the terms given the hyper-parameters."""
        return (self.covariance - self._steps @ self._steps.T)[:-N_HYPER, :-N_HYPER]


def _invert(precision: Square) -> Square:
    """Invert a precision matrix; away from the mode it may be indefinite, so absolute eigenvalues are used."""
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    return (vectors / np.maximum(np.abs(values), MIN_CURVATURE)) @ vectors.T
