"""Copies of sessions: a backup is complete, and a copy made without the write-ahead log is recognised."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Typed

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.sessions.journal.events import Item, NewEvent
from fewlabels.sessions.journal.sqlite import SqliteJournal

Type = Callable[..., Typed]
TELL_AND_DIE = """
import os, signal, sys
import fewlabels as fl
session = fl.Session.open(sys.argv[1])
session.tell({3: "cat"})
os.kill(os.getpid(), signal.SIGKILL)
"""
BACK_UP_AND_DIE = """
import os, signal, sys
from fewlabels.sessions.journal import connections, sqlite
connections.clear_mark = lambda connection: os.kill(os.getpid(), signal.SIGKILL)
sqlite.SqliteJournal.open(sys.argv[1]).backup(sys.argv[2])
"""
MARK_AND_DIE = """
import os, signal, sys
import fewlabels as fl
from fewlabels.sessions.journal import write_ahead_log as log
log._checkpoint = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
fl.Session.open(sys.argv[1]).tell({3: "cat"})
"""
TELL = """
import gc, os, sys, threading, time
import fewlabels as fl
def tell():
    session = fl.Session.open(sys.argv[1])
    session.tell({3: "cat"})
    return session
"""
ENDINGS = {  # how a program may end that does not close its session
    "global": "s = tell()",
    "local": "tell()",
    "exit": "s = tell(); sys.exit(1)",
    "error": "s = tell(); 1 / 0",
    "cycle": "s = tell(); s.itself = s; del s; gc.collect(); os._exit(0)",
    "block": "s = tell(); block = s.together(); block.__enter__(); s.tell({4: 'dog'})",
    "thread": "s = tell(); threading.Thread(target=lambda: [s.status() for _ in iter(int, 1)], daemon=True).start(); time.sleep(0.2)",
    "fork": "s = tell(); pid = os.fork(); pid and os.waitpid(pid, 0); assert pid == 0 or os.path.exists(sys.argv[1] + '-wal')",
}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    pool = {"id": list(range(12)), "predicted": ["cat", "dog"] * 6}
    fl.Session.create(tmp_path / "s.db", pool, goal=fl.Estimate(), prior=fl.flat()).close()
    return tmp_path / "s.db"


@pytest.fixture
def session(db: Path) -> Iterator[fl.Session]:
    """A session in use, with two answers, which are in its log."""
    with fl.Session.open(db) as session:
        session.tell({0: "cat", 1: "dog"})
        yield session


def copy(path: Path, *endings: str, to: str = "copy.db") -> Path:
    """Copy by another process: closing a file here would drop the locks that SQLite has on it."""
    for ending in ("", *endings):
        subprocess.run(["cp", f"{path}{ending}", f"{path.with_name(to)}{ending}"], check=True)
    return path.with_name(to)


def labels(path: Path, **how: Any) -> dict[object, object]:
    with fl.Session.open(path, **how) as session:
        return {row["id"]: row["label"] for row in session.answers()}


def run(code: str, *words: object) -> None:
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("read_only", [False, True])
def test_a_copy_without_its_log_is_refused_and_left_as_it_is(session: fl.Session, db: Path, read_only: bool) -> None:
    made = copy(db)
    before = made.read_bytes()
    with pytest.raises(InputError, match=r"copy.db: answers may be missing: .* without its log \(copy.db-wal\)"):
        fl.Session.open(made, read_only=read_only)
    assert made.read_bytes() == before
    assert not list(db.parent.glob("copy.db-*"))


def test_every_verb_says_what_is_missing_and_how_to_go_on(
    type_in: Type, session: fl.Session, db: Path, tmp_path: Path
) -> None:
    made = copy(db)
    for words in (["status"], ["tell", "2=cat"], ["ask"], ["export"], ["backup", "--out", tmp_path / "b.db"]):
        typed = type_in(*words, "--session", made)
        assert typed.code == 1
        assert "answers may be missing" in typed.err
        assert "fewlabels backup --session ORIGINAL --out COPY" in typed.err
        assert len(typed.err) - len(str(tmp_path)) < 3 * 100
    assert type_in("backup", "--session", made, "--out", tmp_path / "b.db", "--accept-missing").code == 0
    assert labels(tmp_path / "b.db") == {}
    assert type_in("status", "--session", made).code == 1, "the copy is complete, what it was made from is not"


def test_what_is_missing_may_be_accepted_in_python(session: fl.Session, db: Path) -> None:
    made = copy(db)
    with fl.Session.open(made, accept_missing=True) as found:
        found.tell({5: "dog"})
        with pytest.raises(InputError, match="answers may be missing"):
            fl.Session.open(made)
    with pytest.raises(InputError, match="answers may be missing"):
        fl.Session.open(made)
    assert labels(made, accept_missing=True) == {5: "dog"}
    with fl.Session.open(made, accept_missing=True) as found:
        found.backup(made.with_name("b.db"))
    assert labels(made.with_name("b.db")) == {5: "dog"}


def test_a_complete_session_may_be_opened_with_that_too(db: Path) -> None:
    with fl.Session.open(db, accept_missing=True) as session:
        session.tell({5: "dog"})
    assert labels(copy(db)) == {5: "dog"}


def test_a_copy_with_its_log_is_whole(session: fl.Session, db: Path) -> None:
    assert labels(copy(db, "-wal")) == {0: "cat", 1: "dog"}


def test_a_copy_of_a_closed_session_is_whole(session: fl.Session, db: Path) -> None:
    session.close()
    assert labels(copy(db)) == {0: "cat", 1: "dog"}


def move_log(db: Path) -> None:
    """Another SQLite program opens the file, moves the log to it and deletes the log."""
    with closing(sqlite3.connect(db)) as connection:
        connection.execute("SELECT count(*) FROM events").fetchall()
    assert not Path(f"{db}-wal").exists()


@pytest.mark.parametrize("name", ["s.db", "moved.db"])
def test_a_killed_session_whose_log_another_program_moved_is_complete(
    type_in: Type, db: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    run(TELL_AND_DIE, db)
    move_log(db)
    made = copy(db)
    path = db.rename(db.with_name(name))
    for read_only in (True, False, False):
        assert labels(path, read_only=read_only) == {3: "cat"}
    assert [f"{name}-wal) is gone" in one.message for one in caplog.records] == [True]
    with pytest.raises(InputError, match="answers may be missing"):
        fl.Session.open(made)


def test_every_verb_warns_that_the_log_is_gone_until_the_session_is_written(db: Path) -> None:
    run(TELL_AND_DIE, db)
    Path(f"{db}-wal").unlink()
    for words, n in ((["status"], 1), (["ask"], 1), (["ask"], 0)):
        command = [sys.executable, "-c", "from fewlabels.cli.app import main; main()", *words, "--session", str(db)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr.count("is gone") == n


def test_a_killed_session_lacks_nothing_whoever_opens_it_next(db: Path) -> None:
    run(TELL_AND_DIE, db)
    for read_only in (True, True, False):
        assert labels(db, read_only=read_only) == {3: "cat"}
    run(TELL_AND_DIE, db)
    with pytest.raises(InputError, match="made from other predictions"):
        fl.Session.open(db, {"id": [1], "predicted": ["x"]})
    assert labels(db) == {3: "cat"}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_session_that_was_not_closed_is_complete(db: Path, ending: str) -> None:
    subprocess.run([sys.executable, "-c", TELL + ENDINGS[ending], db], check=False, capture_output=True, timeout=60)
    assert not Path(f"{db}-wal").exists()
    assert labels(copy(db)) == {3: "cat"}


def test_where_nobody_may_write_a_copy_without_its_log_is_refused_too(
    session: fl.Session, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root may write anywhere, the check itself is told that it may not."""
    made = copy(db)
    for module in ("connections", "sqlite"):
        monkeypatch.setattr(f"fewlabels.sessions.journal.{module}.is_writable", lambda path: False)
    with pytest.raises(InputError, match="answers may be missing"):
        fl.Session.open(made)
    assert labels(made, accept_missing=True) == {}


