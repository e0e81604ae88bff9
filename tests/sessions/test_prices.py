"""Labels that cost different amounts: groups are chosen by gain per price, and prices that make no sense are refused."""

from collections import Counter

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.active.acquisition import AcquisitionView
from fewlabels.active.goals.estimation import Estimate
from fewlabels.active.goals.identification import FindWorst
from fewlabels.errors import InputError
from fewlabels.sessions.creation import create_spec


def make(price=(1.0, 4.0), n=200, **columns):
    """Two groups that differ in what their labels cost."""
    site = ["near", "far"] * n
    return {
        "id": range(2 * n),
        "predicted": ["a", "b"] * n,
        "site": site,
        "cost": [price[s == "far"] for s in site],
        **columns,
    }


def start(table=None, goal="estimate", **choices):
    usual = {"by": "site", "prior": "flat", "random_share": 0.0, "price": "cost"}
    return fl.Session.create(None, make() if table is None else table, goal=goal, **usual | choices)


def label(session, n):
    """Answer one item at a time; return how many were asked of each site."""
    asked = Counter()
    for _ in range(n):
        (i,) = session.ask()
        asked["far" if i % 2 else "near"] += 1
        session.tell({i: "ab"[i % 2] if i % 4 < 2 else "ab"[1 - i % 2]})
    return asked


def test_prices_are_averaged_per_group():
    table = make() | {"cost": [1.0, 2.0, 3.0, 4.0] * 100}
    pool = fl.Predictions.read(table)
    session = start(pool)
    assert session._spec.prices == (3.0, 2.0)  # far: 2 and 4; near: 1 and 3
    assert session.knowledge().groups == ("far", "near")


def test_labels_of_equal_groups_are_shared_out_by_the_root_of_their_prices():
    """Variance σ²/n and price c: n is in proportion to 1/√c, so four times the price is half the labels."""
    asked = label(start(), 90)
    assert asked["near"] / asked["far"] == pytest.approx(2, rel=0.15)
    assert label(start(price=None), 90)["near"] == pytest.approx(45, abs=5)


def test_searches_keep_draws_in_inverse_proportion_to_prices():
    """Two groups of which nothing is known are as likely to be the worst; one costs three times as much."""
    posterior = start(price=None).knowledge()
    rng, goal = np.random.default_rng(0), FindWorst()
    view = AcquisitionView(posterior, goal.gain, 1, np.array([3.0, 1.0]), goal.pricing)
    chosen = view.draw(rng, 4000).argmax(axis=1)
    assert chosen.mean() == pytest.approx(3 / 4, abs=0.03)  # four standard errors


def test_gains_are_divided_by_prices_and_closed_groups_stay_closed():
    posterior, goal = start(price=None).knowledge(), Estimate()
    plain, priced = (
        AcquisitionView(posterior, goal.gain, 1, prices, goal.pricing) for prices in (None, np.array([2.0, 1.0]))
    )
    assert priced.expect() == pytest.approx(plain.expect() / [2, 1])
    assert priced.draw(np.random.default_rng(0)) == pytest.approx(plain.draw(np.random.default_rng(0)) / [2, 1])
    shut = AcquisitionView(
        posterior.set_queue(posterior.pending, np.array([0, 5])), goal.gain, 1, np.array([2.0, 1.0]), "divide"
    )
    assert shut.expect()[0] == -np.inf


def test_prices_are_kept_in_the_file(tmp_path):
    with start_in(tmp_path / "s.db") as session:
        asked = session.ask(5)
    with fl.Session.open(tmp_path / "s.db") as session:
        assert session._spec.prices == (4.0, 1.0)
        assert session._spec.design.price == "cost"
        assert session.ask(5) == asked


def start_in(path):
    return fl.Session.create(path, make(), goal="estimate", by="site", price="cost")


WRONG = {
    "zero": ({"cost": [1.0, 0.0] * 200}, {}, "every price in column 'cost' must be more than 0, but row 2 has 0"),
    "negative": ({"cost": [1.0] * 399 + [-2.0]}, {}, "must be more than 0, but row 400 has -2"),
    "missing": ({"cost": [None] + [1.0] * 399}, {}, "must be more than 0, but row 1 has none"),
    "infinite": ({"cost": [1.0, float("inf")] * 200}, {}, "must be more than 0, but row 2 has inf"),
    "words": ({"cost": ["cheap", "dear"] * 200}, {}, "column 'cost' holds no numbers"),
    "no column": ({}, {"price": "costs"}, "there is no column 'costs'; did you mean 'cost'"),
    "a comparison": ({}, {"goal": fl.Compare("near", "far")}, "goal compare does not weigh prices"),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "choices", "says"), WRONG.values(), ids=WRONG)
def test_prices_that_make_no_sense_are_refused(columns, choices, says):
    with pytest.raises(InputError, match=says):
        start(make(**columns), **choices)


def test_without_prices_none_are_kept():
    assert create_spec(fl.Predictions.read(make()), start(price=None)._spec.design)[0].prices == ()


@pytest.mark.parametrize(("show", "seen"), [((), {"text"}), (("text", "minutes"), {"text", "minutes"})])
def test_annotators_see_the_price_only_if_it_is_named(show, seen):
    pool = {"id": range(6), "predicted": ["a", "b"] * 3, "minutes": [1.0, 2.0] * 3, "text": ["t"] * 6}
    session = fl.Session.create(None, fl.Predictions.read(pool, show=show), goal=fl.Estimate(), price="minutes")
    (item,) = session.ask(1)
    assert session.show([item])[item].keys() == seen
