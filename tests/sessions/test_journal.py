"""What is told is never lost: kills, full disks, other processes and other people's files.

Tests that fork or change their own process run as `python tests/sessions/test_journal.py NAME ...`: a process of its own has
neither the threads of the test runner nor its rights.
"""

import json
import os
import random
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from fewlabels.errors import InputError
from fewlabels.files import remove_stale_files, temporary_file
from fewlabels.sessions import journal as journal_package
from fewlabels.sessions.journal import connections, schema, sqlite
from fewlabels.sessions.journal.events import Item, Journal, NewEvent
from fewlabels.sessions.journal.memory import MemoryJournal
from fewlabels.sessions.journal.sqlite import SqliteJournal

pytest.importorskip("psycopg", reason="pip install '.[postgres]'")

ABOUT = {"metric": "accuracy", "groups": ["cats", "dogs"], "seed": 5, "level": 0.95, "name": "päron"}
BLOBS = {"n_items": bytes(range(256)), "nothing": b""}
ITEMS = [Item(f"{group}-{place}", group, place, 10 * group + place % 3) for group in range(2) for place in range(20)]


def make_memory(folder, items=ITEMS):
    return MemoryJournal(ABOUT, items, BLOBS)


def make_file(folder, items=ITEMS):
    return SqliteJournal.create(folder / "pilot.fewlabels", ABOUT, items, BLOBS)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make(request):
    if request.param != "postgres":
        return make_memory if request.param == "memory" else make_file
    create = request.getfixturevalue("create_in_database")
    return lambda _, items=ITEMS: create(ABOUT, items, BLOBS)


@pytest.fixture
def journal(make, tmp_path) -> Iterator[Journal]:
    with closing(make(tmp_path)) as journal:
        yield journal


@pytest.fixture
def path(tmp_path) -> Path:
    make_file(tmp_path).close()
    return tmp_path / "pilot.fewlabels"


def told(item, label, **more):
    return NewEvent("told", item, label, **more)


def labels(journal, after=0):
    return [event.label for event in journal.read(after)]


