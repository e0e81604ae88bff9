"""Recognise a session's file that was copied without its write-ahead log, and so may lack answers.

While a session is written, answers are in the log (`-wal`) before they are in the file, and the file alone cannot show
that any are missing. So before the first answer goes to the log, a mark goes to the file. Closing the session removes
it. SQLite deletes the log only when the last connection is closed, after a full checkpoint. The mark contains the
file's inode, which a copy does not share. Hence:

- no mark: the file is complete;
- a mark and a log beside the file: in use, or its process was killed; SQLite reads the log;
- the mark of another file and no log: the file was copied without its log;
- the mark of this file and no log: after a kill another SQLite program moved the log to the file, or the log was deleted.

Several processes may share a file. Each that writes sets the mark again if another has removed it meanwhile.
"""

import logging
import os
import shlex
import sqlite3
import time
from enum import Enum
from functools import cache
from pathlib import Path
from threading import RLock

from fewlabels.errors import InputError
from fewlabels.sessions.journal.events import utc_now
from fewlabels.sessions.journal.paths import is_nonempty, sidecar_path

CHECKPOINT_TRIES, CHECKPOINT_PAUSE = 20, 0.01  # of a checkpoint that moves the mark to the file: a reader may delay it
CLOSE_TIMEOUT = 1.0  # seconds to wait for other processes when closing
INCOMPLETE = "incomplete"  # instead of the file's identity: written after missing answers were accepted
_MARK = "INSERT INTO in_use VALUES (?)"
_REPLACE = "UPDATE in_use SET since = ?"
_UNMARK = "DELETE FROM in_use"
_INHERITED_CONNECTIONS: list[sqlite3.Connection] = []  # kept alive, since Python closes a connection that is garbage
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_COPIED = (
    "{path}: answers may be missing: it was copied while in use, without its log ({name}-wal). Copy both, or type: "
    "fewlabels backup --session ORIGINAL --out COPY; to go on with the {n_events:,} events it holds: "
    "fewlabels backup --session {quoted} --out NEW --accept-missing"
)
_GONE = (
    "%s: its log (%s-wal) is gone: after a kill, another program moved it to the file, and nothing is missing; "
    "only if the log was deleted, or the file restored from a copy, answers may be missing"
)
logger = logging.getLogger(__name__)


class Missing(Enum):
    """What may be missing from a file."""

    NOTHING = "nothing"
    LOG = "log"  # of this file; what it held is in the file unless the log was deleted
    ANSWERS = "answers"


def begin(connection: sqlite3.Connection, path: Path, checkpointed: str | None) -> str | None:
    """Begin a write transaction once the write-ahead log's mark is in the file; return it, None if readers delay it."""
    connection.execute("BEGIN IMMEDIATE")
    mark = read_mark(connection)
    while mark is None or mark != checkpointed:
        tries, mark = (1, mark) if mark else (CHECKPOINT_TRIES, _write_mark(connection, path))
        connection.execute("COMMIT")
        checkpointed = mark if _checkpoint(connection, tries) else None
        connection.execute("BEGIN IMMEDIATE")
        mark = read_mark(connection)
        if mark is not None and checkpointed is None:
            break
    return checkpointed


def read_mark(connection: sqlite3.Connection) -> str | None:
    """Return the mark: since when answers may be only in the write-ahead log, and of which file; None if complete."""
    found = connection.execute("SELECT since FROM in_use").fetchone()
    return found and found[0]


def close(connection: sqlite3.Connection, *, keep_mark: bool = False) -> None:
    """Remove the mark of the write-ahead log, then close the connection, so that no deleted log leaves a mark.

    It waits up to a second for another process that writes; after that, the log and the mark both stay.
    """
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if not keep_mark:
            clear_mark(connection)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _FULL:
            _clear_mark_on_full_disk(connection)
    finally:
        connection.close()


def close_log_on_exit(connection: sqlite3.Connection, lock: RLock, process: int, *, keep_mark: bool) -> None:
    """Remove the write-ahead log's mark and close a journal that is dropped or exits, unless a thread still writes.

    A connection inherited by a fork is not closed: that could delete the log that the parent needs.
    """
    if os.getpid() != process:
        _INHERITED_CONNECTIONS.append(connection)
    elif lock.acquire(timeout=CLOSE_TIMEOUT):
        try:
            close(connection, keep_mark=keep_mark)
        finally:
            lock.release()


def check_missing(connection: sqlite3.Connection, path: Path, *, accept_missing: bool) -> Missing:
    """Refuse a copy without its write-ahead log unless that is accepted, and warn if the file's own log is gone."""
    mark = read_mark(connection)
    missing = _find_missing(mark, path)
    if missing is Missing.ANSWERS and not accept_missing:
        (n_events,) = connection.execute("SELECT count(*) FROM events").fetchone()
        raise InputError(_COPIED.format(path=path, name=path.name, n_events=n_events, quoted=shlex.quote(path.name)))
    if missing is Missing.LOG:
        _warn_once(path, mark)
    return missing


def _find_missing(mark: str | None, path: Path) -> Missing:
    """Return what may be missing without the write-ahead log; one that our own connection created is empty."""
    _, _, file = (mark or "").partition(" ")
    if mark is None or (file != INCOMPLETE and is_nonempty(sidecar_path(path, "-wal"))):
        return Missing.NOTHING
    return Missing.LOG if file == _identify_file(path) else Missing.ANSWERS


@cache
def _warn_once(path: Path, _: str | None) -> None:
    """Warn once per mark of a write-ahead log: a command may open a file several times."""
    logger.warning(_GONE, path, path.name)


def mark_incomplete(connection: sqlite3.Connection) -> None:
    """Mark a file that lacks answers of its write-ahead log as incomplete, also for when it has a log again."""
    connection.execute(_REPLACE, (f"{utc_now()} {INCOMPLETE}",))


def _write_mark(connection: sqlite3.Connection, path: Path) -> str:
    """Write the mark of the write-ahead log into the file: the time, and which file it is."""
    mark = f"{utc_now()} {_identify_file(path)}"
    connection.execute(_MARK, (mark,))
    return mark


def _identify_file(path: Path) -> str:
    """Return device and inode for the mark of the write-ahead log: the same after a move on the disk, different for a copy."""
    found = path.stat()
    return f"{found.st_dev}:{found.st_ino}"


def clear_mark(connection: sqlite3.Connection) -> None:
    """Remove the mark of the write-ahead log: the file is complete."""
    if read_mark(connection) is None:
        return
    connection.execute("PRAGMA query_only = OFF")
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * CLOSE_TIMEOUT)}")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(_UNMARK)
    connection.execute("COMMIT")


def _clear_mark_on_full_disk(connection: sqlite3.Connection) -> None:
    """Remove the write-ahead log's mark on a full disk, after a checkpoint that truncates the log frees space."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        clear_mark(connection)
    except sqlite3.Error:
        return  # the log stays too: SQLite deletes it only after a full checkpoint


def _checkpoint(connection: sqlite3.Connection, tries: int = 1) -> bool:
    """Checkpoint the write-ahead log into the file; return whether all pages were moved."""
    for k in range(tries):
        time.sleep(CHECKPOINT_PAUSE if k else 0)
        is_busy, n_pages, n_checkpointed = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if not is_busy and n_pages == n_checkpointed:
            return True
    return False
