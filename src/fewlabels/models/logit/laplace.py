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

from fewlabels.models.logit.importance_sampling import count_effective, spread_points, weigh_points
from fewlabels.models.logit.model import Evidence, Model
from fewlabels.models.logit.random_effects import FURTHEST, NODES, Grid, bound, squash

MOST_STEPS, MOST_HALVINGS = 40, 12
CLOSE, NOISE = 1e-3, 3e-2  # of the log posterior: expected gain at which to stop; error from grids that move
LONGEST = 2.0  # largest step of any parameter
FLATTEST = 1e-2  # least curvature of the precision matrix
PEAK_STEPS, GUESS_STEPS = 4, 6  # Newton steps for a single random effect, and for the curve alone
SCALES, MASSES = hermegauss(3)
MOST_NUMBERS = 500_000  # array elements evaluated in one pass
Params = Float[np.ndarray, " parameter"]
Square = Float[np.ndarray, "parameter parameter"]
PerStratum = Float[np.ndarray, " stratum"]


@dataclass(frozen=True)
class Sheet:
    """One mixture component of the fit: parameters, and the random effects' grid of every group with labels."""

    at: Params
    weight: float  # of this component
    place: Float[np.ndarray, "labelled node"]  # random effect at each node
    chance: Float[np.ndarray, "labelled node"]  # posterior probability of each node
    pull: Float[np.ndarray, "labelled node term"]  # score: gradient of the log likelihood; no terms at a point

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
    sheets: tuple[Sheet, ...]
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
class _Summed:
    """Marginal log likelihood of each group, and the posterior probabilities of its random effect's nodes."""

    grid: Grid
    right: Float[np.ndarray, "stratum node"]
    log_likelihood: Float[np.ndarray, " labelled"]
    chance: Float[np.ndarray, "labelled node"]


@dataclass(frozen=True)
class _View:
    """The log posterior at a point, with lazy derivatives."""

    problem: "_Problem"
    at: Params
    grid: Grid
    right: Float[np.ndarray, "stratum node"]
    value: float
    chance: Float[np.ndarray, "labelled node"]

    @cached_property
    def pull(self) -> Float[np.ndarray, "labelled node term"]:
        """Score: gradient of each group's log likelihood by the terms, at each node of its random effect."""
        seen = self.problem.evidence
        miss = seen.right[:, None] - seen.total[:, None] * self.right
        return self.problem.gather(miss[:, :, None] * seen.design[:, None, :])

    @cached_property
    def slope(self) -> Params:
        """Gradient."""
        return self._mean.sum(axis=0) + self.problem.model.slope(self.at)

    @cached_property
    def bend(self) -> Square:
        """Hessian."""
        seen = self.problem.evidence
        chance = self.chance[self.problem.heard]
        doubt = seen.total * np.einsum("sn,sn->s", chance, self.right * (1 - self.right))
        flat = self._pulls.reshape(-1, len(self.at))
        bend = (self.chance.reshape(-1, 1) * flat).T @ flat - self._mean.T @ self._mean
        bend[:-1, :-1] -= (seen.design.T * doubt) @ seen.design
        bend[-1, -1] += (self.chance * self.grid.bend).sum()  # not a dot product: a long one would start BLAS threads
        return bend + self.problem.model.bend(self.at)

    @cached_property
    def _pulls(self) -> Float[np.ndarray, "labelled node parameter"]:
        return np.concatenate([self.pull, self.grid.slope[:, :, None]], axis=2)

    @cached_property
    def _mean(self) -> Float[np.ndarray, "labelled parameter"]:
        return np.matmul(self.chance[:, None, :], self._pulls)[:, 0]


