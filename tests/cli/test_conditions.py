"""Conditions to fail on: what they are about must exist, be defined, and be reachable; otherwise a gate passes in silence."""

import pytest

from fewlabels.cli.conditions import parse_condition
from fewlabels.errors import InputError

GAPS = {
    "gaps": [
        {"metric": "tpr", "group": "Female", "mean": -0.3, "low": -0.5},
        {"metric": "fpr", "group": "Female", "mean": 0.1, "low": -0.1},
        {"metric": "tpr", "group": "Other", "mean": None, "low": None},
    ]
}
RANKS = {
    "metric": "tpr",
    "overall": {"mean": 0.7},
    "groups": [{"group": "a", "mean": 0.7, "p_worst": 0.9}, {"group": "b", "mean": 0.6, "p_worst": None}],
}
COMPARED = {"groups": ["a", "b"], "mean": -0.2, "p_below": 0.9}
ARMS = {"overall": {"mean": 0.7}, "arms": [{"arm": {"sex": "F"}, "mean": 0.5}, {"arm": {"sex": "M"}, "mean": 0.9}]}
SPANS = {"metric": "accuracy", "overall": {"mean": 0.7}, "groups": [{"group": "18 - 25", "mean": 0.7}]}
COSTS = {"metric": "cost", "overall": {"mean": 7.0}, "groups": []}


@pytest.mark.parametrize(
    ("result", "condition", "failed"),
    [
        (GAPS, "Female.mean < 1", ["tpr of Female", "fpr of Female"]),
        (GAPS, "fpr.mean < 1", ["fpr of Female"]),
        (GAPS, "tpr of Female.mean < 1", ["tpr of Female"]),
        (GAPS, "mean < 1", ["tpr of Female", "fpr of Female"]),
        (COMPARED, "difference.mean < 0", ["difference"]),
        (ARMS, "sex=F.mean < 1", ["sex=F"]),
        (COSTS, "mean > 5", ["overall"]),
        (RANKS, "p_worst > 0.5", ["a"]),
        (SPANS, "18 - 25.mean < 0.8", ["18 - 25"]),
    ],
)
def test_a_scope_selects_rows(result: dict, condition: str, failed: list[str]) -> None:
    assert [hit.split(":")[0] for hit in parse_condition(condition).find_matches(result)] == failed


@pytest.mark.parametrize(
    ("result", "condition", "why"),
    [
        (GAPS, "Femal.mean < 0", "did you mean 'Female'"),
        (GAPS, "accuracy.mean < 0", "no gap of 'accuracy'"),
        (GAPS, "Other.mean < 0", "undefined in tpr of Other"),
        (COMPARED, "a.mean < 0", "'a' is no part of this result"),
        (ARMS, "F.mean < 0", "no arm 'F'"),
        (RANKS, "b.p_worst > 0.5", "undefined in b"),
        (RANKS, "mean > 80", "for 80% write 0.8"),
        (RANKS, "p_worst >= 95", "can never hold"),
        (GAPS, "mean < -5", "for -5% write -0.05"),
        (RANKS, "mean > 1", "can never hold"),
        (RANKS, "mean < 0", "can never hold"),
        (COMPARED, "p_below < 0", "can never hold"),
        (RANKS, "answers.mean < 0.8", "no group 'answers'"),
        (SPANS, "18 - 26.mean < 0.8", "'18 - 26' is a difference of models"),
    ],
)
def test_what_cannot_be_checked_does_not_pass(result: dict, condition: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        parse_condition(condition).find_matches(result)


def test_what_is_undefined_is_named() -> None:
    assert parse_condition("mean < -0.1").list_undefined(GAPS) == ["tpr of Other"]
    assert parse_condition("p_worst > 0.5").list_undefined(RANKS) == ["b"]
