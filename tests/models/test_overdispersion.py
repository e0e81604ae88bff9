"""Score bins of a group: calibration errors converge to the counts however the curve is shaped."""

import numpy as np
import pytest

import fewlabels as fl


def make_pool(rng, n, departure):
    """Scores from 0.5 to 1; in every second bin the accuracy is higher by the departure, in the others lower."""
    score = rng.uniform(0.5, 1.0, size=n)
    bin_number = (10 * score).astype(int)
    chance = np.clip(score + departure * np.where(bin_number % 2, 1, -1), 0, 1)
    right = rng.random(n) < chance
    pool = {"id": range(n), "predicted": ["a"] * n, "score": score, "label": np.where(right, "a", "b")}
    truth = sum(abs((chance - score)[bin_number == b].mean()) * (bin_number == b).mean() for b in range(5, 10))
    return pool, truth


def test_with_many_labels_the_calibration_error_is_what_the_counts_say():
    """A spline with two knots cannot follow a sawtooth; the bins' own labels can."""
    covered = 0
    for seed in range(8):
        pool, truth = make_pool(np.random.default_rng(seed), 20_000, 0.1)
        found = fl.assess(pool, by="all", metric="ece").overall
        covered += found.low <= truth <= found.high
        assert found.mean == pytest.approx(truth, abs=0.015)
    assert covered >= 7


def test_bins_that_follow_the_curve_are_not_overdispersed():
    pool, _ = make_pool(np.random.default_rng(0), 20_000, 0.0)
    ours, flat = (fl.assess(pool, by="all", metric="ece", prior=prior) for prior in ("calibrated", "flat"))
    assert ours.posterior.joint.accuracies.weights[-1] > 0.5
    assert ours.overall.mean < flat.overall.mean


def test_the_figure_of_a_calibration_error_is_the_median_everywhere():
    pool, _ = make_pool(np.random.default_rng(1), 60, 0.0)
    found = fl.assess(pool, by=("predicted", "bins:2"), metric="ece")
    for row, draws in zip(found.groups, found.draws.T, strict=True):
        assert row.mean == pytest.approx(np.median(draws))
        assert row.low <= row.mean <= row.high
    overall = found.posterior.overall
    assert found.overall.mean == pytest.approx(np.median(overall.samples)) == pytest.approx(overall.mean()[0])
    assert found.overall.mean < overall.samples.mean()
