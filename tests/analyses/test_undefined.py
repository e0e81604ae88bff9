"""Rates of nothing (0/0): groups in which a metric is undefined take no part in goals, verdicts and P(worst)."""

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.analyses.comparison import NOT_SETTLED
from fewlabels.data.tabulation import count_pool
from fewlabels.models.inference import infer

ROWS = {"a": 0.95, "b": 0.6, "c": None}  # accuracy where the class is predicted; it never is in c


def make_pool(rates=ROWS, n=400, *, labelled=True):
    rng, parts = np.random.default_rng(0), []
    for site, rate in rates.items():
        said = np.zeros(n, dtype=int) if rate is None else rng.integers(0, 2, n)
        truth = np.where(rng.random(n) < (0.9 if rate is None else rate), said, 1 - said)
        parts += [(str(p), str(y) if labelled else None, site) for p, y in zip(said, truth, strict=True)]
    columns = dict(zip(("predicted", "label", "site"), map(list, zip(*parts, strict=True)), strict=True))
    return fl.Predictions.read({"id": np.arange(len(parts)), **columns}, positive="1")


def learn(metric=fl.ppv, rates=ROWS, **how):
    return infer(count_pool(make_pool(rates), fl.column("site")), metric, fl.flat(), **how)


@pytest.mark.parametrize("finite", [False, True])
def test_knowledge_and_assessment_agree_on_what_is_undefined(finite):
    found = fl.assess(make_pool(), by=fl.column("site"), metric=fl.ppv, finite_pool=finite, prior=fl.flat())
    assert learn(finite_pool=finite).undefined.tolist() == found.posterior.undefined.tolist() == [False, False, True]
    assert not learn(fl.accuracy, finite_pool=finite).undefined.any()


@pytest.mark.parametrize("goal", [fl.FindWorst(fl.ppv), fl.FindBest(fl.ppv)])
def test_the_worst_and_the_best_are_sought_among_groups_with_a_rate(goal):
    known, rng = learn(), np.random.default_rng(0)
    standing = goal.describe(known, rng)
    assert standing.settled
    assert goal.settled(known, rng)
    assert standing.details["groups"] == [{"find-worst": "b", "find-best": "a"}[goal.name]]
    assert "not defined in c" in standing.sentence
    assert goal.answer(known, rng).mean()[2] == 0


@pytest.mark.parametrize("rates", [{"a": 0.95, "b": 0.6, "c": None}, {"a": 0.9, "b": None}, {"a": None, "b": None}])
def test_as_many_groups_as_have_a_rate_leave_nothing_to_find(rates):
    known, rng = learn(rates=rates), np.random.default_rng(0)
    goal = fl.FindWorst(fl.ppv, m=2 if len(rates) == 3 else 1)
    assert not goal.settled(known, rng)
    assert "nothing to find" in goal.describe(known, rng).sentence


def test_an_estimate_does_not_wait_for_a_rate_of_nothing():
    known, rng, goal = learn(), np.random.default_rng(0), fl.Estimate(fl.ppv, width=0.2)
    standing = goal.describe(known, rng)
    assert standing.settled
    assert "not defined in c" in standing.sentence
    assert standing.details["widest"]["group"] != "c"
    nothing = learn(rates={"a": None, "b": None})
    assert not goal.settled(nothing, rng)


@pytest.mark.parametrize("goal", [fl.FindWorst(fl.ppv), fl.Estimate(fl.ppv), fl.Compare("a", "b", fl.ppv)])
def test_no_label_is_asked_where_no_label_gives_a_rate(goal):
    session = fl.Session.create(
        None, make_pool(labelled=False), goal=goal, by=fl.column("site"), prior=fl.flat(), random_share=0.0
    )
    assert session.ask(60)
    assert session.knowledge().n_labels[2] == 0


@pytest.mark.parametrize("rope", [0.0, 0.01])
def test_no_verdict_is_stated_about_a_rate_of_nothing(rope):
    found = fl.compare(make_pool(), ("a", "c"), by=fl.column("site"), metric=fl.ppv, rope=rope, prior=fl.flat())
    assert found.verdict == NOT_SETTLED
    assert any("ppv is not defined in c" in warning for warning in found.warnings)
    assert "not defined in c" in found.sentence
    goal, known, rng = fl.Compare("a", "c", fl.ppv, rope=rope), learn(), np.random.default_rng(0)
    standing = goal.describe(known, rng)
    assert (standing.settled, standing.details["verdict"]) == (False, NOT_SETTLED)
    assert "not defined in c" in standing.sentence
    assert goal.name_verdict(known) == "undecided"


def test_m_is_counted_against_groups_with_a_rate():
    pool = make_pool({"a": 0.9, "b": None, "c": None})
    found = fl.assess(pool, by=fl.column("site"), metric=fl.ppv, m=2, prior=fl.flat())
    assert [row.p_worst for row in found.groups] == [None, None, None]
    assert any("m is 2 and the metric is defined in 1 of the groups" in warning for warning in found.warnings)
    one = fl.assess(pool, by=fl.column("site"), metric=fl.ppv, prior=fl.flat())
    assert one.row("a").p_worst == 1
