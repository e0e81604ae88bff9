"""Choices go through a session's file and come back as they were; nothing else is ever made from a file."""

import json
from dataclasses import dataclass, is_dataclass, replace

import numpy as np
import pytest
from makers import make_pool

import fewlabels as fl
from fewlabels.active import policies
from fewlabels.active.goals import comparison, estimation
from fewlabels.active.goals import identification as extremes
from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate
from fewlabels.active.goals.identification import FindBest, FindWorst
from fewlabels.active.policies import POLICIES
from fewlabels.data.groups import Bins
from fewlabels.errors import InputError
from fewlabels.metrics.metric import METRICS
from fewlabels.sessions.serialize import SERIALIZABLE, from_plain, restore_choice, to_plain

PRICE = fl.cost({"cat": {"cat": 0.0, "dog": 1.5}, "dog": {"cat": -5.0, "dog": 0.0}})
EARLIER = fl.assess(make_pool(3), by=fl.column("sex"))
CHOICES = {
    **{f"metric {name}": metric for name, metric in METRICS.items()},
    **{f"policy {name}": policy for name, policy in POLICIES.items()},
    "cost": PRICE,
    "estimate": Estimate(fl.ece, width=0.07),
    "find worst": FindWorst(fl.recall, m=3, confidence=0.8, rope=0.01),
    "find best": FindBest(PRICE),
    "compare": Compare("a × ü", "b", fl.f1, rope=0.1, confidence=0.99),
    "epsilon": fl.EpsilonGreedy(0.3),
    "top two": fl.TopTwo(0.25),
    "bound": fl.UpperBound(0.9),
    "flat": fl.flat(),
    "flat, strong": fl.flat(7.5),
    "flat, taken at its word": replace(fl.flat(), guesses_level=False),
    "scores": fl.from_scores(12.0),
    "earlier": fl.from_earlier(EARLIER, discount=0.5),
    "everything": fl.everything,
    "predicted": fl.predicted,
    "column": fl.column("all"),
    "bins": fl.bins(7, equal_mass=True),
    "cross": fl.cross(fl.column("sex"), fl.predicted, Bins(3)),
}


def through_a_file(choice):
    return from_plain(json.loads(json.dumps(to_plain(choice))))


@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_a_choice_comes_back_as_it_was(choice):
    found = through_a_file(choice)
    assert found == choice
    assert type(found) is type(choice)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_comes_back_as_the_very_same(name):
    """Elsewhere metrics are told apart by identity."""
    assert through_a_file(FindWorst(METRICS[name])).metric is METRICS[name]


def test_costs_come_back_to_the_last_digit():
    costs = {"a": {"a": 0.1 + 0.2, "b": 1e-300}, "b": {"a": 1 / 3, "b": -0.0}}
    assert through_a_file(fl.cost(costs)).costs.table == costs


def test_what_comes_back_can_be_used_as_before():
    found = through_a_file(CHOICES["earlier"])
    again = fl.assess(make_pool(3), by=fl.column("sex"), prior=found)
    assert again.to_dict() == fl.assess(make_pool(3), by=fl.column("sex"), prior=CHOICES["earlier"]).to_dict()


def test_every_goal_and_policy_there_is_can_be_remembered():
    """One that is added without being listed would have to be given at every opening."""
    shipped = {**vars(comparison), **vars(estimation), **vars(extremes), **vars(policies)}
    kinds = {name for name, x in shipped.items() if is_dataclass(x) and (hasattr(x, "gain") or "__call__" in vars(x))}
    assert {"Estimate", "Thompson"} <= kinds <= SERIALIZABLE.keys()


# -- one's own ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mine(FindWorst):
    name: str = "mine"


def by_hand(rng, prospect):
    return [0]


def test_a_policy_of_ones_own_is_remembered_by_name():
    assert to_plain(by_hand) == {"own": "by_hand"}
    assert to_plain(lambda rng, prospect: [0]) == {"own": "<lambda>"}
    assert restore_choice(to_plain(by_hand), by_hand, "policy") is by_hand


def test_a_goal_of_ones_own_is_remembered_by_name():
    assert to_plain(Mine()) == {"own": "mine"}
    goal = Mine(m=2)
    assert restore_choice(to_plain(Mine()), goal, "goal") is goal


def test_a_class_that_is_only_called_like_one_of_ours_is_ones_own():
    @dataclass(frozen=True)
    class Thompson:
        name: str = "thompson"

        def __call__(self, rng, prospect):
            return [0]

    assert to_plain(Thompson()) == {"own": "thompson"}


@pytest.mark.parametrize("given", [None, fl.thompson, lambda rng, prospect: [0]])
def test_ones_own_must_be_given_again(given):
    with pytest.raises(InputError, match=r"this session's policy is .*a custom one, called 'by_hand': .*policy=\.\.\."):
        restore_choice(to_plain(by_hand), given, "policy")


def test_what_the_file_knows_need_not_be_given():
    assert restore_choice(to_plain(fl.top_two), None, "policy") == fl.top_two


def test_a_metric_of_ones_own_must_be_given_again_too():
    own = replace(fl.accuracy, name="mine")
    plain = json.loads(json.dumps(to_plain(FindWorst(own))))
    assert restore_choice(plain, FindWorst(own), "goal") == FindWorst(own)
    with pytest.raises(InputError, match="mine"):
        restore_choice(plain, None, "goal")


# -- files of others ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", [{"kind": "Popen", "with": {}}, {"kind": "Session", "with": {}}, {"metric": "eval"}])
def test_only_what_is_listed_is_made_from_a_file(plain):
    with pytest.raises(KeyError):
        from_plain(plain)


def test_plain_data_stays_plain():
    plain = {"a": [1, 2.5, None, True, "text"], "b": {"c": []}}
    assert from_plain(to_plain(plain)) == {"a": (1, 2.5, None, True, "text"), "b": {"c": ()}}


@pytest.mark.parametrize("name", ["metric", "cost"])
def test_a_group_may_have_any_name(name):
    """An earlier assessment of a pool with a single group of that name."""
    table = {"id": [1, 2, 3], "g": [name] * 3, "predicted": list("aab"), "label": ["a", "b", None]}
    prior = fl.from_earlier(fl.assess(table, by=fl.column("g")))
    assert through_a_file(prior) == prior


@pytest.mark.parametrize("number", [np.int64(2), np.float32(0.5), np.bool_(True)])
def test_numpy_s_numbers_are_numbers(number):
    assert through_a_file(number) == number.item()
