"""An earlier assessment with the calibrated prior: its labels go on counting, with curve, groups and their correlation."""

import json

import numpy as np
import pytest
from makers import make_pool, stack, take

import fewlabels as fl

POOL = make_pool(9, n=300)
FIRST, SECOND = take(POOL, range(150)), take(POOL, range(150, 300))


def hide(pool, shown):
    """The same items, of which only some are labelled."""
    return {**pool, "label": [y if i in shown else None for i, y in enumerate(pool["label"])]}


@pytest.mark.parametrize("finite_pool", [False, True])
@pytest.mark.parametrize("metric", ["accuracy", "recall", "ece", "confusion", "brier"])
def test_labels_given_earlier_say_what_they_say_here(metric, finite_pool):
    """The same pool twice, with half of the labels each time, against all labels at once.

    For a population the two are the same; of a finite pool, the earlier labels are no items of it.
    """
    first, second = hide(POOL, set(range(0, 60))), hide(POOL, set(range(60, 120)))
    choices = {"metric": metric, "finite_pool": finite_pool}
    found = fl.assess(second, prior=fl.from_earlier(fl.assess(first)), **choices)
    whole = fl.assess(hide(POOL, set(range(120))), **choices)
    tolerance = 0.02 if metric != "brier" else 0.03
    assert found.overall.mean == pytest.approx(whole.overall.mean, abs=tolerance)
    if not finite_pool:
        assert found.overall.high - found.overall.low == pytest.approx(whole.overall.high - whole.overall.low, rel=0.15)
        for a, b in zip(found.groups, whole.groups, strict=True):
            assert a.mean == pytest.approx(b.mean, abs=tolerance)


def test_a_discount_of_nothing_is_no_earlier_assessment():
    earlier = fl.assess(FIRST)
    found = fl.assess(SECOND, prior=fl.from_earlier(earlier, 0.0))
    alone = fl.assess(SECOND)
    assert [row.mean for row in found.groups] == pytest.approx([row.mean for row in alone.groups])
    assert found.overall.low == pytest.approx(alone.overall.low)


def test_the_interval_narrows_as_earlier_labels_count_for_more():
    earlier, shown = fl.assess(FIRST), hide(SECOND, set(range(20)))
    widths = []
    for discount in (0.0, 0.2, 1.0):
        found = fl.assess(shown, prior=fl.from_earlier(earlier, discount)).overall
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]


def test_one_after_the_other_is_one_after_the_other(tmp_path):
    """The second assessment's file carries the labels of the first, discounted."""
    fl.assess(FIRST).to_json(tmp_path / "first.json")
    second = fl.assess(SECOND, prior=fl.from_earlier(tmp_path / "first.json", 0.5))
    rows = json.loads(second.to_json())["evidence"]
    assert sum(row["n_labels"] for row in rows) == pytest.approx(150 + 0.5 * 150)
    third = fl.assess(hide(SECOND, set()), prior=fl.from_earlier(second)).overall
    assert third.mean == pytest.approx(second.overall.mean, abs=0.02)


def test_a_group_the_earlier_assessment_did_not_know_learns_from_its_curve():
    """Scores of .9 were right every second time; a new group with such scores is expected to be as bad."""
    rng = np.random.default_rng(0)
    right = rng.random(400) < 0.5
    known = {"id": range(400), "site": ["a", "b"] * 200, "predicted": ["x"] * 400, "score": rng.uniform(0.85, 0.95, 400),
             "label": np.where(right, "x", "y")}  # fmt: skip
    new = {
        "id": range(20),
        "site": ["a", "new"] * 10,
        "predicted": ["x"] * 20,
        "score": [0.9] * 20,
        "label": ["x", *[None] * 19],
    }
    found = fl.assess(new, by="site", prior=fl.from_earlier(fl.assess(known, by="site")))
    assert found.row("new").mean < 0.7 < fl.assess(new, by="site").row("new").mean


def test_the_whole_is_covered_after_a_few_new_labels():
    """40 groups of different accuracy, 100 labels earlier and 20 now; of 12 intervals, fewer than 9 cover once in 500."""
    covered = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = 4000
        group, score = rng.integers(40, size=n), rng.uniform(0.5, 1, n)
        truth = 1 / (1 + np.exp(-(0.8 * np.log(score / (1.001 - score)) - 0.4 + rng.normal(0, 0.5, 40)[group])))
        right = rng.random(n) < truth
        pool = {"id": range(n), "site": [f"s{g:02}" for g in group], "predicted": ["x"] * n, "score": score,
                "label": np.where(right, "x", "y").tolist()}  # fmt: skip
        earlier = fl.assess(hide(pool, set(range(100))), by="site", n_draws=1000)
        now = fl.assess(
            hide(pool, set(range(100, 120))), by="site", prior=fl.from_earlier(earlier), n_draws=1000
        ).overall
        covered += now.low <= truth.mean() <= now.high
        assert now.high - now.low > 0.08
    assert covered >= 9


def test_shared_labels_are_warned_of():
    """Of the same predictions by name; of others, that they might be shared."""
    same = fl.assess(SECOND, prior=fl.from_earlier(fl.assess(SECOND))).warnings
    other = fl.assess(SECOND, prior=fl.from_earlier(fl.assess(FIRST))).warnings
    assert any("these same predictions" in said for said in same)
    assert not any("these same predictions" in said for said in other)
    assert any("none of its labels may be among these" in said for said in other)


def test_a_file_of_an_earlier_version_is_read_and_what_it_lacks_is_said():
    plain = fl.assess(FIRST).to_dict()
    del plain["evidence"]
    found = fl.assess(SECOND, prior=fl.from_earlier(plain))
    assert any("does not say which scores its labels had" in said for said in found.warnings)
    flat = fl.assess(FIRST, prior=fl.flat()).to_dict()
    found = fl.assess(SECOND, prior=fl.from_earlier(flat))
    assert not any("does not say which scores" in said for said in found.warnings)


def test_labels_of_both_halves_are_those_of_the_whole():
    found = fl.assess(SECOND, by="sex", prior=fl.from_earlier(fl.assess(FIRST, by="sex")))
    whole = fl.assess(stack(FIRST, SECOND), by="sex")
    for row in found.groups:
        assert row.mean == pytest.approx(whole.row(row.group).mean, abs=0.05)
