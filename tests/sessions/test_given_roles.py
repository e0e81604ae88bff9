"""The column roles that a session was created with: kept in its file, and used when its predictions are read again."""

import shutil
from dataclasses import replace
from inspect import signature
from pathlib import Path

import pandas as pd
import pytest

import fewlabels as fl
from fewlabels.cli.options import Columns
from fewlabels.data.given_roles import record_roles
from fewlabels.data.model_join import open_models
from fewlabels.data.roles import resolve_roles
from fewlabels.errors import InputError, naming_options
from fewlabels.sessions.file_schema import GivenRolesDocument
from fewlabels.sessions.journal.storage import open_stored
from fewlabels.sessions.opening import read_given_roles
from fewlabels.sessions.spec_file import read_spec_roles

KEPT = Path(__file__).parent / "kept"
ROLES = {"id": "key", "predicted": "yhat", "score": "conf", "show": ["text"]}
STORED = {"id": "key", "predicted": "yhat", "score": "conf", "show": ("text",)}


def make_frame(n: int = 30) -> pd.DataFrame:
    """Make predictions whose recognised column `pred` holds other classes than the one that is meant."""
    meant, other = (["cat", "dog", "cat"] * n)[:n], (["dog", "cat", "emu"] * n)[:n]
    conf, text = [0.6 + i / 100 for i in range(n)], [f"animal {i}" for i in range(n)]
    return pd.DataFrame({"key": [f"k{i}" for i in range(n)], "yhat": meant, "pred": other, "conf": conf, "text": text, "site": "x"})  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    make_frame().to_csv(tmp_path / "preds.csv", index=False)
    return tmp_path / "preds.csv"


@pytest.fixture
def session(file: Path) -> Path:
    path = file.with_name("s.db")
    fl.Session.create(path, fl.Predictions.read(file, **ROLES), goal=fl.Estimate(), prior=fl.flat()).close()
    return path


def test_predictions_are_read_again_as_the_session_was_created(file: Path, session: Path) -> None:
    assert read_given_roles(session) == STORED
    with fl.Session.open(session, file) as opened:
        (item,) = opened.ask(1)
        assert opened.given_roles == STORED
        assert opened.show([item]) == {item: {"text": f"animal {str(item)[1:]}"}}
    with fl.Session.open(session, make_frame()) as opened:
        assert opened.ask(1) == [item]


def test_a_file_with_other_columns_says_which_the_session_was_created_with(file: Path, session: Path) -> None:
    other = file.with_name("other.csv")
    make_frame().rename(columns={"yhat": "machine"}).to_csv(other, index=False)
    with pytest.raises(InputError) as said:
        fl.Session.open(session, other)
    assert str(said.value).startswith(f"{session} was created with id='key', predicted='yhat', score='conf', show=('text',); give the predictions it was made from, or name the columns of these: predicted: there is no column 'yhat'")  # fmt: skip
    fl.Session.open(session, fl.Predictions.read(other, **(ROLES | {"predicted": "machine"}))).close()
    with pytest.raises(InputError) as said:
        fl.Session.open(session, file.with_name("gone.csv"))
    assert "created with" not in str(said.value)


def test_other_roles_are_used_and_the_fingerprint_decides(file: Path, session: Path) -> None:
    fl.Session.open(session, fl.Predictions.read(file, **(ROLES | {"show": ["site"]}))).close()
    with naming_options(), pytest.raises(InputError) as said:
        fl.Session.open(session, fl.Predictions.read(file, **(ROLES | {"predicted": "pred"})))
    assert "it was created with --id key --predicted yhat --score conf, and these were read with --id key --predicted pred --score conf: read them as then" in str(said.value)  # fmt: skip


def test_labels_in_a_file_of_their_own_are_not_needed_again(file: Path) -> None:
    labels = file.with_name("labels.csv")
    pd.DataFrame({"key": ["k0", "k1"], "truth": ["cat", "cat"]}).to_csv(labels, index=False)
    pool = fl.Predictions.read(file, labels=labels, label="truth", **ROLES)
    assert pool.n_labels == 2
    path = file.with_name("with-labels.db")
    fl.Session.create(path, pool, goal=fl.Estimate(), prior=fl.flat()).close()
    assert read_given_roles(path) == STORED
    with fl.Session.open(path, file) as opened:
        assert opened.status()["n_labels"] == 2


def test_graded_outputs_are_read_again_with_their_grades(tmp_path: Path) -> None:
    n, file, path = 40, tmp_path / "graded.csv", tmp_path / "g.db"
    columns = {"id": range(n), "judge_score": [1, 3, 4, 5] * 10, "text": [f"answer {i}" for i in range(n)]}
    pd.DataFrame(columns | {"human": [4, 5] + [None] * (n - 2)}).to_csv(file, index=False)
    for scale in ("1-5", ["1", "2", "3", "4", "5"]):
        pool = fl.Predictions.read(file, grade="human", judge="judge_score", scale=scale, show=["text"])
        fl.Session.create(path, pool, goal=fl.Estimate(), by="all").close()
        with fl.Session.open(path, file) as opened:
            (item,) = opened.ask(1)
            assert opened.classes == ("1", "2", "3", "4", "5")
            assert opened.show([item]) == {item: {"text": f"answer {item}"}}
        path.unlink()


