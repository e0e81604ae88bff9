"""The posterior of the curve and of the scale of departures: its mode by Newton's method, and a normal around it.

The departures themselves are summed over on their grid, so the likelihood of a group is exact. Derivatives follow
from those of the complete data: the score is their mean over the grid, the curvature their mean plus their variance.
The scale decides how far groups are pulled together, and few labels tell little of it, so the fit is not one sheet but
several: one for each of a few scales, weighted by how well they explain the labels.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import softmax

from fewlabels.latent.departures import FURTHEST, squash
from fewlabels.latent.model import Evidence, Model

MOST_STEPS, MOST_HALVINGS = 40, 30
CLOSE = 1e-4  # expected gain of the log posterior
LONGEST = 2.0  # step of any parameter
FLATTEST = 1e-2  # least curvature that is believed
SCALES, MASSES = hermegauss(3)
Params = Float[np.ndarray, " parameter"]
Square = Float[np.ndarray, "parameter parameter"]


@dataclass(frozen=True)
class Sheet:
    """The fit at one scale of departures: what the grid says there of every group with labels."""

    at: Params
    weight: float  # of this scale
    chance: Float[np.ndarray, "heard node"]  # of each departure
    pull: Float[np.ndarray, "heard node term"]  # how much likelier labels get with each term

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

    @cached_property
    def conditional(self) -> Float[np.ndarray, "term term"]:
        """Covariance of the terms, were the scale known."""
        cross = self.covariance[:-1, -1:]
        return self.covariance[:-1, :-1] - cross @ cross.T / self.covariance[-1, -1]


@dataclass(frozen=True)
class _View:
    """The log posterior and its derivatives at a point."""

    value: float
    slope: Params
    bend: Square
    chance: Float[np.ndarray, "heard node"]
    pull: Float[np.ndarray, "heard node parameter"]


@dataclass(frozen=True)
class _Problem:
    """The log posterior of terms and log σ."""

    evidence: Evidence
    model: Model

    @cached_property
    def start(self) -> Int[np.ndarray, " heard"]:
        """Where the strata of each group begin."""
        return np.unique(self.evidence.group, return_index=True)[1]

    def look(self, at: Params) -> _View:
        """Log posterior and its derivatives."""
        seen, model, scale = self.evidence, self.model, float(np.exp(at[-1]))
        stretch = model.departures.stretch(scale)
        logit = np.clip((seen.design @ at[:-1])[:, None] + model.departures.place(scale), -FURTHEST, FURTHEST)
        expected = squash(logit)
        value, chance = self._sum_out(logit, expected)
        miss = seen.right[:, None] - seen.total[:, None] * expected
        doubt = seen.total[:, None] * expected * (1 - expected)
        pull = self._pull(miss, stretch)
        likely = np.repeat(chance, np.diff(np.append(self.start, len(seen.group))), axis=0)
        bend = self._bend(likely * doubt, likely * miss, stretch) + _spread(chance, pull)
        slope = np.einsum("hn,hnp->p", chance, pull) + model.slope(at)
        return _View(value + model.log_prior(at), slope, bend + model.bend(at), chance, pull)

    def _sum_out(
        self, logit: Float[np.ndarray, "stratum node"], expected: Float[np.ndarray, "stratum node"]
    ) -> tuple[float, Float[np.ndarray, "heard node"]]:
        """Log likelihood with the departures summed out, and the chance of each departure in each group."""
        seen, nodes = self.evidence, self.model.departures.log_weight
        if not len(seen.group):
            return 0.0, np.zeros((0, len(nodes)))
        each = seen.total[:, None] * np.log(expected) - (seen.total - seen.right)[:, None] * logit
        joint = np.add.reduceat(each, self.start, axis=0) + nodes
        highest = joint.max(axis=1, keepdims=True)
        chance = np.exp(joint - highest)
        total = chance.sum(axis=1, keepdims=True)
        return float((highest + np.log(total)).sum()), chance / total

    def _pull(
        self, miss: Float[np.ndarray, "stratum node"], stretch: Float[np.ndarray, " node"]
    ) -> Float[np.ndarray, "heard node parameter"]:
        design = self.evidence.design
        if not len(design):
            return np.zeros((0, len(stretch), design.shape[1] + 1))
        each = np.concatenate([miss[:, :, None] * design[:, None, :], (miss * stretch)[:, :, None]], axis=2)
        return np.add.reduceat(each, self.start, axis=0)

    def _bend(
        self,
        doubt: Float[np.ndarray, "stratum node"],
        miss: Float[np.ndarray, "stratum node"],
        stretch: Float[np.ndarray, " node"],
    ) -> Square:
        """Expected second derivatives of the complete data."""
        design, k = self.evidence.design, self.evidence.design.shape[1]
        out = np.empty((k + 1, k + 1))
        out[:k, :k] = -(design.T * doubt.sum(axis=1)) @ design
        out[:k, k] = out[k, :k] = -design.T @ (doubt @ stretch)
        out[k, k] = (miss @ stretch).sum() - (doubt @ stretch**2).sum()
        return out


def fit(evidence: Evidence, model: Model, start: Params | None = None) -> Fit:
    """Find the mode, starting where an earlier one was if that is known."""
    problem = _Problem(evidence, model)
    at, view = _climb(problem, model.start if start is None else start)
    covariance = _invert(-view.bend)
    group = np.unique(evidence.group)
    return Fit(model, at, covariance, group, _lay_sheets(problem, at, view, covariance))


def _climb(problem: _Problem, at: Params) -> tuple[Params, _View]:
    """Take Newton's steps up to the mode."""
    view = problem.look(at)
    for _ in range(MOST_STEPS):
        step = _invert(-view.bend) @ view.slope
        if step @ view.slope < CLOSE:
            break
        at, view = _step(problem, at, step, view)
    return at, view


def _step(problem: _Problem, at: Params, step: Params, view: _View) -> tuple[Params, _View]:
    """Take a step, or half of it, and so on, until it climbs."""
    length = min(1.0, LONGEST / float(np.abs(step).max()))
    for _ in range(MOST_HALVINGS):
        ahead = problem.look(at + length * step)
        if ahead.value > view.value:
            return at + length * step, ahead
        length /= 2
    return at, view


def _lay_sheets(problem: _Problem, mode: Params, view: _View, covariance: Square) -> tuple[Sheet, ...]:
    """Look at scales around the mode, the terms moving along; the normal's weights are corrected by what is there."""
    step = covariance[:, -1] / np.sqrt(covariance[-1, -1])
    places = [mode + z * step for z in SCALES]
    views = [view if z == 0 else problem.look(at) for z, at in zip(SCALES, places, strict=True)]
    weight = softmax(np.log(MASSES) + np.array([v.value for v in views]) + SCALES**2 / 2)
    return tuple(
        Sheet(at, float(w), v.chance, v.pull[:, :, :-1]) for at, w, v in zip(places, weight, views, strict=True)
    )


def _invert(precision: Square) -> Square:
    """Invert a precision. Away from the mode it may bend the other way: then by how much is what counts."""
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    return (vectors / np.maximum(np.abs(values), FLATTEST)) @ vectors.T


def _spread(chance: Float[np.ndarray, "heard node"], pull: Float[np.ndarray, "heard node parameter"]) -> Square:
    """Sum over groups of the covariance of the pull over departures."""
    mean = np.einsum("hn,hnp->hp", chance, pull)
    weighted = (chance[:, :, None] * pull).reshape(-1, pull.shape[2])
    return weighted.T @ pull.reshape(-1, pull.shape[2]) - mean.T @ mean