@contextmanager
def raw(path):
    """The file as SQLite itself sees it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def is_sound(path):
    with raw(path) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def files(folder):
    return sorted(file.name for file in folder.iterdir())


def alone(work, *words):
    """Run a function of this file in a process of its own; what it prints is what it found."""
    command = [sys.executable, "-W", "error", __file__, work.__name__, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# what every journal does


def test_it_is_a_journal(journal):
    assert isinstance(journal, Journal)


def test_what_it_is_about_comes_back_and_cannot_be_changed(journal):
    assert journal.about == ABOUT
    assert journal.blobs == BLOBS
    journal.about["groups"].append("birds")
    journal.blobs["more"] = b""
    assert journal.about == ABOUT
    assert journal.blobs == BLOBS


def test_a_new_journal_is_empty(journal):
    assert journal.read() == []


def test_events_come_back_in_order_with_their_items(journal):
    before = datetime.now(UTC) - timedelta(seconds=1)
    journal.append([NewEvent("asked", "1-3")])
    journal.append([told("1-3", "cat", who="ann", note="blurred"), NewEvent("skipped", "0-2", who="bob")])
    events = journal.read()
    assert [e.seq for e in events] == [1, 2, 3]
    assert [(e.kind, e.item, e.label, e.who, e.note) for e in events] == [
        ("asked", Item("1-3", 1, 3, 10), None, "", ""),
        ("told", Item("1-3", 1, 3, 10), "cat", "ann", "blurred"),
        ("skipped", Item("0-2", 0, 2, 2), None, "bob", ""),
    ]
    times = [datetime.fromisoformat(e.at) for e in events]
    assert times == sorted(times)
    assert all(at.utcoffset() == timedelta(0) and before < at < before + timedelta(minutes=1) for at in times)


def test_reading_goes_on_after_what_was_seen(journal):
    journal.append(told("0-0", str(k)) for k in range(5))
    assert labels(journal, after=3) == ["3", "4"]
    assert labels(journal, after=5) == []
    journal.append([told("0-1", "new")])
    assert [(e.seq, e.label) for e in journal.read(after=5)] == [(6, "new")]


def test_nothing_may_be_appended(journal):
    journal.append([])
    assert journal.read() == []


@pytest.mark.parametrize("text", ["", " ", "0", "007", "it's", "a\nb", "a\x00b", "猫🐈", "'); DROP TABLE events; --"])
def test_any_text_comes_back_as_it_was(make, tmp_path, text):
    with closing(make(tmp_path, [Item(text, 0, 0, 0), Item("other", 0, 1, 0)])) as journal:
        journal.append([told(text, text, who=text, note=text)])
        (event,) = journal.read()
        assert (event.item.id, event.label, event.who, event.note) == (text, text, text, text)
        assert journal.find([text]) == {text: Item(text, 0, 0, 0)}


def test_items_line_up_by_place(make, tmp_path):
    with closing(make(tmp_path, random.Random(3).sample(ITEMS, len(ITEMS)))) as journal:
        assert journal.next_items(1, 0, 3) == ITEMS[20:23]
        assert journal.next_items(0, 17, 10) == ITEMS[17:20]
        assert journal.next_items(0, 20, 10) == []
        assert journal.next_items(0, 4, 0) == []
        assert journal.next_items(7, 0, 10) == []


def test_only_known_items_are_found(journal):
    assert journal.find(["1-0", "nobody", "0-3", "1-0"]) == {"1-0": ITEMS[20], "0-3": ITEMS[3]}
    assert journal.find([]) == {}


def test_an_item_of_another_session_is_refused_and_nothing_is_kept(journal):
    with pytest.raises(InputError, match=r"not in this session: 'x', 'y'; nothing was saved"):
        journal.append([told("0-0", "cat"), told("x", "dog"), told("y", "dog"), told("x", "cat")])
    assert journal.read() == []


def test_an_item_comes_once(make, tmp_path):
    with pytest.raises(InputError, match="item '0-0' comes twice"):
        make(tmp_path, [*ITEMS, Item("0-0", 1, 20, 0)])
    assert files(tmp_path) == []


def test_a_block_is_kept_whole(journal):
    with journal.writing():
        journal.append([told("0-0", "a")])
        assert labels(journal) == ["a"]
        journal.append([told("0-1", "b")])
    assert labels(journal) == ["a", "b"]


def tell_and_fail(journal):
    with journal.writing():
        journal.append([told("0-1", "lost")])
        with journal.writing():
            journal.append([told("0-2", "lost too")])
        raise KeyError


def test_nothing_is_kept_of_a_block_that_fails(journal):
    journal.append([told("0-0", "before")])
    with pytest.raises(KeyError):
        tell_and_fail(journal)
    journal.append([told("0-2", "after")])
    assert [(e.seq, e.label) for e in journal.read()] == [(1, "before"), (2, "after")]


def test_a_block_within_a_block_is_undone_by_itself(journal):
    with journal.writing():
        journal.append([told("0-0", "a")])
        with pytest.raises(KeyError):
            tell_and_fail(journal)
        with pytest.raises(InputError, match="not in this session"):
            journal.append([told("nobody", "lost")])
        with journal.writing():
            journal.append([told("0-2", "b")])
    assert labels(journal) == ["a", "b"]


def test_threads_take_turns(journal):
    def count_up():
        for _ in range(25):
            with journal.writing():
                journal.append([told("0-0", str(len(journal.read())))])

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert labels(journal) == [str(k) for k in range(100)]


# a file


def test_a_file_is_there_again_tomorrow(path):
    with closing(SqliteJournal.open(path)) as journal:
        journal.append([told("0-0", "cat", who="ann")])
        events = journal.read()
    with closing(SqliteJournal.open(str(path))) as journal:
        assert journal.read() == events
        assert (journal.about, journal.blobs) == (ABOUT, BLOBS)
        assert journal.next_items(0, 0, 100) + journal.next_items(1, 0, 100) == ITEMS


def test_what_is_appended_is_synced(path):
    with closing(SqliteJournal.open(path)) as journal:
        settings = [
            journal._connection.execute(f"PRAGMA {name}").fetchone() for name in ("journal_mode", "synchronous")
        ]
    assert settings == [("wal",), (2,)]


def test_answers_wait_for_the_disk_and_questions_need_not(tmp_path):
    journal = SqliteJournal.create(tmp_path / "s.db", {}, [Item("a", 0, 0, 0)], {})
    found = []
    for skip_sync in (True, False):
        with journal.writing(skip_sync=skip_sync):
            journal.append([NewEvent("asked", "a")])
            found += journal._connection.execute("PRAGMA synchronous").fetchone()
    assert found == [1, 2]  # normal, full
    assert len(journal.read()) == 2
    journal.close()


@pytest.mark.parametrize("query", ["READ", "NEXT_ITEMS", "FIND"])
def test_nothing_is_found_by_reading_everything(path, query):
    sql = getattr(schema, query)
    with raw(path) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", (0,) * sql.count("?")).fetchall()
    assert all(step[-1].startswith("SEARCH") for step in plan), plan


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM events",
        "UPDATE events SET label = 'dog'",
        "REPLACE INTO events (seq, kind, item, at) VALUES (1, 'told', '0-0', '')",
    ],
)
def test_the_journal_only_grows(path, change):
    with closing(SqliteJournal.open(path)) as journal:
        journal.append([told("0-0", "cat")])
        with pytest.raises(sqlite3.IntegrityError, match="the journal only grows"):
            journal._connection.execute(change)
        assert labels(journal) == ["cat"]


def test_a_closed_journal_may_be_closed_again_but_not_used(path):
    journal = SqliteJournal.open(path)
    journal.close()
    journal.close()
    with pytest.raises(sqlite3.ProgrammingError):
        journal.read()


def test_half_a_character_is_refused(path):
    with closing(SqliteJournal.open(path)) as journal:
        with pytest.raises(InputError, match=r"not saved: '\\udc80' is not text; tell it again without it"):
            journal.append([told("0-0", "fine"), told("0-0", "\udc80")])
        assert journal.read() == []


def test_a_link_to_a_session_is_the_session(path, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(path)
    with closing(SqliteJournal.open(link)) as journal, closing(SqliteJournal.open(path)) as same:
        journal.append([told("0-0", "cat")])
        assert labels(same) == ["cat"]
    assert files(link.parent) == ["link"]


def test_a_name_may_have_any_character(tmp_path):
    path = tmp_path / "50% of #1? päron;.db"
    SqliteJournal.create(path, ABOUT, ITEMS, BLOBS).close()
    assert files(tmp_path) == [path.name]


# creating


def test_a_new_file_needs_nothing_beside_it(path, tmp_path):
    assert files(tmp_path) == [path.name]
    assert path.stat().st_nlink == 1
    with raw(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"fewl"),)
        assert connection.execute("PRAGMA user_version").fetchone() == (4,)


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o022])
@pytest.mark.parametrize("has_links", [True, False])
def test_a_new_file_and_its_logs_are_for_the_owner_alone(tmp_path, monkeypatch, mask, has_links):
    if not has_links:
        monkeypatch.setattr(Path, "hardlink_to", refuse_links)
    before = os.umask(mask)
    try:
        with closing(make_file(tmp_path)) as journal:
            journal.append([told("0-0", "cat")])
            modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {f"pilot.fewlabels{end}": 0o600 for end in ("", "-wal", "-shm")}


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "meanwhile"])
@pytest.mark.parametrize("has_links", [True, False])
def test_a_file_that_exists_is_left_alone(path, tmp_path, monkeypatch, is_late, has_links):
    with closing(SqliteJournal.open(path)) as journal:
        journal.append([told("0-0", "precious")])
    if is_late:  # it came between our look and our link
        monkeypatch.setattr(sqlite, "require_free_path", lambda path: None)
    if not has_links:
        monkeypatch.setattr(Path, "hardlink_to", refuse_links)
    with pytest.raises(InputError, match=r"pilot.fewlabels already exists; open it, or choose another name$"):
        make_file(tmp_path)
    with closing(SqliteJournal.open(path)) as journal:
        assert labels(journal) == ["precious"]
    assert files(tmp_path) == [path.name]


def refuse_links(self, target):
    raise PermissionError(1, "Operation not permitted")


def test_a_file_system_without_links_will_do(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "hardlink_to", refuse_links)
    with closing(make_file(tmp_path)) as journal:
        assert journal.about == ABOUT
    assert files(tmp_path) == ["pilot.fewlabels"]


def test_a_folder_is_no_place_for_a_session(tmp_path):
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        SqliteJournal.create(tmp_path, ABOUT, ITEMS, BLOBS)
    with pytest.raises(InputError, match="there is no folder .*missing; create it first"):
        make_file(tmp_path / "missing")


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_what_a_deleted_session_left_is_not_played_into_a_new_one(tmp_path, ending):
    (tmp_path / f"pilot.fewlabels{ending}").write_bytes(b"old answers")
    with pytest.raises(InputError, match=f"pilot.fewlabels{ending} is left over from a deleted session; move it away"):
        make_file(tmp_path)


def test_nothing_is_left_of_a_creation_that_fails(tmp_path):
    def items():
        yield ITEMS[0]
        raise KeyError

    with pytest.raises(KeyError):
        make_file(tmp_path, items())
    with pytest.raises(InputError, match="not created: UNIQUE constraint failed: items.grp, items.place"):
        make_file(tmp_path, [Item("a", 0, 0, 0), Item("b", 0, 0, 0)])
    with pytest.raises(InputError, match="not created: File name too long"):
        SqliteJournal.create(tmp_path / ("x" * 254), ABOUT, ITEMS, BLOBS)
    assert files(tmp_path) == []


# other people's files


def make_nothing(path):
    pass


def make_text(path):
    path.write_text("id,label\n1,cat\n" * 100)


def make_emptiness(path):
    path.touch()


def make_other_database(path):
    with raw(path) as connection:
        connection.execute("CREATE TABLE events (seq)")


def make_newer(path):
    make_file(path.parent).close()
    with raw(path) as connection:
        connection.execute("PRAGMA user_version = 5")


def make_cut_short(path):
    make_file(path.parent).close()
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def make_overwritten(path):
    make_file(path.parent).close()
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (path.stat().st_size - 100))


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (make_nothing, "there is no such file; create a session first"),
        (Path.mkdir, "is a folder; name the file of a session in it"),
        (make_text, "not a session of fewlabels; name the file that was created as one"),
        (make_emptiness, "not a session of fewlabels"),
        (make_other_database, "not a session of fewlabels"),
        (make_newer, r"made by a newer fewlabels \(format 5, here 4\); upgrade fewlabels"),
        (make_cut_short, r"damaged \(database disk image is malformed\); go back to an earlier copy"),
        (make_overwritten, r"damaged \(.*\); go back to an earlier copy"),
    ],
)
def test_what_is_no_session_is_refused_and_left_as_it_is(tmp_path, prepare, words, read_only):
    path = tmp_path / "pilot.fewlabels"
    prepare(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(InputError, match=f"pilot.fewlabels.*{words}"):
        SqliteJournal.open(path, read_only=read_only)
    assert (path.read_bytes() if path.is_file() else None) == before
    assert not [name for name in files(tmp_path) if name.endswith(".part")]


def test_damage_that_shows_late_is_explained(path):
    with raw(path) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with closing(SqliteJournal.open(path)) as journal:
        for attempt in (journal.read, lambda: journal.append([told("0-0", "cat")])):
            with pytest.raises(
                InputError, match=r"damaged \(database disk image is malformed\); go back to an earlier"
            ):
                attempt()


def test_another_process_may_hold_it_too_long(path, monkeypatch):
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    with raw(path) as other, closing(SqliteJournal.open(path)) as journal:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InputError, match="not saved: another process has locked it; try again when it is done"):
            journal.append([told("0-0", "cat")])
        assert journal.read() == []  # reading waits for nobody
        other.execute("ROLLBACK")
        journal.append([told("0-0", "cat")])
        assert labels(journal) == ["cat"]


def test_we_wait_half_a_minute():
    assert connections.BUSY_SECONDS == 30


# only to read


def test_a_session_open_to_be_read_follows_the_file_and_saves_nothing(path, tmp_path):
    with closing(SqliteJournal.open(path, read_only=True)) as reader:
        with closing(SqliteJournal.open(path)) as writer:
            writer.append([told("0-0", "cat")])
            assert labels(reader) == ["cat"]
        for attempt in (lambda: reader.append([told("0-0", "dog")]), reader.writing().__enter__):
            with pytest.raises(InputError, match="not saved: it is open read-only; ask its owner"):
                attempt()
        assert labels(reader) == ["cat"]
        assert (reader.about, reader.blobs, reader.next_items(0, 0, 1)) == (ABOUT, BLOBS, ITEMS[:1])
    assert files(tmp_path) == [path.name]


def become_nobody():
    """Root may write anywhere; these tests are about those who may not."""
    Path("/").as_uri()  # loads a module, in Python 3.13, and Python itself may be where nobody can read
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


@contextmanager
def locked(*folders):
    """Let nobody change these folders and the files in them."""
    for folder in folders:
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o755)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users can see, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def read_as_nobody(path):
    """Print what can be read and what is said to an attempt to write."""
    become_nobody()
    with closing(SqliteJournal.open(path)) as journal:
        found = {"labels": labels(journal), "about": journal.about, "read_only": journal.read_only}
        try:
            journal.append([told("0-0", "intruder")])
        except InputError as error:
            found["said"] = str(error)
    print(json.dumps(found))


def complain_as_nobody(work, path):
    """Print what is said when this cannot be done."""
    become_nobody()
    try:
        {"open": SqliteJournal.open, "create": lambda p: SqliteJournal.create(p, {}, [], {})}[work](path).close()
    except InputError as error:
        print(error)


@pytest.mark.parametrize("is_live", [False, True], ids=["quiet", "while another writes"])
def test_where_we_may_not_write_we_can_read(public, is_live):
    with closing(make_file(public)) as journal:
        journal.append([told("0-0", "cat")])
        if not is_live:
            journal.close()
        before = files(public)
        with locked(public):
            found = json.loads(alone(read_as_nobody, public / "pilot.fewlabels"))
        assert files(public) == before
    assert "not saved: it is open read-only" in found.pop("said")
    assert found == {"labels": ["cat"], "about": ABOUT, "read_only": True}


def test_a_file_of_another_in_a_folder_of_all_gets_no_neighbours(public):
    """A file beside it that belongs to us would lock out its owner."""
    make_file(public).close()
    with locked(public):
        public.chmod(0o777)
        assert json.loads(alone(read_as_nobody, public / "pilot.fewlabels"))["read_only"]
    assert files(public) == ["pilot.fewlabels"]


def test_what_others_may_not_do_is_explained(public):
    path = public / "pilot.fewlabels"
    make_file(public).close()
    (public / "closed").mkdir()
    with locked(public):
        assert alone(complain_as_nobody, "create", public / "new").endswith("/new: not created: Permission denied\n")
        path.chmod(0o000)
        assert alone(complain_as_nobody, "open", path).endswith("no permission to read it; ask its owner\n")
        (public / "closed").chmod(0o000)
        assert alone(complain_as_nobody, "open", public / "closed" / "s").endswith("/s: Permission denied\n")
    (public / "closed").chmod(0o755)


def test_answers_in_a_log_that_cannot_be_read_are_not_ignored(public, tmp_path):
    with closing(make_file(tmp_path)) as journal:
        journal.append([told("0-0", "cat")])
        for ending in ("", "-wal"):
            shutil.copy(f"{journal.path}{ending}", public)
    with locked(public):
        said = alone(complain_as_nobody, "open", public / "pilot.fewlabels")
    assert said.endswith("check that its folder is writable, or work on a copy of it and its -wal\n")
    with closing(SqliteJournal.open(public / "pilot.fewlabels")) as journal:
        assert labels(journal) == ["cat"]


# a full disk


def test_a_file_that_may_not_grow_keeps_what_it_had(path):
    with closing(SqliteJournal.open(path)) as journal:
        journal.append([told("0-0", "cat")])
        (n_pages,) = journal._connection.execute("PRAGMA page_count").fetchone()
        journal._connection.execute(f"PRAGMA max_page_count = {n_pages}")
        with pytest.raises(InputError, match="pilot.fewlabels: not saved: .*full; free some space and tell it again"):
            journal.append([told("0-1", "dog" * 10000)])
        assert labels(journal) == ["cat"]
        journal._connection.execute("PRAGMA max_page_count = 100000")
        journal.append([told("0-1", "dog" * 10000)])
    with closing(SqliteJournal.open(path)) as journal:
        assert labels(journal) == ["cat", "dog" * 10000]


def tell_on_regardless(journal, fail):
    with journal.writing():
        journal.append([told("0-0", "first")])
        fail(journal)
        with pytest.raises(InputError, match="not saved: the disk failed before"):
            journal.append([told("0-2", "last")])


def test_a_block_that_goes_on_after_the_disk_failed_is_not_half_saved(path):
    with closing(SqliteJournal.open(path)) as journal:
        with pytest.raises(InputError, match="not saved: the disk failed before; free some space and tell it again"):
            tell_on_regardless(journal, lambda journal: journal._connection.execute("ROLLBACK"))  # as SQLite does then
        assert journal.read() == []
        journal.append([told("0-2", "new")])
        assert labels(journal) == ["new"]


def go_on_regardless(path):
    """The same with a disk that does fail, while a block too large for memory is written."""

    def fail(journal):
        limit_files(200_000)
        with pytest.raises(InputError, match="not saved: disk I/O error; free some space"):
            journal.append([told("0-1", "dog" * 100_000)])
        limit_files(resource.RLIM_INFINITY)

    with closing(SqliteJournal.open(path)) as journal:
        journal._connection.execute("PRAGMA cache_size = 10")
        with pytest.raises(InputError, match="not saved: the disk failed before"):
            tell_on_regardless(journal, fail)
        journal.append([told("0-2", "new")])
    with closing(SqliteJournal.open(path)) as journal:
        assert labels(journal) == ["new"]


def test_a_disk_that_fails_within_a_block_takes_all_of_it(path):
    alone(go_on_regardless, path)
    assert is_sound(path)


def limit_files(n_bytes):
    """As if the disk were full: no file of this process may become longer (Python ignores the signal)."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))


