"""Laplace approximation of the posterior of the curve and of the scale of the random effects.

The random effects are integrated out on grids, so the likelihood of a group is nearly exact. Derivatives follow from the
complete-data log likelihood: the gradient is its mean gradient over the grid, the Hessian its mean Hessian plus the
variance of its gradient. The scale σ controls shrinkage, and few labels determine it poorly, so the fit is a mixture of
components at a few scales (Gauss-Hermite nodes), weighted by the posterior density there.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import logit, softmax

from fewlabels.models.logit.importance_sampling import draw_points, effective_sample_size, importance_weights
from fewlabels.models.logit.model import Model, Observations
from fewlabels.models.logit.random_effects import MAX_LOGIT, NODES, Grid, clip_magnitude, expit
from fewlabels.models.optimize import maximize_newton

MAX_STEPS, MAX_HALVINGS = 40, 12
MIN_EXPECTED_GAIN, NOISE = (
    1e-3,
    3e-2,
)  # of the log posterior: expected gain at which to stop; error from grids that move
MAX_STEP = 2.0  # largest step of any parameter
MIN_CURVATURE = 1e-2  # least curvature of the precision matrix
MODE_STEPS, GUESS_STEPS = 4, 6  # Newton steps for a single random effect, and for the curve alone
SCALES, MASSES = hermegauss(3)
MAX_ELEMENTS = 500_000  # array elements evaluated in one pass
Params = Float[np.ndarray, " parameter"]
Square = Float[np.ndarray, "parameter parameter"]
PerStratum = Float[np.ndarray, " stratum"]


@dataclass(frozen=True)
class Component:
    """One mixture component of the fit: parameters, and the random effects' grid of every group with labels."""

    at: Params
    weight: float  # of this component
    nodes: Float[np.ndarray, "labelled node"]  # random effect at each node
    probability: Float[np.ndarray, "labelled node"]  # posterior probability of each node
    score_by_node: Float[np.ndarray, "labelled node term"]  # score: gradient of the log likelihood; no terms at a point

    @property
    def terms(self) -> Float[np.ndarray, " term"]:
        """The curve's terms."""
        return self.at[:-1]

    @property
    def scale(self) -> float:
        """σ: the scale of the random effects."""
        return float(np.exp(self.at[-1]))


@dataclass(frozen=True)
class Fit:
    """Mode and covariance of the terms and log σ, and the mixture components."""

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

    @cached_property
    def conditional(self) -> Float[np.ndarray, "term term"]:
        """Covariance of the terms within a component: conditional on the scale."""
        cross = self.covariance[:-1, -1:]
        return self.covariance[:-1, :-1] - cross @ cross.T / self.covariance[-1, -1]


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
        flat = self._scores_by_node.reshape(-1, len(self.at))
        hessian = (self.probability.reshape(-1, 1) * flat).T @ flat - self._mean.T @ self._mean
        hessian[:-1, :-1] -= (seen.design.T * doubt) @ seen.design
        hessian[-1, -1] += (
            self.probability * self.grid.hessian
        ).sum()  # not a dot product: a long one would start BLAS threads
        return hessian + self.problem.model.hessian(self.at)

    @cached_property
    def _scores_by_node(self) -> Float[np.ndarray, "labelled node parameter"]:
        return np.concatenate([self.score_by_node, self.grid.gradient[:, :, None]], axis=2)

    @cached_property
    def _mean(self) -> Float[np.ndarray, "labelled parameter"]:
        return np.matmul(self.probability[:, None, :], self._scores_by_node)[:, 0]