def test_a_file_of_version_2_is_recognised_once_it_was_written(db: Path) -> None:
    with closing(SqliteJournal.open(db)) as journal:
        journal._connection.execute("DROP TABLE in_use")
        journal._connection.execute("ALTER TABLE events DROP COLUMN choice")
        journal._connection.execute("PRAGMA user_version = 2")
    assert labels(db, read_only=True) == {}
    with fl.Session.open(db) as session:
        session.tell({0: "cat"})
        with pytest.raises(InputError, match="answers may be missing"):
            labels(copy(db))
    assert labels(db) == {0: "cat"}


@pytest.mark.parametrize("seed", range(3))
def test_a_copy_has_everything_or_is_refused_whoever_comes_and_goes(tmp_path: Path, seed: int) -> None:
    """Connections open, write, read and close in any order; after each step the file is copied without its log."""
    rng, path, n_told, n_refused = random.Random(seed), tmp_path / "s.db", 0, 0
    SqliteJournal.create(path, {}, [Item("a", 0, 0, 0)], {}).close()
    opened: list[SqliteJournal] = []
    for k in range(40):
        step = rng.choice(["open", "read", "tell", "tell", "close"])
        if step in ("open", "read"):
            opened.append(SqliteJournal.open(path, read_only=step == "read"))
        elif step == "close" and opened:
            opened.pop(rng.randrange(len(opened))).close()
        elif step == "tell" and (writers := [one for one in opened if not one.read_only]):
            rng.choice(writers).append([NewEvent("told", "a", str(k))])
            n_told += 1
        made = copy(path, to=f"copy {k}.db")
        try:
            with closing(SqliteJournal.open(made)) as journal:
                assert len(journal.read()) == n_told, (k, step)
        except InputError as error:
            assert "answers may be missing" in str(error)  # noqa: PT017
            n_refused += 1
            assert opened, "closed sessions are complete"
    assert 0 < n_refused < 40
    for one in opened:
        one.close()
    with closing(SqliteJournal.open(path)) as journal:
        assert len(journal.read()) == n_told


