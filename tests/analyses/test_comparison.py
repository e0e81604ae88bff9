import json

import numpy as np
import pytest
from makers import make_pool, outcome_pool

import fewlabels as fl
from fewlabels.distributions.difference import BetaDifference, DrawnDifference
from fewlabels.errors import InputError

CIFAR = outcome_pool(human=(279, 202, 0), trees=(350, 161, 0))
GROUP = fl.column("group")


def compare(pool, groups, **choices):
    return fl.compare(pool, groups, by=GROUP, prior=fl.flat(), **choices)


def test_human_against_trees_as_printed_in_the_paper():
    found = compare(CIFAR, ("human", "trees"), rope=0.05)
    assert round(found.p_below, 2) == 0.96
    assert found.verdict == "below"
    assert found.confidence == found.p_below
    assert found.mean == pytest.approx(280 / 483 - 351 / 513, abs=1e-12)


@pytest.mark.parametrize("right", [40, 50, 60])
def test_woman_against_man_is_82_percent_sure_at_a_hundred_predictions_and_eleven_to_twelve_points(right):
    """The papers print no counts for this pair: only 82 %, "approximately 10 %", and a rope of 0.05.

    CIFAR-100 has 100 test images a class. With 100 predictions each, 82 % beyond the rope lies between a gap of 11
    and one of 12 points; at exactly 10 points it is 0.76. (Read as P(Δ < 0), 82 % would be a gap of 6 to 7 points.)
    """
    chance = {}
    for gap in (6, 7, 10, 11, 12):
        pool = outcome_pool(woman=(right, 100 - right, 0), man=(right + gap, 100 - right - gap, 0))
        found = compare(pool, ("woman", "man"), rope=0.05)
        chance[gap] = found.p_below, found.difference.below(0.0)
    assert chance[11][0] < 0.82 < chance[12][0]
    assert chance[10][0] == pytest.approx(0.76, abs=0.01)
    assert chance[6][1] < 0.82 < chance[7][1] + 0.02


@pytest.mark.parametrize("rope", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("finite_pool", [False, True])
def test_the_three_chances_add_up_and_the_verdict_is_the_largest(rope, finite_pool):
    pool = outcome_pool(a=(6, 4, 5), b=(9, 3, 5))
    found = compare(pool, ("a", "b"), rope=rope, finite_pool=finite_pool)
    chances = {"below": found.p_below, "equivalent": found.p_equivalent, "above": found.p_above}
    assert sum(chances.values()) == pytest.approx(1, abs=1e-12)
    assert found.verdict == (max(chances, key=chances.get) if max(chances.values()) >= 0.95 else "not settled")
    likeliest = compare(pool, ("a", "b"), rope=rope, finite_pool=finite_pool, confidence=0.3).verdict
    assert likeliest == max(chances, key=chances.get)
    assert found.confidence == max(chances.values())
    assert found.low < found.mean < found.high


def test_two_betas_are_compared_exactly_and_everything_else_by_draws():
    pool = outcome_pool(a=(6, 4, 5), b=(9, 3, 5))
    assert isinstance(compare(pool, ("a", "b")).difference, BetaDifference)
    assert isinstance(compare(pool, ("a", "b"), finite_pool=True).difference, DrawnDifference)
    assert isinstance(compare(pool, ("a", "b"), metric=fl.recall).difference, DrawnDifference)


def test_swapping_the_groups_swaps_the_verdict():
    pool = outcome_pool(a=(6, 4, 0), b=(90, 30, 0))
    one, other = compare(pool, ("a", "b")), compare(pool, ("b", "a"))
    assert one.p_below == pytest.approx(other.p_above, abs=1e-9)
    assert one.p_equivalent == pytest.approx(other.p_equivalent, abs=1e-9)


def test_finite_differences_count_enumerated_outcomes():
    """One unlabelled item each: four futures whose chances are known; 10,000 draws, 5 standard errors."""
    found = compare(outcome_pool(a=(1, 1, 1), b=(2, 0, 1)), ("a", "b"), rope=0.1, finite_pool=True)
    a, b = 0.5, 0.75  # chances that the unlabelled item is right: Beta(2, 2), Beta(3, 1)
    equivalent = a * (1 - b)  # 2/3 against 2/3
    assert found.p_above == 0
    assert found.p_equivalent == pytest.approx(equivalent, abs=5 * np.sqrt(equivalent * (1 - equivalent) / 10_000))


@pytest.mark.parametrize(("right", "rope"), [((2, 2), 0.0), ((1, 2), 0.25), ((2, 1), 0.25)])
def test_a_difference_of_exactly_the_rope_is_equivalent_from_either_side(right, rope):
    """METHODS: P(Δ < −ε), P(|Δ| ≤ ε), P(Δ > ε)."""
    a, b = right
    pool = outcome_pool(a=(a, 4 - a, 0), b=(b, 4 - b, 0))
    found = compare(pool, ("a", "b"), rope=rope, finite_pool=True)
    assert (found.p_below, found.p_equivalent, found.p_above) == (0, 1, 0)
    assert found.verdict == "equivalent"


def test_a_group_is_not_compared_with_itself():
    with pytest.raises(InputError, match="cannot be compared with itself"):
        compare(CIFAR, ("human", "human"))


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, -0.1])
def test_a_confidence_that_is_no_probability_is_refused(confidence):
    with pytest.raises(InputError, match="confidence is"):
        compare(CIFAR, ("human", "trees"), confidence=confidence)


