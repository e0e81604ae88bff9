"""Documents that others wrote: one message for whatever does not fit, naming the file, the place and the reason."""

import gzip
import io
import json
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Typed
from makers import make_pool

import fewlabels as fl
from fewlabels.data.documents import parsing as reading
from fewlabels.data.documents.arrays import read_arrays
from fewlabels.data.documents.parsing import parse, read_file, read_lines
from fewlabels.data.logs.inspect_schema import InspectLog

Type = Callable[..., Typed]
SAMPLE = {"id": "q", "scores": {"exact_match": {"value": "C"}}}


def refuse(raw: str | bytes) -> str:
    with pytest.raises(fl.InputError) as error:
        parse(InspectLog, raw, "log.json", "was it cut short?")
    return str(error.value)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"samples": [SAMPLE, SAMPLE | {"scores": {"exact_match": 3}}]}, "log.json: samples[1].scores.exact_match: it should be an object, and is 3; was it cut short?"),
        ({"samples": [{}]}, "log.json: samples[0].id: it is missing"),
        ({"samples": "x" * 500}, "samples: it should be a list, and is 'xxxx"),
        ({"samples": [{"id": None}, {"id": []}]}, "samples[0].id: it should be text or a number, and is null (and 1 more fault)"),
        ({"samples": [{"id": 10**400}]}, "and is a number of 401 digits"),
        ([], "log.json: it should be an object, and is a list of 0"),
        ('{"samples": [\n{"id": 1},\n{"id": ', "log.json, line 3: not JSON: it ends inside a value (column 7)"),
        ('{"samples": ' + "[" * 100_000, "log.json, line 1: nested too deeply"),
        ('{"samples": ' + "9" * 5000 + "}", "a number of too many digits"),
        (b'{"status":\n "\xff"}', "log.json, line 2: this is not UTF-8"),
        ('{"status": "\\ud800"}', "half of a character"),
        ("", "log.json, line 1: not JSON"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_with_its_place(raw: Any, says: str) -> None:
    said = refuse(raw if isinstance(raw, str | bytes) else json.dumps(raw))
    assert says in said
    assert len(said) < 300
    assert "\n" not in said


def test_what_is_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_BYTES", 1000)
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 100)
    (tmp_path / "long.jsonl").write_text(" " * 200)
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 10**6))
    (tmp_path / "large.json").write_text(" " * 2000)
    with pytest.raises(fl.InputError, match="line 1: larger than"):
        list(read_lines(tmp_path / "long.jsonl"))
    with pytest.raises(fl.InputError, match="larger than"):
        list(read_lines(tmp_path / "bomb.jsonl.gz"))
    with pytest.raises(fl.InputError, match="larger than"):
        read_file(tmp_path / "large.json")


