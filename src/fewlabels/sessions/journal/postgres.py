"""A journal in a PostgreSQL database, for several servers that share a session; needs the extra `postgres`.

Texts are stored as UTF-8 bytes, because PostgreSQL's text cannot hold every character. Writers of a session take turns by
locking its row, so events have numbers without gaps, as in a file.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg import errors

from fewlabels.errors import InputError
from fewlabels.files import temporary_file
from fewlabels.sessions.journal.connections import write_new_session
from fewlabels.sessions.journal.errors import ALREADY_EXISTS, ASK_OWNER, StorageError, UnusableError, translated_errors
from fewlabels.sessions.journal.events import (
    EntryItems,
    Event,
    Item,
    NewEvent,
    check_new_events,
    read_event,
    require_unique_ids,
    utc_now,
)
from fewlabels.sessions.journal.paths import PRIVATE, link_new_file, require_free_path
from fewlabels.text import redact_passwords

T = TypeVar("T")
VERSION = 1  # of the tables
SCHEMA = """
CREATE SCHEMA IF NOT EXISTS fewlabels;
CREATE TABLE IF NOT EXISTS fewlabels.sessions (id serial PRIMARY KEY, name text UNIQUE NOT NULL, version int NOT NULL, about text NOT NULL);
CREATE TABLE IF NOT EXISTS fewlabels.blobs (session int NOT NULL REFERENCES fewlabels.sessions, name text NOT NULL, data bytea NOT NULL, PRIMARY KEY (session, name));
CREATE TABLE IF NOT EXISTS fewlabels.items (session int NOT NULL REFERENCES fewlabels.sessions, id bytea NOT NULL, grp int NOT NULL, place int NOT NULL,
  entry int NOT NULL, PRIMARY KEY (session, id), UNIQUE (session, grp, place));
CREATE TABLE IF NOT EXISTS fewlabels.events (session int NOT NULL, seq int NOT NULL, kind text NOT NULL, item bytea NOT NULL, label bytea, at text NOT NULL,
  who bytea NOT NULL, note bytea NOT NULL, choice text NOT NULL, PRIMARY KEY (session, seq), FOREIGN KEY (session, item) REFERENCES fewlabels.items (session, id));
