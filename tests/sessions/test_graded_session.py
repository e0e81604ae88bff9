"""Sessions in which people grade outputs on a scale of their own, beside a judge's grades."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fewlabels as fl

N = 800


def make(n_graded: int = 0) -> dict[str, Any]:
    """Answers graded 1 to 5 by a judge, in two slices; people's grades are known of the first few only."""
    rng = np.random.default_rng(5)
    part = rng.integers(0, 2, N)
    quality = 3.1 + 0.7 * part + rng.normal(size=N)
    truth = np.clip(quality.round(), 1, 5)
    human = np.where(np.arange(N) < n_graded, truth, np.nan)
    judge = np.clip((quality + 0.6 * rng.normal(size=N)).round(), 1, 5)
    return {"id": np.arange(N), "part": np.array(["a", "b"])[part], "human": human, "judge": judge, "text": part, "truth": truth}  # fmt: skip


def start(path: Path | None, n_graded: int = 0, **choices: Any) -> tuple[fl.Session, dict[str, Any]]:
    table = make(n_graded)
    shown = {name: column for name, column in table.items() if name != "truth"}
    pool = fl.Predictions.read(shown, grade="human", judge="judge", scale="1-5", show=["text"])
    return fl.Session.create(path, pool, goal=fl.Estimate(width=0.12), by="part", **choices), table


def test_people_answer_with_grades_of_their_scale() -> None:
    session, table = start(None)
    assert session.classes == ("1", "2", "3", "4", "5")
    asked = session.ask(6)
    session.tell({item: table["truth"][int(item)] for item in asked[:4]})
    session.tell({asked[4]: "5", asked[5]: None})
    assert session.status()["n_labels"] == 5
    assert {row["label"] for row in session.answers()} <= {"1", "2", "3", "4", "5", None}
    with pytest.raises(fl.InputError, match="'7'.*is no class of this session"):
        session.tell({asked[0]: 7}, new_classes=True)
    assert "grades are 1, 2, 3, 4 or 5; figures are mean grades from 0 (grade 1) to 1 (grade 5)" in session.notes


def test_the_figures_are_those_of_the_grades_given(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    session, table = start(path, random_share=0.5)
    for _ in range(4):
        session.tell({item: table["truth"][int(item)] for item in session.ask(20)})
    found = session.assess()
    session.close()
    known = {row["id"]: float(row["label"]) for row in fl.Session.open(path).answers()}
    table["human"] = np.array([known.get(i, np.nan) for i in range(N)])
    again = fl.rate(table, grade="human", judge="judge", by="part", scale="1-5")
    for one, other in zip(found.groups, again.groups, strict=True):
        assert (one.group, one.n_labels) == (other.group, other.n_grades)
        assert 4 * one.mean + 1 == pytest.approx(other.mean, abs=0.08)
        assert 4 * one.low + 1 < table["truth"][table["part"] == one.group].mean() < 4 * one.high + 1


def test_a_session_of_grades_is_settled_after_about_as_many_as_were_foreseen() -> None:
    session, table = start(None, n_graded=30)
    foreseen = session.status()["labels_left"]
    assert foreseen["n_more"] is not None
    assert "mean grade of every group" in foreseen["sentence"]
    assert "accuracy" not in foreseen["sentence"] + session.status()["answer"]["sentence"]
    n = 0
    while not session.is_settled and n < 600:
        session.tell({item: table["truth"][int(item)] for item in session.ask(10)})
        n += 10
    assert session.is_settled
    assert 0.5 * foreseen["n_more"] - 10 <= n <= 1.8 * foreseen["n_more"] + 10


def test_grades_are_read_once_named_and_others_are_refused() -> None:
    table = make(40)
    pool = fl.Predictions.read(table, grade="human", judge="judge")
    assert pool.grades == (("1", 0.0), ("2", 0.25), ("3", 0.5), ("4", 0.75), ("5", 1.0))
    continuous = fl.Predictions.read({**table, "human": np.linspace(0, 1, N) ** 2}, grade="human")
    assert continuous.grades == ()
    unknown = fl.Predictions.read({**table, "human": [None] * N}, grade="human", judge="judge")
    assert unknown.grades == pool.grades, "before the first grade, the scale is the judge's"
    with pytest.raises(fl.InputError, match="label=: graded outputs have no such role"):
        fl.Predictions.read(table, grade="human", label="truth")
    with pytest.raises(fl.InputError, match="there is no column 'hunan'"):
        fl.Predictions.read(table, grade="hunan", judge="judge")
