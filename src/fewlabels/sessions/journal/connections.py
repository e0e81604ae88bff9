"""SQLite connections to a session's file: to write, read, create and copy it."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from fewlabels.errors import InputError
from fewlabels.sessions.journal.events import Item, require_unique_ids
from fewlabels.sessions.journal.paths import is_nonempty, is_writable, sidecar_path
from fewlabels.sessions.journal.schema import INDEX, SCHEMA, VERSION, read_header, require_session_file, upgrade
from fewlabels.sessions.journal.write_ahead_log import clear_mark

BUSY_SECONDS = 30.0
SYNC_FULL, SYNC_NORMAL = (
    f"PRAGMA synchronous = {how}" for how in ("FULL", "NORMAL")
)  # whether a commit waits for the disk


def connect(path: Path, choice: str = "") -> sqlite3.Connection:
    """Open a connection to a journal that all threads may use: the journal locks it."""
    name = f"{path.absolute().as_uri()}?mode=rw{choice}"
    return sqlite3.connect(name, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def connect_to_write(path: Path) -> sqlite3.Connection:
    """Open a connection to a session to write it, and upgrade it to the current schema."""
    connection = connect(path)
    with close_on_error(connection):
        require_session_file(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        enable_full_sync(connection)
        upgrade(connection)
    return connection


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a connection to a session to read it, or copy it into memory if later changes cannot be read.

    To read a file in WAL mode SQLite creates files beside it. Where the file is not ours to write, we must not create
    them, or its owner could no longer write. If there is no log, no process is writing and SQLite does not need them.
    """
    is_immutable = not is_writable(path) and not is_nonempty(sidecar_path(path, "-wal"))
    connection = connect(path, "&immutable=1" if is_immutable else "")
    with close_on_error(connection):
        connection.execute("PRAGMA query_only = ON")
        require_session_file(connection, path)
        is_outdated = read_header(connection, "user_version") < VERSION
    return _copy_to_memory(connection) if is_immutable or is_outdated else connection


def _copy_to_memory(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a connection to a copy of a session in memory, where it can be upgraded and does not change."""
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    with closing(connection), close_on_error(copy):
        connection.backup(copy)
        upgrade(copy)
    return copy


@contextmanager
def close_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    """Close the journal's connection if the block raises."""
    with ExitStack() as stack:
        stack.callback(connection.close)
        yield
        stack.pop_all()


def enable_full_sync(connection: sqlite3.Connection) -> None:
    """Make a connection's commits survive a power cut, also on macOS, where a plain fsync leaves the disk's cache."""
    connection.execute(SYNC_FULL)
    connection.execute("PRAGMA fullfsync = ON")


def write_new_session(path: Path, about: str, items: Iterable[Item], blobs: Mapping[str, bytes]) -> None:
    """Write a complete session to a temporary file, by a connection of its own."""
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")  # a killed creation leaves only a temporary file
        enable_full_sync(connection)
        connection.execute("BEGIN")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO meta VALUES (?)", (about,))
        connection.executemany("INSERT INTO blobs VALUES (?, ?)", blobs.items())
        rows = ((item.id, item.group, item.place, item.entry) for item in require_unique_ids(items))
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", rows)
        connection.execute(INDEX)  # sorting all rows once is faster than inserting each into the index
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def write_backup(part: Path, path: Path, source: sqlite3.Connection) -> None:
    """Copy the session at this path by a connection of its own, without delaying writers; later events are left out."""
    with closing(connect(part)) as connection:
        enable_full_sync(connection)
        source.backup(connection)
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise InputError(f"{path}: damaged ({' '.join(found.split())}); go back to an earlier copy")
        clear_mark(connection)
