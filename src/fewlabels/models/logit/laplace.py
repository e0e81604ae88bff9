"""The posterior of the curve and of the scale of departures: its mode by Newton's method, and a normal around it.

The departures themselves are summed over on their grids, so the likelihood of a group is nearly exact. Derivatives follow
from those of the complete data: the score is their mean over the grid, the curvature their mean plus their variance.
The scale decides how far groups are pulled together, and few labels tell little of it, so the fit is not one sheet but
several: one for each of a few scales, weighted by how well they explain the labels.
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
CLOSE, NOISE = 1e-3, 3e-2  # of the log posterior: expected gain that is not worth a step; what grids that move may hide
LONGEST = 2.0  # step of any parameter
FLATTEST = 1e-2  # least curvature that is believed
PEAK_STEPS, GUESS_STEPS = 4, 6  # of Newton's method for a single departure, and for the curve alone
SCALES, MASSES = hermegauss(3)
MOST_NUMBERS = 500_000  # looked at in one pass
Params = Float[np.ndarray, " parameter"]
Square = Float[np.ndarray, "parameter parameter"]
PerStratum = Float[np.ndarray, " stratum"]


@dataclass(frozen=True)
class Sheet:
    """The fit at one scale of departures: what the grid says there of every group with labels."""

    at: Params
    weight: float  # of this scale
    place: Float[np.ndarray, "heard node"]  # of each departure
    chance: Float[np.ndarray, "heard node"]
    pull: Float[np.ndarray, "heard node term"]  # how much likelier labels get with each term; no terms at a point

    @property
    def terms(self) -> Float[np.ndarray, " term"]:
        """The curve's terms."""
        return self.at[:-1]

    @property
    def scale(self) -> float:
        """σ: how far groups depart."""
        return float(np.exp(self.at[-1]))


@dataclass(frozen=True)
class Fit:
    """Terms and log σ: mode and covariance; and the fit at several scales."""

    model: Model
    mode: Params
    covariance: Square
    group: Int[np.ndarray, " heard"]  # groups with labels
    sheets: tuple[Sheet, ...]
    n_points: float | None = None  # effective number of points, where sheets are weighted points of the posterior

    @property
    def is_sampled(self) -> bool:
        """Are the sheets weighted points?"""
        return self.n_points is not None

    @cached_property
    def conditional(self) -> Float[np.ndarray, "term term"]:
        """Covariance of the terms within a sheet, as if the scale were known."""
        cross = self.covariance[:-1, -1:]
        return self.covariance[:-1, :-1] - cross @ cross.T / self.covariance[-1, -1]


@dataclass(frozen=True)
class _Summed:
    """Departures summed out: the log likelihood of each group, and how likely its departures are given its labels."""

    grid: Grid
    right: Float[np.ndarray, "stratum node"]
    log_likelihood: Float[np.ndarray, " heard"]
    chance: Float[np.ndarray, "heard node"]


@dataclass(frozen=True)
class _View:
    """The log posterior at a point; its derivatives only where they are asked for."""

    problem: "_Problem"
    at: Params
    grid: Grid
    right: Float[np.ndarray, "stratum node"]
    value: float
    chance: Float[np.ndarray, "heard node"]

    @cached_property
    def pull(self) -> Float[np.ndarray, "heard node term"]:
        """How much likelier a group's labels get with each term, at each departure."""
        seen = self.problem.evidence
        miss = seen.right[:, None] - seen.total[:, None] * self.right
        return self.problem.gather(miss[:, :, None] * seen.design[:, None, :])

    @cached_property
    def slope(self) -> Params:
        """Gradient."""
        return self._mean.sum(axis=0) + self.problem.model.slope(self.at)

    @cached_property
    def bend(self) -> Square:
        """Second derivatives."""
        seen = self.problem.evidence
        chance = self.chance[self.problem.heard]
        doubt = seen.total * np.einsum("sn,sn->s", chance, self.right * (1 - self.right))
        flat = self._pulls.reshape(-1, len(self.at))
        bend = (self.chance.reshape(-1, 1) * flat).T @ flat - self._mean.T @ self._mean
        bend[:-1, :-1] -= (seen.design.T * doubt) @ seen.design
        bend[-1, -1] += (self.chance * self.grid.bend).sum()  # a dot product so long would wait for other cores
        return bend + self.problem.model.bend(self.at)

    @cached_property
    def _pulls(self) -> Float[np.ndarray, "heard node parameter"]:
        return np.concatenate([self.pull, self.grid.slope[:, :, None]], axis=2)

    @cached_property
    def _mean(self) -> Float[np.ndarray, "heard parameter"]:
        return np.matmul(self.chance[:, None, :], self._pulls)[:, 0]