def test_several_models_are_read_again_with_their_roles_and_layout(tmp_path: Path) -> None:
    frame, wide, path = make_frame(), tmp_path / "wide.csv", tmp_path / "m.db"
    frame.rename(columns={"yhat": "predicted_old", "pred": "predicted_new"}).drop(columns="conf").to_csv(wide, index=False)  # fmt: skip
    fl.Session.create(path, open_models(wide, models=["old", "new"], id="key"), goal="best-model").close()
    assert read_given_roles(path) == {"id": "key", "models": ("old", "new")}
    fl.Session.open(path, wide).close()


def test_files_of_several_models_are_read_again_with_their_common_roles(tmp_path: Path) -> None:
    files, path = {name: tmp_path / f"{name}.csv" for name in ("old", "new")}, tmp_path / "m.db"
    for name, meant in (("old", "yhat"), ("new", "pred")):
        make_frame()[["key", meant]].rename(columns={meant: "said"}).to_csv(files[name], index=False)
    pools = {name: fl.Predictions.read(file, id="key", predicted="said") for name, file in files.items()}
    fl.Session.create(path, pools, goal="best-model").close()
    assert read_given_roles(path) == {"id": "key", "predicted": "said"}
    fl.Session.open(path, files).close()
    fl.Session.open(path, pools).close()


def test_models_that_were_read_with_different_roles_are_not_read_by_guess(tmp_path: Path) -> None:
    frame, path = make_frame(), tmp_path / "m.db"
    pools = {name: fl.Predictions.read(frame, id="key", predicted=name) for name in ("yhat", "pred")}
    fl.Session.create(path, pools, goal="best-model").close()
    assert read_given_roles(path) is None
    fl.Session.open(path, pools).close()


def test_arrays_leave_no_roles_of_columns_that_no_file_has(tmp_path: Path) -> None:
    pool = fl.Predictions.from_arrays(y_score=[0.2, 0.9, 0.7], classes=["no", "yes"])
    fl.Session.create(tmp_path / "s.db", pool, goal=fl.Estimate(), prior=fl.flat()).close()
    assert read_given_roles(tmp_path / "s.db") is None


@pytest.mark.parametrize("folder", ["format-2", "format-3"])
def test_files_of_earlier_versions_keep_no_roles(folder: str, tmp_path: Path) -> None:
    shutil.copy(KEPT / folder / "plain.db", tmp_path / "s.db")
    assert read_given_roles(tmp_path / "s.db") is None
    with fl.Session.open(tmp_path / "s.db") as opened:
        assert opened.given_roles is None


@pytest.mark.parametrize("found", [{"id": 3}, {"show": "text"}, {"threshold": 1.5}, ["id"], {"predicted": "x" * 100_001}])  # fmt: skip
def test_damaged_roles_are_refused(session: Path, found: object) -> None:
    journal = open_stored(session, read_only=True)
    about = dict(journal.about)
    journal.close()
    assert read_spec_roles(about, session) == STORED
    with pytest.raises(InputError, match="damaged"):
        read_spec_roles(about | {"given_roles": found}, session)


def test_what_a_file_cannot_hold_is_refused_before_it_is_written(tmp_path: Path) -> None:
    pool = replace(fl.Predictions.read(make_frame(), **ROLES), given_roles={"positive": "\udcff"})
    with pytest.raises(InputError, match="column roles"):
        fl.Session.create(tmp_path / "s.db", pool, goal=fl.Estimate(), prior=fl.flat())
    assert not (tmp_path / "s.db").exists()


def test_every_role_has_a_place_in_the_file() -> None:
    known = set(GivenRolesDocument.model_fields)
    assert set(signature(resolve_roles).parameters) - {"columns"} <= known
    assert set(Columns.__dataclass_fields__) - {"labels", "format"} <= known


def test_roles_are_recorded_as_plain_values() -> None:
    given = {"positive": 1, "threshold": 0.25, "scale": [1, 2], "show": [], "label": None}
    assert record_roles(given, ()) == {"positive": "1", "threshold": 0.25, "scale": ("1", "2")}


def test_a_session_in_a_database_keeps_its_roles(file: Path, session_url: str) -> None:
    fl.Session.create(session_url, fl.Predictions.read(file, **ROLES), goal=fl.Estimate(), prior=fl.flat()).close()
    assert read_given_roles(session_url) == STORED
    with fl.Session.open(session_url, file) as opened:
        (item,) = opened.ask(1)
        assert opened.show([item]) == {item: {"text": f"animal {str(item)[1:]}"}}
