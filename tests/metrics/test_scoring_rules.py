"""Brier score and log-loss: what scikit-learn says once all labels are known, and intervals before that."""

import numpy as np
import pytest
from sklearn import metrics as sk

import fewlabels as fl
from fewlabels.metrics.metric import METRICS

NAMES = ("brier", "log-loss")
PRIORS = ("calibrated", "flat", "scores", "smooth")
SKLEARN = {"brier": sk.brier_score_loss, "log-loss": sk.log_loss}


def make_binary(seed, n=3000, n_labels=None, bend=1.3):
    """P(1) of every item, labels that follow it after a bend, and two sites."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 1.2, n)
    label = (rng.random(n) < p**bend).astype(int)
    shown = [str(y) if n_labels is None or i < n_labels else None for i, y in enumerate(label)]
    columns = {"id": range(n), "p": p, "label": shown, "site": rng.choice(list("ab"), n)}
    return fl.Predictions.read(columns, positive_score="p", positive="1"), p, label, columns["site"]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", NAMES)
def test_of_a_labelled_pool_it_is_what_scikit_learn_counts(name, prior):
    """With two classes; within half a percent, because scores are averaged over narrow ranges."""
    pool, p, label, site = make_binary(0)
    found = fl.assess(pool, by="site", metric=name, prior=prior, finite_pool=True)
    assert found.overall.mean == pytest.approx(SKLEARN[name](label, p), rel=0.005)
    for row in found.groups:
        assert row.mean == pytest.approx(SKLEARN[name](label[site == row.group], p[site == row.group]), rel=0.01)
        assert row.high - row.low < 1e-9


@pytest.mark.parametrize("prior", ["calibrated", "flat"])
def test_intervals_cover_the_score_of_the_pool(prior):
    """Of 12 intervals of 95 %, fewer than 9 cover once in 500."""
    covered = 0
    for seed in range(12):
        pool, p, label, _ = make_binary(seed, n=1500, n_labels=80, bend=1.15)
        found = fl.assess(pool, by="all", metric="brier", prior=prior, finite_pool=True, n_draws=1000).overall
        covered += found.low <= sk.brier_score_loss(label, p) <= found.high
    assert covered >= 9


@pytest.mark.parametrize("name", NAMES)
def test_scores_of_exactly_one_cost_a_finite_loss(name):
    pool = {"predicted": ["a"] * 4 + ["b"], "score": [1.0] * 4 + [0.5], "label": ["a", "a", "a", "b", "b"]}
    found = fl.assess(pool, by="all", metric=name, prior="flat", finite_pool=True).overall
    losses = [0, 0, 0, -np.log(1e-6), -np.log(0.5)] if name == "log-loss" else [0, 0, 0, 1, 0.25]
    assert found.mean == pytest.approx(np.mean(losses), rel=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_a_session_says_what_an_assessment_says(name, tmp_path):
    pool, _, label, site = make_binary(1, n=400, n_labels=60)
    session = fl.Session.create(
        tmp_path / "s.db", pool, goal=fl.Estimate(METRICS[name], width=0.05), by="site", prior="flat"
    )
    session.tell({item: str(label[int(item)]) for item in session.ask(5)})
    found = session.assess()
    assert found.metric == name
    assert found.n_labels == 65
    assert all(row.low <= row.mean <= row.high for row in found.groups)
    assert {row.group for row in found.groups} == set(site)


def test_simulations_replay_it():
    rows = list(
        fl.simulate(
            make_binary(2, n=300)[0], goal=fl.Estimate(fl.brier), policies=("random", "thompson"), priors="flat",
            by="site", runs=2, budget=40, n_jobs=1,
        ).rows
    )  # fmt: skip
    last = [row for row in rows if row["measure"] == "rmse" and row["n_labels"] == 40]
    assert last
    assert all(row["mean"] < 0.2 for row in last)


def test_counts_made_for_another_metric_are_refused():
    found = fl.assess(make_binary(3, n=100)[0], by="all", prior="flat")
    with pytest.raises(fl.InputError, match="assess it by itself"):
        found.about(fl.brier)
    assert fl.assess(make_binary(3, n=100)[0], by="all").about(fl.brier).overall.mean > 0


def test_scores_are_needed():
    with pytest.raises(fl.InputError, match="metric brier needs a score column"):
        fl.assess({"predicted": ["a", "b"], "label": ["a", None]}, metric="brier")