def test_a_stream_that_ends_early_says_after_which_line(tmp_path: Path, type_in: Type) -> None:
    row = {"doc_id": 0, "doc": {"q": "x"}, "target": "1", "filtered_resps": ["1"], "metrics": ["acc"], "acc": 1.0}
    lines = "".join(
        json.dumps(row | {"doc_id": i, "doc": {"q": str(np.random.default_rng(i).random(9))}}) + "\n" for i in range(99)
    )
    packed = gzip.compress(lines.encode())
    (tmp_path / "samples_x.jsonl.gz").write_bytes(packed[:-1000])
    typed = type_in("assess", tmp_path / "samples_x.jsonl.gz")
    assert typed.code == 1
    assert "it cannot be read beyond line" in typed.err
    assert "was it cut short?" in typed.err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"belief": None}, "belief: it should be an object"),
        ({"by": 3}, "by: it should be text"),
        ({"counts": [[1.0, 2.0]]}, "cells, and counts of 1"),
        ({"counts": [[1.0], [1.0]]}, "counts[0] has 1 numbers for 2 outcomes"),
        ({"counts": [[float("nan"), 1.0], [1.0, 1.0]]}, "belief.counts[0][0]: it should be a finite number"),
        ({"counts": [[-1.0, 1.0], [1.0, 1.0]]}, "it should be at least 0"),
        ({"reads": "left"}, "belief.reads: it should be 'right' or 'label'"),
        ({"cells": [{}, {}]}, "belief.cells[0]: it should be text"),
    ],
)
def test_an_earlier_assessment_is_checked(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    plain = fl.assess(make_pool(1), by=fl.column("sex"), prior=fl.flat()).to_dict()
    if "belief" in change or "by" in change:
        plain |= change
    else:
        plain["belief"] |= change
    path = tmp_path / "earlier.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(fl.InputError) as error:
        fl.from_earlier(path)
    assert str(path) in str(error.value)
    assert says in str(error.value)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "s.db"
    pool = fl.Predictions.read(make_pool(1)).hide_labels()
    with fl.Session.create(path, pool, goal=fl.FindWorst(fl.accuracy), by=fl.column("sex"), prior=fl.flat()) as s:
        s.tell(dict.fromkeys(s.ask(5), "a"))
    return path


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE meta SET about = substr(about, 1, 100)", "damaged: "),
        ("UPDATE meta SET about = '[]'", "damaged: goal: it is missing"),
        ("UPDATE meta SET about = json_set(about, '$.level', 7)", "damaged: level: it should be less than 1"),
        ("UPDATE meta SET about = json_set(about, '$.goal.kind', 'Nothing')", "damaged: goal: "),
        ("UPDATE meta SET about = json_set(about, '$.goal.with.m', 'x')", "damaged: goal: "),
        ("UPDATE meta SET about = json_set(about, '$.groups', json('[\"f\"]'))", "do not fit the groups"),
        ("DELETE FROM meta", "its settings are missing"),
        ("UPDATE blobs SET data = x'00'", "damaged: its counts"),
        ("DELETE FROM blobs", "damaged: its counts"),
        ("UPDATE items SET entry = 99 WHERE id = '3'", "its items do not fit its counts"),
        ("UPDATE items SET entry = 'x' WHERE id = '3'", "some of its items cannot be read"),
        ("UPDATE items SET place = 999 WHERE id = '3'", "out of order"),
        ("DELETE FROM items WHERE id = '3'", "items are missing"),
        ("INSERT INTO events (kind, item, label, at) VALUES ('sung', '3', 'a', '')", "event 11 is of no known kind"),
        ("INSERT INTO events (kind, item, label, at) VALUES ('told', 'x', 'a', '')", "event 11 is about an item that is not there"),
        ("INSERT INTO events (kind, item, label, at) VALUES ('told', '3', x'ff', '')", "event 11 has no label"),
        ("ALTER TABLE events DROP COLUMN note", "damaged (no such column"),
    ],
)  # fmt: skip
def test_a_damaged_session_is_refused_with_its_name(type_in: Type, session: Path, statement: str, says: str) -> None:
    with closing(sqlite3.connect(session)) as connection:
        connection.execute(statement)
        connection.commit()
    typed = type_in("status", "--session", session)
    assert (typed.code, len(typed.err.splitlines())) == (1, 1)
    assert str(session) in typed.err
    assert says in typed.err
    assert "earlier copy" in typed.err


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("about", lambda about: about | {"level": 2}, "level: it should be less than 1"),
        ("about", lambda about: about | {"arms": about["arms"][:1]}, "the array arm has values outside of 0 to 0"),
        ("about", lambda about: about | {"version": 2}, "version: it should be 1"),
        ("about", lambda about: about | {"health": about["health"] | {"looks": " "}}, "health.looks: it should be"),
        ("arm", lambda array: array + 99, "the array arm has values outside"),
        ("score", lambda array: array.astype(str), "the array score should hold numbers"),
        ("n_items", lambda array: array[:1], "the array n_items has the shape"),
        ("terms_0", lambda array: array * np.nan, "no numbers"),
        ("covariance_0", lambda array: -array, "is not a covariance matrix"),
        ("covariance_0", np.ones_like, "is not a covariance matrix"),  # symmetric, but singular
        ("level", None, "the array level is missing"),
    ],
)  # fmt: skip
def test_a_changed_surface_is_refused(
    tmp_path: Path, name: str, change: Callable[[Any], Any] | None, says: str
) -> None:
    path = tmp_path / "s.surface"
    fl.surface(make_pool(1), attributes=("sex", "age")).save(path)
    with np.load(path) as packed:
        arrays = dict(packed)
    old = arrays.pop(name)
    if name == "about":
        old = change(json.loads(old.tobytes()))
        arrays[name] = np.frombuffer(json.dumps(old).encode(), dtype=np.uint8)
    elif change is not None:
        arrays[name] = change(old)
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(fl.InputError) as error:
        fl.Surface.load(path)
    assert says in str(error.value)
    assert str(path) in str(error.value)


def test_arrays_that_lie_about_their_size_or_hold_objects_are_refused() -> None:
    def pack(raw: bytes) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x.npy", raw)
        return file.getvalue()

    plain, objects = io.BytesIO(), io.BytesIO()
    np.save(plain, np.zeros(3))
    np.save(objects, np.array([{}]), allow_pickle=True)
    for raw in (
        plain.getvalue().replace(b"(3,)", b"(9**9,)"),
        plain.getvalue().replace(b"(3,), ", b"(3000,)"),
        objects.getvalue(),
        b"",
    ):
        with pytest.raises(fl.InputError, match="x.db: .*; go back"):
            read_arrays(pack(raw), "x.db", "go back")


def test_a_long_message_is_cut_in_its_middle(type_in: Type, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,predicted,label\n1,a,a\n2,b,b\n")
    typed = type_in("assess", tmp_path / "t.csv", "--by", "x" * 5000)
    assert typed.code == 1
    assert len(typed.err) < 1000
    assert typed.err.count("\n") == 1


def test_predictions_in_a_table_need_no_schema(tmp_path: Path) -> None:
    """What is not read through a schema does not wait for pydantic to be imported."""
    pq.write_table(pa.table(make_pool(1)), tmp_path / "t.parquet")
    words = ["fewlabels", "assess", str(tmp_path / "t.parquet"), "--prior", "flat", "--quiet"]
    code = f"import sys; sys.argv = {words!r}; from fewlabels.cli.app import main\ntry: main()\nexcept SystemExit as stop: print(stop.code, 'pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False"]


@pytest.mark.parametrize("weights", [(1, -1, 0), (0, 0, 0), ("one", "two", "three"), (-1, 5, 5)])
def test_weights_of_traffic_that_make_no_sense_are_refused(tmp_path: Path, weights: tuple[Any, ...]) -> None:
    surface = fl.surface(make_pool(1), attributes=("sex", "age"))
    traffic = {"sex": ["f", "m", "f"], "age": [9, 30, 10], "n": list(weights)}
    with pytest.raises(fl.InputError, match="weight"):
        surface.mix(traffic, weight="n")
