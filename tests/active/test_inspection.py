"""Groups that have been looked at: likelihood ratios in closed form, and how often a broken group passes for a good one."""

from dataclasses import replace

import numpy as np
import pytest
from makers import learned, make_tally, pending

import fewlabels as fl
from fewlabels.active.goals.inspection import CHANCE, FEWEST, KEPT, SMALL, Inspection, describe_unlabelled, inspect
from fewlabels.models.inference import infer

SURE = fl.from_scores(1e6)
NEEDED = (1 - SMALL * 0.05) / (SMALL * 0.05) * CHANCE / (1 - CHANCE)  # likelihood ratio


def expected_right(score, right, n_labels, n_items=1000, prior=SURE):
    """A group whose prior is as sure of its mean score as asked for, beside a group like it without labels."""
    tally = make_tally(
        group=[0, 1], n_items=[n_items, n_items], n_labels=[n_labels, 0], right=[float(right), 0.0],
        score=[score * n_items, score * n_items],
    )  # fmt: skip
    return infer(tally, fl.accuracy, prior)


@pytest.mark.parametrize(("right", "wrong"), [(0, 0), (1, 0), (7, 0), (8, 0), (10, 1), (12, 1)])
def test_a_group_is_looked_at_once_its_labels_speak_against_its_being_broken(right, wrong):
    score = 0.95
    found = inspect(expected_right(score, right, right + wrong))
    ratio = KEPT**-right * ((1 - score) / (1 - KEPT * score)) ** wrong
    assert found.p_broken[0] == pytest.approx(1 / (1 + (1 - CHANCE) / CHANCE * ratio), rel=1e-3)
    assert found.is_inspected.tolist() == [ratio >= NEEDED, False]


def test_eight_right_labels_are_enough_where_nearly_all_should_be_right():
    assert [bool(inspect(expected_right(0.99, n, n)).is_inspected[0]) for n in (7, 8)] == [False, True]


def test_a_broken_group_seldom_passes_for_a_good_one_however_often_one_looks():
    """Ville's inequality: with 1,000 groups, 1/44 of them are exceeded by 4 standard errors at 0.042."""
    rng, score = np.random.default_rng(0), 0.9
    right = np.cumsum(rng.random((1000, 300)) < KEPT * score, axis=1)
    n = np.arange(1, 301)
    ratio = np.log(1 / KEPT) * right + np.log((1 - score) / (1 - KEPT * score)) * (n - right)
    passes = np.nonzero((ratio >= np.log(NEEDED)).any(axis=1))[0]
    assert len(passes) / 1000 < 0.042
    for run in passes[:3]:  # the rule here is the rule of the package
        at = int(np.argmax(ratio[run] >= np.log(NEEDED)))
        assert inspect(expected_right(score, right[run, at], n[at])).is_inspected[0]


def test_a_group_without_items_left_has_been_looked_at():
    assert inspect(replace(expected_right(0.9, 2, 2, n_items=2), left=np.array([0, 2]))).is_inspected.tolist() == [
        True,
        False,
    ]


def test_groups_that_only_their_own_labels_speak_for_have_been_looked_at_after_a_few():
    """With a flat prior the interval is that of the labels; it says by itself how few they are."""
    assert inspect(learned([2, 4, 8], [1, 0, 0], [90, 90, 90])).is_inspected.all()
    assert inspect(learned([2], [0], [90])).n_labels[0] < FEWEST
    assert not inspect(learned([2], [0], [90])).is_inspected[0]


def test_groups_that_are_broken_make_one_suspect_the_others():
    """Ten groups at 0.95: where five of them are broken, eight right labels are no longer enough for the last one."""
    right = np.array([4.0] * 5 + [8.0] * 5)
    tally = make_tally(group=np.arange(10), n_items=[500] * 10, n_labels=[8] * 10, right=right, score=[0.98 * 500] * 10)
    found = inspect(infer(tally, fl.accuracy, SURE))
    assert (found.p_broken[:5] > 0.9).all()
    assert not found.is_inspected.any()


def test_pending_labels_count_with_their_expected_answers():
    known = pending(expected_right(0.98, 4, 4), 5, 0)
    before, after = Inspection(known), Inspection(known, with_pending=True)
    assert after.n_labels[0] == pytest.approx(9)
    assert after.p_broken[0] < before.p_broken[0]
    assert after.expected_fall[0] < before.expected_fall[0]


def test_the_expected_fall_is_that_of_the_variance_of_a_mixture_of_two_points():
    found = inspect(expected_right(0.9, 3, 3))
    p, right, kept = found.p_broken[0], 0.9, KEPT * 0.9
    after = 0.0
    for of_good, of_broken in ((right, kept), (1 - right, 1 - kept)):
        chance = (1 - p) * of_good + p * of_broken
        later = p * of_broken / chance
        after += chance * later * (1 - later) * (right - kept) ** 2
    assert found.expected_fall[0] == pytest.approx(p * (1 - p) * (right - kept) ** 2 - after, rel=1e-3)


def test_classes_count_as_right_where_they_are_the_predicted_one():
    tally = make_tally(
        group=[0, 1], predicted=[0, 1], label=[0, 1], n_items=[50, 50], n_labels=[9, 9], right=[9.0, 9.0]
    )
    assert inspect(infer(tally, fl.confusion, fl.flat())).n_labels.tolist() == [9, 9]


def test_groups_without_a_label_are_said():
    assert describe_unlabelled(learned([5, 0], [5, 0], [0, 30])) == (
        "; groups without a label: 1 of 2 (75% of the items)"
    )
    assert describe_unlabelled(learned([0, 0], [0, 0], [3, 3])) == ""


def test_a_group_whose_labels_lie_between_good_and_broken_has_not_been_looked_at():
    """Expected 0.9, ten right of 14: the estimate in between must not be taken for what was expected.

    By the estimate's own likelihood ratio, of 0.81 against 0.49, the labels would speak for an intact group.
    """
    known = expected_right(0.9, 10, 14, prior=fl.from_scores(14.0))
    found = inspect(known)
    assert found.evidence[0] == pytest.approx(10 * np.log(1 / KEPT) - 4 * np.log(0.46 / 0.1), rel=1e-3)
    assert not found.is_inspected[0]


def test_own_labels_that_are_as_narrow_as_the_goal_asks_for_are_enough():
    known = expected_right(0.9, 80, 110, prior=fl.from_scores(300.0))
    assert not inspect(known).is_inspected[0]
    assert inspect(known, narrow=0.3).is_inspected[0]
