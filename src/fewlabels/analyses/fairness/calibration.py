"""Calibration curves of groups, learned together: the chance of the positive class as a function of the score.

logit P(y = 1) = c + a log s − b log(1 − s) in each group (beta calibration); ours adds a step k where the model's decision
turns from no to yes, so that the labels of those who were accepted, or refused, can overrule the curve. Groups have curves
of their own, drawn around one that all share, as far apart as labels show.

Every parameter is a standard normal beforehand, stretched to the size of what it stands for. A spread may have either
sign: that is the same model, without the long tail towards nothing in which samplers get lost.
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

FURTHEST = 40.0  # logits beyond which nothing is told apart
STEEPEST = 5.0  # of a logarithm of a slope
FARTHEST = 20.0  # standard deviations beyond which nothing is stretched further
SLIGHTEST = 1e-4  # tail, of what is normal in all but rounding
FEW_GROUPS = 50
JITTER = 0.3  # of starting points
AT_ONCE = 200_000  # chances worked out at a time
MOST_DENSE = 100_000  # entries of a matrix that is mostly zeros
PerTerm = Float[np.ndarray, "chain term"]
Shifts = Float[np.ndarray, "chain term group"]
Coefficients = Float[np.ndarray, "chain part group"]


class Size(NamedTuple):
    """How large something is beforehand: normal, or with the tails of a normal's hyperbolic sine."""

    scale: float
    tail: float = SLIGHTEST

    def times(self, factor: float) -> "Size":
        """Return one that is larger, or smaller."""
        return self._replace(scale=factor * self.scale)


@dataclass(frozen=True)
class Term:
    """What curves differ in: how far from the scores all of them are, and how far groups are apart."""

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
    Term((1.0, 1.0, 0.0, 0.0), Size(0.4, 1.0), Size(0.1, 1.0)),  # scores too sure of themselves are so at both ends
    Term((1.0, -1.0, 0.0, 0.0), Size(0.2, 0.7), Size(0.1, 0.7)),
    Term((0.0, 0.0, 1.0, 0.0), Size(0.7, 0.7), Size(0.5, 0.7)),
    Term((0.0, 0.0, 0.0, 1.0), Size(0.5, 0.7), Size(0.2, 1.0)),
)


@dataclass(frozen=True)
class Shape:
    """What curves may differ in, and whether groups lend each other strength."""

    terms: tuple[Term, ...] = OURS
    pooled: bool = True

    @cached_property
    def weights(self) -> Float[np.ndarray, "part term"]:
        """How terms make up the parts of a curve: log a, log b, c and k."""
        return np.array([term.weights for term in self.terms]).T

    @cached_property
    def stretch(self) -> "Stretch":
        """How levels and spreads are stretched."""
        return Stretch(*np.array([[term.level, term.spread] for term in self.terms]).transpose(2, 0, 1))


class Stretch(NamedTuple):
    """Turns standard normals into what has these sizes.

    >>> Stretch(np.array([2.0]), np.array([1.0]))(np.array([[3.0]]))[0].round(3).tolist()
    [[20.036]]
    """

    scale: Float[np.ndarray, "*size"]
    tail: Float[np.ndarray, "*size"]

    def __call__(self, z: Float[np.ndarray, "chain *size"]) -> tuple[np.ndarray, np.ndarray]:
        """Values, and their slopes."""
        up = np.exp(self.tail * np.minimum(np.maximum(z, -FARTHEST), FARTHEST))
        down, half = 1 / up, 0.5 * self.scale
        return half / self.tail * (up - down), half * (up + down)


class _Traced(NamedTuple):
    """How shifts came about."""

    shifts: Shifts
    level: PerTerm
    rising: PerTerm  # slope of the level
    spread: PerTerm
    widening: PerTerm  # slope of the spread


