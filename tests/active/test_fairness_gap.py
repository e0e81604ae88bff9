"""Goal fairness: gaps of rates from the accuracies of arms, labels where they matter, verdicts that labels support."""

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.active.goals.fairness_arms import Arms
from fewlabels.active.goals.goal import describe
from fewlabels.active.parsing import resolve_design
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.tabulation import to_count_table
from fewlabels.errors import InputError
from fewlabels.models.inference import infer

RATES = {
    "tpr": lambda said, true: said[true].mean(), "fpr": lambda said, true: said[~true].mean(),
    "ppv": lambda said, true: true[said].mean(), "for": lambda said, true: true[~said].mean(),
    "accuracy": lambda said, true: (said == true).mean(),
}  # fmt: skip


def make(n=2000, seed=0, labelled=1.0, bias=0.0):
    """Scored people of two sexes; `bias` lowers the scores of women below their chances."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["men", "women"], n)
    z = rng.normal(0, 1.5, n)
    true = rng.random(n) < 1 / (1 + np.exp(-z))
    score = 1 / (1 + np.exp(-(z - bias * (sex == "women"))))
    label = np.where(rng.random(n) < labelled, np.where(true, "1", "0"), None)
    table = {"id": np.arange(n), "sex": sex, "score": score, "label": label}
    return (
        fl.Predictions.read({k: v.tolist() for k, v in table.items()}, positive_score="score"),
        true,
        score >= 0.5,
        sex,
    )


def infer_arms(pool, goal, prior=None, **choices):
    design = resolve_design(goal, by="sex", level=0.95, seed=0)
    counts = to_count_table(aggregate_pool(pool, design.arms, bins=design.bins))
    return infer(counts, goal.metric, prior or fl.flat(), **choices)


@pytest.mark.parametrize("rate", RATES)
def test_with_every_label_the_rates_are_those_of_the_items(rate):
    pool, true, said, sex = make()
    goal = fl.FairnessGap(rate=rate)
    found = describe(goal, infer_arms(pool, goal, finite_pool=True), np.random.default_rng(0))
    for row in found.details["rates"]:
        here = sex == row["group"]
        assert row["mean"] == pytest.approx(RATES[rate](said[here], true[here]), abs=1e-9)
        assert row["high"] - row["low"] == pytest.approx(0, abs=1e-9)
    assert found.settled


def test_the_first_of_two_groups_is_compared_with_the_second_unless_they_are_named():
    pool, *_ = make(bias=1.0)
    rng = np.random.default_rng(0)
    found, turned = (
        describe(goal, infer_arms(pool, goal, finite_pool=True), rng)
        for goal in (fl.FairnessGap(), fl.FairnessGap("women", "men"))
    )
    assert found.details["groups"] == ["men", "women"]
    assert found.details["verdict"] == "above"
    assert turned.details["verdict"] == "below"
    assert turned.details["mean"] == pytest.approx(-found.details["mean"])
    assert turned.sentence.startswith(
        "tpr of women is lower than that of men by more than 0.05, with probability >0.99"
    )


def test_slopes_are_those_of_the_formula():
    """TPR = TP / (TP + FN): by the accuracy of an arm of accepted people of weight w, w FN / (TP + FN)²."""
    pool, *_ = make()
    goal = fl.FairnessGap()
    known = infer_arms(pool, goal)
    arms, at = Arms(known, ("men", "women")), known.expect()[0]
    slope, men, said = arms.differentiate_gap(fl.tpr, at), arms.group == 0, arms.is_positive
    tp = (known.n_items * at)[men & said].sum()
    fn = (known.n_items * (1 - at))[men & ~said].sum()
    assert slope[men & said] == pytest.approx(known.n_items[men & said] * fn / (tp + fn) ** 2, rel=1e-3)
    assert slope[men & ~said] == pytest.approx(known.n_items[men & ~said] * tp / (tp + fn) ** 2, rel=1e-3)


def test_labels_are_asked_for_where_they_matter():
    pool, *_ = make(labelled=0.02)
    for rate, matters in (("ppv", "1"), ("for", "0")):
        goal = fl.FairnessGap(rate=rate)
        known = infer_arms(pool, goal)
        gain = goal.gain(known, known.expect())[0]
        assert {name.split(" × ")[1] for name, worth in zip(known.groups, gain, strict=True) if worth > -np.inf} == {
            matters
        }
    goal = fl.FairnessGap()
    known = infer_arms(pool, goal, fl.calibrated())
    gain = dict(zip(known.groups, goal.gain(known, known.expect())[0], strict=True))
    rejected = [worth for name, worth in gain.items() if name.startswith("men × 0")]
    assert rejected[0] > 2 * rejected[-1]  # hardly anybody of a low score is positive


def test_two_groups_without_labels_are_not_settled_by_scores():
    pool, *_ = make(labelled=0.0)
    goal = fl.FairnessGap(margin=0.3)
    found = describe(goal, infer_arms(pool, goal, fl.from_scores(1e6)), np.random.default_rng(0))
    assert found.details["verdict"] == "equivalent"
    assert not found.settled
    assert (
        "too few labels to show that predictions are not broken: men predicted not 1, men predicted 1" in found.sentence
    )


@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_a_session_settles_with_the_right_verdict(bias):
    pool, true, said, sex = make(n=3000, seed=3, labelled=0.0, bias=bias)
    gap = RATES["tpr"](said[sex == "men"], true[sex == "men"]) - RATES["tpr"](
        said[sex == "women"], true[sex == "women"]
    )
    s = fl.Session.create(None, pool, goal=fl.FairnessGap(margin=0.15), by="sex", seed=1)
    n = 0
    while not s.is_settled and n < 800:
        asked = s.ask(25)
        s.tell({i: "1" if true[i] else "0" for i in asked})
        n += len(asked)
    found = s.standing()
    assert found.settled
    assert found.details["verdict"] == ("above" if gap > 0.15 else "equivalent")
    assert {row["group"].split(" × ")[0] for row in s.assess().to_dict()["groups"]} == {"men", "women"}
    assert s.status()["metric"] == "tpr"


def test_a_session_opens_again_with_its_goal(tmp_path):
    pool, *_ = make(n=300, labelled=0.0)
    with fl.Session.create(tmp_path / "s.db", pool, goal=fl.FairnessGap(rate="fpr", margin=0.1), by="sex") as s:
        asked, before = s.ask(3), s.standing()
    with fl.Session.open(tmp_path / "s.db", pool) as s:
        assert s.ask(3) == asked
        assert s.standing() == before


def test_without_scores_the_arms_are_decisions():
    table = {"id": range(40), "sex": ["f", "m"] * 20, "predicted": [0, 0, 1, 1] * 10}
    s = fl.Session.create(None, table, goal="fairness", by="sex", prior="flat")
    assert s.knowledge().groups == ("f × 0", "f × 1", "m × 0", "m × 1")


def test_a_goal_that_is_not_replayed_is_refused_and_planned():
    pool, *_ = make(n=200)
    with pytest.raises(InputError, match="simulate: goal fairness is not replayed; plan says"):
        fl.simulate(pool, goal="fairness", by="sex", runs=2)
    planned = fl.plan(make(n=400, labelled=0.0)[0], goal=fl.FairnessGap(margin=0.4), by="sex", runs=2, finite_pool=True)
    assert "whether the gap in tpr is within 0.4" in planned.sentence


WRONG = {
    "the same group": (lambda pool: fl.FairnessGap("men", "men"), "name two different groups, or none of two"),
    "one group": (lambda pool: fl.FairnessGap("men"), "name two different groups"),
    "an unknown group": (lambda pool: start(pool, fl.FairnessGap("men", "woman")), "no group 'woman'; did you mean 'women'"),
    "no labels needed": (lambda pool: fl.FairnessGap(rate="selection-rate"), "selection-rate needs no labels"),
    "no such rate": (lambda pool: fl.FairnessGap(rate="ece"), "'ece' does not follow from right and wrong decisions; choose from accuracy, tpr"),
    "a margin in points": (lambda pool: fl.FairnessGap(margin=5.0), "margin must be at least 0 and less than 1, got 5; if 5 points are meant, give 0.05"),
    "a negative margin": (lambda pool: fl.FairnessGap(margin=-0.1), "margin must be at least 0 and less than 1, got -0.1"),
    "not about people": (lambda pool: start(pool, "fairness", by="predicted"), "'predicted' does not name groups of people; name their column, for instance by='sex'"),
    "everybody": (lambda pool: start(pool, "fairness", by="all"), "'all' does not name groups of people"),
    "several groups": (lambda pool: start(pool, "fairness", by="id"), "name the two to compare"),
}  # fmt: skip


def start(pool, goal, by="sex"):
    return fl.Session.create(None, pool, goal=goal, by=by)


@pytest.mark.parametrize(("act", "says"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_compared_is_refused(act, says):
    with pytest.raises(InputError, match=says.replace("(", r"\(")):
        act(make(n=60, labelled=0.0)[0])


def test_three_classes_have_no_positive_one():
    table = {"id": range(30), "sex": ["f", "m"] * 15, "predicted": ["a", "b", "c"] * 10}
    with pytest.raises(
        InputError, match="rates of the positive class need two classes, of which one is named by positive="
    ):
        start(table, "fairness")
    assert start(table, fl.FairnessGap(rate="accuracy")).ask(1)
