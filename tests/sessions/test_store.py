"""A journal and its fold: blocks that fail, and leases while the computer's clock is set."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import fewlabels as fl
from fewlabels.active.goals.estimation import Estimate
from fewlabels.sessions.session import Session
from fewlabels.sessions.store import CHECKPOINT_EVERY

DAY = 86_400.0


def begin(path=None, n=2000, votes=1):
    pool = pd.DataFrame({"id": range(n), "predicted": ["cat", "dog"] * (n // 2)})
    return Session.create(path, pool, goal=Estimate(), prior=fl.flat(), votes=votes)


def count_events_read(session, monkeypatch):
    """Count the events that are read from the journal from now on."""
    journal, counted = session._store.journal, []
    read = journal.read
    monkeypatch.setattr(journal, "read", lambda after=0: counted.extend(found := read(after)) or found)
    return counted


def tell_together(session, *answers):
    with session.together():
        session.ask(3, who="bob", lease=60.0)
        for labels in answers:
            session.tell(labels)


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_a_refused_answer_does_not_read_the_journal_again(kind, tmp_path, monkeypatch):
    session = begin(tmp_path / "s.db" if kind == "file" else None)
    items = session.ask(600)
    session.tell(dict.fromkeys(items, "cat"))
    counted = count_events_read(session, monkeypatch)
    with pytest.raises(fl.InputError, match="no class"):
        session.tell({items[0]: "cow"})
    session.tell({items[0]: "dog"})
    assert len(counted) == 1


def test_a_block_that_fails_half_way_reads_only_the_latest_events_again(tmp_path, monkeypatch):
    session = begin(tmp_path / "s.db")
    items = session.ask(700)
    session.tell(dict.fromkeys(items, "cat"))
    session.tell({items[1]: None})
    counted = count_events_read(session, monkeypatch)
    with pytest.raises(fl.InputError, match="no class"):
        tell_together(session, {items[0]: "dog"}, {items[1]: "cow"})
    kept = session.answers()
    assert (
        len(counted) <= CHECKPOINT_EVERY + 10 + 1402
    )  # the latest, those that were lost, and all of them for `answers`
    with Session.open(tmp_path / "s.db") as again:
        assert session._store.state == again._store.state
        assert [row["label"] for row in kept].count("cat") == 699


def test_what_a_failed_block_said_is_forgotten():
    session = begin()
    (item,) = session.ask(1, who="ann", lease=60.0)
    with pytest.raises(fl.InputError):
        tell_together(session, {item: "cat"}, {item: "cow"})
    assert session.pending == [item]
    assert session.answers() == []
    assert session.ask(1, who="ann", lease=60.0) == [item]


# -- leases ---------------------------------------------------------------------------------------------------


@pytest.fixture
def clocks(monkeypatch):
    """The computer's clock, which somebody may set, and the time that has really passed."""
    clocks = {"wall": 0.0, "passed": 0.0}

    def utc_now():
        return (datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=clocks["wall"])).isoformat(timespec="milliseconds")

    for where in ("leases", "journal.memory", "journal.sqlite"):
        monkeypatch.setattr(f"fewlabels.sessions.{where}.utc_now", utc_now)
    monkeypatch.setattr("fewlabels.sessions.leases.monotonic", lambda: clocks["passed"])

    def move(passed, jump=0.0):
        clocks["passed"] += passed
        clocks["wall"] += passed + jump

    return move


def ask(session, who):
    return session.ask(1, who=who, lease=60.0)


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_leases_hold_and_end_while_the_clock_is_set(jump, clocks):
    session = begin(n=2)
    ann = ask(session, "ann") + ask(session, "ann")
    bob = ask(session, "bob")
    clocks(30, jump)
    assert ask(session, "cleo") == []  # both items are still with ann and bob
    clocks(31)
    assert ask(session, "cleo") in (ann[:1], bob)  # and now they are not


@pytest.mark.parametrize(("jump", "is_free"), [(0.0, False), (DAY, True), (-DAY, False)])
def test_a_new_process_goes_by_the_clock_but_not_by_times_to_come(jump, is_free, clocks, tmp_path):
    with begin(tmp_path / "s.db", n=2) as session:
        session.ask(2, who="ann", lease=60.0)
    clocks(30, jump)
    with Session.open(tmp_path / "s.db") as session:
        assert bool(ask(session, "bob")) == is_free
        clocks(61)
        assert ask(session, "bob") != []


def test_a_later_event_shows_that_the_clock_was_set_back(clocks, tmp_path):
    with begin(tmp_path / "s.db", n=4) as session:
        session.ask(2, who="ann", lease=60.0)
    clocks(0, -DAY)
    with Session.open(tmp_path / "s.db") as session:
        ask(session, "bob")
    clocks(61)
    with Session.open(tmp_path / "s.db") as session:  # every command of the command line is a new process
        assert len(session.ask(4, who="cleo", lease=60.0)) == 4


def test_what_another_process_asked_is_no_older_than_our_last_look(clocks, tmp_path):
    with begin(tmp_path / "s.db", n=2) as session, Session.open(tmp_path / "s.db") as other:
        clocks(0, -DAY)
        ask(other, "ann")
        ask(other, "bob")
        clocks(10, 2 * DAY)
        assert ask(session, "cleo") == []
        clocks(61)
        assert ask(session, "cleo") != []


def test_times_that_nobody_can_read_are_of_now(tmp_path):
    with begin(tmp_path / "s.db", n=2) as session:
        connection = session._store.journal._connection
        row = "INSERT INTO events (kind, item, who, at) VALUES ('asked', ?, 'ann', ?)"
        connection.executemany(row, [("0", "yesterday"), ("1", "")])
    with Session.open(tmp_path / "s.db") as session:
        assert ask(session, "bob") == []