def test_a_reader_only_delays_the_mark(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SqliteJournal.open(db)) as reader, fl.Session.open(db) as session:
        session.tell({0: "cat"})
        reader._connection.execute("BEGIN")
        reader._connection.execute("SELECT * FROM events").fetchall()  # which keeps it from moving anything newer
        fl.Session.open(db).close()  # which takes the mark back
        session.tell({1: "dog"})
        reader._connection.execute("COMMIT")
        session.tell({2: "dog"})
        with pytest.raises(InputError, match="answers may be missing"):
            labels(copy(db))
    assert labels(db) == {0: "cat", 1: "dog", 2: "dog"}


def test_a_mark_that_only_the_log_has_is_moved_by_the_next_process(db: Path) -> None:
    run(MARK_AND_DIE, db)
    with fl.Session.open(db) as session:
        session.tell({0: "cat"})
        with pytest.raises(InputError, match="answers may be missing"):
            labels(copy(db))


def test_a_mark_that_another_process_set_meanwhile_is_moved_too(db: Path) -> None:
    with fl.Session.open(db) as session:
        session.tell({0: "cat"})
        fl.Session.open(db).close()  # which takes the mark back
        session._store.journal._connection.execute("PRAGMA wal_checkpoint")  # type: ignore[attr-defined]
        run(MARK_AND_DIE, db)
        session.tell({1: "cat"})
        with pytest.raises(InputError, match="answers may be missing"):
            labels(copy(db))
    assert labels(db) == {0: "cat", 1: "cat"}


# backups


def test_a_backup_is_whole_private_and_needs_nothing_beside_it(
    type_in: Type, session: fl.Session, db: Path, tmp_path: Path
) -> None:
    typed = type_in("backup", "--session", db, "--out", tmp_path / "b.db")
    assert typed.code == 0
    assert "with 2 answers" in typed.out
    assert sorted(path.name for path in tmp_path.glob("*b.db*")) == ["b.db"]
    assert (tmp_path / "b.db").stat().st_mode & 0o777 == 0o600
    session.tell({2: "cat"})
    assert labels(copy(tmp_path / "b.db")) == {0: "cat", 1: "dog"}
    with fl.Session.open(tmp_path / "b.db") as other:
        other.tell({7: "dog"})
    assert labels(db) == {0: "cat", 1: "dog", 2: "cat"}


def test_a_backup_replaces_nothing(type_in: Type, session: fl.Session, db: Path, tmp_path: Path) -> None:
    (tmp_path / "b.db").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("b.db", "s.db", "link", "missing/b.db", ""):
        typed = type_in("backup", "--session", db, "--out", tmp_path / name)
        assert (typed.code, len(typed.err.splitlines())) == (1, 1), name
    assert (tmp_path / "b.db").read_text() == "precious"
    assert labels(db) == {0: "cat", 1: "dog"}


def test_a_backup_that_is_killed_is_none(session: fl.Session, db: Path, tmp_path: Path) -> None:
    run(BACK_UP_AND_DIE, db, tmp_path / "b.db")
    assert not (tmp_path / "b.db").exists()
    session.backup(tmp_path / "b.db")
    assert labels(tmp_path / "b.db") == {0: "cat", 1: "dog"}


def test_a_damaged_session_is_not_backed_up(db: Path, tmp_path: Path) -> None:
    with closing(SqliteJournal.open(db)) as journal:
        (page,) = journal._connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'items_in_line'"
        ).fetchone()
        (size,) = journal._connection.execute("PRAGMA page_size").fetchone()
    with db.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with (
        closing(SqliteJournal.open(db)) as journal,
        pytest.raises(InputError, match=r"s.db: damaged \(.*go back to an earlier copy"),
    ):
        journal.backup(tmp_path / "b.db")
    assert os.listdir(tmp_path) == ["s.db"]  # noqa: PTH208


def test_a_session_in_memory_has_no_file_to_copy(tmp_path: Path) -> None:
    session = fl.Session.create(None, {"id": [1], "predicted": ["a"]}, goal=fl.Estimate(), prior=fl.flat())
    with pytest.raises(InputError, match="the session is in memory"):
        session.backup(tmp_path / "b.db")