def tell_until_refused(journal):
    """Give what was acknowledged."""
    acknowledged = []
    try:
        for k in count():
            journal.append([told("0-0", str(k))])
            acknowledged.append(str(k))
    except InputError as error:
        said = str(error)
    assert said.endswith("pilot.fewlabels: not saved: disk I/O error; free some space and tell it again")
    return acknowledged


def fill_the_disk(path):
    """Append until nothing fits, look from outside, and go on when there is space again."""
    with closing(SqliteJournal.open(path)) as journal:
        limit_files(200_000)
        acknowledged = tell_until_refused(journal)
        assert labels(journal) == acknowledged
        with closing(SqliteJournal.open(path)) as other:
            assert labels(other) == acknowledged
        limit_files(resource.RLIM_INFINITY)
        journal.append([told("0-0", "after")])
    with closing(SqliteJournal.open(path)) as journal:
        assert labels(journal) == [*acknowledged, "after"]
    assert len(acknowledged) > 10
    assert is_sound(path)


def fill_the_disk_and_stop(path):
    """What is written when the process ends on a full disk is all that was acknowledged."""
    with closing(SqliteJournal.open(path)) as journal:
        limit_files(100_000)
        print(*tell_until_refused(journal))


def create_on_a_full_disk(path):
    limit_files(10_000)
    with pytest.raises(InputError, match="not created: .*; free some space and create it again"):
        SqliteJournal.create(path, ABOUT, ITEMS, {"large": bytes(20_000)})


