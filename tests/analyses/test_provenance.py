"""Where a result comes from: the same data the same fingerprint, a fixed date where one is asked for, no secret."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from conftest import Typed
from makers import make_pool

import fewlabels as fl
from fewlabels.analyses.provenance import get_timestamp, record
from fewlabels.errors import InputError

Type = Callable[..., Typed]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pd.DataFrame(make_pool(0, n=60, labelled=0.5)).to_csv(tmp_path / "p.csv", index=False)
    return tmp_path / "p.csv"


def test_the_same_predictions_have_the_same_fingerprint_however_they_are_asked(file: Path) -> None:
    pool = fl.Predictions.read(file)
    by = [fl.predicted, fl.everything, fl.column("sex"), fl.bins(3)]
    found = {fl.assess(pool, by=one, prior=fl.flat()).provenance.fingerprint for one in by}
    found.add(fl.assess(pool.hide_labels(), prior=fl.from_scores()).provenance.fingerprint)
    with fl.Session.create(None, pool, goal=fl.Estimate(), by=fl.column("sex"), prior=fl.flat()) as session:
        found |= {session.provenance.fingerprint, session.assess().provenance.fingerprint}
    assert len(found) == 1
    other = fl.assess(make_pool(1, n=60), prior=fl.flat()).provenance.fingerprint
    assert other not in found


def test_json_says_how_it_was_made(type_in: Type, file: Path) -> None:
    words = ("assess", file, "--prior", "flat", "--seed", 3, "--draws", 500, "--json", "-")
    found = json.loads(type_in(*words).out)["provenance"]
    assert found["command"] == "fewlabels " + " ".join(map(str, words))
    assert (found["seed"], found["n_draws"], found["source"]) == (3, 500, str(file))
    assert found["date"] == "2023-11-14T22:13:20Z"  # as the environment fixes it
    assert "at random within each group" in found["labels"]


def test_a_session_says_who_chose_its_labels(file: Path) -> None:
    with fl.Session.create(None, fl.Predictions.read(file), goal=fl.FindWorst(), prior=fl.flat()) as session:
        found = session.status()["provenance"]
    assert found["labels"] == "asked for by the policy thompson, for the goal find-worst"
    assert found["source"] == "p.csv"  # pages show it, and name no folder of the server


def test_the_date_is_now_unless_fixed() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", get_timestamp({}))
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH is 'soon'"):
        get_timestamp({"SOURCE_DATE_EPOCH": "soon"})


def test_passwords_are_left_out(type_in: Type, file: Path) -> None:
    assert record("postgresql://kim:secret@host/db").source == "postgresql://kim:***@host/db"


@pytest.mark.parametrize("write", ["report", "to_json"])
def test_a_result_does_not_replace_what_it_was_read_from(file: Path, write: str) -> None:
    labels = file.with_name("l.csv")
    pd.DataFrame({"id": [0], "label": ["a"]}).to_csv(labels, index=False)
    result = fl.assess(fl.Predictions.read(file, labels=labels), prior=fl.flat())
    for path in (file, labels):
        before = path.read_bytes()
        with pytest.raises(InputError, match="is what is being read"):
            getattr(result, write)(path)
        assert path.read_bytes() == before
