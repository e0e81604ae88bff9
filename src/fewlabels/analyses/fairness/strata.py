"""Strata: items of one group, with the same prediction and nearly the same score. Their counts are all that is read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.aggregate import Census, take_census
from fewlabels.data.binary import assume_score, judge_right, set_against_rest
from fewlabels.data.counts import Tally, arrange
from fewlabels.data.groups import Bins, Groups
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, listing

HALF = (*np.arange(0.25, 4.01, 0.25), *np.arange(4.5, 7.01, 0.5), 8.0, 9.0)  # score bin edges in logits, ±
BORDERS = (0.0, *(1 / (1 + math.exp(-x)) for x in sorted({*(-h for h in HALF), 0.0, *HALF})), 1.0)
EDGE = 1e-5  # scores are clipped to this distance from 0 and 1
TWO = 2
DIGITS = 11
MOST_STRATA = 10_000
HARD = 0.8  # assumed score of a prediction without one
OF_RIGHT = ("accuracy", "calibration")  # metrics that need no positive class
PerStratum = Float[np.ndarray, " stratum"]
Whole = Int[np.ndarray, " stratum"]


@dataclass(frozen=True)
class People:
    """Counts of every stratum, sorted by group, predicted negatives before predicted positives."""

    by: str
    groups: tuple[str, ...]
    positive: str
    group: Whole
    said: Whole  # 1 where the prediction is positive
    score: PerStratum  # mean score of the positive class
    n_items: Whole
    n_labels: Whole
    n_positive: Whole  # among the labelled

    @property
    def cell(self) -> Whole:
        """Index of group and prediction."""
        return TWO * self.group + self.said

    @cached_property
    def size(self) -> Int[np.ndarray, " group"]:
        """Items of each group."""
        return self._add_up(self.n_items)

    @cached_property
    def heard(self) -> Int[np.ndarray, " group"]:
        """Labels of each group."""
        return self._add_up(self.n_labels)

    @property
    def n_rest(self) -> Whole:
        """Items without a label."""
        return self.n_items - self.n_labels

    def _add_up(self, counts: Whole) -> Int[np.ndarray, " group"]:
        return np.bincount(self.group, weights=counts, minlength=len(self.groups)).astype(np.int64)


def pose(pool: Predictions, asked: Sequence[str]) -> tuple[Predictions, tuple[str, ...]]:
    """Convert predictions to a binary problem, and return notes about assumptions.

    With many classes the positive class is compared with all others; without a positive class, the positive outcome is a
    correct prediction.
    """
    if not pool.has("predicted") or pool.has("agreement"):
        raise InputError(f"fairness needs predicted classes, and {pool.source} has none; name them with --predicted")
    notes: tuple[str, ...] = ()
    if not pool.has("score"):
        pool = assume_score(pool, HARD)
        notes = (f"there are no scores: every prediction is assumed to have a score of {HARD:g}, corrected by labels",)
    if pool.positive is not None and (len(pool.classes) == TWO or pool.roles.positive is not None):
        return pool if len(pool.classes) == TWO else set_against_rest(pool, pool.positive), notes
    others = [name for name in asked if name not in OF_RIGHT]
    if others:
        raise InputError(
            f"{', '.join(others)}: of which class? The classes are {listing(pool.classes)}. Give the positive class with "
            "--positive CLASS, or choose a metric that needs none: --metric accuracy"
        )
    return judge_right(pool), notes


def visit(pool: Predictions, by: Groups) -> Census:
    """Count a pool by group, prediction, score and label, in one pass of the engine."""
    return take_census(pool, by, bins=Bins(1), strata=BORDERS)


def count_people(pool: Predictions, by: Groups) -> People:
    """Return the strata of a pool that has passed the checks."""
    return arrange_people(arrange(visit(pool, by)))


def arrange_people(counts: Tally) -> People:
    """Build binary strata from the counts."""
    positive = counts.positive or counts.classes[-1]
    key, where = counts.place(("predicted", "stratum"))
    if (
        len(key) > MOST_STRATA and counts.stratum is not None
    ):  # with very many groups each is small, and wider score bins suffice
        counts = replace(counts, stratum=counts.stratum // math.ceil(len(key) / MOST_STRATA))
        key, where = counts.place(("predicted", "stratum"))
    n, yes = len(key), counts.classes.index(positive)
    n_items, n_labels, score, n_positive = (
        np.bincount(where, weights=values, minlength=n)
        for values in (counts.n_items, counts.n_labels, counts.score, counts.n_labels * (counts.label == yes))
    )
    said = (key[:, 1] == yes).astype(np.int64)
    order = np.lexsort((key[:, 3], said, key[:, 0]))
    # Engines sum in different orders. Chains diverge from differences in the last digits, so these are rounded off.
    confidence = np.clip(np.round(score / n_items, DIGITS), EDGE, 1 - EDGE)
    chance = np.where(said == 1, confidence, 1 - confidence)
    whole = (values.astype(np.int64)[order] for values in (n_items, n_labels, n_positive))
    return People(counts.by, counts.groups, positive, key[order, 0], said[order], chance[order], *whole)


def round_out(people: People) -> People:
    """Add an empty stratum per group and decision, for population members that the sample does not contain.

    One accepted person does not imply that every such person in the population is accepted.
    """
    n = np.bincount(people.said, weights=people.n_items, minlength=TWO)
    middle = np.bincount(people.said, weights=people.n_items * people.score, minlength=TWO) / np.maximum(n, 1)
    group, said = (
        axis.ravel() for axis in np.meshgrid(np.arange(len(people.groups)), np.flatnonzero(n), indexing="ij")
    )
    nobody = np.zeros(len(group), dtype=np.int64)
    order = np.argsort(np.append(people.cell, TWO * group + said), kind="stable")
    pairs = (
        (people.group, group), (people.said, said), (people.score, middle[said]),
        (people.n_items, nobody), (people.n_labels, nobody), (people.n_positive, nobody),
    )  # fmt: skip
    return People(people.by, people.groups, people.positive, *(np.append(*pair)[order] for pair in pairs))


def expect_unseen(people: People) -> PerStratum:
    """Pseudo-counts of empty strata: one item per group, split by the pool's decision rate."""
    share = np.bincount(people.said, weights=people.n_items, minlength=TWO) / people.n_items.sum()
    return np.where(people.n_items == 0, share[people.said], 0.0)
