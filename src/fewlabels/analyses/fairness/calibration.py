"""Hierarchical calibration curves of groups: the probability of the positive class as a function of the score.

logit P(y = 1) = c + a log s − b log(1 − s) in each group (beta calibration). The default shape adds a step k at the
decision threshold, so that labels of predicted positives and negatives can override the curve. Group curves have a common
mean, and their standard deviation is learned from the labels.

Every parameter has a standard normal prior and is transformed to its scale (non-centred). A standard deviation may have
either sign: the model is the same, without the funnel towards zero that is hard to sample.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array

from fewlabels.analyses.fairness.strata import People
from fewlabels.distributions.belief import Rng
from fewlabels.models.hmc import PerChain, Points

FURTHEST = 40.0  # logits are clipped to this magnitude
STEEPEST = 5.0  # largest log a and log b
FARTHEST = 20.0  # standard normals are clipped to this magnitude in the transform
SLIGHTEST = 1e-4  # tail parameter at which the transform is linear up to rounding
FEW_GROUPS = 50  # up to which the contrast matrix is stored
JITTER = 0.3  # standard deviation of starting points
AT_ONCE = 200_000  # probabilities computed at a time
MOST_DENSE = 100_000  # entries up to which the design matrix is dense
PerTerm = Float[np.ndarray, "chain term"]
Shifts = Float[np.ndarray, "chain term group"]
Coefficients = Float[np.ndarray, "chain part group"]


class Size(NamedTuple):
    """Scale of a prior: normal, or heavier-tailed (the hyperbolic sine of a normal)."""

    scale: float
    tail: float = SLIGHTEST

    def times(self, factor: float) -> "Size":
        """Return the prior with its scale multiplied."""
        return self._replace(scale=factor * self.scale)


@dataclass(frozen=True)
class Term:
    """A direction in which curves vary: priors of the common level and of the spread between groups."""

    weights: tuple[float, float, float, float]  # on log a, log b, c and k
    level: Size
    spread: Size


BETA = (
    Term((1.0, 0.0, 0.0, 0.0), Size(0.4), Size(0.15)),
    Term((0.0, 1.0, 0.0, 0.0), Size(0.4), Size(0.15)),
    Term((0.0, 0.0, 1.0, 0.0), Size(2.0), Size(0.75)),
)
BOTH = Term((1.0, 1.0, 0.0, 0.0), Size(0.4), Size(0.15))
SHAPES = {"beta": BETA, "llo": (BOTH, BETA[2]), "temperature": (BOTH,)}
OURS = (
    Term((1.0, 1.0, 0.0, 0.0), Size(0.4, 1.0), Size(0.1, 1.0)),  # overconfident scores are so at both ends
    Term((1.0, -1.0, 0.0, 0.0), Size(0.2, 0.7), Size(0.1, 0.7)),
    Term((0.0, 0.0, 1.0, 0.0), Size(0.7, 0.7), Size(0.5, 0.7)),
    Term((0.0, 0.0, 0.0, 1.0), Size(0.5, 0.7), Size(0.2, 1.0)),
)


@dataclass(frozen=True)
class Shape:
    """The terms of the curves, and whether groups are partially pooled."""

    terms: tuple[Term, ...] = OURS
    pooled: bool = True

    @cached_property
    def weights(self) -> Float[np.ndarray, "part term"]:
        """Loadings of the terms on log a, log b, c and k."""
        return np.array([term.weights for term in self.terms]).T

    @cached_property
    def stretch(self) -> "Stretch":
        """Transform of levels and spreads."""
        return Stretch(*np.array([[term.level, term.spread] for term in self.terms]).transpose(2, 0, 1))


class Stretch(NamedTuple):
    """Transforms standard normals to these prior scales and tails.

    >>> Stretch(np.array([2.0]), np.array([1.0]))(np.array([[3.0]]))[0].round(3).tolist()
    [[20.036]]
    """

    scale: Float[np.ndarray, "*size"]
    tail: Float[np.ndarray, "*size"]

    def __call__(self, z: Float[np.ndarray, "chain *size"]) -> tuple[np.ndarray, np.ndarray]:
        """Values and their derivatives."""
        up = np.exp(self.tail * np.minimum(np.maximum(z, -FARTHEST), FARTHEST))
        down, half = 1 / up, 0.5 * self.scale
        return half / self.tail * (up - down), half * (up + down)


class _Traced(NamedTuple):
    """Shifts of the groups, with the intermediate values that the gradient needs."""

    shifts: Shifts
    level: PerTerm
    rising: PerTerm  # derivative of the level
    spread: PerTerm
    widening: PerTerm  # derivative of the spread


@dataclass(frozen=True)
class Curves:
    """The posterior of the curves of all groups."""

    shape: Shape
    people: People

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.people.groups)

    @property
    def n_parameters(self) -> int:
        """Number of parameters: for each term a level, a spread and contrasts between groups."""
        return len(self.shape.terms) * (self.n_groups + self.shape.pooled)

    def start(self, rng: Rng, n_chains: int) -> Points:
        """Starting points: a different one near the prior mean for every chain."""
        return JITTER * rng.standard_normal((n_chains, self.n_parameters))

    def bend(self, at: Points) -> Coefficients:
        """Coefficients a, b, c and k of each group."""
        return self._link(self._shift(at).shifts)

    def chance(self, at: Points) -> Float[np.ndarray, "chain stratum"]:
        """Probability of the positive class in every stratum, labelled or not."""
        group, rises, bent = self.people.group, measure_rise(self.people), self.bend(at)
        out = np.empty((len(at), len(group)))
        step = max(1, AT_ONCE // max(1, len(group)))
        for first in range(0, len(at), step):  # small blocks fit the CPU cache
            some = bent[first : first + step]
            logit = sum(some[:, i, group] * rise for i, rise in enumerate(rises))
            out[first : first + step] = 1 / (1 + np.exp(-np.clip(logit, -FURTHEST, FURTHEST)))
        return out

    def __call__(self, at: Points) -> tuple[PerChain, Points]:
        """Log posterior and its gradient."""
        traced = self._shift(at)
        bent = self._link(traced.shifts)
        logit = self._design @ bent.reshape(len(at), -1).T
        logit = np.minimum(np.maximum(logit, -FURTHEST), FURTHEST)
        against = np.exp(-logit)
        n, n_negative = self._counts
        with np.errstate(over="ignore"):  # on a divergent trajectory; its density is zero
            value = -(n @ np.log1p(against)) - n_negative @ logit - 0.5 * (at * at).sum(axis=1)
        miss = n[:, None] * (against / (1 + against)) - n_negative[:, None]
        pull = (self._design.T @ miss).T.reshape(bent.shape)
        pull[:, :2] *= bent[:, :2]  # a and b are exponentials
        return value, self._trace(at, traced, self.shape.weights.T @ pull) - at

    # -- from parameters to coefficients, and gradients back to parameters -----------------------------------

    def _shift(self, at: Points) -> _Traced:
        """Shift of each group in each term: a common level plus the group's deviation."""
        own, stretch = at.reshape(len(at), len(self.shape.terms), -1), self.shape.stretch
        if not self.shape.pooled:
            sizes = Stretch(*(np.repeat(size[:, :1], self.n_groups, axis=1) for size in stretch))
            values, slopes = sizes(own)
            return _Traced(values, values, slopes, values, slopes)
        values, slopes = stretch(own[:, :, :2])
        spread = values[:, :, 1]
        # the mean of the groups varies with the level and with the sampling of groups
        wider = np.sqrt(1 + (spread / stretch.scale[:, 0]) ** 2 / self.n_groups)
        level = wider * values[:, :, 0]
        shifts = level[:, :, None] + spread[:, :, None] * self._set_apart(own[:, :, 2:])
        return _Traced(shifts, level, wider * slopes[:, :, 0], spread, slopes[:, :, 1])

    def _link(self, shifts: Shifts) -> Coefficients:
        parts = self.shape.weights @ shifts
        parts[:, :2] = np.exp(np.minimum(parts[:, :2], STEEPEST))
        return parts

    def _trace(self, at: Points, traced: _Traced, pull: Shifts) -> Points:
        """Chain rule: gradient by the parameters from the gradient by the shifts."""
        if not self.shape.pooled:
            return (pull * traced.rising).reshape(at.shape)
        own, slope = (values.reshape(len(at), len(self.shape.terms), -1) for values in (at, np.empty_like(at)))
        spread, together, differing = traced.spread, pull.sum(axis=2), self._gather_apart(pull)
        wider = traced.level * spread / (self.n_groups * self.shape.stretch.scale[:, 0] ** 2 + spread * spread)
        slope[:, :, 0] = together * traced.rising
        slope[:, :, 1] = traced.widening * (together * wider + (differing * own[:, :, 2:]).sum(axis=2))
        slope[:, :, 2:] = spread[:, :, None] * differing
        return slope.reshape(at.shape)

    def _set_apart(self, z: Float[np.ndarray, "chain term contrast"]) -> Shifts:
        return set_apart(z) if self._contrasts is None else z @ self._contrasts

    def _gather_apart(self, pull: Shifts) -> Float[np.ndarray, "chain term contrast"]:
        return gather_apart(pull) if self._contrasts is None else pull @ self._contrasts.T

    # -- computed once ---------------------------------------------------------------------------------------

    @cached_property
    def _contrasts(self) -> Float[np.ndarray, "contrast group"] | None:
        """Helmert contrast matrix; None for many groups, where cumulative sums replace it."""
        return set_apart(np.eye(self.n_groups - 1)[None])[0] if self.n_groups <= FEW_GROUPS else None

    @cached_property
    def _design(self) -> Float[np.ndarray, "labelled coefficient"] | csr_array:
        """Design matrix of labelled strata: basis functions by coefficient and group."""
        heard = self.people.n_labels > 0
        rise, group = measure_rise(self.people)[:, heard], self.people.group[heard]
        part, stratum = np.indices(rise.shape)
        shape = (rise.shape[1], len(rise) * self.n_groups)
        found = csr_array((rise.ravel(), (stratum.ravel(), (part * self.n_groups + group).ravel())), shape=shape)
        return found.toarray() if np.prod(shape) <= MOST_DENSE else found

    @cached_property
    def _counts(self) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, " labelled"]]:
        """Labels and negative labels of labelled strata."""
        people, heard = self.people, self.people.n_labels > 0
        n = people.n_labels[heard].astype(np.float64)
        return n, n - people.n_positive[heard]


def set_apart(z: Float[np.ndarray, "chain term contrast"]) -> Shifts:
    """Map Helmert contrasts to deviations of groups that sum to zero.

    >>> set_apart(np.ones((1, 1, 1))).round(3).tolist()
    [[[0.707, -0.707]]]
    """
    n = np.arange(1, z.shape[2] + 1)
    z = z / np.sqrt(n * (n + 1))
    out = np.zeros((*z.shape[:2], z.shape[2] + 1))
    out[:, :, :-1] = np.cumsum(z[:, :, ::-1], axis=2)[:, :, ::-1]
    out[:, :, 1:] -= n * z
    return out


def gather_apart(pull: Shifts) -> Float[np.ndarray, "chain term contrast"]:
    """Map a gradient by groups to one by Helmert contrasts (the transpose)."""
    n = np.arange(1, pull.shape[2])
    return (np.cumsum(pull, axis=2)[:, :, :-1] - n * pull[:, :, 1:]) / np.sqrt(n * (n + 1))


def measure_rise(people: People) -> Float[np.ndarray, "part stratum"]:
    """Basis functions of the coefficients a, b, c and k in every stratum."""
    return np.stack([np.log(people.score), -np.log1p(-people.score), np.ones_like(people.score), people.said - 0.5])
