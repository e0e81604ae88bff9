"""How many labels until the comparison of two groups is as it will be: the verdict right and λ within 5 % (Table 7)."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import ceil
from typing import NamedTuple

import numpy as np

import fewlabels as fl
from experiments.methods import Method
from experiments.replays import Effort, Floats, Ints, Seed, repeat
from fewlabels.active.simulation.dispatch import run_policy
from fewlabels.active.simulation.kernels.rope import region_probabilities
from fewlabels.active.simulation.labelled_pool import LabelledPool
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.models.priors import pseudo_counts

NEAR = 0.05
LEAST = 2  # runs of a pair, to tell their error
LATE = 0.95  # of both groups: who needs more has not converged before it knew everything


class Needed(NamedTuple):
    """Labels one comparison took."""

    first: float
    lasting: float
    late: float


def compare_pairs(labelled: LabelledPool, method: Method, effort: Effort, n_pairs: int | None = None) -> Floats:
    """Compare every pair of groups, (pair, run, Needed); each as often as makes the runs asked for, over all pairs."""
    pairs = list(combinations(labelled.tally.groups, 2))[:n_pairs]
    each = replace(effort, runs=max(LEAST, ceil(effort.runs / len(pairs))))
    return np.stack([_compare(labelled, method, a, b, each) for a, b in pairs])


def summarise_pairs(needed: Floats) -> tuple[Floats, Floats]:
    """Mean over pairs and runs, and the error that more runs of the same pairs would take away."""
    n_pairs, runs, _ = needed.shape
    return needed.mean(axis=(0, 1)), np.sqrt(needed.var(axis=1, ddof=1).mean(axis=0) / (runs * n_pairs))


def _compare(labelled: LabelledPool, method: Method, a: str, b: str, effort: Effort) -> Floats:
    run = ReplayRun(labelled, fl.Compare(a, b), method.choose(), method.prior, finite_pool=False)
    two = (run.start.position(a), run.start.position(b))
    budget = int(run.start.n_items[list(two)].sum())

    def once(seed: Seed) -> Needed:
        return _settle(weigh_path(run, run_policy(run, np.random.default_rng(seed), budget), two))

    return np.array(repeat(once, effort))


def weigh_path(run: ReplayRun, order: Ints, two: Sequence[int]) -> Floats:
    """Chances of below, equivalent and above after every label, (label, region)."""
    assert isinstance(run.goal, fl.Compare)
    right, group = run.labelled.right[order], run.labelled.group[order]
    outcome, before = np.stack([right, 1 - right], axis=1), pseudo_counts(run.start.belief)
    one, other = (np.cumsum((group == g)[:, None] * outcome, axis=0) + before[g] for g in two)
    steps = np.hstack([one, other]).tolist()
    sides = np.array([region_probabilities(n[0], n[1], n[2], n[3], run.goal.rope) for n in steps])
    return np.stack([sides[:, 0], 1 - sides.sum(axis=1), sides[:, 1]], axis=1)


def _settle(path: Floats) -> Needed:
    """Find the labels from which the last row's verdict is told, with nearly its probability."""
    verdict = path[-1].argmax()
    near = np.abs(path[:, verdict] - path[-1, verdict]) < NEAR * path[-1, verdict]
    good = near & (path.argmax(axis=1) == verdict)
    lasting = len(path) - int(np.logical_and.accumulate(good[::-1]).sum())
    first = int(good.argmax())
    return Needed(first + 1, lasting + 1, float(first + 1 > LATE * len(path)))
