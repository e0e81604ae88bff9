"""The same labels show the same digits wherever they are shown: assess, a session, its status, the page and a report."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.web.board import compute_board

N = 400
PRIORS = {"calibrated": fl.calibrated(), "flat": fl.flat(), "scores": fl.from_scores(), "smooth": fl.smooth()}
METRICS = {"accuracy": fl.accuracy, "recall": fl.recall, "ece": fl.ece, "f1": fl.f1}


def make_table(seed: int = 0) -> dict[str, Any]:
    """Four predicted classes of different accuracy; a quarter of the items is labelled."""
    rng = np.random.default_rng(seed)
    predicted, score = rng.integers(0, 4, N), rng.uniform(0.4, 1.0, N)
    right = rng.random(N) < score - 0.1 * predicted
    label = np.where(right, predicted, (predicted + 1) % 4)
    shown = rng.random(N) < 0.25
    names = [str(one) if known else None for one, known in zip(label, shown, strict=True)]
    return {"id": list(range(N)), "predicted": predicted.astype(str).tolist(), "score": score.tolist(), "label": names}


@pytest.mark.parametrize("finite_pool", [False, True], ids=["population", "finite"])
@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_a_session_shows_what_assess_shows(prior: Any, metric: Any, finite_pool: bool) -> None:
    table = make_table()
    found = fl.assess(table, metric=metric, prior=prior, finite_pool=finite_pool)
    session = fl.Session.create(None, table, goal=fl.FindWorst(metric), prior=prior, finite_pool=finite_pool)
    again = session.assess()
    assert again.groups == found.groups
    assert again.overall == found.overall
    posterior = session.knowledge()
    low, high = posterior.interval()
    for g, row in enumerate(found.groups):
        assert (row.mean, row.low, row.high) == (posterior.mean()[g], low[g], high[g])
    each = session.status()["answer"]["p_each"]
    assert all(p == found.row(group).p_worst for group, p in each.items())
    board = {
        row.group: (row.mean, row.low, row.high)
        for row in compute_board(session.status(), session.knowledge(), session.goal).groups
    }
    assert board == {row.group: (row.mean, row.low, row.high) for row in found.groups}


def test_a_goal_shows_what_compare_shows() -> None:
    table = make_table()
    for prior in (fl.calibrated(), fl.flat()):
        found = fl.compare(table, ("0", "3"), prior=prior)
        said = fl.Session.create(None, table, goal=fl.Compare("0", "3"), prior=prior).status()["answer"]
        for name in ("mean", "low", "high", "p_below", "p_equivalent", "p_above"):
            assert said[name] == asdict(found)[name]


def test_asking_about_another_metric_repeats_no_figure_differently() -> None:
    found = fl.assess(make_table(), metric=fl.recall)
    assert found.about(fl.accuracy).groups == fl.assess(make_table()).groups