@dataclass(frozen=True)
class _Problem:
    """The log posterior of terms and log σ."""

    evidence: Evidence
    model: Model

    @cached_property
    def start(self) -> Int[np.ndarray, " labelled"]:
        """Index of the first stratum of each group."""
        return np.unique(self.evidence.group, return_index=True)[1]

    @cached_property
    def heard(self) -> Int[np.ndarray, " stratum"]:
        """Index, among groups with labels, of each stratum's group."""
        return np.repeat(np.arange(len(self.start)), np.diff(np.append(self.start, len(self.evidence.group))))

    @cached_property
    def ranks(self) -> tuple[Int[np.ndarray, " having"], ...]:
        """Groups with at least one stratum, at least two, and so on."""
        n_strata = np.bincount(self.heard, minlength=len(self.start))
        return tuple(np.nonzero(n_strata > rank)[0] for rank in range(int(n_strata.max(initial=0))))

    @cached_property
    def _outcomes(self) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, " labelled"]]:
        """Right labels and all labels of each group."""
        return self._add_up(self.evidence.right), self._add_up(self.evidence.total)

    def look(self, at: Params) -> _View:
        """Log posterior, with the random effects integrated out."""
        summed = self.sum_out(self.evidence.design @ at[:-1], float(np.exp(at[-1])))
        value = float(summed.log_likelihood.sum()) + self.model.log_prior(at)
        return _View(self, at, summed.grid, summed.right, value, summed.chance)

    def sum_out(self, base: PerStratum, scale: float | Float[np.ndarray, "labelled 1"]) -> _Summed:
        """Integrate the random effects out of each group's likelihood, given the strata's logits without them."""
        seen = self.evidence
        grid = self.model.departures.place(scale, *self._find_peaks(base))
        height = bound(base[:, None] + grid.place[self.heard], FURTHEST)
        right = squash(height)
        n_wrong = seen.total - seen.right
        likely = self.gather(seen.total[:, None] * np.log(right) - n_wrong[:, None] * height)
        highest = likely.max(axis=1, keepdims=True)
        chance = np.exp(likely - highest) * grid.weight
        total = chance.sum(axis=1, keepdims=True)
        return _Summed(grid, right, (highest + np.log(total))[:, 0], chance / total)

    def repeat(self, n: int) -> "_Problem":
        """Return n copies of the data as one problem, to evaluate n points in one pass."""
        seen, n_groups = self.evidence, len(self.start)
        group = self.heard + n_groups * np.arange(n)[:, None]
        design, right, total = np.tile(seen.design, (n, 1)), np.tile(seen.right, n), np.tile(seen.total, n)
        return _Problem(Evidence(design, group.reshape(-1), right, total), self.model)

    def _find_peaks(self, base: PerStratum) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, " labelled"]]:
        """Mode and standard deviation of each group's random effect under the outlier prior, by Newton's method."""
        seen, loose = self.evidence, self.model.departures.stray**-2
        n_right, n = self._outcomes
        expected = self._add_up(seen.total * squash(base)) / n
        at = logit((n_right + 0.5) / (n + 1)) - logit(expected)
        for _ in range(PEAK_STEPS):
            expected = squash(base + at[self.heard])
            stiff = self._add_up(seen.total * expected * (1 - expected)) + loose
            step = (self._add_up(seen.right - seen.total * expected) - loose * at) / stiff
            at += bound(step, LONGEST)
        return at, 1 / np.sqrt(stiff)

    def _add_up(self, values: PerStratum) -> Float[np.ndarray, " labelled"]:
        return np.bincount(self.heard, weights=values, minlength=len(self.start)).astype(np.float64)

    def gather(self, values: Float[np.ndarray, "stratum *rest"]) -> Float[np.ndarray, "labelled *rest"]:
        """Sum the strata of each group: all first strata, then all second ones, and so on (few groups have many)."""
        out = values[self.start]
        for rank, having in enumerate(self.ranks[1:], start=1):
            out[having] += values[self.start[having] + rank]
        return out


def fit(evidence: Evidence, model: Model, start: Params | None = None) -> Fit:
    """Fit the model by Laplace approximation; `start` may be the mode of an earlier fit."""
    problem = _Problem(evidence, model)
    at, view = _climb(problem, _guess(problem) if start is None else start)
    covariance = _invert(-view.bend)
    group = np.unique(evidence.group)
    return Fit(model, at, covariance, group, _lay_sheets(problem, at, view, covariance))


