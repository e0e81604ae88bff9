"""Figures that must hold whatever the data are: intervals that labels support, and means inside of them."""

import numpy as np
import pytest

import fewlabels as fl


def make_pool(*groups, extra=1):
    """A pool of groups, each (predicted, score, labels right, labels wrong, items without a label)."""
    rows = [
        (name, score, label)
        for name, score, right, wrong, rest in groups
        for label in [name] * right + ["other"] * wrong + [None] * rest
    ] + [("other", 0.5, None)] * extra
    columns = zip(*rows, strict=True)
    return dict(zip(("predicted", "score", "label"), map(list, columns), strict=True))


OTHERS = {
    "alone": (),
    "half-right": (("b", 0.6, 20, 20, 100),),
    "right": (("b", 1.0, 90, 0, 100),),
    "wrong": (("b", 1.0, 0, 90, 100),),
    "low scores": (("b", 0.0, 90, 0, 100),),
    "unlabelled": (("b", 0.6, 0, 0, 100),),
}


@pytest.mark.parametrize("finite_pool", [False, True])
@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("score", [1.0, 0.9999, 0.99, 0.9, 0.0])
def test_ninety_of_ninety_right_are_known_to_be_right_whatever_the_score(score, others, finite_pool):
    """Jeffreys' prior alone puts the low end at 0.973; a score that saturates must not lose it."""
    a = fl.assess(make_pool(("a", score, 90, 0, 110), *OTHERS[others]), finite_pool=finite_pool)
    assert a.row("a").low > 0.94
    assert a.row("a").high > 0.99


@pytest.mark.parametrize("score", [1.0, 0.99, 0.0])
def test_ninety_of_ninety_wrong_are_known_to_be_wrong_whatever_the_score(score):
    row = fl.assess(make_pool(("a", score, 0, 90, 110))).row("a")
    assert row.high < 0.08
    assert row.low < 0.01


def test_scores_of_one_and_joint_draws_agree_with_the_interval():
    a = fl.assess(make_pool(("a", 1.0, 90, 0, 110), ("b", 0.7, 20, 10, 100)), finite_pool=False)
    drawn = np.quantile(a.draws[:, [row.group for row in a.groups].index("a")], 0.025)
    assert drawn > 0.95