def test_a_full_disk_loses_nothing_that_was_saved(path):
    alone(fill_the_disk, path)


def test_a_session_can_end_on_a_full_disk(path):
    acknowledged = alone(fill_the_disk_and_stop, path).split()
    with closing(SqliteJournal.open(path)) as journal:
        assert labels(journal) == acknowledged
    assert is_sound(path)


def test_nothing_is_created_on_a_full_disk(tmp_path):
    alone(create_on_a_full_disk, tmp_path / "pilot.fewlabels")
    assert files(tmp_path) == []


# an older format

VERSION_1 = """
    PRAGMA journal_mode = WAL;
    PRAGMA application_id = 1717925740;
    PRAGMA user_version = 1;
    CREATE TABLE meta (about TEXT NOT NULL);
    CREATE TABLE blobs (name TEXT PRIMARY KEY, data BLOB NOT NULL);
    CREATE TABLE items (id TEXT PRIMARY KEY, grp INTEGER NOT NULL, place INTEGER NOT NULL, entry INTEGER NOT NULL) WITHOUT ROWID;
    CREATE UNIQUE INDEX items_in_line ON items (grp, place);
    CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, item TEXT NOT NULL, label TEXT, at TEXT NOT NULL);
    CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END;
    CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END;
    CREATE TRIGGER no_replace BEFORE INSERT ON events WHEN NEW.seq IN (SELECT seq FROM events)
        BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END;
    INSERT INTO meta VALUES ('{"metric": "accuracy"}');
    INSERT INTO blobs VALUES ('n_items', x'0102');
    INSERT INTO items VALUES ('a', 0, 0, 4), ('b', 0, 1, 5);
    INSERT INTO events (kind, item, label, at) VALUES
        ('asked', 'b', NULL, '2024-05-01T10:00:00+00:00'), ('told', 'b', 'cat', '2024-05-01T10:00:09+00:00');
"""