@dataclass(frozen=True)
class Curves:
    """The posterior of the curves of all groups."""

    shape: Shape
    people: People

    @property
    def n_groups(self) -> int:
        """How many groups."""
        return len(self.people.groups)

    @property
    def n_parameters(self) -> int:
        """For each term a level, a spread and what sets groups apart."""
        return len(self.shape.terms) * (self.n_groups + self.shape.pooled)

    def start(self, rng: Rng, n_chains: int) -> Points:
        """Begin near the middle of the prior, every chain elsewhere."""
        return JITTER * rng.standard_normal((n_chains, self.n_parameters))

    def bend(self, at: Points) -> Coefficients:
        """Coefficients a, b, c and k of each group."""
        return self._link(self._shift(at).shifts)

    def chance(self, at: Points) -> Float[np.ndarray, "chain stratum"]:
        """Chance of the positive class in every stratum, labelled or not."""
        group, rises, bent = self.people.group, measure_rise(self.people), self.bend(at)
        out = np.empty((len(at), len(group)))
        step = max(1, AT_ONCE // max(1, len(group)))
        for first in range(0, len(at), step):  # a few draws at a time stay in the cache
            some = bent[first : first + step]
            logit = sum(some[:, i, group] * rise for i, rise in enumerate(rises))
            out[first : first + step] = 1 / (1 + np.exp(-np.clip(logit, -FURTHEST, FURTHEST)))
        return out

    def __call__(self, at: Points) -> tuple[PerChain, Points]:
        """Log posterior, and its slope."""
        traced = self._shift(at)
        bent = self._link(traced.shifts)
        logit = self._design @ bent.reshape(len(at), -1).T
        logit = np.minimum(np.maximum(logit, -FURTHEST), FURTHEST)
        against = np.exp(-logit)
        n, n_negative = self._counts
        with np.errstate(over="ignore"):  # on a path that diverges: its density is zero
            value = -(n @ np.log1p(against)) - n_negative @ logit - 0.5 * (at * at).sum(axis=1)
        miss = n[:, None] * (against / (1 + against)) - n_negative[:, None]
        pull = (self._design.T @ miss).T.reshape(bent.shape)
        pull[:, :2] *= bent[:, :2]  # slopes are exponentials
        return value, self._trace(at, traced, self.shape.weights.T @ pull) - at

    # -- from parameters to coefficients, and from slopes back to slopes -------------------------------------

    def _shift(self, at: Points) -> _Traced:
        """How far each group is shifted in each term: a level that all share, and what sets groups apart."""
        own, stretch = at.reshape(len(at), len(self.shape.terms), -1), self.shape.stretch
        if not self.shape.pooled:
            sizes = Stretch(*(np.repeat(size[:, :1], self.n_groups, axis=1) for size in stretch))
            values, slopes = sizes(own)
            return _Traced(values, values, slopes, values, slopes)
        values, slopes = stretch(own[:, :, :2])
        spread = values[:, :, 1]
        # the mean of the groups varies as the level does, and as chance has it in the choice of groups
        wider = np.sqrt(1 + (spread / stretch.scale[:, 0]) ** 2 / self.n_groups)
        level = wider * values[:, :, 0]
        shifts = level[:, :, None] + spread[:, :, None] * self._set_apart(own[:, :, 2:])
        return _Traced(shifts, level, wider * slopes[:, :, 0], spread, slopes[:, :, 1])

    def _link(self, shifts: Shifts) -> Coefficients:
        parts = self.shape.weights @ shifts
        parts[:, :2] = np.exp(np.minimum(parts[:, :2], STEEPEST))
        return parts

    def _trace(self, at: Points, traced: _Traced, pull: Shifts) -> Points:
        """Follow what the likelihood pulls at shifts back to the parameters."""
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

    # -- what is worked out once ---------------------------------------------------------------------------

    @cached_property
    def _contrasts(self) -> Float[np.ndarray, "contrast group"] | None:
        """Ways for groups to differ; for many groups, sums do without the matrix."""
        return set_apart(np.eye(self.n_groups - 1)[None])[0] if self.n_groups <= FEW_GROUPS else None

    @cached_property
    def _design(self) -> Float[np.ndarray, "labelled coefficient"] | csr_array:
        """What each coefficient of each group is multiplied with, in strata with labels."""
        heard = self.people.n_labels > 0
        rise, group = measure_rise(self.people)[:, heard], self.people.group[heard]
        part, stratum = np.indices(rise.shape)
        shape = (rise.shape[1], len(rise) * self.n_groups)
        found = csr_array((rise.ravel(), (stratum.ravel(), (part * self.n_groups + group).ravel())), shape=shape)
        return found.toarray() if np.prod(shape) <= MOST_DENSE else found

    @cached_property
    def _counts(self) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, " labelled"]]:
        """Labels, and negative ones."""
        people, heard = self.people, self.people.n_labels > 0
        n = people.n_labels[heard].astype(np.float64)
        return n, n - people.n_positive[heard]


def set_apart(z: Float[np.ndarray, "chain term contrast"]) -> Shifts:
    """Let groups differ, adding up to nothing: each way sets the groups so far against the next one (Helmert's).

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
    """What pulls at groups pulls at the ways in which they differ."""
    n = np.arange(1, pull.shape[2])
    return (np.cumsum(pull, axis=2)[:, :, :-1] - n * pull[:, :, 1:]) / np.sqrt(n * (n + 1))


def measure_rise(people: People) -> Float[np.ndarray, "part stratum"]:
    """What each coefficient is multiplied with."""
    return np.stack([np.log(people.score), -np.log1p(-people.score), np.ones_like(people.score), people.said - 0.5])