CREATE OR REPLACE FUNCTION fewlabels.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the journal only grows'; END $$;
CREATE OR REPLACE TRIGGER only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON fewlabels.events EXECUTE FUNCTION fewlabels.refuse();
"""
LOCK_SCHEMA = "SELECT pg_advisory_xact_lock(7306929)"  # two processes must not create the tables at once
READ = (
    "SELECT seq, kind, id, grp, place, entry, label, who, note, at, choice FROM fewlabels.events"
    " LEFT JOIN fewlabels.items ON items.session = events.session AND items.id = events.item"
    " WHERE events.session = %s AND seq > %s ORDER BY seq"
)
APPEND = (
    "INSERT INTO fewlabels.events (session, seq, kind, item, label, who, note, at, choice)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
LAST = "SELECT coalesce(max(seq), 0) FROM fewlabels.events WHERE session = %s"
NEXT_ITEMS = "SELECT id, grp, place, entry FROM fewlabels.items WHERE session = %s AND grp = %s AND place >= %s ORDER BY place LIMIT %s"
FIND = "SELECT id, grp, place, entry FROM fewlabels.items WHERE session = %s AND id = ANY(%s)"
COUNT = (
    "SELECT grp, entry, count(*), min(place), max(place) FROM fewlabels.items WHERE session = %s GROUP BY grp, entry"
)
COPY_ITEMS = "COPY fewlabels.items (session, id, grp, place, entry) FROM STDIN"
LOCK_SESSION = "SELECT id FROM fewlabels.sessions WHERE id = %s FOR UPDATE"
BLOBS = "SELECT name, data FROM fewlabels.blobs WHERE session = %s"
FIND_SESSION = "SELECT id, version, about FROM fewlabels.sessions WHERE name = %s"
TO_FILE = "INSERT INTO events (seq, kind, item, label, who, note, at, choice) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class PostgresJournal:
    """A journal in a database, safe for several threads, processes and machines."""

    def __init__(self, url: str, read_only: bool = False) -> None:
        self.url, self._address, name = redact_passwords(url), *split_url(url)
        self.read_only, self._lock, self._depth, self._patience = read_only, RLock(), 0, 0.0
        self._connection = self._connect()
        try:
            self._session, self._about, self._blobs = self._find(name)
        except BaseException:
            self.close()
            raise

    def _find(self, name: str) -> tuple[int, str, dict[str, bytes]]:
        """Return the number, the settings and the attachments of a session."""
        found = self._run(lambda c: c.execute(FIND_SESSION, (name,)).fetchone())
        if found is None:
            raise InputError(f"{self.url}: there is no such session in this database")
        session, version, about = found
        if version > VERSION:
            raise InputError(f"{self.url}: made by a newer fewlabels (format {version}, here {VERSION}); upgrade fewlabels")  # fmt: skip
        rows = self._run(lambda c: c.execute(BLOBS, (session,)).fetchall())
        return session, about, {name: bytes(data) for name, data in rows}

    @classmethod
    def create(
        cls, url: str, about: Mapping[str, Any], items: Iterable[Item], blobs: Mapping[str, bytes]
    ) -> "PostgresJournal":
        """Create a complete new session, or none; never replace an existing one."""
        address, name = split_url(url)
        with _translated(redact_passwords(url)), closing(psycopg.connect(address)) as connection:
            connection.execute(LOCK_SCHEMA)
            connection.execute(SCHEMA)
            if connection.execute(FIND_SESSION, (name,)).fetchone():
                raise InputError(f"{redact_passwords(url)}: {ALREADY_EXISTS}")
            row = connection.execute(
                "INSERT INTO fewlabels.sessions (name, version, about) VALUES (%s, %s, %s) RETURNING id",
                (name, VERSION, json.dumps(about)),
            ).fetchone()
            assert row is not None
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO fewlabels.blobs VALUES (%s, %s, %s)", [(row[0], *blob) for blob in blobs.items()])  # fmt: skip
                with cursor.copy(COPY_ITEMS) as copy:
                    for item in require_unique_ids(items):
                        copy.write_row((row[0], item.id.encode(), *item[1:]))
            connection.commit()
        return cls(url)

    @property
    def about(self) -> dict[str, Any]:
        """The settings of the session."""
        found: dict[str, Any] = json.loads(self._about)
        return found

    @property
    def blobs(self) -> dict[str, bytes]:
        """Binary attachments of `about`."""
        return dict(self._blobs)

    def read(self, after: int = 0) -> list[Event]:
        """Return the events after this number, in order."""
        rows = self._run(lambda c: c.execute(READ, (self._session, after)).fetchall())
        try:
            return [read_event(tuple(map(_decode, row))) for row in rows]
        except ValueError as error:
            raise InputError(f"{self.url}: damaged: {error}") from None

    @contextmanager
    def writing(self, *, skip_sync: bool = False) -> Iterator[None]:
        """Run the block as one transaction that holds the lock of the session."""
        with self._lock, _translated(self.url, "not saved: "):
            if self.read_only:
                raise InputError(f"{self.url}: not saved: it is open read-only; {ASK_OWNER}")
            if not self._depth:
                self._reconnect()
            self._depth += 1
            try:
                with self._connection.transaction():
                    if self._depth == 1:
                        if skip_sync:
                            self._connection.execute("SET LOCAL synchronous_commit = off")
                        self._connection.execute(LOCK_SESSION, (self._session,))
                    yield
            finally:
                self._depth -= 1

    def append(self, new_events: Iterable[NewEvent]) -> None:
        """Append all of these events or none."""
        new_events = list(new_events)
        check_new_events(new_events, self.find(new_event.item for new_event in new_events))
        with self.writing(), self._connection.cursor() as cursor:
            row = cursor.execute(LAST, (self._session,)).fetchone()
            at, last = (
                utc_now(),
                0 if row is None else row[0],
            )  # inside the lock, so that times are in the order of events
            cursor.executemany(APPEND, [
                (self._session, seq, a.kind, a.item.encode(), None if a.label is None else a.label.encode(), a.who.encode(), a.note.encode(), at, a.choice)
                for seq, a in enumerate(new_events, start=last + 1)
            ])  # fmt: skip

    def next_items(self, group: int, place: int, n: int) -> list[Item]:
        """Return the next n items of a group's queue, from this position on."""
        rows = self._run(lambda c: c.execute(NEXT_ITEMS, (self._session, group, place, n)).fetchall())
        return [Item(bytes(id_).decode(), *rest) for id_, *rest in rows]

    def find(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return the items of this session that have these ids."""
        wanted = [id_.encode() for id_ in dict.fromkeys(ids)]
        rows = self._run(lambda c: c.execute(FIND, (self._session, wanted)).fetchall()) if wanted else []
        return {item.id: item for item in (Item(bytes(id_).decode(), *rest) for id_, *rest in rows)}

    def count_items(self) -> list[EntryItems]:
        """Count the items of every group and entry."""
        return [EntryItems(*row) for row in self._run(lambda c: c.execute(COUNT, (self._session,)).fetchall())]

    def set_patience(self, seconds: float) -> None:
        """Set how long to wait while another process writes."""
        self._patience = seconds
        self._run(lambda c: c.execute(f"SET lock_timeout = {int(1000 * seconds)}"))

    def backup(self, path: str | Path) -> None:
        """Write a complete copy to a new file of SQLite, with mode 600."""
        path, events = Path(path), self.read()
        rows = self._run(lambda c: c.execute("SELECT id, grp, place, entry FROM fewlabels.items WHERE session = %s", (self._session,)).fetchall())  # fmt: skip
        items = (Item(bytes(id_).decode(), *rest) for id_, *rest in rows)
        with translated_errors(path, "not written: "):
            require_free_path(path)
            with temporary_file(path.parent, PRIVATE) as part:
                write_new_session(part, self._about, items, self._blobs)
                with closing(sqlite3.connect(part)) as copy, copy:
                    copy.executemany(TO_FILE, [(e.seq, e.kind, e.item.id, e.label, e.who, e.note, e.at, e.choice) for e in events])  # fmt: skip
                link_new_file(part, path)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _connect(self) -> psycopg.Connection[Any]:
        """Connect to the PostgreSQL database."""
        with _translated(self.url):
            connection = psycopg.connect(self._address, autocommit=True)
            connection.execute(f"SET lock_timeout = {int(1000 * self._patience)}")
            return connection

    def _reconnect(self) -> None:
        """Connect again after the database went away; a block that was open then is lost as a whole."""
        if self._connection.broken:
            self._connection = self._connect()

    def _run(self, query: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Run a query on the PostgreSQL database, connected again if the connection is lost."""
        with self._lock, _translated(self.url):
            if not self._depth:
                self._reconnect()
            return query(self._connection)


def split_url(url: str) -> tuple[str, str]:
    """Split the PostgreSQL address of a session into the address of its database and its name.

    >>> split_url("postgresql://ann@db.example.org/labels?session=audit&sslmode=require")
    ('postgresql://ann@db.example.org/labels?sslmode=require', 'audit')
    """
    parts = urlsplit(url)
    words = dict(parse_qsl(parts.query))
    name = words.pop("session", "")
    if not name:
        raise InputError(f"{redact_passwords(url)}: say which session: postgresql://user@host/database?session=NAME")
    return urlunsplit(parts._replace(query=urlencode(words))), name


def _decode(value: Any) -> Any:
    """Return text that PostgreSQL may return as bytes."""
    return bytes(value).decode() if isinstance(value, bytes | memoryview) else value


@contextmanager
def _translated(url: str, undone: str = "") -> Iterator[None]:
    """Translate errors of PostgreSQL into messages that say what to do."""
    try:
        yield
    except (errors.LockNotAvailable, errors.DeadlockDetected):
        raise StorageError(f"{url}: {undone}another process has locked it; try again when it is done") from None
    except errors.UndefinedTable:
        raise InputError(f"{url}: there is no session in this database; create one first") from None
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        said = redact_passwords(str(error)).partition("\n")[0][:200]
        raise StorageError(f"{url}: {undone}the database does not answer ({said}); try again") from None
    except psycopg.Error as error:
        raise UnusableError(f"{url}: {undone}{str(error).partition(chr(10))[0][:200]}") from None