def test_no_verdict_is_stated_below_the_confidence():
    found = compare(outcome_pool(a=(6, 4, 5), b=(9, 3, 5)), ("a", "b"))
    assert (found.verdict, found.confidence < 0.95) == ("not settled", True)
    assert found.sentence.startswith("not settled: a is lower than b by more than 0.05 with probability")
    assert found.sentence in found.to_markdown()


def test_the_json_keeps_the_contract():
    plain = json.loads(compare(CIFAR, ("human", "trees")).to_json())
    assert {
        "groups",
        "rope",
        "mean",
        "low",
        "high",
        "p_below",
        "p_equivalent",
        "p_above",
        "verdict",
        "confidence",
    } <= set(plain)
    assert plain["groups"] == ["human", "trees"]
    assert "difference" not in plain


@pytest.mark.parametrize(
    ("pool", "verdict", "words"),
    [
        (
            outcome_pool(a=(10, 90, 0), b=(90, 10, 0)),
            "below",
            "a is lower than b by more than 0.05, with probability >0.99",
        ),
        (outcome_pool(a=(90, 10, 0), b=(10, 90, 0)), "above", "a is higher than b by more than 0.05"),
        (outcome_pool(a=(500, 500, 0), b=(500, 500, 0)), "equivalent", "a and b differ by at most 0.05"),
    ],
)
def test_the_verdict_reads_as_a_sentence(pool, verdict, words):
    found = compare(pool, ("a", "b"))
    assert found.verdict == verdict
    assert words in found.sentence


def test_the_level_is_the_mass_of_the_interval():
    narrow, wide = (compare(CIFAR, ("human", "trees"), level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.mean < narrow.high < wide.high
    assert wide.difference.below(wide.low) == pytest.approx(0.005, abs=1e-6)


@pytest.mark.parametrize(
    "goal", [fl.FindWorst, fl.FindBest, fl.BestModel, lambda **rope: fl.Compare("human", "trees", **rope)]
)
def test_a_rope_that_no_difference_leaves_is_refused(goal):
    """A rope of 5, meant in points, made any two groups equivalent with probability 1."""
    with pytest.raises(
        InputError, match=r"^rope is 5, and no difference is that large; if 5 points are meant, give 0\.05"
    ):
        compare(CIFAR, ("human", "trees"), rope=5.0)
    with pytest.raises(InputError, match=r"goal .*: rope is 1, and no difference is that large$"):
        goal(rope=1.0)
    models = {name: {"id": range(4), "predicted": list("abab"), "label": list("abba")} for name in ("old", "new")}
    with pytest.raises(InputError, match="if 2 points are meant"):
        fl.compare_models(models, rope=2.0)
    prices = fl.cost({"0": {"0": 0.0, "1": 1.0}, "1": {"0": 50.0, "1": 0.0}})
    assert fl.FindWorst(prices, rope=5.0).rope == 5.0


def test_a_negative_rope_and_a_strange_group_are_refused():
    with pytest.raises(fl.InputError, match="half-width"):
        compare(CIFAR, ("human", "trees"), rope=-0.1)
    with pytest.raises(fl.InputError, match="did you mean 'human'"):
        compare(CIFAR, ("humans", "trees"))


def test_precisions_of_two_classes_are_compared_exactly():
    found = fl.compare(make_pool(1), ("a", "b"), metric=fl.precision, prior=fl.flat(1.0))
    assert isinstance(found.difference, BetaDifference)
