"""Simulation-based calibration of the calibrated prior, from drawn pools to shown intervals, for each metric.

A pool is drawn: curve, random effects, outliers, outcomes and true classes from the prior, at scores of its own; some items
are labelled at random; `infer` shows intervals about exactly these items. Ranks of the truth among draws must look uniform.
"""

import numpy as np
import pytest
from drawn_pools import K, judge, lay_out
from scipy.stats import chisquare

import fewlabels as fl
from fewlabels.models.inference import infer

N_POOLS, FEWER_POOLS = 120, 60  # of accuracy, and of other metrics
N_BINS, N_DRAWS = 5, 999
N_LABELS = [3, 10, 30, 80]
COSTS = {str(i): {str(j): float(abs(i - j)) for j in range(K)} for i in range(K)}
METRICS = {
    "accuracy": fl.accuracy, "recall": fl.recall, "precision": fl.precision, "f1": fl.f1, "cost": fl.cost(COSTS),
    "ece": fl.ece,
}  # fmt: skip


@pytest.fixture(scope="module", params=METRICS)
def replications(request):
    """For each pool: ranks of the truth and whether it is covered, of one group and of the whole."""
    metric, found = METRICS[request.param], []
    rng, layout = np.random.default_rng(3), lay_out(metric)
    for seed in range(N_POOLS if metric is fl.accuracy else FEWER_POOLS):
        pool = layout.draw(rng, departs=metric is fl.ece)
        order, group = rng.permutation(pool.n_items), rng.integers(K)
        truth = infer(pool.add_labels(order), metric, fl.flat(), finite_pool=True)
        posterior = infer(
            pool.add_labels(order[: rng.choice(N_LABELS)]), metric, fl.calibrated(), finite_pool=True, n_draws=N_DRAWS,
            seed=seed,
        )  # fmt: skip
        ends = [end[group] for end in posterior.interval()]
        found.append(
            [
                judge(rng, truth.mean()[group], posterior.draws[:, group], ends),
                judge(rng, truth.overall.mean()[0], posterior.overall.samples[:, 0], posterior.overall.interval()),
            ]
        )
    return np.array(found)  # (pool, group or whole, rank and covered)


@pytest.mark.parametrize("which", [0, 1])
def test_ranks_of_the_truth_are_uniform(replications, which):
    """At one in 1,000, of a group and of the whole."""
    counts = np.bincount((replications[:, which, 0] * N_BINS).astype(int), minlength=N_BINS)
    assert chisquare(counts).pvalue > 1e-3, counts


@pytest.mark.parametrize("which", [0, 1])
def test_intervals_hold_the_truth(replications, which):
    """95 %, within three binomial standard errors below; counts are discrete, so groups may be covered more often."""
    covered = replications[:, which, 1]
    assert covered.mean() > 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(covered))
