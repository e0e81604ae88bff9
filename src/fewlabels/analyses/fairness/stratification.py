"""Stratification: from a pool of predictions to strata, in one pass of the engine."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fewlabels.analyses.fairness.strata import EDGE, TWO, Strata
from fewlabels.data.aggregate import Aggregate, aggregate_pool
from fewlabels.data.binary import one_vs_rest, predict_correctness, set_constant_score
from fewlabels.data.counts import CountTable
from fewlabels.data.groups import Bins, Groups
from fewlabels.data.predictions import Predictions
from fewlabels.data.tabulation import to_count_table
from fewlabels.errors import InputError, join_names

HALF = (*np.arange(0.25, 4.01, 0.25), *np.arange(4.5, 7.01, 0.5), 8.0, 9.0)  # score bin edges in logits, ±
BORDERS = (0.0, *(1 / (1 + math.exp(-x)) for x in sorted({*(-h for h in HALF), 0.0, *HALF})), 1.0)
DIGITS = 11
MAX_STRATA = 1_000
HARD = 0.8  # assumed score of a prediction without one
OF_RIGHT = ("accuracy", "calibration")  # metrics that need no positive class


def to_binary(pool: Predictions, asked: Sequence[str]) -> tuple[Predictions, tuple[str, ...]]:
    """Convert predictions to a binary problem before stratification, and return warnings about assumptions.

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
    """Count a pool by group of people, prediction, score and label for stratification, in one pass of the engine."""
    return aggregate_pool(pool, by, bins=Bins(1), strata=BORDERS)


def count_strata(pool: Predictions, by: Groups) -> Strata:
    """Return the strata of groups of people in a pool that has passed the checks: its stratification."""
    return build_strata(to_count_table(aggregate_strata(pool, by)))


def build_strata(counts: CountTable) -> Strata:
    """Build the strata of groups of people from the counts of a binary problem: its stratification."""
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
