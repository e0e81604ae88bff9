"""The overall figure checked by labels with known probabilities: right on average and covered, whatever the model says."""

from dataclasses import replace

import numpy as np
import pytest
from makers import learned, make_tally

import fewlabels as fl
from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.overall_check import FEWEST, Sample, check_overall
from fewlabels.models.inference import infer

LEVEL = 0.95


def sampled(right, weight=None, entry=None):
    right = np.asarray(right, float)
    entry = np.zeros(len(right), dtype=np.int64) if entry is None else np.asarray(entry)
    weight = np.ones(len(right)) if weight is None else np.asarray(weight, float)
    return Sample(entry, right, weight, weight**2, len(right), "drawn at random")


def believing(accuracy, n_items=10_000, **choices):
    """A posterior that is sure of an accuracy, and gives no weight to labels."""
    tally = make_tally(group=[0], n_items=[n_items], n_labels=[0], right=[0.0], score=[accuracy * n_items])
    return infer(tally, fl.accuracy, fl.from_scores(1e8), **choices)


def test_the_sample_moves_a_wrong_model_by_the_mean_difference():
    right = np.repeat([1.0, 0.0], [60, 40])
    found = check_overall(believing(0.9), Estimate(0.9, 0.89, 0.91), sampled(right))
    error = np.sqrt(0.6 * 0.4 / 99)
    assert found.sample.mean == pytest.approx(0.6, abs=1e-6)
    assert (found.sample.high - found.sample.low) / 2 == pytest.approx(1.984 * error, rel=1e-3)
    assert found.disagrees
    assert found.shown.low == found.sample.low
    assert found.shown.high == 0.91
    assert 0.6 < found.shown.mean < 0.7
    assert "contradicted by the 100 labels drawn at random" in found.warning


def test_a_model_that_agrees_is_shown_as_it_is():
    model = Estimate(0.9, 0.85, 0.94)
    found = check_overall(believing(0.9), model, sampled(np.repeat([1.0, 0.0], [18, 2])))
    assert (found.shown, found.disagrees, found.warning) == (model, False, None)


def test_few_labels_that_are_all_right_contradict_no_good_model():
    model = Estimate(0.97, 0.95, 0.99)
    assert not check_overall(believing(0.97), model, sampled(np.ones(10))).disagrees


@pytest.mark.parametrize("n", [0, FEWEST - 1])
def test_a_few_labels_check_nothing(n):
    assert check_overall(believing(0.9), Estimate(0.9, 0.8, 0.95), sampled(np.zeros(n))) is None
    assert check_overall(believing(0.9), Estimate(0.9, 0.8, 0.95), None) is None


def test_an_item_is_not_held_against_its_own_label():
    """Beta(1, 1) and three right labels: without the label of the item itself, 3 / 4 are expected."""
    known = learned([3], [0], [97])
    found = check_overall(known, Estimate(0.8, 0.5, 0.99), sampled(np.ones(5)))
    assert found.sample.mean == pytest.approx(min(0.8 + 1 - 3 / 4, 1.0))


def test_exactly_these_items_vary_less():
    model = Estimate(0.9, 0.8, 0.95)
    wide, narrow = (
        check_overall(believing(0.9, 40, finite_pool=finite), model, sampled(np.repeat([1.0, 0.0], [15, 5])))
        for finite in (False, True)
    )
    ratio = (narrow.sample.high - narrow.sample.low) / (wide.sample.high - wide.sample.low)
    assert 0.6 < ratio < 0.8  # a half is labelled: the square root of 1/2, but for the ends at 0 and 1


def test_a_wrong_model_is_covered_and_its_error_falls():
    """The truth is 0.7 and the model sure of 0.9. Of 400 samples of 60, 0.914 would be 3.3 standard errors from 0.95."""
    rng, model = np.random.default_rng(0), Estimate(0.9, 0.89, 0.91)
    posterior, covered, errors = believing(0.9), 0, []
    for _ in range(400):
        shown = check_overall(posterior, model, sampled(rng.random(60) < 0.7)).shown
        covered += shown.low <= 0.7 <= shown.high
        errors.append(shown.mean - 0.7)
    assert covered / 400 > 0.914
    assert np.sqrt(np.mean(np.square(errors))) < 0.12


def test_weights_undo_unequal_probabilities():
    """Right items are chosen three times as often; weighted by the inverse, the mean is that of the pool."""
    rng = np.random.default_rng(1)
    truth = rng.random(20_000) < 0.6
    chance = np.where(truth, 0.03, 0.01)
    chosen = rng.random(20_000) < chance
    found = check_overall(believing(0.9, 20_000), Estimate(0.9, 0.89, 0.91), sampled(truth[chosen], 1 / chance[chosen]))
    assert abs(found.sample.mean - truth.mean()) < 4 * (found.sample.high - found.sample.low) / 3.92
    assert sampled(truth[chosen], 1 / chance[chosen]).effective_size < chosen.sum()
    assert found.shown == found.sample
    assert found.warning.startswith("propensities differ, so the overall figure comes from labels weighted by them")