@dataclass(frozen=True)
class _Problem:
    """The log posterior of terms and log σ."""

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
        summed = self.marginalize(self.evidence.design @ at[:-1], float(np.exp(at[-1])))
        value = float(summed.log_likelihood.sum()) + self.model.log_prior(at)
        return _PosteriorPoint(self, at, summed.grid, summed.right, value, summed.probability)

    def marginalize(self, base: PerStratum, scale: float | Float[np.ndarray, "labelled 1"]) -> _Marginal:
        """Integrate the random effects out of each group's likelihood, given the strata's logits without them."""
        seen = self.evidence
        grid = self.model.random_effects.build_grid(scale, *self._find_modes(base))
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
        design, right, total = np.tile(seen.design, (n, 1)), np.tile(seen.right, n), np.tile(seen.total, n)
        return _Problem(Observations(design, group.reshape(-1), right, total), self.model)

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


def fit(evidence: Observations, model: Model, start: Params | None = None) -> Fit:
    """Fit the model by Laplace approximation; `start` may be the mode of an earlier fit."""
    problem = _Problem(evidence, model)
    at, view = _find_mode(problem, _initial_guess(problem) if start is None else start)
    covariance = _invert(-view.hessian)
    group = np.unique(evidence.group)
    return Fit(model, at, covariance, group, _integrate_over_scale(problem, at, view, covariance))


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
    components = [Component(points[i], float(weight[i]), nodes[i], probability[i], still) for i in kept]
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
        base = (block[:, :-1] @ problem.evidence.design.T).reshape(-1)
        found = repeated[len(block)].marginalize(base, np.repeat(np.exp(block[:, -1:]), n_groups, axis=0))
        grid = (len(block), n_groups, NODES)
        value = found.log_likelihood.reshape(grid[:2]).sum(axis=1) + [problem.model.log_prior(at) for at in block]
        out.append((value, found.grid.nodes.reshape(grid), found.probability.reshape(grid)))
    value, nodes, probability = (np.concatenate(parts) for parts in zip(*out, strict=True))
    return value, nodes, probability


def _initial_guess(problem: _Problem) -> Params:
    """Starting point: logistic regression without random effects."""
    seen, model = problem.evidence, problem.model
    terms, precision = model.centre, np.diag(model.spread**-2)
    for _ in range(GUESS_STEPS):
        right = expit(seen.design @ terms)
        gradient = seen.design.T @ (seen.right - seen.total * right) - precision @ (terms - model.centre)
        step = np.linalg.solve((seen.design.T * (seen.total * right * (1 - right))) @ seen.design + precision, gradient)
        terms = terms + step * min(1.0, MAX_STEP / max(float(np.abs(step).max()), MAX_STEP))
    return np.append(terms, model.start[-1])


def _find_mode(problem: _Problem, at: Params) -> tuple[Params, _PosteriorPoint]:
    return maximize_newton(
        problem.evaluate, at, lambda view: _invert(-view.hessian) @ view.gradient, max_steps=MAX_STEPS,
        max_halvings=MAX_HALVINGS, min_expected_gain=MIN_EXPECTED_GAIN, max_step=MAX_STEP, noise=NOISE,
    )  # fmt: skip


def _integrate_over_scale(
    problem: _Problem, mode: Params, view: _PosteriorPoint, covariance: Square
) -> tuple[Component, ...]:
    """Components at Gauss-Hermite nodes of log σ, terms at their conditional mean; reweighted by the log posterior."""
    step = covariance[:, -1] / np.sqrt(covariance[-1, -1])
    places = [mode + z * step for z in SCALES]
    views = [view if z == 0 else problem.evaluate(at) for z, at in zip(SCALES, places, strict=True)]
    weight = softmax(np.log(MASSES) + np.array([v.value for v in views]) + SCALES**2 / 2)
    return tuple(
        Component(at, float(w), v.grid.nodes, v.probability, v.score_by_node)
        for at, w, v in zip(places, weight, views, strict=True)
    )


def _invert(precision: Square) -> Square:
    """Invert a precision matrix; away from the mode it may be indefinite, so absolute eigenvalues are used."""
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    return (vectors / np.maximum(np.abs(values), MIN_CURVATURE)) @ vectors.T
