"""Ranks of groups when labelled items count as known and the prior speaks for the rest only.

The paper ranks by posterior means of the population. Their prior never fades entirely: with every item labelled, two
groups of nearly the same truth may still stand in the wrong order, and the true m are never named. About a pool that
was labelled to the end there is nothing left to believe, and this is what that looks like.
"""

from typing import NamedTuple

import numpy as np

from experiments.replays import Floats, Ints
from fewlabels.active.simulation.dispatch import find_problem
from fewlabels.active.simulation.kernels.checkpoints import trace_outcomes
from fewlabels.active.simulation.kernels.compiled_measures import true_gains
from fewlabels.active.simulation.kernels.problems import CalibrationError, Cost, Rate
from fewlabels.active.simulation.kernels.reciprocal_ranks import mean_reciprocal_ranks
from fewlabels.active.simulation.replay import ReplayRun

Search = Rate | CalibrationError | Cost


class Worth(NamedTuple):
    """What a label counts: 1 if right, or its price. Of classes, their mean price is all a search looks at."""

    item: Floats
    prior: Floats  # per cell, summed over the labels that the prior is worth
    strength: Floats  # per cell, in labels


def rank_known(run: ReplayRun, order: Ints, at: Ints) -> Floats:
    """MRR of the truly worst m at these label counts, by expected values of exactly the items of the pool."""
    problem = find_problem(run)
    assert isinstance(problem, Search)
    gains = expect_gains(problem, expect_means(problem, order, at))
    return np.asarray(mean_reciprocal_ranks(gains, true_gains(problem), min(run.plays, problem.pool.n_groups)))


def expect_means(problem: Search, order: Ints, at: Ints) -> Floats:
    """Expected worth of an item of each cell, (checkpoint, cell): of the labelled what they are, of the rest what is believed."""
    pool, worth = problem.pool, _weigh(problem)
    seen, n = np.moveaxis(trace_outcomes(order, at, pool.cell, worth.item, pool.n_cells), 2, 0)
    size = np.bincount(pool.cell, minlength=pool.n_cells)
    believed = (seen + worth.prior) / (n + worth.strength)
    return np.asarray((seen + (size - n) * believed) / size)


def expect_gains(problem: Search, means: Floats) -> Floats:
    """Gain of each group, (checkpoint, group)."""
    pool = problem.pool
    values = pool.weight * (np.abs(means - problem.score) if isinstance(problem, CalibrationError) else means)
    order = np.argsort(pool.group, kind="stable")
    start = np.searchsorted(pool.group[order], np.arange(pool.n_groups))
    return np.asarray(problem.sign * np.add.reduceat(values[:, order], start, axis=1))


def _weigh(problem: Search) -> Worth:
    if isinstance(problem, Cost):
        price, alpha = problem.price, problem.alpha
        return Worth(price[problem.pool.cell, problem.label], (alpha * price).sum(axis=1), alpha.sum(axis=1))
    return Worth(problem.right, problem.alpha, problem.alpha + problem.beta)
