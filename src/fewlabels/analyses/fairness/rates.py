"""What is asked of every group: how often decisions are right or wrong, and how scores behave.

A rate is a part of some whole, both made of the four outcomes of a decision. Everything is worked out of how many people
there are in each stratum, and how many of them are truly positive.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from fewlabels.analyses.fairness.strata import People

OUTCOMES = ("tn", "fn", "fp", "tp")
BINS = 10  # of the score, in calibration within groups
Values = Float[np.ndarray, "draw group"]
Parts = Float[np.ndarray, "draw group part"]


@dataclass(frozen=True)
class Masses:
    """Draws of how many people there are in every stratum, and how many of them are truly positive."""

    people: People
    items: Float[np.ndarray, "#draw stratum"]
    positive: Float[np.ndarray, "draw stratum"]

    @cached_property
    def outcomes(self) -> Parts:
        """The four outcomes in every group, added up."""
        n = 2 * len(self.people.groups)
        positive, items = (add_up(values, self.people.cell, n) for values in (self.positive, self.items))
        negative = items - positive
        return np.stack([negative[:, 0::2], positive[:, 0::2], negative[:, 1::2], positive[:, 1::2]], axis=2)


@runtime_checkable
class Quantity(Protocol):
    """Something to ask about every group: made of parts that add up over groups."""

    @property
    def name(self) -> str:
        """What it is called on the command line and in results."""
        ...

    def gather(self, masses: Masses) -> Parts:
        """Its parts in each group."""
        ...

    def reckon(self, parts: Parts) -> Values:
        """Its value; not a number where it is undefined."""
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

    def gather(self, masses: Masses) -> Parts:
        """Add up part and whole."""
        counts = masses.outcomes
        chosen = ([OUTCOMES.index(name) for name in names] for names in (self.part, self.whole))
        return np.stack([counts[:, :, which].sum(axis=2) for which in chosen], axis=2)

    def reckon(self, parts: Parts) -> Values:
        """Divide."""
        return _divide(parts[:, :, 0], parts[:, :, 1])


@dataclass(frozen=True)
class Balance:
    """The mean score of those who truly are of a class (Kleinberg, Mullainathan and Raghavan)."""

    name: str
    truth: bool

    def gather(self, masses: Masses) -> Parts:
        """Add up scores of the positive, or the negative, and them."""
        chosen, people = masses.positive if self.truth else masses.items - masses.positive, masses.people
        return np.stack([add_up(values, people.group, len(people.groups)) for values in (chosen * people.score, chosen)], axis=2)  # fmt: skip

    def reckon(self, parts: Parts) -> Values:
        """Divide."""
        return _divide(parts[:, :, 0], parts[:, :, 1])


@dataclass(frozen=True)
class Calibration:
    """How far scores are from what they promise within a group, averaged over ten ranges of the score."""

    name: str = "calibration"

    def gather(self, masses: Masses) -> Parts:
        """Add up, in every range, how many more are positive than scores have it; and everybody."""
        people, n = masses.people, len(masses.people.groups)
        place = BINS * people.group + np.minimum((BINS * people.score).astype(np.int64), BINS - 1)
        excess = add_up(masses.positive - masses.items * people.score, place, BINS * n).reshape(-1, n, BINS)
        items = np.broadcast_to(add_up(masses.items, people.group, n), excess.shape[:2])
        return np.concatenate([excess, items[:, :, None]], axis=2)

    def reckon(self, parts: Parts) -> Values:
        """Σ_b p_b |share of positives − mean score|."""
        return _divide(np.abs(parts[:, :, :BINS]).sum(axis=2), parts[:, :, BINS])


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


def add_up(
    values: Float[np.ndarray, "draw stratum"], place: Int[np.ndarray, " stratum"], n: int
) -> Float[np.ndarray, "draw place"]:
    """Add up strata that share a place; places nobody has stay zero."""
    if np.any(np.diff(place) < 0):
        order = np.argsort(place, kind="stable")
        values, place = values[:, order], place[order]
    found, starts = np.unique(place, return_index=True)
    out = np.zeros((len(values), n))
    out[:, found] = np.add.reduceat(values, starts, axis=1)
    return out


def _divide(part: Values, whole: Values) -> Values:
    """Nothing out of nothing is undefined."""
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
