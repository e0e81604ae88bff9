"""Whether a session's file is complete without its write-ahead log, and how a copy without its log is recognised.

While a session is written, answers are in the log (`-wal`) before they are in the file, and the file alone cannot show that
any are missing. So before the first answer goes to the log, a mark goes to the file; closing the session removes it.
SQLite deletes the log only when the last connection is closed, after everything was moved to the file. Hence:

- no mark: the file is complete;
- a mark and a log beside the file: in use, or its process was killed; SQLite reads the log;
- a mark and no log: the file was copied without its log, or the log was deleted.

Several processes may share a file. Each that writes sets the mark again if another has removed it meanwhile.
"""

import os
import shlex
import sqlite3
import time
from pathlib import Path
from threading import RLock

from fewlabels.errors import InputError
from fewlabels.journal.events import tell_time
from fewlabels.journal.places import has_bytes, name_beside

TRIES, PAUSE = 20, 0.01  # to move the mark from the log to the file: a reader may delay it
PATIENCE = 1.0  # seconds to wait for others when closing
_MARK = "INSERT INTO in_use VALUES (?)"
_UNMARK = "DELETE FROM in_use"
_OF_PARENTS: list[sqlite3.Connection] = []  # kept, since Python closes what nothing refers to
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def begin(connection: sqlite3.Connection, *, is_moved: bool) -> bool:
    """Begin to write, once the file itself is marked; return whether it is, as far as readers let us."""
    is_moved = is_moved or _move_to_file(connection)
    connection.execute("BEGIN IMMEDIATE")
    while read_mark(connection) is None:
        connection.execute(_MARK, (tell_time(),))
        connection.execute("COMMIT")
        is_moved = _move_to_file(connection, TRIES)
        connection.execute("BEGIN IMMEDIATE")
    return is_moved


def read_mark(connection: sqlite3.Connection) -> str | None:
    """Return since when answers may be in the log alone; None where the file is complete."""
    found = connection.execute("SELECT since FROM in_use").fetchone()
    return found and found[0]


def close(connection: sqlite3.Connection) -> None:
    """Close a connection, and remove the mark before, so that SQLite never deletes the log and leaves the mark.

    It waits a moment for another process that writes; if that takes longer, the log stays and the mark with it.
    """
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        unmark(connection)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _FULL:
            _unmark_in_little_space(connection)
    finally:
        connection.close()


def close_at_last(connection: sqlite3.Connection, lock: RLock, process: int) -> None:
    """Close a connection of a journal that is garbage or whose process ends, unless a thread still writes or it is another process's.

    After a fork, closing the connection of the parent could delete the log that the parent needs.
    """
    if os.getpid() != process:
        _OF_PARENTS.append(connection)
    elif lock.acquire(timeout=PATIENCE):
        try:
            close(connection)
        finally:
            lock.release()


def refuse_without_log(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a copy without its log; our own connection to it has made an empty one at most."""
    since = read_mark(connection)
    if since is None or has_bytes(name_beside(path, "-wal")):
        return
    n_events, last = connection.execute("SELECT count(*), max(at) FROM events").fetchone()
    raise InputError(
        f"{path}: answers may be missing: it was in use when it was copied, and its log ({path.name}-wal) was not copied with it, or was "
        f"deleted. It holds {n_events:,} events, and nothing after {max(since, last or since)}. Copy the log too, or copy the "
        "session with: fewlabels backup --session ORIGINAL --out COPY. To go on without what is missing: "
        f"fewlabels backup --session {shlex.quote(str(path))} --out NEW.db --accept-missing"
    )


def unmark(connection: sqlite3.Connection) -> None:
    """Let the file say that it is complete."""
    if read_mark(connection) is None:
        return
    connection.execute("PRAGMA query_only = OFF")
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * PATIENCE)}")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(_UNMARK)
    connection.execute("COMMIT")


def _unmark_in_little_space(connection: sqlite3.Connection) -> None:
    """On a full disk there is space again once the log is moved to the file."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        unmark(connection)
    except sqlite3.Error:
        return  # the log stays too: SQLite deletes it only once all of it is in the file


def _move_to_file(connection: sqlite3.Connection, tries: int = 1) -> bool:
    """Move the log's pages to the file; return whether all were moved."""
    for k in range(tries):
        time.sleep(PAUSE if k else 0)
        is_busy, n_pages, n_moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if not is_busy and n_pages == n_moved:
            return True
    return False
