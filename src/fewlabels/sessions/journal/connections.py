"""Connections to a session's file: to write it, to read it, to make it and to copy it."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from fewlabels.errors import InputError
from fewlabels.sessions.journal.events import Item, each_once
from fewlabels.sessions.journal.paths import has_bytes, is_writable, name_beside
from fewlabels.sessions.journal.schema import INDEX, SCHEMA, VERSION, read_header, refuse_other_than_session, upgrade
from fewlabels.sessions.journal.write_ahead_log import unmark

BUSY_SECONDS = 30.0
PATIENT, HASTY = (f"PRAGMA synchronous = {how}" for how in ("FULL", "NORMAL"))  # does a commit wait for the disk?


def connect(path: Path, choice: str = "") -> sqlite3.Connection:
    """Every thread may use the connection: there is a lock around it."""
    name = f"{path.absolute().as_uri()}?mode=rw{choice}"
    return sqlite3.connect(name, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def connect_to_write(path: Path) -> sqlite3.Connection:
    """Open a session to write it, and bring it up to date."""
    connection = connect(path)
    with closed_if_it_fails(connection):
        refuse_other_than_session(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        sync_always(connection)
        upgrade(connection)
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Follow the file, or copy it into memory where it cannot be followed.

    SQLite reads with the help of files beside it. Where we may not write these must not be ours, or the owner could no
    longer write; but if the owner has none, nobody is writing just now and they are not needed.
    """
    is_quiet = not is_writable(path) and not has_bytes(name_beside(path, "-wal"))
    connection = connect(path, "&immutable=1" if is_quiet else "")
    with closed_if_it_fails(connection):
        connection.execute("PRAGMA query_only = ON")
        refuse_other_than_session(connection, path)
        is_old = read_header(connection, "user_version") < VERSION
    return _copied(connection) if is_quiet or is_old else connection


def _copied(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Copy a session into memory, where it can be upgraded and where nobody changes it."""
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    with closing(connection), closed_if_it_fails(copy):
        connection.backup(copy)
        upgrade(copy)
    return copy


@contextmanager
def closed_if_it_fails(connection: sqlite3.Connection) -> Iterator[None]:
    """Leave no connection behind where a block fails."""
    with ExitStack() as stack:
        stack.callback(connection.close)
        yield
        stack.pop_all()


def sync_always(connection: sqlite3.Connection) -> None:
    """What is saved outlives a power cut, also on macOS, where a plain sync stops at the disk's own memory."""
    connection.execute(PATIENT)
    connection.execute("PRAGMA fullfsync = ON")


def build(path: Path, about: str, items: Iterable[Item], blobs: Mapping[str, bytes]) -> None:
    """Write a whole session under a name that nobody else knows."""
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")  # if this is killed, the file is litter anyway
        sync_always(connection)
        connection.execute("BEGIN")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO meta VALUES (?)", (about,))
        connection.executemany("INSERT INTO blobs VALUES (?, ?)", blobs.items())
        rows = ((item.id, item.group, item.place, item.entry) for item in each_once(items))
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", rows)
        connection.execute(INDEX)  # sorting all rows once is quicker than finding each its place
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def copy_to(part: Path, path: Path, source: sqlite3.Connection) -> None:
    """Copy a session at this path as it is at this moment; what is written meanwhile is not in the copy, and writers are not delayed."""
    with closing(connect(part)) as connection:
        sync_always(connection)
        source.backup(connection)
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise InputError(f"{path}: damaged ({' '.join(found.split())}); go back to an earlier copy")
        unmark(connection)
