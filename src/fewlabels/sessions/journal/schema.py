"""The tables and queries of a session's file, and the upgrades of files of earlier versions."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from fewlabels.errors import InputError
from fewlabels.sessions.journal.errors import NOT_A_SESSION

APPLICATION_ID = int.from_bytes(b"fewl")  # in the header of every session, to recognise other SQLite files
VERSION = 4  # of the schema


_IN_USE = "CREATE TABLE in_use (since TEXT NOT NULL)"  # see `write_ahead_log`
_REFUSE = "BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END"
SCHEMA = (
    "CREATE TABLE meta (about TEXT NOT NULL)",
    "CREATE TABLE blobs (name TEXT PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE TABLE items (id TEXT PRIMARY KEY, grp INTEGER NOT NULL, place INTEGER NOT NULL, entry INTEGER NOT NULL)"
    " WITHOUT ROWID",
    "CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, item TEXT NOT NULL, label TEXT,"
    " at TEXT NOT NULL, who TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '', choice TEXT NOT NULL DEFAULT '')",
    f"CREATE TRIGGER no_delete BEFORE DELETE ON events {_REFUSE}",
    f"CREATE TRIGGER no_update BEFORE UPDATE ON events {_REFUSE}",
    f"CREATE TRIGGER no_replace BEFORE INSERT ON events WHEN NEW.seq IN (SELECT seq FROM events) {_REFUSE}",
    _IN_USE,
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
INDEX = "CREATE UNIQUE INDEX items_in_line ON items (grp, place)"
READ = (
    "SELECT seq, kind, id, grp, place, entry, label, who, note, at, choice"
    " FROM events LEFT JOIN items ON items.id = events.item WHERE seq > ? ORDER BY seq"
)
COUNT = (
    "SELECT grp, entry, count(*), min(place), max(place),"
    " sum(typeof(id) = 'text' AND typeof(grp) = 'integer' AND typeof(place) = 'integer' AND typeof(entry) = 'integer')"
    " FROM items GROUP BY grp, entry"
)
APPEND = "INSERT INTO events (kind, item, label, who, note, at, choice) VALUES (?, ?, ?, ?, ?, ?, ?)"
NEXT_ITEMS = "SELECT id, grp, place, entry FROM items WHERE grp = ? AND place >= ? ORDER BY place LIMIT ?"
FIND = "SELECT id, grp, place, entry FROM items WHERE id = ?"


def _add_who_and_note(connection: sqlite3.Connection) -> None:
    """Upgrade a file's schema from version 1, which did not store annotators and notes."""
    for column in ("who", "note"):
        connection.execute(f"ALTER TABLE events ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")


def _add_mark(connection: sqlite3.Connection) -> None:
    """Upgrade a file's schema from version 2, which could not recognise a copy without its log."""
    connection.execute(_IN_USE)


def _add_choice(connection: sqlite3.Connection) -> None:
    """Upgrade a file's schema from version 3, in which the policy chose every item."""
    connection.execute("ALTER TABLE events ADD COLUMN choice TEXT NOT NULL DEFAULT ''")


UPGRADES: dict[int, Callable[[sqlite3.Connection], None]] = {  # from this version to the next
    1: _add_who_and_note,
    2: _add_mark,
    3: _add_choice,
}


def upgrade(connection: sqlite3.Connection) -> None:
    """Upgrade an older file to the current SQLite schema in one transaction: a killed upgrade changes nothing."""
    if read_header(connection, "user_version") == VERSION:
        return  # without the lock: opening must not wait for writers
    connection.execute("BEGIN IMMEDIATE")
    for version in range(
        read_header(connection, "user_version"), VERSION
    ):  # read again: another process may have upgraded it
        UPGRADES[version](connection)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def require_session_file(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse files without the SQLite schema of a session, and sessions of newer versions."""
    version = read_header(connection, "user_version")
    if read_header(connection, "application_id") != APPLICATION_ID or version < min(UPGRADES):
        raise InputError(f"{path}: {NOT_A_SESSION}")
    if version > VERSION:
        raise InputError(f"{path}: made by a newer fewlabels (format {version}, here {VERSION}); upgrade fewlabels")


def read_header(connection: sqlite3.Connection, name: str) -> int:
    """Read a number, such as the version of the SQLite schema, from the header of the file."""
    (number,) = connection.execute(f"PRAGMA {name}").fetchone()
    return number
