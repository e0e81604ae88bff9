"""Where a journal is stored: in a file of SQLite, or in a PostgreSQL database if the name of the session is its address."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from fewlabels.errors import InputError
from fewlabels.sessions.journal.events import Item, StoredJournal
from fewlabels.sessions.journal.sqlite import SqliteJournal

ADDRESSES = ("postgresql://", "postgres://")
POSTGRES = "fewlabels.sessions.journal.postgres:PostgresJournal"  # imported on demand: its driver is an extra
EXTRA = "a session in PostgreSQL needs the extra postgres: pip install 'fewlabels[postgres]'"


def is_address(path: str | Path) -> bool:
    """Is the journal of this session stored in a database, not in a file?"""
    return str(path).startswith(ADDRESSES)


def exists(path: str | Path) -> bool:
    """Is a journal stored at this place? Of a database, whether it has one of this name."""
    if not is_address(path):
        return os.path.exists(path)  # noqa: PTH110 (a Path would not take bytes that are not UTF-8)
    try:
        open_stored(path, read_only=True).close()
    except InputError as error:
        if "there is no" in str(error):
            return False
        raise
    return True


def create_stored(
    path: str | Path, about: Mapping[str, Any], items: Iterable[Item], blobs: Mapping[str, bytes]
) -> StoredJournal:
    """Create and store a complete new journal, or none; never replace an existing one."""
    storage = _load_postgres() if is_address(path) else SqliteJournal
    made: StoredJournal = storage.create(str(path) if is_address(path) else path, about, items, blobs)
    return made


def open_stored(path: str | Path, *, read_only: bool = False, accept_missing: bool = False) -> StoredJournal:
    """Open a stored journal; `accept_missing` is about files alone."""
    if is_address(path):
        found: StoredJournal = _load_postgres()(str(path), read_only=read_only)
        return found
    return SqliteJournal.open(path, read_only=read_only, accept_missing=accept_missing)


def _load_postgres() -> Any:
    """Load the journal that is stored in PostgreSQL; it needs an extra."""
    try:
        return resolve_name(POSTGRES)
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        raise InputError(EXTRA) from None