def integrate(evidence: Evidence, near: Fit) -> Fit:
    """Integrate over the posterior by importance sampling around a fit, where it is far from normal.

    Every point is a component without uncertainty in its terms.
    """
    problem = _Problem(evidence, near.model)
    points = spread_points(near.mode, near.covariance)
    value, place, chance = _look_at_all(problem, points)
    weight = weigh_points(points, near.mode, near.covariance, value)
    (kept,) = np.nonzero(weight)
    still = np.zeros((*chance.shape[1:], 0))
    sheets = [Sheet(points[i], float(weight[i]), place[i], chance[i], still) for i in kept]
    centre = weight @ points
    spread = (weight * (points - centre).T) @ (points - centre)
    return Fit(near.model, centre, spread, near.group, tuple(sheets), n_points=count_effective(weight))


def _look_at_all(
    problem: _Problem, points: Float[np.ndarray, "point parameter"], most: int = MOST_NUMBERS
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
        found = repeated[len(block)].sum_out(base, np.repeat(np.exp(block[:, -1:]), n_groups, axis=0))
        grid = (len(block), n_groups, NODES)
        value = found.log_likelihood.reshape(grid[:2]).sum(axis=1) + [problem.model.log_prior(at) for at in block]
        out.append((value, found.grid.place.reshape(grid), found.chance.reshape(grid)))
    value, place, chance = (np.concatenate(parts) for parts in zip(*out, strict=True))
    return value, place, chance


def _guess(problem: _Problem) -> Params:
    """Starting point: logistic regression without random effects."""
    seen, model = problem.evidence, problem.model
    terms, precision = model.centre, np.diag(model.spread**-2)
    for _ in range(GUESS_STEPS):
        right = squash(seen.design @ terms)
        slope = seen.design.T @ (seen.right - seen.total * right) - precision @ (terms - model.centre)
        step = np.linalg.solve((seen.design.T * (seen.total * right * (1 - right))) @ seen.design + precision, slope)
        terms = terms + step * min(1.0, LONGEST / max(float(np.abs(step).max()), LONGEST))
    return np.append(terms, model.start[-1])


def _climb(problem: _Problem, at: Params) -> tuple[Params, _View]:
    """Maximise by Newton's method with backtracking."""
    view = problem.look(at)
    for _ in range(MOST_STEPS):
        step = _invert(-view.bend) @ view.slope
        ahead = None if step @ view.slope < CLOSE else _step(problem, at, step, view)
        if ahead is None:
            break
        at, view = ahead
    return at, view


def _step(problem: _Problem, at: Params, step: Params, view: _View) -> tuple[Params, _View] | None:
    """Halve a step until the log posterior does not fall by more than the grid's error; None if it always does."""
    length = min(1.0, LONGEST / float(np.abs(step).max()))
    for _ in range(MOST_HALVINGS):
        ahead = problem.look(at + length * step)
        if ahead.value > view.value - NOISE:
            return at + length * step, ahead
        length /= 2
    return None


def _lay_sheets(problem: _Problem, mode: Params, view: _View, covariance: Square) -> tuple[Sheet, ...]:
    """Components at Gauss-Hermite nodes of log σ, terms at their conditional mean; reweighted by the log posterior."""
    step = covariance[:, -1] / np.sqrt(covariance[-1, -1])
    places = [mode + z * step for z in SCALES]
    views = [view if z == 0 else problem.look(at) for z, at in zip(SCALES, places, strict=True)]
    weight = softmax(np.log(MASSES) + np.array([v.value for v in views]) + SCALES**2 / 2)
    return tuple(
        Sheet(at, float(w), v.grid.place, v.chance, v.pull) for at, w, v in zip(places, weight, views, strict=True)
    )


def _invert(precision: Square) -> Square:
    """Invert a precision matrix; away from the mode it may be indefinite, so absolute eigenvalues are used."""
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    return (vectors / np.maximum(np.abs(values), FLATTEST)) @ vectors.T
