"""The range of groups that were estimated separately, against simulations whose truth is known."""

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.analyses.fairness.partial_pooling import pool_partially

N_RUNS, N_DRAWS = 60, 2000


def rng(seed=0):
    return np.random.default_rng(seed)


def draw_groups(r, truth, n_labels):
    """Posterior draws of every group's rate with a flat prior."""
    hits = r.binomial(n_labels, truth)
    return r.beta(hits + 1, n_labels - hits + 1, size=(N_DRAWS, len(truth)))


def simulate_ranges(truth, n_labels):
    """Intervals and medians of the range over runs, pooled; and the mean range of unpooled draws."""
    found = []
    for seed in range(N_RUNS):
        separate = draw_groups(rng(seed), truth, n_labels)
        pooled = np.ptp(pool_partially(rng(seed), separate), axis=1)
        found.append((*np.quantile(pooled, [0.025, 0.5, 0.975]), np.ptp(separate, axis=1).mean()))
    return np.array(found).T


@pytest.mark.parametrize(("n_groups", "n_labels"), [(3, 20), (20, 20), (20, 100)])
def test_groups_that_are_equal_have_no_large_gap(n_groups, n_labels):
    """The mean range of separate draws is noise; what is left of it is small, and its low end is near 0."""
    low, median, _, noise = simulate_ranges(np.full(n_groups, 0.8), n_labels)
    assert median.mean() < (0.6 if n_groups == 3 else 0.35) * noise.mean()
    assert np.mean(low < 0.04) > 0.85


@pytest.mark.parametrize("n_labels", [20, 100])
def test_a_group_that_is_apart_is_covered(n_labels):
    """At 95 %, fewer than 52 of 60 runs cover with a probability of 0.005."""
    low, median, high, noise = simulate_ranges(np.array([0.3, *[0.8] * 9]), n_labels)
    assert np.sum((low <= 0.5) & (high >= 0.5)) >= 52
    assert abs(median.mean() - 0.5) < 0.7 * abs(noise.mean() - 0.5)


def test_known_and_undefined_groups_stay_as_they_are():
    known = np.tile([0.1, 0.5, 0.9, np.nan], (100, 1))
    assert pool_partially(rng(), known) == pytest.approx(known, nan_ok=True)
    two = draw_groups(rng(), np.array([0.2, 0.8]), 10)
    assert pool_partially(rng(), two) == pytest.approx(two)  # nothing tells how far two groups are apart by nature
    some = np.column_stack([draw_groups(rng(), np.array([0.2, 0.5, 0.8]), 10), np.full(N_DRAWS, 0.4)])
    pooled = pool_partially(rng(), some)
    assert pooled[:, 3] == pytest.approx(some[:, 3], abs=1e-4)
    assert np.ptp(pooled.mean(axis=0)) < np.ptp(some.mean(axis=0))


@pytest.mark.parametrize("method", ["beta-binomial", "frequency"])
def test_the_largest_gap_of_labels_alone_is_not_that_of_noise(method):
    r = rng()
    group, predicted = np.repeat(np.arange(12), 30), r.integers(0, 2, size=360)
    label = np.where(r.random(360) < 0.8, predicted, 1 - predicted).astype(str)
    pool = {"predicted": predicted.astype(str), "label": label, "site": group.astype(str)}
    found = fl.fairness(fl.Predictions.read(pool, positive="1"), by="site", metrics="accuracy", method=method)
    largest, others = found.gaps[-1], np.array([gap.draws for gap in found.gaps[:-1]])
    assert largest.median < 0.5 * np.ptp(others, axis=0).mean()
    assert f"is {largest.median:.3f}" in found.say(largest)
    assert found.to_dict()["gaps"][-1]["median"] == largest.median
    assert fl.fairness(fl.Predictions.read(pool, positive="1"), by="site", metrics="accuracy", method=method).gaps[-1].median == largest.median  # fmt: skip
