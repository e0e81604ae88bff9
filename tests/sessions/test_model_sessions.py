"""Sessions that compare several models: they ask where models disagree, keep what they know, and stop when it is settled."""

import json

import numpy as np
import pandas as pd
import pytest
from makers import make_models, make_pool

import fewlabels as fl
from fewlabels.web.board import compute_board

CLOSE = {"n": 2000, "labelled": 0.0, "skills": (0.7, 0.85)}


def label_until_settled(session, truth, most=400):
    """Answer what is asked until the goal is settled; return the asked items."""
    asked = []
    while not session.is_settled and len(asked) < most:
        ids = session.ask(10)
        if not ids:
            break
        asked += ids
        session.tell({i: truth[int(i)] for i in ids})
    return asked


@pytest.mark.parametrize("goal", [fl.BestModel(rope=0.02), fl.CompareModels(rope=0.02)])
def test_a_session_asks_where_models_disagree_and_finds_the_better_one(goal):
    pools, truth = make_models(**CLOSE)
    with fl.Session.create(None, pools, goal=goal) as session:
        asked = label_until_settled(session, truth)
        assert session.is_settled
        assert all(pools["m0"]["predicted"][int(i)] != pools["m1"]["predicted"][int(i)] for i in asked)
        found = session.assess()
    assert found.choice.model == "m1"
    assert found.n_labels == len(asked)
    if goal.name == "compare-models":
        assert found.list_differences()[0].verdict == "above"
    assert found.p_good_enough >= goal.confidence


def test_three_models_are_told_apart():
    pools, truth = make_models(n=2000, labelled=0.0, skills=(0.5, 0.7, 0.9))
    with fl.Session.create(None, pools, goal="best-model") as session:
        label_until_settled(session, truth)
        assert session.assess().choice.model == "m2"
        board = compute_board(session.status(), session.knowledge(), session.goal)
    assert board.groups[0].group == "m2"
    assert {row.group for row in board.groups} == set(pools)


def test_a_session_reopens_with_the_same_answer_and_the_same_items(tmp_path):
    pools, truth = make_models(**CLOSE)
    with fl.Session.create(tmp_path / "m.db", pools, goal="best-model") as session:
        ids = session.ask(12)
        session.tell({i: truth[int(i)] for i in ids[:9]})
        before, asked = session.status()["answer"], session.ask(3)
    with fl.Session.open(tmp_path / "m.db", pools) as session:
        assert session.status()["answer"] == before
        assert session.ask(3) == asked
        assert set(session.show(asked)[asked[0]]) == {"site"}  # no model's predictions
    with pytest.raises(fl.InputError, match="other predictions"):
        fl.Session.open(
            tmp_path / "m.db", {"m0": pools["m0"], "m1": {**pools["m1"], "predicted": pools["m1"]["predicted"][::-1]}}
        )


def test_all_disagreements_labelled_end_the_session():
    pools, truth = make_models(n=60, labelled=0.0, skills=(0.8, 0.8))
    with fl.Session.create(None, pools, goal=fl.BestModel(rope=0.0, confidence=0.9999), finite_pool=True) as session:
        asked = label_until_settled(session, truth)
        differ = (np.array(pools["m0"]["predicted"]) != pools["m1"]["predicted"]).sum()
        assert len(asked) <= differ
        assert session.is_settled or "nothing is left to ask" in session.status()["obstacle"]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"goal": "find-worst"}, "is about one model"),
        ({"goal": "best-model", "by": "site"}, "is about all items"),
        ({"goal": "best-model", "votes": 2}, "leave votes at 1"),
        ({"goal": fl.CompareModels("m0", "m9")}, "there is no model 'm9'"),
    ],
)
def test_what_models_cannot_be_asked_is_named(choices, message):
    with pytest.raises(fl.InputError, match=message):
        fl.Session.create(None, make_models(**CLOSE)[0], **choices)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fl.CompareModels("a", "a"), "two different models"),
        (lambda: fl.CompareModels("a"), "two different models"),
        (lambda: fl.BestModel(metric="recall"), "told apart by accuracy"),
        (lambda: fl.BestModel(rope=-1.0), "cannot be negative"),
        (lambda: fl.BestModel(confidence=2.0), "between 0 and 1"),
    ],
)
def test_goals_refuse_what_they_cannot_be(make, message):
    with pytest.raises(fl.InputError, match=message):
        make()


@pytest.mark.parametrize("goal", ["best-model", "compare-models"])
def test_one_model_has_no_rival(goal):
    with pytest.raises(fl.InputError, match="needs the predictions of several models"):
        fl.Session.create(None, make_pool(0, labelled=0.1), goal=goal)


def test_the_command_line_asks_tells_and_answers(type_in, tmp_path):
    pools, truth = make_models(**CLOSE)
    files = []
    for name, pool in zip(("old", "new"), pools.values(), strict=True):
        files.append(tmp_path / f"{name}.parquet")
        pd.DataFrame(pool).to_parquet(files[-1])
    db = tmp_path / "m.db"
    asked = json.loads(type_in("ask", *files, "--session", db, "--goal", "best-model", "-n", 12, "--json", "-").out)
    answers = [f"{item['id']}={truth[int(item['id'])]}" for item in asked["items"]]
    assert type_in("tell", *answers, "--session", db).code == 0
    found = json.loads(type_in("status", "--session", db, "--json", "-").out)
    assert found["goal"] == "best-model"
    assert [row["model"] for row in found["answer"]["models"]] == ["old", "new"]
    assert found["n_labels"] == 12
    type_in("export", "--session", db, "--out", tmp_path / "labels.csv")
    compared = json.loads(type_in("compare", *files, "--labels", tmp_path / "labels.csv", "--json", "-").out)
    assert compared["n_labels"] == 12
