"""What an auditor is told: no verdict without labels behind it, and warnings that fit what was asked."""

import warnings
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import fewlabels as fl
from fewlabels.analyses.fairness.gaps import LARGEST, ODDS
from fewlabels.cli.fairness_tables import print_fairness
from fewlabels.reporting.html.fairness import render_fairness


def make_people(n, n_labels, groups=("f", "m"), seed=0, truth=None):
    r = np.random.default_rng(seed)
    score = np.round(r.beta(0.8, 1.2, size=n), 3)
    label = (r.random(n) < score).astype(int).astype(str).astype(object) if truth is None else np.full(n, truth, object)
    label[n_labels:] = None
    return {"score_x": score, "label": label, "sex": np.array(groups)[np.arange(n) % len(groups)]}


def ask(pool, **choices):
    return fl.fairness(fl.Predictions.read(pool, positive_score="score_x", positive="1"), by="sex", **choices)


POOLS = {
    "20 rows": make_people(20, 10), "one label": make_people(60, 1), "no label": make_people(60, 0),
    "one class": make_people(60, 30, truth="1"), "all labelled": make_people(60, 60), "many groups": make_people(120, 40, tuple("abcdefghij")),
}  # fmt: skip


@pytest.mark.parametrize("finite", [False, True], ids=["population", "these people"])
@pytest.mark.parametrize("method", ["frequency", "beta-binomial"])
@pytest.mark.parametrize("kind", POOLS)
def test_no_numpy_warning_reaches_a_user(kind, method, finite):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = ask(POOLS[kind], method=method, metrics="accuracy,tpr,ppv,equalised-odds,mcc,f1", finite_pool=finite)
        found.to_json()
        found.to_markdown()
        render_fairness(found)


def test_labels_that_agree_are_no_verdict_while_they_are_few():
    """Two labels in f are right, and 30 in m are wrong: the frequencies are 1 and 0 with no width."""
    predicted, sex = np.tile(["0", "1"], 50), np.repeat(["f", "m"], [30, 70])
    label = np.where(sex == "f", predicted, np.where(predicted == "1", "0", "1")).astype(object)
    label[np.r_[2:30, 60:100]] = None
    pool = fl.Predictions.read({"predicted": predicted, "label": label, "sex": sex}, positive="1")
    for finite in (False, True):
        gap = fl.fairness(pool, by="sex", metrics="accuracy", method="frequency", finite_pool=finite).gap(
            "accuracy", "f"
        )
        assert gap.low > 0.02
        assert gap.more_labels == 3
        assert not gap.is_settled
    label[:30] = predicted[:30]
    known = fl.Predictions.read({"predicted": predicted, "label": label, "sex": sex}, positive="1")
    assert fl.fairness(known, by="sex", metrics="accuracy", method="frequency").gap("accuracy", "f").is_settled


def test_few_labels_are_not_said_to_use_scores_where_they_do_not():
    for method, said in (("frequency", "one more label can move them far"), ("bc", "mostly on scores and priors")):
        found = ask(make_people(60, 6), method=method, metrics="accuracy")
        assert any(said in warning for warning in found.warnings)


def test_being_right_has_no_rate_of_decisions_to_warn_about():
    r = np.random.default_rng(0)
    pool = {
        "predicted": r.choice(list("abc"), 100),
        "label": r.choice(list("abc"), 100),
        "sex": np.tile(["x", "y"], 50),
    }
    found = fl.fairness(pool, by="sex", metrics="accuracy")
    assert not any("selection rate" in warning for warning in found.warnings)


def test_distances_have_no_sign_to_be_sure_of():
    found = ask(make_people(300, 100, ("a", "b", "c")), metrics=("tpr", ODDS))
    assert [gap.has_sign for gap in found.gaps] == [True, True, False, False, False, False]
    out = StringIO()
    print_fairness(Console(file=out, width=200), found)
    assert all(">0.99" not in line for line in out.getvalue().splitlines() if LARGEST in line or ODDS in line)


def test_directions_below_the_stated_level_are_not_among_the_findings():
    found = ask(make_people(300, 60), metrics="accuracy,tpr,fpr,ppv,npv")
    below = [gap for gap in found.gaps if max(gap.p_greater, 1 - gap.p_greater) < found.level]
    assert below
    page = render_fairness(found)
    assert not any(found.say(gap).split(" (")[0] in page for gap in below)


def test_where_all_are_labelled_more_labels_are_no_advice():
    out = StringIO()
    print_fairness(Console(file=out, width=200), ask(make_people(60, 60), metrics="tpr"))
    assert "all these items are labelled" in out.getvalue()
