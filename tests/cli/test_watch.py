"""A folder that is watched: every file once, when it is complete, whatever happens in between."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Typed

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.sessions.exchange import watcher as watching
from fewlabels.sessions.exchange.label_studio_tasks import ID
from fewlabels.sessions.exchange.watcher import FolderScanner, read_digests

Type = Callable[..., Typed]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session in which six items were asked."""
    db = tmp_path_factory.mktemp("original") / "s.db"
    pool = pd.DataFrame({"id": range(60), "predicted": np.random.default_rng(0).choice(["cat", "dog"], 60)})
    with fl.Session.create(db, pool, goal=fl.FindWorst(), prior=fl.flat()) as session:
        session.ask(6)
    return db


@pytest.fixture
def db(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def ids(db: Path) -> list[int]:
    with fl.Session.open(db, read_only=True) as session:
        return session.pending


def answers(db: Path) -> dict[object, object]:
    with fl.Session.open(db, read_only=True) as session:
        return {row["id"]: row["label"] for row in session.answers()}


def put_sheet(path: Path, labels: dict[int, str]) -> Path:
    path.write_text("id,label\n" + "".join(f"{i},{label}\n" for i, label in labels.items()))
    return path


def put_export(path: Path, labels: dict[int, str | None]) -> Path:
    def annotate(label: str | None) -> dict[str, object]:
        result = [{"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": [label]}}]
        return {"was_cancelled": label is None, "completed_by": 1, "result": result if label else []}

    path.write_text(json.dumps([{"data": {ID: str(i)}, "annotations": [annotate(x)]} for i, x in labels.items()]))
    return path


def sweep(type_in: Type, folder: Path, db: Path, *words: object) -> Typed:
    return type_in("watch", folder, "--session", db, "--once", "--every", 0, *words)


class TestSweeps:
    def test_sheets_and_exports_are_read_once(self, type_in: Type, folder: Path, db: Path, ids: list[int]) -> None:
        put_sheet(folder / "a.csv", {ids[0]: "cat", ids[1]: ""})
        put_export(folder / "b.json", {ids[2]: "dog", ids[3]: None})
        (folder / "notes.txt").write_text("not for us")
        (folder / ".hidden.csv").write_text("half")
        typed = sweep(type_in, folder, db, "--as", "kim")
        assert (typed.code, typed.err) == (0, "")
        assert "a.csv: 1 new answer, 0 changed, 0 unchanged\n  1 row without a label" in typed.out
        assert "b.json: 2 new answers, 0 changed, 0 unchanged" in typed.out
        assert "so far: the worst by accuracy is" in typed.out
        assert f"3 answers kept in {db}" in typed.out
        assert answers(db) == {ids[0]: "cat", ids[2]: "dog", ids[3]: None}
        again = sweep(type_in, folder, db)
        assert "a.csv" not in again.out
        assert f"0 answers kept in {db}" in again.out

    def test_a_copy_is_no_news_and_a_change_is(self, type_in: Type, folder: Path, db: Path, ids: list[int]) -> None:
        put_sheet(folder / "a.csv", {ids[0]: "cat"})
        sweep(type_in, folder, db)
        with fl.Session.open(db) as session:
            session.tell({ids[0]: "dog"})  # corrected elsewhere
        shutil.copy(folder / "a.csv", folder / "copy.csv")
        assert "csv" not in sweep(type_in, folder, db).out
        assert answers(db) == {ids[0]: "dog"}
        put_sheet(folder / "a.csv", {ids[0]: "cat", ids[1]: "cat"})
        assert "a.csv: 1 new answer, 1 changed" in sweep(type_in, folder, db).out

    def test_the_later_file_has_the_last_word(self, type_in: Type, folder: Path, db: Path, ids: list[int]) -> None:
        for name, label, at in (("a.csv", "dog", 200), ("b.csv", "cat", 100)):
            os.utime(put_sheet(folder / name, {ids[0]: label}), (at, at))
        sweep(type_in, folder, db)
        assert answers(db) == {ids[0]: "dog"}

    def test_a_bad_file_is_left_alone_and_the_others_are_read(
        self, type_in: Type, folder: Path, db: Path, ids: list[int]
    ) -> None:
        bad = put_sheet(folder / "a.csv", {ids[0]: "cat", ids[1]: "giraffe"})
        put_sheet(folder / "b.csv", {ids[2]: "dog"})
        (folder / "c.json").write_text('[{"data": ')
        typed = sweep(type_in, folder, db)
        assert typed.code == 1
        assert f"skipped: {bad}, line 3, column label: 'giraffe' is no class" in typed.err
        assert "c.json, line 1: not JSON" in typed.err
        assert answers(db) == {ids[2]: "dog"}
        (folder / "c.json").unlink()
        assert sweep(type_in, folder, db, "--new-classes").code == 0
        assert answers(db)[ids[1]] == "giraffe"

    def test_a_line_about_a_bad_file_is_short(self, type_in: Type, folder: Path, db: Path) -> None:
        (folder / "a.csv").write_text(f"id,{'x' * 5000}\n1,cat\n")
        typed = sweep(type_in, folder, db)
        assert typed.err.startswith("skipped: ")
        assert len(typed.err) < 1000

    def test_what_makes_no_sense_is_said(self, type_in: Type, folder: Path, db: Path, ids: list[int]) -> None:
        assert "no such folder" in sweep(type_in, folder / "none", db).err
        assert "no such session" in sweep(type_in, folder, folder / "none.db").err
        assert "--every must be a number of seconds" in type_in("watch", folder, "--session", db, "--every", -1).err
        Path(f"{db}.read").write_text("{")
        put_sheet(folder / "a.csv", {ids[0]: "cat"})
        typed = sweep(type_in, folder, db)
        assert (typed.code, "remove it, and all files are imported again" in typed.err) == (1, True)


