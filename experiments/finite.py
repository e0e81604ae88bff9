"""Ranks of groups when labelled items count as known and the prior speaks for the rest only.

The paper ranks by posterior means of the population. Their prior never fades entirely: with every item labelled, two
groups of nearly the same truth may still stand in the wrong order, and the true m are never named. About a pool that
was labelled to the end there is nothing left to believe, and this is what that looks like.
"""

import numpy as np

from experiments.replays import Floats, Ints
from fewlabels.goals import FindWorst
from fewlabels.priors import pseudo_counts
from fewlabels.replay.kernels.finding import rank_sought
from fewlabels.replay.trial import Trial


def rank_known(trial: Trial, order: Ints, at: Ints) -> Floats:
    """MRR of the truly worst m at these label counts, by expected values of exactly the items of the pool."""
    assert isinstance(trial.goal, FindWorst)
    shares = expect_shares(trial, follow_counts(trial, order, at))
    values = trial.start.values(shares[:, :, 0] if trial.start.metric.reads == "right" else shares)
    sign = trial.goal.sign
    return np.asarray(rank_sought(sign * values, sign * trial.truth, min(trial.plays, values.shape[1])))


def expect_shares(trial: Trial, counts: Floats) -> Floats:
    """Expected share of each outcome among the items of a cell, (checkpoint, cell, outcome)."""
    believed = counts + pseudo_counts(trial.start.before)
    size = trial.start.scheme.cells.n_items[None, :, None]
    rest = size - counts.sum(axis=2, keepdims=True)
    return np.asarray((counts + rest * believed / believed.sum(axis=2, keepdims=True)) / size)


def follow_counts(trial: Trial, order: Ints, at: Ints) -> Floats:
    """Outcomes of each cell so far, (checkpoint, cell, outcome)."""
    stage, start = trial.stage, trial.start
    step, cell = np.searchsorted(at, np.arange(1, len(order) + 1)), stage.cell(start.metric)[order]
    counts = np.zeros((len(at), *start.counts.shape))
    if start.metric.reads == "right":
        right = stage.right[order]
        np.add.at(counts, (step, cell), np.stack([right, 1 - right], axis=1))
    else:
        np.add.at(counts, (step, cell, stage.label[order]), 1.0)
    return counts.cumsum(axis=0)
