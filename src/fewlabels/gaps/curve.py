"""Calibration curves of groups, learned together: the chance of the positive class as a function of the score.

logit P(y = 1) = c + a log s − b log(1 − s) in each group (beta calibration). Groups have curves of their own, drawn
around one that all share, as far apart as labels show. Ours adds a departure of every group and prediction, so that the
labels of those who were accepted, or refused, can overrule the curve.

Nothing here has a spread that is positive by decree: a spread t may have either sign, and what varies is t times a
standard normal. That is the same model, without the long tail towards nothing in which samplers get lost.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.beliefs import Rng
from fewlabels.gaps.people import People
from fewlabels.latent.chains import PerChain, Points

FURTHEST = 40.0  # logits beyond which nothing is told apart
STEEPEST = 5.0  # of a logarithm of a slope
FREEDOM = 3.0  # of the Student t that the spread of departures has
DEPARTURE = 0.25  # its scale
JITTER = 0.3  # of starting points, in standard deviations of the prior
PerGroup = Float[np.ndarray, "chain group"]
PerStratum = Float[np.ndarray, "chain stratum"]


@dataclass(frozen=True)
class Term:
    """A coefficient: its level is normal around 0, and groups vary around it by a half-normal spread."""

    name: str
    level: float
    spread: float
    log: bool = False  # is it the logarithm that varies? then it is always positive


SLOPES = Term("a", 0.4, 0.15, log=True), Term("b", 0.4, 0.15, log=True)
HEIGHT = Term("c", 2.0, 0.75)
SHAPES = {"beta": (*SLOPES, HEIGHT), "llo": (SLOPES[0], HEIGHT), "temperature": (SLOPES[0],)}


@dataclass(frozen=True)
class Shape:
    """Which curve, whether groups lend each other strength, and whether predictions may depart from it."""

    terms: tuple[Term, ...] = SHAPES["beta"]
    pooled: bool = True
    departs: bool = True

    def rise(self, score: Float[np.ndarray, " stratum"]) -> Float[np.ndarray, "term stratum"]:
        """What each coefficient is multiplied with."""
        up, down, flat = np.log(score), -np.log1p(-score), np.ones_like(score)
        if len([term for term in self.terms if term.log]) == 1:  # a = b
            return np.stack([up + down if term.log else flat for term in self.terms])
        return np.stack([{"a": up, "b": down, "c": flat}[term.name] for term in self.terms])


@dataclass(frozen=True)
class Curves:
    """The posterior of the curves of all groups, and of what departs from them."""

    shape: Shape
    people: People

    @cached_property
    def labelled(self) -> Int[np.ndarray, " labelled"]:
        """Strata with labels."""
        return np.nonzero(self.people.n_labels > 0)[0]

    @property
    def n_groups(self) -> int:
        """How many groups."""
        return len(self.people.groups)

    @cached_property
    def n_parameters(self) -> int:
        """For each term a level, a spread and what sets groups apart; a spread of departures, and these."""
        each = 1 + self.n_groups if self.shape.pooled else self.n_groups
        return len(self.shape.terms) * each + (1 + 2 * self.n_groups if self.shape.departs else 0)

    def start(self, rng: Rng, n_chains: int) -> Points:
        """Begin near the middle of the prior, every chain elsewhere."""
        at = JITTER * rng.standard_normal((n_chains, self.n_parameters))
        for i, term in enumerate(self.shape.terms):
            if self.shape.pooled:
                at[:, self._at(i) + 1] *= term.spread / JITTER
        if self.shape.departs:
            at[:, self._at(len(self.shape.terms))] *= DEPARTURE / JITTER
        return at

    def chance(self, at: Points) -> PerStratum:
        """Chance of the positive class in every stratum, labelled or not."""
        rise = self.shape.rise(self.people.score)
        logit = sum(
            coefficient[:, self.people.group] * values for coefficient, values in zip(self._bend(at), rise, strict=True)
        )
        if self.shape.departs:
            logit = logit + self._depart(at)[:, self.people.cell]
        return 1 / (1 + np.exp(-np.clip(logit, -FURTHEST, FURTHEST)))

    def __call__(self, at: Points) -> tuple[PerChain, Points]:
        """Log posterior, and its slope."""
        coefficients = self._bend(at)
        parts = [c[:, self._group] * values for c, values in zip(coefficients, self._rise, strict=True)]
        logit = sum(parts) + (self._depart(at)[:, self._cell] if self.shape.departs else 0.0)
        logit = np.minimum(np.maximum(logit, -FURTHEST), FURTHEST)
        right = 1 / (1 + np.exp(-logit))
        n, n_positive = self._counts
        value = (n * np.log(right) - (n - n_positive) * logit).sum(axis=1) - 0.5 * (at**2).sum(axis=1)
        miss, slope = n_positive - n * right, -at
        for i, (term, part, values) in enumerate(zip(self.shape.terms, parts, self._rise, strict=True)):
            pull = self._by_group(miss * (part if term.log else values))
            value = value + self._trace(i, at, pull, slope)
        if self.shape.departs:
            value = value + self._trace_departures(at, self._by_cell(miss), slope)
        return value, slope

    # -- from parameters to coefficients -------------------------------------------------------------------

    def _bend(self, at: Points) -> list[PerGroup]:
        """Coefficients of each term in each group."""
        out = []
        for i, term in enumerate(self.shape.terms):
            values = self._vary(i, at)
            out.append(np.exp(np.minimum(values, STEEPEST)) if term.log else values)
        return out

    def _vary(self, i: int, at: Points) -> PerGroup:
        """A level that all share, and what sets groups apart, which adds up to nothing."""
        first, term = self._at(i), self.shape.terms[i]
        if not self.shape.pooled:
            return term.level * at[:, first : first + self.n_groups]
        spread, apart = at[:, first + 1], at[:, first + 2 : first + 1 + self.n_groups]
        level = np.sqrt(term.level**2 + spread**2 / self.n_groups) * at[:, first]
        return level[:, None] + spread[:, None] * (apart @ self._contrasts.T)

    def _depart(self, at: Points) -> Float[np.ndarray, "chain cell"]:
        first = self._at(len(self.shape.terms))
        return at[:, first : first + 1] * at[:, first + 1 :]

    # -- from slopes of the likelihood to those of parameters ----------------------------------------------

    def _trace(self, i: int, at: Points, pull: PerGroup, slope: Points) -> PerChain:
        """Add what the likelihood pulls at a term to the slope; return what the prior of its spread is beyond a normal."""
        first, term = self._at(i), self.shape.terms[i]
        if not self.shape.pooled:
            slope[:, first : first + self.n_groups] += term.level * pull
            return np.zeros(len(at))
        spread, apart = at[:, first + 1], slice(first + 2, first + 1 + self.n_groups)
        width = np.sqrt(term.level**2 + spread**2 / self.n_groups)
        together, differing = pull.sum(axis=1), pull @ self._contrasts
        slope[:, first] += together * width
        slope[:, apart] += spread[:, None] * differing
        slope[:, first + 1] = (
            together * at[:, first] * spread / (self.n_groups * width)
            + (differing * at[:, apart]).sum(axis=1)
            - spread / term.spread**2
        )
        return 0.5 * spread**2 * (1 - term.spread**-2)

    def _trace_departures(self, at: Points, pull: Float[np.ndarray, "chain cell"], slope: Points) -> PerChain:
        first = self._at(len(self.shape.terms))
        spread = at[:, first]
        square = (spread / DEPARTURE) ** 2
        slope[:, first + 1 :] += spread[:, None] * pull
        slope[:, first] = (pull * at[:, first + 1 :]).sum(axis=1) - (FREEDOM + 1) * spread / DEPARTURE**2 / (
            FREEDOM + square
        )
        return 0.5 * spread**2 - (FREEDOM + 1) / 2 * np.log1p(square / FREEDOM)

    # -- what is worked out once ---------------------------------------------------------------------------

    def _at(self, i: int) -> int:
        """Where the parameters of a term begin."""
        return i * (1 + self.n_groups if self.shape.pooled else self.n_groups)

    @cached_property
    def _by_group(self) -> "_Sums":
        return _Sums(self._group, self.n_groups)

    @cached_property
    def _by_cell(self) -> "_Sums":
        return _Sums(self._cell, 2 * self.n_groups)

    @cached_property
    def _contrasts(self) -> Float[np.ndarray, "group contrast"]:
        """Ways for groups to differ: orthogonal, of length one, each adding up to nothing."""
        n = self.n_groups
        out = np.triu(np.ones((n, n - 1)), 0)
        out[np.arange(1, n), np.arange(n - 1)] = -np.arange(1, n)
        return out / np.sqrt(np.arange(1, n) * np.arange(2, n + 1))

    @cached_property
    def _rise(self) -> Float[np.ndarray, "term labelled"]:
        return self.shape.rise(self.people.score[self.labelled])

    @cached_property
    def _group(self) -> Int[np.ndarray, " labelled"]:
        return self.people.group[self.labelled]

    @cached_property
    def _cell(self) -> Int[np.ndarray, " labelled"]:
        return self.people.cell[self.labelled]

    @cached_property
    def _counts(self) -> tuple[Float[np.ndarray, " labelled"], Float[np.ndarray, " labelled"]]:
        people = self.people
        return people.n_labels[self.labelled].astype(np.float64), people.n_positive[self.labelled].astype(np.float64)


@dataclass(frozen=True)
class _Sums:
    """Adds up labelled strata, which come group by group, prediction by prediction."""

    place: Int[np.ndarray, " labelled"]
    n: int

    def __call__(self, values: PerStratum) -> Float[np.ndarray, "chain place"]:
        out = np.zeros((len(values), self.n))
        if len(self.place):
            found, starts = self._borders
            out[:, found] = np.add.reduceat(values, starts, axis=1)
        return out

    @cached_property
    def _borders(self) -> tuple[Int[np.ndarray, " found"], Int[np.ndarray, " found"]]:
        found, starts = np.unique(self.place, return_index=True)
        return found, starts
