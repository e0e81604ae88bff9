"""Plans and simulations of several models: labels are hidden, drawn and revealed as in a session."""

import json

import numpy as np
import pandas as pd
import pytest
from makers import make_models

import fewlabels as fl
from fewlabels.active.model_design import design_for_models
from fewlabels.active.parsing import resolve_design
from fewlabels.active.simulation.model_replay import ModelReplay, ModelReplayPool
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.counts import NONE
from fewlabels.data.model_join import join_models
from fewlabels.data.tabulation import to_count_table
from fewlabels.models.joint_outcomes.posterior import infer_joint


def count_models(goal="compare-models", **choices):
    """Counts and design of a table of several models."""
    pool = join_models(make_models(**choices)[0])
    design = design_for_models(pool, resolve_design(goal, by="all", level=0.95, finite_pool=True, seed=0))
    return to_count_table(aggregate_pool(pool, design.by, bins=design.bins, strata=(0.0, 0.6, 0.8, 1.0))), design


def test_labels_are_hidden_and_come_back():
    counts, _ = count_models(labelled=1.0)
    pool = ModelReplayPool.from_labelled(counts)
    nothing, everything = pool.count(np.zeros_like(pool.n_items)), pool.count(pool.n_items)
    assert not nothing.n_labels.any()
    assert (nothing.label == NONE).all()
    assert nothing.n_items.sum() == counts.n_items.sum() == everything.n_labels.sum()
    np.testing.assert_allclose(nothing.models.score.sum(axis=0), counts.models.score.sum(axis=0))
    kept = everything.n_labels > 0
    right = (everything.models.predicted[kept] == everything.label[kept, None]).T @ everything.n_labels[kept]
    np.testing.assert_array_equal(right, (counts.models.predicted == counts.label[:, None]).T @ counts.n_items)


def test_drawn_labels_follow_the_posterior():
    counts, _ = count_models(labelled=0.5, n=1000)
    joint = infer_joint(counts, fl.accuracy, finite_pool=True)
    rng = np.random.default_rng(0)
    drawn = [ModelReplayPool.from_posterior(rng, joint) for _ in range(40)]
    assert all(pool.n_items.sum() == (counts.n_items - counts.n_labels).sum() for pool in drawn)
    assert all((pool.label >= 0).all() and (pool.label < len(counts.classes)).all() for pool in drawn)
    tables = [pool.count(pool.n_items) for pool in drawn]
    right = [(one.models.predicted == one.label[:, None]).T @ one.n_labels / one.n_items.sum() for one in tables]
    np.testing.assert_allclose(np.mean(right, axis=0), joint.overall.mean(axis=0), atol=0.012)


@pytest.mark.parametrize("goal", [fl.CompareModels(rope=0.02), fl.BestModel(rope=0.02)])
def test_every_disagreement_labelled_leaves_no_error(goal):
    counts, design = count_models(goal, labelled=1.0, n=150)
    run = ModelReplay(ModelReplayPool.from_labelled(counts), design)
    differ = int(counts.n_items[counts.models.disagrees].sum())
    assert run.n_askable == differ
    n, measured = run.replay(np.random.default_rng(0), np.array([0, differ]))
    assert n == differ
    if goal.name == "best-model":
        assert measured["near_best"][-1] == 1
        assert measured["loss"][-1] == 0
    else:
        assert measured["error"][-1] < 1e-9
        assert measured["width"][0] > measured["width"][-1]
        assert measured["coverage"][-1] == measured["correct"][-1] == 1


def test_a_simulation_of_models_has_rows_and_targets():
    found = fl.simulate(
        make_models(labelled=1.0)[0], goal="compare-models", runs=3, budget=40, n_checkpoints=8, n_jobs=1
    )
    assert {row["measure"] for row in found.rows} == {"correct", "error", "coverage", "width"}
    assert {row["policy"] for row in found.rows} == {"random", "thompson"}
    assert [row["target"] for row in found.labels_to_target] == [0.95, 0.95]
    again = fl.simulate(
        make_models(labelled=1.0)[0], goal="compare-models", runs=3, budget=40, n_checkpoints=8, n_jobs=1
    )
    assert again.rows == found.rows


def test_a_plan_says_how_many_labels_tell_two_models_apart():
    far = fl.plan(make_models(labelled=0.0, skills=(0.4, 0.9))[0], goal="compare-models", runs=6, n_jobs=1)
    assert far.goal == "compare-models"
    assert far.n_more is not None
    assert "tell whether the two models differ by more than 0.01" in far.sentence
    best = fl.plan(make_models(labelled=0.3, skills=(0.4, 0.6, 0.95))[0], goal="best-model", runs=4, n_jobs=1)
    assert best.n_more == 0


@pytest.mark.parametrize("call", [fl.plan, fl.simulate])
def test_goals_and_models_must_fit(call):
    with pytest.raises(fl.InputError, match="it is about one model, and 2 models are given"):
        call(make_models(labelled=1.0)[0], goal="estimate")
    with pytest.raises(fl.InputError, match="it needs the predictions of several models"):
        call(make_models(labelled=1.0)[0]["m0"], goal="best-model")


def test_a_simulation_needs_labels():
    with pytest.raises(fl.InputError, match="replays labelled items"):
        fl.simulate(make_models(labelled=0.0)[0], goal="best-model")


@pytest.fixture
def shapes(tmp_path):
    """The same two models as files, as a wide table and as a long one."""
    frames = {name: pd.DataFrame(pool) for name, pool in make_models(labelled=1.0)[0].items()}
    label = frames["m0"].pop("label")
    wide = frames["m0"][["id"]].assign(label=label)
    for name, frame in frames.items():
        frame.assign(label=label).to_csv(tmp_path / f"{name}.csv", index=False)
        wide[f"predicted_{name}"], wide[f"score_{name}"] = frame["predicted"], frame["score"]
    wide.to_csv(tmp_path / "wide.csv", index=False)
    pd.concat([frame.assign(who=name, label=label) for name, frame in frames.items()]).to_csv(
        tmp_path / "long.csv", index=False
    )
    return {
        "files": (tmp_path / "m0.csv", tmp_path / "m1.csv"),
        "wide": (tmp_path / "wide.csv", "--models", "m0,m1"),
        "long": (tmp_path / "long.csv", "--model", "who"),
    }


def test_the_command_line_plans_simulates_and_asks_for_every_shape(type_in, shapes, tmp_path):
    goal, rows, items = ("--goal", "compare-models", "--json", "-"), [], []
    for name, shape in shapes.items():
        simulated = type_in("simulate", *shape, *goal, "--runs", 2, "--budget", 20, "--checkpoints", 5, "--jobs", 1)
        rows.append(json.loads(simulated.out)["rows"])
        planned = json.loads(type_in("plan", *shape, *goal, "--runs", 2, "--jobs", 1, "--hide-labels").out)
        assert planned["goal"] == "compare-models"
        asked = type_in("ask", *shape, *goal, "--session", tmp_path / f"{name}.db", "--hide-labels")
        items.append([item["id"] for item in json.loads(asked.out)["items"]])
        again = type_in("ask", *shape, "--session", tmp_path / f"{name}.db", "--json", "-")
        assert [item["id"] for item in json.loads(again.out)["items"]] == items[-1]
    assert rows[0] == rows[1] == rows[2]
    assert items[0] == items[1] == items[2]
