"""Column options are typed once: verbs that go on with a session read its predictions as it was created."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from conftest import Typed

Type = Callable[..., Typed]
OPTIONS = ("--id", "key", "--predicted", "yhat", "--score", "conf", "--show", "text")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Predictions whose recognised column `pred` holds other classes than `yhat`."""
    columns = {
        "key": [f"k{i}" for i in range(30)],
        "yhat": ["cat", "dog", "cat"] * 10,
        "pred": ["dog", "cat", "emu"] * 10,
    }
    columns |= {
        "conf": [0.6 + i / 100 for i in range(30)],
        "text": [f"animal {i}" for i in range(30)],
        "site": ["x"] * 30,
    }
    pd.DataFrame(columns).to_csv(tmp_path / "preds.csv", index=False)
    return tmp_path / "preds.csv"


@pytest.fixture
def session(type_in: Type, file: Path) -> Path:
    path = file.with_name("s.db")
    typed = type_in("ask", file, "--session", path, "--goal", "estimate", "--prior", "flat", *OPTIONS, "--quiet")
    assert typed.code == 0, typed.err
    return path


def test_items_are_shown_and_predicted_without_the_options(type_in: Type, file: Path, session: Path) -> None:
    tasks = file.with_name("tasks.json")
    typed = type_in(
        "ask", file, "--session", session, "-n", 1, "--out", tasks, "--show-prediction", "before", "--json", "-"
    )
    assert typed.code == 0, typed.err
    (item,) = json.loads(typed.out)["items"]
    number = int(item["id"][1:])
    assert item["show"] == {"text": f"animal {number}"}
    (task,) = json.loads(tasks.read_text())
    said = task["predictions"][0]["result"][0]["value"]["choices"]
    assert said == [["cat", "dog", "cat"][number % 3]]


def test_items_are_labelled_without_the_options(
    type_in: Type, file: Path, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("cat\n"))
    typed = type_in("label", file, "--session", session, "--terminal", "--show-prediction", "after")
    assert typed.code == 0, typed.err
    assert "text  animal" in typed.out
    assert "site" not in typed.out
    assert json.loads(type_in("status", "--session", session, "--json", "-").out)["n_labels"] == 1


def test_a_typed_option_replaces_only_its_own(type_in: Type, file: Path, session: Path) -> None:
    typed = type_in("ask", file, "--session", session, "-n", 1, "--show", "site", "--json", "-")
    assert typed.code == 0, typed.err
    assert json.loads(typed.out)["items"][0]["show"] == {"site": "x"}
    typed = type_in("ask", file, "--session", session, "--predicted", "pred")
    assert typed.code == 1
    assert "--predicted yhat --score conf, and these were read with --id key --predicted pred" in typed.err


def test_another_file_is_refused_in_one_sentence(type_in: Type, file: Path, session: Path) -> None:
    other = file.with_name("other.csv")
    pd.read_csv(file).rename(columns={"yhat": "machine"}).to_csv(other, index=False)
    typed = type_in("ask", other, "--session", session)
    assert typed.code == 1
    assert f"{session} was created with {' '.join(OPTIONS)}; give the predictions it was made from, or name the columns of these: predicted: there is no column 'yhat'" in typed.err  # fmt: skip
    assert type_in("ask", other, "--session", session, "--predicted", "machine").code == 0


def test_models_in_one_file_are_named_once(type_in: Type, file: Path) -> None:
    wide, path = file.with_name("wide.csv"), file.with_name("m.db")
    pd.read_csv(file).rename(columns={"yhat": "predicted_old", "pred": "predicted_new"}).drop(columns="conf").to_csv(wide, index=False)  # fmt: skip
    options = ("--models", "old,new", "--id", "key", "--show", "text", "--goal", "best-model")
    assert type_in("ask", wide, "--session", path, *options, "--quiet").code == 0
    typed = type_in("ask", wide, "--session", path, "-n", 1, "--json", "-")
    assert typed.code == 0, typed.err
    assert set(json.loads(typed.out)["items"][0]["show"]) == {"text"}
