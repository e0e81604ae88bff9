"""A journal in an SQLite file, which survives kills and full disks and which several processes may share."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import finalize

from fewlabels.errors import InputError
from fewlabels.files import temporary_file
from fewlabels.sessions.journal import write_ahead_log as log
from fewlabels.sessions.journal.connections import (
    SYNC_FULL,
    SYNC_NORMAL,
    close_on_error,
    connect_to_read,
    connect_to_write,
    write_backup,
    write_new_session,
)
from fewlabels.sessions.journal.errors import ASK_OWNER, RESTORE_COPY, StorageError, translated_errors
from fewlabels.sessions.journal.events import (
    EntryItems,
    Event,
    Item,
    NewEvent,
    check_new_events,
    read_event,
    utc_now,
)
from fewlabels.sessions.journal.paths import PRIVATE, is_writable, link_new_file, require_file, require_free_path
from fewlabels.sessions.journal.schema import APPEND, COUNT, FIND, NEXT_ITEMS, READ


class SqliteJournal:
    """A journal in a file, safe for several threads and processes."""

    def __init__(self, path: Path, connection: sqlite3.Connection, read_only: bool, missing: log.Missing) -> None:
        self.path = path
        self.read_only = read_only
        self._connection = connection
        self._lock = RLock()
        self._depth = 0  # of `writing` blocks
        self._checkpointed_mark: str | None = None  # the in-use mark, once it is checkpointed to the file
        self._about = _read_about(path, connection)
        self._blobs = dict(connection.execute("SELECT name, data FROM blobs").fetchall())
        keep_mark = missing is log.Missing.ANSWERS or (read_only and missing is log.Missing.LOG)
        self._close = finalize(self, log.close_log_on_exit, connection, self._lock, os.getpid(), keep_mark=keep_mark)

    @classmethod
    def create(
        cls, path: str | Path, about: Mapping[str, Any], items: Iterable[Item], blobs: Mapping[str, bytes]
    ) -> "SqliteJournal":
        """Create a complete new file, or none; never replace an existing one."""
        path = Path(path)
        with translated_errors(path, "not created: ", "create it again"):
            require_free_path(path)
            with temporary_file(path.parent, PRIVATE) as part:
                write_new_session(part, json.dumps(about), items, blobs)
                link_new_file(part, path)
        return cls.open(path)

    @classmethod
    def open(cls, path: str | Path, read_only: bool = False, *, accept_missing: bool = False) -> "SqliteJournal":
        """Open a session, read-only if the file is not writable; refuse a copy without its log unless accepted.

        A file that is not writable and that no process is writing is read once, as it is at this moment.
        """
        path = Path(path)
        with translated_errors(path):
            require_file(path)
            read_only = read_only or not is_writable(path)
            connect = connect_to_read if read_only else connect_to_write
            connection = connect(path)
            with close_on_error(connection):
                missing = log.check_missing(connection, path, accept_missing=accept_missing)
                if missing is log.Missing.ANSWERS and not read_only:
                    log.mark_incomplete(connection)
            try:
                return cls(path, connection, read_only, missing)
            except BaseException:
                log.close(connection, keep_mark=missing is not log.Missing.NOTHING)
                raise

    @property
    def about(self) -> dict[str, Any]:
        """The settings of the session."""
        try:
            found = json.loads(self._about)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.path}: damaged: {str(error)[:100]}; {RESTORE_COPY}") from None
        return found if isinstance(found, dict) else {}

    @property
    def blobs(self) -> dict[str, bytes]:
        """Binary attachments of `about`."""
        return dict(self._blobs)

    def read(self, after: int = 0) -> list[Event]:
        """Return the events after this number, in order."""
        with self._lock, translated_errors(self.path):
            rows = self._connection.execute(READ, (after,)).fetchall()
        try:
            return [read_event(row) for row in rows]
        except ValueError as error:
            raise InputError(f"{self.path}: damaged: {error}; {RESTORE_COPY}") from None

    @contextmanager
    def writing(self, *, skip_sync: bool = False) -> Iterator[None]:
        """Run the block as one transaction, with the write lock, and commit it with or without waiting for the disk."""
        with self._lock:
            if self.read_only:
                raise InputError(f"{self.path}: not saved: it is open read-only; {ASK_OWNER}")
            depth = self._depth
            steps = _INNER if depth else _SKIP_SYNC if skip_sync else _OUTER
            try:
                self._depth = depth + 1
                self._begin(steps)
                yield
                self._commit(steps)
            except BaseException:
                self._roll_back(steps)
                raise
            finally:
                self._depth = depth

    def append(self, new_events: Iterable[NewEvent]) -> None:
        """Append all of these events or none."""
        new_events = list(new_events)
        check_new_events(new_events, self.find(new_event.item for new_event in new_events))
        with self.writing(), self._saving():
            at = utc_now()  # inside the transaction, so that times are in the order of events
            rows = ((a.kind, a.item, a.label, a.who, a.note, at, a.choice) for a in new_events)
            self._connection.executemany(APPEND, rows)

    def next_items(self, group: int, place: int, n: int) -> list[Item]:
        """Return the next n items of a group's queue, from this position on."""
        with self._lock, translated_errors(self.path):
            return [Item(*row) for row in self._connection.execute(NEXT_ITEMS, (group, place, n))]

    def find(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return the items of this session that have these ids."""
        with self._lock, translated_errors(self.path):
            rows = (self._connection.execute(FIND, (id_,)).fetchone() for id_ in ids)
            return {row[0]: Item(*row) for row in rows if row}

    def count_items(self) -> list[EntryItems]:
        """Count the items of every group and entry."""
        with self._lock, translated_errors(self.path):
            rows = self._connection.execute(COUNT).fetchall()
        if any(n != n_typed for _, _, n, _, _, n_typed in rows):
            raise InputError(f"{self.path}: damaged: some of its items cannot be read; {RESTORE_COPY}")
        return [EntryItems(*row[:5]) for row in rows]

    def set_patience(self, seconds: float) -> None:
        """Set how long to wait while another process writes."""
        with self._lock, translated_errors(self.path):
            self._connection.execute(f"PRAGMA busy_timeout = {int(1000 * seconds)}")

    def backup(self, path: str | Path) -> None:
        """Write a complete copy to a new file with mode 600, also while others write."""
        path = Path(path)
        with translated_errors(path, "not written: ", "try again"):
            require_free_path(path)
            with temporary_file(path.parent, PRIVATE) as part, closing(connect_to_read(self.path)) as source:
                write_backup(part, self.path, source)
                link_new_file(part, path)

    def close(self) -> None:
        """Close the file; the last connection to close moves the write-ahead log into it."""
        with self._lock:
            self._close()

    def _begin(self, steps: "_Steps") -> None:
        """Begin a transaction of SQLite, or a savepoint within one."""
        if self._depth > 1:
            self._require_transaction()  # a savepoint outside a transaction would be committed by itself
        with self._saving():
            self._connection.execute(steps.begin)
            if self._depth == 1:
                self._checkpointed_mark = log.begin(self._connection, self.path, self._checkpointed_mark)

    def _commit(self, steps: "_Steps") -> None:
        """Commit the transaction of SQLite."""
        self._require_transaction()
        with self._saving():
            self._connection.execute(steps.commit)

    def _roll_back(self, steps: "_Steps") -> None:
        """Roll the transaction of SQLite back."""
        if self._connection.in_transaction:
            with self._saving():
                for step in steps.rollback:
                    self._connection.execute(step)

    def _require_transaction(self) -> None:
        """Raise if SQLite has rolled back the transaction after a disk error that the block ignored."""
        if not self._connection.in_transaction:
            raise StorageError(f"{self.path}: not saved: the disk failed before; free some space and tell it again")

    def _saving(self) -> AbstractContextManager[None]:
        """Translate errors of SQLite while answers are saved."""
        return translated_errors(self.path, "not saved: ", "tell it again")


def _read_about(path: Path, connection: sqlite3.Connection) -> str:
    """Read the settings of a session from its SQLite file."""
    rows = connection.execute("SELECT about FROM meta").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], str):
        raise InputError(f"{path}: damaged: its settings are missing; {RESTORE_COPY}")
    return str(rows[0][0])


@dataclass(frozen=True)
class _Steps:
    """The statements that begin a block, commit it and roll it back."""

    begin: str
    commit: str
    rollback: tuple[str, ...]


_OUTER = _Steps(SYNC_FULL, "COMMIT", ("ROLLBACK",))
_SKIP_SYNC = _Steps(SYNC_NORMAL, "COMMIT", ("ROLLBACK",))
_INNER = _Steps("SAVEPOINT block", "RELEASE block", ("ROLLBACK TO block", "RELEASE block"))