@pytest.fixture
def old(tmp_path) -> Path:
    path = tmp_path / "old.fewlabels"
    with raw(path) as connection:
        connection.executescript(VERSION_1)
    return path


def old_events(journal):
    return [(e.seq, e.kind, e.item, e.label, e.who, e.note, e.at) for e in journal.read()][:2]


OLD_EVENTS = [
    (1, "asked", Item("b", 0, 1, 5), None, "", "", "2024-05-01T10:00:00+00:00"),
    (2, "told", Item("b", 0, 1, 5), "cat", "", "", "2024-05-01T10:00:09+00:00"),
]


def format_of(path):
    with raw(path) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_an_older_file_is_brought_up_to_date(old, path):
    with closing(SqliteJournal.open(old)) as journal:
        journal.append([told("a", "dog", who="ann", note="new")])
        assert old_events(journal) == OLD_EVENTS
        assert (journal.read()[2].seq, journal.read()[2].who) == (3, "ann")
        assert (journal.about, journal.blobs) == ({"metric": "accuracy"}, {"n_items": b"\x01\x02"})
    assert format_of(old) == 4
    with raw(old) as upgraded, raw(path) as new:
        columns = 'SELECT m.name, c.name, c.type, c."notnull", c.dflt_value FROM sqlite_master m, pragma_table_info(m.name) c ORDER BY 1, c.cid'
        assert upgraded.execute(columns).fetchall() == new.execute(columns).fetchall()
        things = "SELECT type, name FROM sqlite_master ORDER BY 1, 2"
        assert upgraded.execute(things).fetchall() == new.execute(things).fetchall()