class TestArrivals:
    def test_a_file_that_grows_is_waited_for(self, folder: Path, db: Path) -> None:
        looks, path = FolderScanner(folder, str(db)), folder / "a.csv"
        path.write_text("id,la")
        assert looks.find_new_files() == []
        path.write_text("id,label\n")
        assert looks.find_new_files() == []
        [found] = looks.find_new_files()
        assert found.path == path
        looks.mark_read(found)
        assert looks.find_new_files() == []
        assert read_digests(str(db)) == {found.digest}
        os.replace(shutil.copy(path, folder / "x.part"), path)  # noqa: PTH105  the same content, moved in
        assert [looks.find_new_files(), looks.find_new_files()] == [[], []]

    def test_a_bad_file_is_tried_again_after_a_while_or_a_change(
        self, folder: Path, db: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looks, path = FolderScanner(folder, str(db)), folder / "a.csv"
        path.write_text("x")
        looks.find_new_files()
        [found] = looks.find_new_files()
        looks.retry_later(found)
        assert looks.find_new_files() == []
        path.write_text("xy")
        assert looks.find_new_files() == []
        [found] = looks.find_new_files()
        monkeypatch.setattr(watching, "RETRY_AFTER", 0.0)
        looks.retry_later(found)
        assert looks.find_new_files() == [found]

    def test_what_goes_away_is_no_trouble(self, folder: Path, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        looks, path = FolderScanner(folder, str(db)), folder / "a.csv"
        path.write_text("x")
        looks.find_new_files()
        read = Path.read_bytes
        monkeypatch.setattr(Path, "read_bytes", lambda self: (self.unlink(), read(self))[1])
        assert looks.find_new_files() == []
        folder.rmdir()
        with pytest.raises(InputError, match="the folder no longer exists"):
            looks.find_new_files()


def test_it_waits_reads_what_arrives_and_ends_on_ctrl_c(folder: Path, db: Path, ids: list[int]) -> None:
    words = [sys.executable, "-c", "from fewlabels.cli.app import main; main()", "watch", folder, "--session", db]
    with subprocess.Popen([*words, "--every", "0.1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == f"watching {folder}; stop with Ctrl-C\n"
        part = put_export(folder / "e.part", {ids[0]: "cat"})
        part.rename(folder / "e.json")
        until(lambda: answers(db) == {ids[0]: "cat"})
        put_sheet(folder / "bad.csv", {99: "cat"})
        put_sheet(folder / "s.csv", {ids[1]: "dog"})
        until(lambda: answers(db) == {ids[0]: "cat", ids[1]: "dog"})
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert run.returncode == 0
    assert f"2 answers kept in {db}" in out
    assert out.count("so far: ") >= 1
    assert err.count("skipped") == 1
    assert "Traceback" not in err


def test_a_settled_goal_is_said(type_in: Type, folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "w.db"
    pool = pd.DataFrame({"id": range(20), "predicted": "cat"})
    with fl.Session.create(db, pool, goal=fl.Estimate(width=0.9), by=fl.everything, prior=fl.flat()) as session:
        put_sheet(folder / "a.csv", dict.fromkeys(session.ask(8), "cat"))
    said = sweep(type_in, folder, db).out
    assert said.index("so far: ") < said.index("settled: you can stop")


def until(is_done: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.1)
