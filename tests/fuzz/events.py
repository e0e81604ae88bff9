"""What a session's file holds, read with SQLite alone."""

import sqlite3
from contextlib import closing
from pathlib import Path

Event = tuple[str, str, str | None, str, str]
_READ = "SELECT kind, item, label, who, note FROM events ORDER BY seq"


def read_events(path: Path) -> list[Event]:
    """Return the events of a session; none where there is no session."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(_READ).fetchall()


def count_kinds(events: list[Event], *kinds: str) -> int:
    """Count the events of these kinds."""
    return sum(kind in kinds for kind, *_ in events)