def test_an_older_file_can_be_read_without_changing_it(old, tmp_path):
    before = old.read_bytes()
    with closing(SqliteJournal.open(old, read_only=True)) as journal:
        assert old_events(journal) == OLD_EVENTS
        with pytest.raises(InputError, match="read-only"):
            journal.append([told("a", "dog")])
    assert old.read_bytes() == before
    assert files(tmp_path) == [old.name]


def test_an_upgrade_happens_once_when_two_open_at_once(old, monkeypatch):
    """The other one is quicker, between our first look and our turn to write."""
    look = schema.read_header
    seen = iter([1, 1])
    SqliteJournal.open(old).close()
    monkeypatch.setattr(
        schema, "read_header", lambda c, name: next(seen, look(c, name)) if name == "user_version" else look(c, name)
    )
    with closing(SqliteJournal.open(old)) as journal:
        assert old_events(journal) == OLD_EVENTS


def upgrade_and_be_killed(path):
    def upgrade(connection):
        connection.execute("ALTER TABLE events ADD COLUMN who TEXT NOT NULL DEFAULT ''")
        os.kill(os.getpid(), signal.SIGKILL)

    schema.UPGRADES[1] = upgrade
    pid = fork(SqliteJournal.open, path)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def test_an_upgrade_that_is_killed_has_not_happened(old):
    alone(upgrade_and_be_killed, old)
    assert format_of(old) == 1
    with closing(SqliteJournal.open(old)) as journal:
        assert old_events(journal) == OLD_EVENTS
    assert is_sound(old)


