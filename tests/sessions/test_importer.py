"""A file of answers is imported whole or not at all: refused half-way, or killed at any moment."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest
from conftest import Typed

import fewlabels as fl
from fewlabels.metrics.metric import Metric
from fewlabels.sessions.journal.sqlite import SqliteJournal
from fewlabels.sessions.journal.write_ahead_log import CLOSE_TIMEOUT

Type = Callable[..., Typed]
COSTS = "true,cat,dog\ncat,0,1\ndog,1,0\n"  # nothing about any other class
PEOPLE = ("ann", "bob", "cho")
IMPORT = """
import os, signal, sys
from fewlabels.cli.app import main
from fewlabels.sessions.journal.sqlite import SqliteJournal

append, left = SqliteJournal.append, int(sys.argv.pop(1))

def append_or_die(self, acts):
    global left
    append(self, acts)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

SqliteJournal.append = append_or_die
main()
"""


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    path = tmp_path / "costs.csv"
    path.write_text(COSTS)
    return path


def start(folder: Path, metric: Metric = fl.accuracy, votes: int = 1) -> Path:
    pool = {"id": list(range(12)), "predicted": ["cat", "dog"] * 6}
    goal = fl.Estimate(metric)
    fl.Session.create(folder / "s.db", pool, goal=goal, prior=fl.flat(), votes=votes).close()
    return folder / "s.db"


def put_votes(path: Path, last: str = "dog") -> Path:
    """A sheet in which three people answer four items each; the very last answer is another's choice."""
    rows = [f"{i},{'cat' if (i, who) != (3, 'cho') else last},{who}" for who in PEOPLE for i in range(4)]
    path.write_text("\n".join(["id,label,who", *rows]))
    return path


def put_export(path: Path, last: str = "dog") -> Path:
    """The same as Label Studio exports it."""

    def annotate(i: int, who: str) -> dict[str, object]:
        label = last if (i, who) == (3, "cho") else "cat"
        value = {"from_name": "label", "type": "choices", "value": {"choices": [label]}}
        return {"completed_by": {"email": who}, "result": [value], "created_at": f"2026-01-01T00:00:{i:02d}Z"}

    tasks = [{"data": {"fewlabels_id": str(i)}, "annotations": [annotate(i, who) for who in PEOPLE]} for i in range(4)]
    path.write_text(json.dumps(tasks))
    return path


def count_events(db: Path) -> int:
    journal = SqliteJournal.open(db, read_only=True)
    try:
        return len(journal.read())
    finally:
        journal.close()


PUT = {"votes.csv": put_votes, "export.json": put_export}
FILES = pytest.mark.parametrize(("name", "votes"), [("votes.csv", 3), ("export.json", 3), ("export.json", 1)])


@FILES
def test_what_is_refused_half_way_keeps_nothing(
    type_in: Type, tmp_path: Path, costs: Path, name: str, votes: int
) -> None:
    """Costs say nothing about emu, which only the last person answers."""
    db = start(tmp_path, fl.cost(costs), votes)
    file = PUT[name](tmp_path / name, last="emu")
    typed = type_in("import", file, "--session", db, "--new-classes")
    assert (typed.code, len(typed.err.splitlines())) == (1, 1)
    assert "emu" in typed.err
    assert typed.err.endswith("nothing was kept\n")
    assert count_events(db) == 0


def test_watching_keeps_nothing_of_a_file_that_is_refused(type_in: Type, tmp_path: Path, costs: Path) -> None:
    db, folder = start(tmp_path, fl.cost(costs), votes=3), tmp_path / "answers"
    folder.mkdir()
    put_votes(folder / "bad.csv", last="emu")
    put_votes(folder / "good.csv")
    typed = type_in("watch", folder, "--session", db, "--new-classes", "--once", "--every", "0")
    assert typed.code == 1
    assert "emu" in typed.err
    assert "nothing was kept" in typed.err
    assert count_events(db) == 12


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,label\n1,cat\n1,dog\n", "two answers"), ("id,label\n1,cat\n77,dog\n", "77"), ("id,lable\n1,cat\n", "no column"),
        ("id,label\n1,cat\n2,emu\n", "'emu' is no class"), ('id,label\n1,cat\n2,"dog\n', "not CSV"),
    ],
)  # fmt: skip
def test_every_refusal_says_that_nothing_was_kept(type_in: Type, tmp_path: Path, text: str, says: str) -> None:
    db, sheet = start(tmp_path), tmp_path / "sheet.csv"
    sheet.write_text(text)
    typed = type_in("import", sheet, "--session", db)
    assert typed.code == 1
    assert says in typed.err
    assert typed.err.lower().count("nothing was kept") == 1
    assert count_events(db) == 0


@FILES
def test_an_import_that_is_killed_keeps_nothing(tmp_path: Path, name: str, votes: int) -> None:
    """Killed once two people's answers were appended."""
    db = start(tmp_path, votes=votes)
    file = PUT[name](tmp_path / name)
    words = [sys.executable, "-c", IMPORT, "2", "import", str(file), "--session", str(db)]
    done = subprocess.run(words, capture_output=True, env=os.environ, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert count_events(db) == 0


@FILES
def test_what_is_imported_again_is_no_news(type_in: Type, tmp_path: Path, name: str, votes: int) -> None:
    db = start(tmp_path, votes=votes)
    file = PUT[name](tmp_path / name)
    assert "12 new answers" in type_in("import", file, "--session", db).out
    n = count_events(db)
    assert "0 new answers, 0 changed, 12 unchanged" in type_in("import", file, "--session", db).out
    assert count_events(db) == n


def test_an_import_waits_for_no_connection_of_its_own(type_in: Type, tmp_path: Path) -> None:
    """A second connection cannot close while the first writes; waiting for that took a second, and blocked other writers."""
    seconds = []
    for i in range(3):
        (tmp_path / str(i)).mkdir()
        db, file = start(tmp_path / str(i)), put_export(tmp_path / "export.json")
        begin = perf_counter()
        assert type_in("import", file, "--session", db).code == 0
        seconds.append(perf_counter() - begin)
    assert min(seconds) < CLOSE_TIMEOUT
