"""Strata: items of one group, with the same prediction and nearly the same score. Their counts are all that is read.

`stratification` makes them from a pool.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

EDGE = 1e-5  # scores are clipped to this distance from 0 and 1
TWO = 2
PerStratum = Float[np.ndarray, " stratum"]
Whole = Int[np.ndarray, " stratum"]


@dataclass(frozen=True)
class Strata:
    """Counts of every stratum, sorted by group, predicted negatives before predicted positives."""

    by: str
    groups: tuple[str, ...]
    positive: str
    group: Whole
    predicted: Whole  # 1 where the prediction is positive
    score: PerStratum  # mean score of the positive class
    n_items: Whole
    n_labels: Whole
    n_positive: Whole  # among the labelled

    @property
    def cell(self) -> Whole:
        """Index of group and prediction of every stratum."""
        return TWO * self.group + self.predicted

    @cached_property
    def size(self) -> Int[np.ndarray, " group"]:
        """Items of each group of strata."""
        return self._add_up(self.n_items)

    @cached_property
    def group_labels(self) -> Int[np.ndarray, " group"]:
        """Labels of each group."""
        return self._add_up(self.n_labels)

    @property
    def n_rest(self) -> Whole:
        """Items without a label in every stratum."""
        return self.n_items - self.n_labels

    def _add_up(self, counts: Whole) -> Int[np.ndarray, " group"]:
        """Sum a column of the strata by group."""
        return np.bincount(self.group, weights=counts, minlength=len(self.groups)).astype(np.int64)


def find_threshold(strata: Strata) -> float:
    """Return the score between strata of people predicted negative and positive; of several, the nearest to 0.5."""
    order = np.argsort(strata.score, kind="stable")
    score, items = strata.score[order], strata.n_items[order]
    accepted = strata.predicted[order] == 1
    wrong = np.cumsum(np.append(0, items * accepted)) + np.cumsum(np.append(items * ~accepted, 0)[::-1])[::-1]
    lows, highs = np.append(EDGE, score), np.append(score, 1 - EDGE)
    nearest = np.clip(0.5, lows, highs)[wrong == wrong.min()]
    return float(nearest[np.abs(nearest - 0.5).argmin()])


def add_empty_strata(strata: Strata) -> Strata:
    """Add an empty stratum per group of people and decision, for members that the sample does not contain.

    One accepted person does not imply that every such person in the population is accepted, nor none that none is. A
    decision that no item here has gets a score beyond all that are here.
    """
    n = np.bincount(strata.predicted, weights=strata.n_items, minlength=TWO)
    middle = np.bincount(strata.predicted, weights=strata.n_items * strata.score, minlength=TWO) / np.maximum(n, 1)
    beyond = (find_threshold(strata) + np.arange(TWO)) / 2
    middle = np.where(n > 0, middle, beyond)
    group, predicted = np.divmod(np.arange(TWO * len(strata.groups)), TWO)
    zeros = np.zeros(len(group), dtype=np.int64)
    order = np.argsort(np.append(strata.cell, TWO * group + predicted), kind="stable")
    pairs = (
        (strata.group, group), (strata.predicted, predicted), (strata.score, middle[predicted]),
        (strata.n_items, zeros), (strata.n_labels, zeros), (strata.n_positive, zeros),
    )  # fmt: skip
    return Strata(strata.by, strata.groups, strata.positive, *(np.append(*pair)[order] for pair in pairs))


def expected_unseen(strata: Strata) -> PerStratum:
    """Pseudo-counts of empty strata of people: half an item per group and decision (Jeffreys' prior of its rate).

    Split by the decision rate of the pool instead, a rare decision that a small group lacks would be covered too seldom:
    of 20 people, 5 % of them accepted in population and pool, in 63 % of samples instead of 95 %.
    """
    return np.where(strata.n_items == 0, 1 / TWO, 0.0)


def sum_strata(
    values: Float[np.ndarray, "draw stratum"], place: Int[np.ndarray, " stratum"], n: int
) -> Float[np.ndarray, "draw index"]:
    """Sum draws over the strata of people with the same index; unused indices are zero."""
    if np.any(np.diff(place) < 0):
        order = np.argsort(place, kind="stable")
        values, place = values[:, order], place[order]
    found, starts = np.unique(place, return_index=True)
    out = np.zeros((len(values), n))
    out[:, found] = np.add.reduceat(values, starts, axis=1)
    return out
