"""Sessions in a PostgreSQL database: what files do, and what only a database does. The contract of journals is in `test_journal`."""

import subprocess
import sys
import threading
from contextlib import closing

import pytest

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.sessions.journal.errors import StorageError
from fewlabels.sessions.journal.events import Item, NewEvent
from fewlabels.sessions.journal.sqlite import SqliteJournal
from fewlabels.sessions.journal.storage import exists
from fewlabels.web.keys_file import get_keys_path

psycopg = pytest.importorskip("psycopg", reason="pip install '.[postgres]'")
from fewlabels.sessions.journal.postgres import PostgresJournal, split_url  # noqa: E402

ITEMS = [Item(f"i{place}", 0, place, 0) for place in range(200)]
POOL = {"id": range(60), "predicted": ["cat", "dog"] * 30}


@pytest.fixture
def journal(session_url):
    with closing(PostgresJournal.create(session_url, {}, ITEMS, {})) as made:
        yield made


def connect(url):
    return psycopg.connect(split_url(url)[0], autocommit=True)


def test_a_session_is_created_once_and_found_by_name(session_url) -> None:
    assert not exists(session_url)
    PostgresJournal.create(session_url, {"a": 1}, ITEMS, {}).close()
    assert exists(session_url)
    with pytest.raises(InputError, match="already exists"):
        PostgresJournal.create(session_url, {}, ITEMS, {})
    with closing(PostgresJournal(session_url)) as found:
        assert found.about == {"a": 1}


def test_a_creation_that_fails_leaves_nothing(session_url) -> None:
    with pytest.raises(InputError, match="comes twice"):
        PostgresJournal.create(session_url, {}, [*ITEMS, ITEMS[0]], {})
    assert not exists(session_url)


def test_several_connections_lose_and_repeat_nothing(session_url, journal) -> None:
    def tell(who: int) -> None:
        with closing(PostgresJournal(session_url)) as mine:
            for k in range(20):
                mine.append([NewEvent("told", f"i{k}", "cat", f"w{who}")])

    threads = [threading.Thread(target=tell, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = journal.read()
    assert [event.seq for event in events] == list(range(1, 81))
    assert len({(event.who, event.item.id) for event in events}) == 80


def test_processes_take_turns(session_url, journal) -> None:
    code = """
import sys
from fewlabels.sessions.journal.events import NewEvent
from fewlabels.sessions.journal.postgres import PostgresJournal
journal = PostgresJournal(sys.argv[1])
for _ in range(15):
    with journal.writing():
        journal.append([NewEvent("told", "i0", str(len(journal.read())))])
"""
    running = [subprocess.Popen([sys.executable, "-c", code, session_url]) for _ in range(2)]
    assert [one.wait(120) for one in running] == [0, 0]
    assert [event.label for event in journal.read()] == [str(k) for k in range(30)]


def test_whoever_waits_too_long_is_told_so(session_url, journal) -> None:
    with closing(PostgresJournal(session_url)) as other:
        other.set_patience(0.2)
        with journal.writing(), pytest.raises(StorageError, match="another process has locked it"):
            other.append([NewEvent("told", "i0", "cat")])
        other.append([NewEvent("told", "i0", "cat")])


def test_the_database_itself_refuses_changes_of_events(session_url, journal) -> None:
    journal.append([NewEvent("told", "i0", "cat")])
    with connect(session_url) as raw:
        for statement in (
            "UPDATE fewlabels.events SET kind = 'asked'",
            "DELETE FROM fewlabels.events",
            "TRUNCATE fewlabels.events",
        ):
            with pytest.raises(psycopg.errors.RaiseException, match="only grows"):
                raw.execute(statement)


def test_it_connects_again_when_the_database_was_away(session_url, journal) -> None:
    journal.append([NewEvent("told", "i0", "cat")])
    with connect(session_url) as raw:
        raw.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    with pytest.raises(StorageError, match="does not answer"):
        journal.append([NewEvent("told", "i1", "dog")])
    journal.append([NewEvent("told", "i1", "dog")])
    assert [event.label for event in journal.read()] == ["cat", "dog"]


def test_a_backup_is_a_file_with_every_answer(journal, tmp_path) -> None:
    journal.append([NewEvent("told", "i0", "cat", "ann", "a note"), NewEvent("skipped", "i1")])
    journal.backup(tmp_path / "copy.db")
    with closing(SqliteJournal.open(tmp_path / "copy.db")) as copy:
        assert copy.read() == journal.read()


def test_read_only_writes_nothing(session_url, journal) -> None:
    with closing(PostgresJournal(session_url, read_only=True)) as reader, pytest.raises(InputError, match="read-only"):
        reader.append([NewEvent("told", "i0", "cat")])


def test_a_session_lives_there_and_is_opened_again(session_url) -> None:
    with fl.Session.create(session_url, POOL, goal=fl.Estimate(), prior=fl.flat(), seed=1) as session:
        asked = session.ask(10)
        session.tell(dict.fromkeys(asked[:6], "cat"))
        before = session.assess().to_dict()
    with fl.Session.open(session_url) as again:
        assert again.status()["n_labels"] == 6
        assert set(again.ask(4)) == set(asked[6:])
        after = again.assess().to_dict()
    assert before["groups"] == after["groups"]


def test_the_command_line_takes_an_address(session_url, tmp_path, type_in) -> None:
    (tmp_path / "p.csv").write_text("id,predicted\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(20)))
    ask = ("ask", str(tmp_path / "p.csv"), "--session", session_url, "--prior", "flat", "-n", "2")
    first, second = type_in(*ask), type_in(*ask)
    assert first.code == second.code == 0, first.err + second.err
    with fl.Session.open(session_url) as session:
        item, _ = session.pending
    assert type_in("tell", "--session", session_url, f"{item}=a").code == 0
    assert type_in("status", "--session", session_url).code == 0
    with fl.Session.open(session_url) as session:
        assert session.status()["n_labels"] == 1
    missing = type_in("status", "--session", f"{session_url}-other")
    assert missing.code == 1
    assert "no such session" in missing.err


def test_addresses_without_a_name_or_a_server_are_refused() -> None:
    with pytest.raises(InputError, match="say which session"):
        split_url("postgresql://ann:secret@host/db")
    with pytest.raises(StorageError, match=r"does not answer") as said:
        exists("postgresql://ann:secret@127.0.0.1:9/db?session=x")
    assert "secret" not in str(said.value)
    assert str(get_keys_path("postgresql://h/db?session=audit")) == "audit.keys"