# kills


def fork(work, *words):
    """Start a process that does this and nothing else."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work(*words)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def tell_for_ever(path, name, acknowledge):
    """Tell, and acknowledge when `append` or the block around it has returned."""
    with closing(SqliteJournal.open(path)) as journal:
        for k in count():
            if k % 2:
                journal.append([NewEvent("asked", "0-0", who=name), told("0-0", str(k), who=name)])
            else:
                with journal.writing():
                    journal.append([NewEvent("asked", "0-0", who=name)])
                    journal.append([told("0-0", str(k), who=name)])
            os.write(acknowledge, b"%d\n" % k)


def kill_some(rng, path, names):
    """Start processes that tell, kill each at a random instant, and give what each had acknowledged."""
    pipes = {name: os.pipe() for name in names}
    pids = {name: fork(tell_for_ever, path, name, pipes[name][1]) for name in names}
    for name in names:
        if name == names[-1] and rng.random() < 0.8:  # with nobody left to wait for, it will tell: wait until it does
            assert select.select([pipes[name][0]], [], [], 60)[0]
        time.sleep(rng.uniform(0, 0.01))
        os.kill(pids[name], signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(pids[name], 0)[1])
    for _, end in pipes.values():
        os.close(end)
    return {name: everything_in(pipes[name][0]).decode().split() for name in names}


def everything_in(pipe):
    with open(pipe, "rb") as file:  # noqa: PTH123
        return file.read()


def check_what_was_told(events, acknowledged):
    assert [e.kind for e in events] == ["asked", "told"] * (len(events) // 2)
    assert all(a.who == t.who for a, t in zip(events[::2], events[1::2], strict=True))
    for name, known in acknowledged.items():
        mine = [e.label for e in events if e.who == name and e.kind == "told"]
        assert mine == [str(k) for k in range(len(mine))], "in order, each once"
        assert known == mine[: len(known)], "an acknowledged answer is lost"
        assert len(mine) <= len(known) + 1, "more than was told"


def kill_tellers(path, n_kills):
    """Kill one, two or three processes at a time, and look after each time."""
    rng, seen, n, began = random.Random(8), 0, 0, time.perf_counter()
    n_acknowledged = []
    while n < int(n_kills):
        names = [f"process {n + k}" for k in range(rng.randint(1, 3))]
        n += len(names)
        acknowledged = kill_some(rng, path, names)
        n_acknowledged += map(len, acknowledged.values())
        with closing(SqliteJournal.open(path)) as journal:
            events = journal.read(after=seen)
            assert [e.seq for e in events] == list(range(seen + 1, seen + 1 + len(events)))
            check_what_was_told(events, acknowledged)
            seen += len(events)
            if rng.random() < 0.1:
                assert len(journal.read()) == seen, "an answer of an earlier process is lost"
                assert is_sound(path)
    assert is_sound(path)
    print(json.dumps({"kills": n, "seconds": time.perf_counter() - began, "acknowledged": sum(n_acknowledged)}))


def test_no_acknowledged_answer_is_lost_when_processes_are_killed(path):
    found = json.loads(alone(kill_tellers, path, 320))
    assert found["kills"] >= 320
    assert found["acknowledged"] >= 100, "they must die while they tell"


def die_at_line(k, work, *words):
    """Do this, but be killed before the k-th line of the journal's own code."""
    left = iter(range(k))

    def trace(frame, event, arg):
        if Path(frame.f_code.co_filename).parent != Path(journal_package.__file__).parent:
            return None
        if event == "line" and next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    work(*words)


def survives(work, *words):
    return os.waitstatus_to_exitcode(os.waitpid(fork(work, *words), 0)[1]) == 0


def tell_two_and_two(path):
    with closing(SqliteJournal.open(path)) as journal:
        journal.append([told("0-0", "a"), told("0-0", "b")])
        with journal.writing():
            journal.append([told("0-0", "c")])
            journal.append([told("0-0", "d")])


def kill_teller_at_every_line(path):
    """Whatever the line, what was appended at once is there at once."""
    seen, found = 0, set()
    for k in count():
        is_done = survives(die_at_line, k, tell_two_and_two, path)
        with closing(SqliteJournal.open(path)) as journal:
            new = labels(journal, after=seen)
        assert new in ([], ["a", "b"], ["a", "b", "c", "d"])
        seen += len(new)
        found.add(len(new))
        if is_done:
            break
    assert found == {0, 2, 4}
    assert is_sound(path)


