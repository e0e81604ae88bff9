"""Strata: items of one group, with the same prediction and nearly the same score. Their counts are all that is read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.aggregate import Aggregate, aggregate_pool
from fewlabels.data.binary import one_vs_rest, predict_correctness, set_constant_score
from fewlabels.data.counts import CountTable
from fewlabels.data.groups import Bins, Groups
from fewlabels.data.predictions import Predictions
from fewlabels.data.tabulation import to_count_table
from fewlabels.errors import InputError, join_names

HALF = (*np.arange(0.25, 4.01, 0.25), *np.arange(4.5, 7.01, 0.5), 8.0, 9.0)  # score bin edges in logits, ±
BORDERS = (0.0, *(1 / (1 + math.exp(-x)) for x in sorted({*(-h for h in HALF), 0.0, *HALF})), 1.0)
EDGE = 1e-5  # scores are clipped to this distance from 0 and 1
TWO = 2
DIGITS = 11
MAX_STRATA = 1_000
HARD = 0.8  # assumed score of a prediction without one
OF_RIGHT = ("accuracy", "calibration")  # metrics that need no positive class
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
        """Index of group and prediction."""
        return TWO * self.group + self.predicted

    @cached_property
    def size(self) -> Int[np.ndarray, " group"]:
        """Items of each group."""
        return self._add_up(self.n_items)

    @cached_property
    def group_labels(self) -> Int[np.ndarray, " group"]:
        """Labels of each group."""
        return self._add_up(self.n_labels)

    @property
    def n_rest(self) -> Whole:
        """Items without a label."""
        return self.n_items - self.n_labels

    def _add_up(self, counts: Whole) -> Int[np.ndarray, " group"]:
        return np.bincount(self.group, weights=counts, minlength=len(self.groups)).astype(np.int64)


def to_binary(pool: Predictions, asked: Sequence[str]) -> tuple[Predictions, tuple[str, ...]]:
    """Convert predictions to a binary problem, and return warnings about assumptions.

    With many classes the positive class is compared with all others; without a positive class, the positive outcome is a
    correct prediction.
    """
    if not pool.has("predicted") or pool.has("agreement"):
        raise InputError(f"fairness needs predicted classes, and {pool.source} has none; name them with --predicted")
    warnings: tuple[str, ...] = ()
    if not pool.has("score"):
        pool = set_constant_score(pool, HARD)
        warnings = (
            f"there are no scores: every prediction is assumed to have a score of {HARD:g}, corrected by labels",
        )
    if pool.positive is not None and (len(pool.classes) == TWO or pool.roles.positive is not None):
        return pool if len(pool.classes) == TWO else one_vs_rest(pool, pool.positive), warnings
    others = [name for name in asked if name not in OF_RIGHT]
    if others:
        raise InputError(
            f"{', '.join(others)}: of which class? The classes are {join_names(pool.classes)}. Give the positive class with "
            "--positive CLASS, or choose a metric that needs none: --metric accuracy"
        )
    return predict_correctness(pool), warnings


def aggregate_strata(pool: Predictions, by: Groups) -> Aggregate:
    """Count a pool by group, prediction, score and label, in one pass of the engine."""
    return aggregate_pool(pool, by, bins=Bins(1), strata=BORDERS)


def count_strata(pool: Predictions, by: Groups) -> Strata:
    """Return the strata of a pool that has passed the checks."""
    return build_strata(to_count_table(aggregate_strata(pool, by)))


def build_strata(counts: CountTable) -> Strata:
    """Build binary strata from the counts."""
    positive = counts.positive or counts.classes[-1]
    key, where = counts.assign_cells(("predicted", "stratum"))
    if (
        len(key) > MAX_STRATA and counts.stratum is not None
    ):  # with very many groups each is small, and wider score bins suffice
        counts = replace(counts, stratum=counts.stratum // math.ceil(len(key) / MAX_STRATA))
        key, where = counts.assign_cells(("predicted", "stratum"))
    n, yes = len(key), counts.classes.index(positive)
    n_items, n_labels, score, n_positive = (
        np.bincount(where, weights=values, minlength=n)
        for values in (counts.n_items, counts.n_labels, counts.score, counts.n_labels * (counts.label == yes))
    )
    predicted = (key[:, 1] == yes).astype(np.int64)
    order = np.lexsort((key[:, 3], predicted, key[:, 0]))
    # Engines sum in different orders. Chains diverge from differences in the last digits, so these are rounded off.
    confidence = np.clip(np.round(score / n_items, DIGITS), EDGE, 1 - EDGE)
    probability = np.where(predicted == 1, confidence, 1 - confidence)
    whole = (values.astype(np.int64)[order] for values in (n_items, n_labels, n_positive))
    return Strata(counts.by, counts.groups, positive, key[order, 0], predicted[order], probability[order], *whole)


def find_threshold(strata: Strata) -> float:
    """Return the score that best separates predicted negatives from positives; of several, the nearest to 0.5."""
    order = np.argsort(strata.score, kind="stable")
    score, items = strata.score[order], strata.n_items[order]
    accepted = strata.predicted[order] == 1
    wrong = np.cumsum(np.append(0, items * accepted)) + np.cumsum(np.append(items * ~accepted, 0)[::-1])[::-1]
    lows, highs = np.append(EDGE, score), np.append(score, 1 - EDGE)
    nearest = np.clip(0.5, lows, highs)[wrong == wrong.min()]
    return float(nearest[np.abs(nearest - 0.5).argmin()])


def add_empty_strata(strata: Strata) -> Strata:
    """Add an empty stratum per group and decision, for population members that the sample does not contain.

    One accepted person does not imply that every such person in the population is accepted.
    """
    n = np.bincount(strata.predicted, weights=strata.n_items, minlength=TWO)
    middle = np.bincount(strata.predicted, weights=strata.n_items * strata.score, minlength=TWO) / np.maximum(n, 1)
    group, predicted = (
        axis.ravel() for axis in np.meshgrid(np.arange(len(strata.groups)), np.flatnonzero(n), indexing="ij")
    )
    zeros = np.zeros(len(group), dtype=np.int64)
    order = np.argsort(np.append(strata.cell, TWO * group + predicted), kind="stable")
    pairs = (
        (strata.group, group), (strata.predicted, predicted), (strata.score, middle[predicted]),
        (strata.n_items, zeros), (strata.n_labels, zeros), (strata.n_positive, zeros),
    )  # fmt: skip
    return Strata(strata.by, strata.groups, strata.positive, *(np.append(*pair)[order] for pair in pairs))


def expected_unseen(strata: Strata) -> PerStratum:
    """Pseudo-counts of empty strata: one item per group, split by the pool's decision rate."""
    share = np.bincount(strata.predicted, weights=strata.n_items, minlength=TWO) / strata.n_items.sum()
    return np.where(strata.n_items == 0, share[strata.predicted], 0.0)
