"""What would more labels tell? Read off the draws themselves, without labelling anybody.

A label to come is one outcome of a chance that the draws are about. What so many of them, picked at random, would teach of a
gap is its linear regression on these chances, with the noise of so many outcomes. Labels that repeat what the scores say
already count for little that way, and what no label can tell, such as who is selected, stays as uncertain as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, log10
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.rates import Values, add_up
from fewlabels.analyses.fairness.strata import TWO, People

LEAST = 1e-12  # variance of an outcome
DIGITS = 2  # of a number of labels that deserve to be told
Draws = Float[np.ndarray, " draw"]


@runtime_checkable
class Prospect(Protocol):
    """What more labels would do to an interval."""

    def narrow(self, n_more: int) -> float:
        """Its width after so many more labels, as a share of what it is now."""
        ...


@dataclass(frozen=True)
class Square:
    """Labels alone: the width goes with the root of their number."""

    n: float  # labels, and what is known beforehand, in labels

    def narrow(self, n_more: int) -> float:
        """The fewer there were, the more another one does."""
        return (self.n / (self.n + n_more)) ** 0.5 if self.n else 1.0


@dataclass(frozen=True)
class Regression:
    """Labels and scores: how much of a gap's variance is told by what labels to come are about."""

    told: Float[np.ndarray, " way"]  # along every way in which chances vary together, by labels without end
    worth: Float[np.ndarray, " way"]  # of one label there
    n_rest: int
    finite: bool

    def narrow(self, n_more: int) -> float:
        """What is not told yet; of exactly these people, what is labelled is known."""
        left = 1 - float((self.told * n_more * self.worth / (1 + n_more * self.worth)).sum())
        return (max(left, 0.0) * (1 - n_more / self.n_rest if self.finite else 1.0)) ** 0.5


@dataclass(frozen=True)
class Outlook:
    """Chances of all who are not labelled."""

    people: People
    chance: Values
    finite: bool

    def foresee(self, draws: Draws, groups: Sequence[int]) -> Prospect:
        """What more labels would say of a gap between these groups."""
        defined = ~np.isnan(draws)
        chance, share = self._gather(groups)
        chance, draws = chance[defined], draws[defined] - draws[defined].mean()
        noise = np.sqrt(np.maximum((chance * (1 - chance)).mean(axis=0), LEAST) / share)
        varying = (chance - chance.mean(axis=0)) / noise
        worth, ways = np.linalg.eigh(varying.T @ varying / len(draws))
        worth = np.maximum(worth, LEAST)
        pull = ways.T @ (varying.T @ draws) / len(draws)
        return Regression(pull**2 / worth / max(float(draws.var()), LEAST), worth, self.n_rest, self.finite)

    @property
    def n_rest(self) -> int:
        """How many can still be labelled."""
        return int(self.people.n_rest.sum())

    def _gather(self, groups: Sequence[int]) -> tuple[Values, Float[np.ndarray, " place"]]:
        """Strata of these groups, and everybody else by decision: chances, and the share of labels that fall there."""
        n_rest, (total, n_total) = self.people.n_rest.astype(np.float64), self._totals
        own = np.flatnonzero(np.isin(self.people.group, groups) & (n_rest > 0))
        weight, chance = n_rest[own, None] * np.eye(TWO)[self.people.said[own]], self.chance[:, own]
        n_others = n_total - weight.sum(axis=0)
        some = n_others > 0
        others = (total - chance @ weight)[:, some] / n_others[some]
        both = np.concatenate([chance, np.clip(others, 0.0, 1.0)], axis=1)
        return both, np.append(n_rest[own], n_others[some]) / n_rest.sum()

    @cached_property
    def _totals(self) -> tuple[Values, Float[np.ndarray, " decision"]]:
        n_rest = self.people.n_rest.astype(np.float64)
        return add_up(self.chance * n_rest, self.people.said, TWO), np.bincount(self.people.said, n_rest, TWO)


def count_labels(prospect: Prospect, wanted: float, most: int) -> int | None:
    """Say about how many labels make an interval so much narrower; None where all there can be would not.

    >>> count_labels(Square(100.0), 0.5, 1000), count_labels(Square(100.0), 0.1, 1000)
    (300, None)
    """
    if most < 1 or not prospect.narrow(most) <= wanted:
        return None
    low, high = 0, most  # never enough, and always
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if prospect.narrow(middle) <= wanted else (middle, high)
    return min(_round_up(high), most)


def _round_up(n: int) -> int:
    """Keep as many digits as such a number deserves."""
    unit = 10 ** max(0, floor(log10(n)) + 1 - DIGITS)
    return ceil(n / unit) * unit