@dataclass(frozen=True)
class _Problem:
    """The log posterior of terms and log σ."""

    evidence: Evidence
    model: Model

    @cached_property
    def start(self) -> Int[np.ndarray, " heard"]:
        """Where the strata of each group begin."""
        return np.unique(self.evidence.group, return_index=True)[1]

    @cached_property
    def heard(self) -> Int[np.ndarray, " stratum"]:
        """Which of the groups with labels each stratum is of."""
        return np.repeat(np.arange(len(self.start)), np.diff(np.append(self.start, len(self.evidence.group))))

    @cached_property
    def ranks(self) -> tuple[Int[np.ndarray, " having"], ...]:
        """Which groups have a first stratum, a second, and so on."""
        n_strata = np.bincount(self.heard, minlength=len(self.start))
        return tuple(np.nonzero(n_strata > rank)[0] for rank in range(int(n_strata.max(initial=0))))

    @cached_property
    def _outcomes(self) -> tuple[Float[np.ndarray, " heard"], Float[np.ndarray, " heard"]]:
        """Right ones among the labels of each group, and labels."""
        return self._add_up(self.evidence.right), self._add_up(self.evidence.total)

    def look(self, at: Params) -> _View:
        """Log posterior, with the departures summed out."""
        summed = self.sum_out(self.evidence.design @ at[:-1], float(np.exp(at[-1])))
        value = float(summed.log_likelihood.sum()) + self.model.log_prior(at)
        return _View(self, at, summed.grid, summed.right, value, summed.chance)

    def sum_out(self, base: PerStratum, scale: float | Float[np.ndarray, "heard 1"]) -> _Summed:
        """Sum the departures out of the likelihood of each group, given its logits without one."""
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
        """Return n copies of the evidence as one problem, to look at n points in one pass."""
        seen, n_groups = self.evidence, len(self.start)
        group = self.heard + n_groups * np.arange(n)[:, None]
        design, right, total = np.tile(seen.design, (n, 1)), np.tile(seen.right, n), np.tile(seen.total, n)
        return _Problem(Evidence(design, group.reshape(-1), right, total), self.model)

    def _find_peaks(self, base: PerStratum) -> tuple[Float[np.ndarray, " heard"], Float[np.ndarray, " heard"]]:
        """Find where a group's own labels point, and how closely, were it a stranger."""
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

    def _add_up(self, values: PerStratum) -> Float[np.ndarray, " heard"]:
        return np.bincount(self.heard, weights=values, minlength=len(self.start)).astype(np.float64)

    def gather(self, values: Float[np.ndarray, "stratum *rest"]) -> Float[np.ndarray, "heard *rest"]:
        """Add up the strata of each group: all first ones, then all second ones, and so on, which are few."""
        out = values[self.start]
        for rank, having in enumerate(self.ranks[1:], start=1):
            out[having] += values[self.start[having] + rank]
        return out


def fit(evidence: Evidence, model: Model, start: Params | None = None) -> Fit:
    """Find the mode, starting where an earlier one was if that is known."""
    problem = _Problem(evidence, model)
    at, view = _climb(problem, _guess(problem) if start is None else start)
    covariance = _invert(-view.bend)
    group = np.unique(evidence.group)
    return Fit(model, at, covariance, group, _lay_sheets(problem, at, view, covariance))


def integrate(evidence: Evidence, near: Fit) -> Fit:
    """Average over the posterior by importance sampling around a fit, where a normal around its mode does not describe it.

    Every point is a sheet, with nothing left uncertain about its terms.
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
) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, "point heard node"], Float[np.ndarray, "point heard node"]]:
    """Log posterior at every point, the departures and how likely they are there, as many points at a time as fit in memory."""
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
    """Start from the curve alone, as if no group departed from it: a plain logistic regression."""
    seen, model = problem.evidence, problem.model
    terms, precision = model.centre, np.diag(model.spread**-2)
    for _ in range(GUESS_STEPS):
        right = squash(seen.design @ terms)
        slope = seen.design.T @ (seen.right - seen.total * right) - precision @ (terms - model.centre)
        step = np.linalg.solve((seen.design.T * (seen.total * right * (1 - right))) @ seen.design + precision, slope)
        terms = terms + step * min(1.0, LONGEST / max(float(np.abs(step).max()), LONGEST))
    return np.append(terms, model.start[-1])


def _climb(problem: _Problem, at: Params) -> tuple[Params, _View]:
    """Take Newton's steps up to the mode, as long as they lead upwards."""
    view = problem.look(at)
    for _ in range(MOST_STEPS):
        step = _invert(-view.bend) @ view.slope
        ahead = None if step @ view.slope < CLOSE else _step(problem, at, step, view)
        if ahead is None:
            break
        at, view = ahead
    return at, view


def _step(problem: _Problem, at: Params, step: Params, view: _View) -> tuple[Params, _View] | None:
    """Take a step, or half of it, and so on, until it climbs."""
    length = min(1.0, LONGEST / float(np.abs(step).max()))
    for _ in range(MOST_HALVINGS):
        ahead = problem.look(at + length * step)
        if ahead.value > view.value - NOISE:
            return at + length * step, ahead
        length /= 2
    return None


def _lay_sheets(problem: _Problem, mode: Params, view: _View, covariance: Square) -> tuple[Sheet, ...]:
    """Look at scales around the mode, the terms moving along; the normal's weights are corrected by what is there."""
    step = covariance[:, -1] / np.sqrt(covariance[-1, -1])
    places = [mode + z * step for z in SCALES]
    views = [view if z == 0 else problem.look(at) for z, at in zip(SCALES, places, strict=True)]
    weight = softmax(np.log(MASSES) + np.array([v.value for v in views]) + SCALES**2 / 2)
    return tuple(
        Sheet(at, float(w), v.grid.place, v.chance, v.pull) for at, w, v in zip(places, weight, views, strict=True)
    )


def _invert(precision: Square) -> Square:
    """Invert a precision. Away from the mode it may bend the other way: then by how much is what counts."""
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    return (vectors / np.maximum(np.abs(values), FLATTEST)) @ vectors.T