def test_no_line_of_appending_is_a_bad_one_to_be_killed_at(path):
    alone(kill_teller_at_every_line, path)


def create(path, n_items, n_bytes):
    items = (Item(f"i{k}", 0, k, 0) for k in range(n_items))
    SqliteJournal.create(path, ABOUT, items, {"large": bytes(n_bytes)}).close()


def is_created(path, n_items, n_bytes):
    """Look whether it is there; then it has to be whole, and otherwise nothing is in the way of another attempt."""
    was_there = path.exists()
    if not was_there:
        create(path, n_items, n_bytes)
    with closing(SqliteJournal.open(path)) as journal:
        assert (journal.about, journal.blobs) == (ABOUT, {"large": bytes(n_bytes)})
        assert len(journal.next_items(0, 0, 10**6)) == len(journal.find(f"i{k}" for k in range(n_items))) == n_items
        journal.append([told("i0", "cat")])
        assert labels(journal) == ["cat"]
    assert is_sound(path)
    assert not list(path.parent.glob(".*.part*")), "what a killed creation left is removed by the next one"
    return was_there


def kill_creator_at_every_line(folder):
    found = set()
    for k in count():
        path = Path(folder) / f"session {k}"
        is_done = survives(die_at_line, k, create, path, 3, 10)
        found.add(is_created(path, 3, 10))
        if is_done:
            break
    assert found == {False, True}


def kill_creators(folder, n_kills):
    """Kill at instants spread over the time that creating takes, up to a while after."""
    rng, span = random.Random(9), 0.02
    for k in range(int(n_kills)):
        path = Path(folder) / f"session {k}"
        pid = fork(create, path, 1000, 100_000)
        time.sleep(rng.uniform(0, 1.5 * span))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        began = time.perf_counter()
        if not is_created(path, 1000, 100_000):
            span = time.perf_counter() - began  # this machine's, today


@pytest.mark.parametrize(("kill", "words"), [(kill_creator_at_every_line, ()), (kill_creators, (50,))])
def test_a_killed_creation_leaves_a_whole_session_or_none(tmp_path, kill, words):
    alone(kill, tmp_path, *words)


def test_a_part_that_a_living_process_makes_is_left_alone(tmp_path):
    with temporary_file(tmp_path, 0o600) as part:
        remove_stale_files(tmp_path)
        command = "import sys, pathlib, fewlabels.files as f; f.remove_stale_files(pathlib.Path(sys.argv[1]))"
        subprocess.run([sys.executable, "-c", command, tmp_path], check=True)
        assert part.exists()
    assert files(tmp_path) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="lists open files by /proc")
def test_a_part_is_not_open_while_sqlite_writes_it(tmp_path):
    with temporary_file(tmp_path, 0o600):
        opened = [str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    assert not [name for name in opened if name.endswith(".part")]


def test_only_parts_of_processes_of_this_machine_that_are_gone_are_removed(tmp_path):
    with temporary_file(tmp_path, 0o600) as part:
        own = part.name
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    host = own.split("-")[1]
    left, foreign, alive = (
        f".fewlabels-{one}-{pid}-00.part"
        for one, pid in ((host, process.pid), ("other", process.pid), (host, os.getppid()))
    )
    for name in (own, left, f"{left}-wal", foreign, alive):
        (tmp_path / name).touch()
    remove_stale_files(tmp_path)
    assert files(tmp_path) == sorted([foreign, alive])


def test_where_a_session_cannot_be_put_in_place_nothing_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "hardlink_to", refuse_links)
    monkeypatch.setattr(Path, "replace", refuse_links)
    with pytest.raises(InputError, match="not created: Operation not permitted"):
        make_file(tmp_path)
    assert files(tmp_path) == []


# several processes


def count_up(path, n):
    """Read and append within one block, opening and closing now and then."""
    for _ in range(n // 10):
        with closing(SqliteJournal.open(path)) as journal:
            for _ in range(10):
                with journal.writing():
                    journal.append([told("0-0", str(len(journal.read())), who=str(os.getpid()))])


def count_up_together(path, n_processes, n):
    pids = [fork(count_up, path, int(n)) for _ in range(int(n_processes))]
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * len(pids)


def test_processes_take_turns(path):
    alone(count_up_together, path, 4, 50)
    with closing(SqliteJournal.open(path)) as journal:
        events = journal.read()
    assert [e.label for e in events] == [str(k) for k in range(200)]
    assert [e.seq for e in events] == list(range(1, 201))
    assert len({e.who for e in events}) == 4
    assert is_sound(path)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