def test_weighted_samples_are_covered():
    rng, model, covered = np.random.default_rng(2), Estimate(0.9, 0.89, 0.91), 0
    posterior = believing(0.9)
    for _ in range(300):
        right = rng.random(3000) < 0.65
        chance = np.where(rng.random(3000) < np.where(right, 0.7, 0.3), 0.06, 0.02)
        chosen = rng.random(3000) < chance
        shown = check_overall(posterior, model, sampled(right[chosen], 1 / chance[chosen])).sample
        covered += shown.low <= 0.65 <= shown.high
    assert covered / 300 > 0.905  # 3.6 standard errors below 0.95


def test_other_metrics_are_not_checked():
    known = infer(make_tally(group=[0], predicted=[0], label=[0], n_items=[30]), fl.recall, fl.flat())
    assert check_overall(replace(known), Estimate(0.9, 0.8, 1.0), sampled(np.ones(20))) is None


NONE_AT_RANDOM = sampled([])


def grouped(right, n=(60, 60, 60), finite_pool=False, n_items=1000):
    """A posterior of three groups that is sure of 0.9 whatever the labels."""
    size = [n_items] * 3
    tally = make_tally(group=[0, 1, 2], n_items=size, n_labels=n, right=right, score=[0.9 * n_items] * 3)
    return infer(tally, fl.accuracy, fl.from_scores(1e8), finite_pool=finite_pool)


def test_labels_of_all_groups_move_a_wrong_model_whatever_the_policy():
    """Shares of right labels .6, .7 and .8, with different numbers of labels: the mean of equal groups is .7."""
    model = Estimate(0.9, 0.8, 0.97)
    found = check_overall(grouped([12.0, 42.0, 144.0], (20, 60, 180)), model, NONE_AT_RANDOM)
    error = np.sqrt((0.24 * 20 / 19 / 20 + 0.21 * 60 / 59 / 60 + 0.16 * 180 / 179 / 180) / 9)
    assert found.sample.mean == pytest.approx(0.7)
    assert (found.sample.high - found.sample.low) / 2 == pytest.approx(1.96 * error, rel=1e-3)
    shift = -0.2 * (1 - (error / 0.2) ** 2)
    assert found.shown.mean == pytest.approx(0.9 + shift, abs=1e-6)
    assert (found.shown.low, found.shown.high) == pytest.approx((0.8 + shift, 0.97), abs=1e-6)
    assert "contradicted by the 260 labels of all groups, weighted by their sizes" in found.warning


def test_a_model_within_chance_of_the_labels_is_shown_as_it_is():
    assert check_overall(grouped([53.0, 54.0, 55.0]), Estimate(0.9, 0.8, 0.97), NONE_AT_RANDOM) is None


def test_a_figure_that_is_moved_within_the_interval_is_said_to_be_moved():
    """Shares of .83, .87 and .87 against .9: within two standard errors, beyond one."""
    model = Estimate(0.9, 0.8, 0.97)
    found = check_overall(grouped([50.0, 52.0, 52.0]), model, NONE_AT_RANDOM)
    assert not found.disagrees
    assert found.shown.mean < 0.9 - 0.0005
    assert f"the overall figure, {found.shown.mean:.3f}" in found.warning
    assert (
        "lies between that of the model, 0.900 [0.800, 0.970], and what the 180 labels of all groups" in found.warning
    )


def test_a_few_labels_tell_nothing_of_a_precise_model():
    """Three labels in each group have an error of 14 points, and the model one of one."""
    found = check_overall(grouped([1.0, 2.0, 2.0], (3, 3, 3)), Estimate(0.9, 0.88, 0.92), NONE_AT_RANDOM)
    assert found is None


def test_without_a_session_labels_of_groups_check_nothing():
    assert check_overall(grouped([36.0, 42.0, 48.0]), Estimate(0.9, 0.8, 0.97), None) is None


def test_labels_of_a_small_pool_vary_less():
    """Of 90 items a group, 60 are labelled: the error is the root of a third of that in a population."""
    right, model = [30.0, 34.0, 38.0], Estimate(0.9, 0.7, 0.97)
    whole, part = (
        check_overall(grouped(right, finite_pool=finite, n_items=90), model, NONE_AT_RANDOM).sample
        for finite in (False, True)
    )
    assert (part.high - part.low) / (whole.high - whole.low) == pytest.approx(np.sqrt(1 / 3), rel=0.05)
