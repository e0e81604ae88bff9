"""What is asked of every group: how often decisions are right or wrong, and how scores behave.

A rate is a part of some whole, both made of the four outcomes of a decision. Everything is worked out of how many people
there are in each stratum, and how many of them are truly positive.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.gaps.people import People

OUTCOMES = ("tn", "fn", "fp", "tp")
BINS = 10  # of the score, in calibration within groups
Values = Float[np.ndarray, "draw scope"]
Scope = Int[np.ndarray, " stratum"]


@dataclass(frozen=True)
class Masses:
    """Draws of how many people there are in every stratum, and how many of them are truly positive."""

    people: People
    items: Float[np.ndarray, "#draw stratum"]
    positive: Float[np.ndarray, "draw stratum"]

    def count(self, scope: Scope, n: int) -> Float[np.ndarray, "draw scope outcome"]:
        """Add up the four outcomes in every scope."""
        place = 2 * scope + self.people.said
        positive, items = (add_up(values, place, 2 * n) for values in (self.positive, self.items))
        negative = items - positive
        return np.stack([negative[:, 0::2], positive[:, 0::2], negative[:, 1::2], positive[:, 1::2]], axis=2)


@runtime_checkable
class Quantity(Protocol):
    """Something to ask about every group."""

    @property
    def name(self) -> str:
        """What it is called on the command line and in results."""
        ...

    def value(self, masses: Masses, scope: Scope, n: int) -> Values:
        """Its value in each scope; not a number where it is undefined."""
        ...


@dataclass(frozen=True)
class Rate:
    """A part of a whole, of outcomes.

    >>> RATES["tpr"].whole
    ('fn', 'tp')
    """

    name: str
    part: tuple[str, ...]
    whole: tuple[str, ...] = OUTCOMES

    def value(self, masses: Masses, scope: Scope, n: int) -> Values:
        """Divide."""
        return _divide(*self.split(masses.count(scope, n)))

    def split(self, counts: Float[np.ndarray, "draw scope outcome"]) -> tuple[Values, Values]:
        """Add up part and whole."""
        part, whole = (
            counts[:, :, [OUTCOMES.index(name) for name in names]].sum(axis=2) for names in (self.part, self.whole)
        )
        return part, whole


@dataclass(frozen=True)
class Balance:
    """The mean score of those who truly are of a class (Kleinberg, Mullainathan and Raghavan)."""

    name: str
    truth: bool

    def value(self, masses: Masses, scope: Scope, n: int) -> Values:
        """Average scores over the positive, or the negative."""
        chosen = masses.positive if self.truth else masses.items - masses.positive
        return _divide(add_up(chosen * masses.people.score, scope, n), add_up(chosen, scope, n))


@dataclass(frozen=True)
class Calibration:
    """How far scores are from what they promise within a group, averaged over ten ranges of the score."""

    name: str = "calibration"

    def value(self, masses: Masses, scope: Scope, n: int) -> Values:
        """Σ_b p_b |share of positives − mean score|."""
        score = masses.people.score
        place = BINS * scope + np.minimum((BINS * score).astype(np.int64), BINS - 1)
        gap = np.abs(add_up(masses.positive - masses.items * score, place, BINS * n))
        return _divide(gap.reshape(len(gap), n, BINS).sum(axis=2), add_up(masses.items, scope, n))


RATES: Mapping[str, Rate] = {
    rate.name: rate
    for rate in (
        Rate("accuracy", ("tn", "tp")), Rate("tpr", ("tp",), ("fn", "tp")), Rate("fpr", ("fp",), ("tn", "fp")),
        Rate("tnr", ("tn",), ("tn", "fp")), Rate("fnr", ("fn",), ("fn", "tp")), Rate("ppv", ("tp",), ("fp", "tp")),
        Rate("npv", ("tn",), ("tn", "fn")), Rate("fdr", ("fp",), ("fp", "tp")), Rate("for", ("fn",), ("tn", "fn")),
        Rate("selection-rate", ("fp", "tp")),
    )
}  # fmt: skip
QUANTITIES: Mapping[str, Quantity] = {
    **RATES,
    "balance-positive": Balance("balance-positive", truth=True),
    "balance-negative": Balance("balance-negative", truth=False),
    "calibration": Calibration(),
}


def add_up(values: Float[np.ndarray, "draw stratum"], place: Scope, n: int) -> Values:
    """Add up strata that share a place; places nobody has stay zero."""
    order = np.argsort(place, kind="stable")
    found, starts = np.unique(place[order], return_index=True)
    out = np.zeros((len(values), n))
    out[:, found] = np.add.reduceat(values[:, order], starts, axis=1)
    return out


def _divide(part: Values, whole: Float[np.ndarray, "#draw scope"]) -> Values:
    """Nothing out of nothing is undefined."""
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
