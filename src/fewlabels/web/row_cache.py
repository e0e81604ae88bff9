"""What people see of items, read ahead: an engine takes as long for one row as for a hundred, and nobody should wait."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

from fewlabels.sessions.session import ItemId, Session

AHEAD = 200  # items read at a time
MOST = 4000  # rows on the shelf
LONG = 100_000  # characters of a row that is read anew each time


class Shelf:
    """Rows of a session's items, those that may be asked about next among them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rows: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock, self._reading = Lock(), Lock()  # of the rows, and of the engine

    def show(self, ids: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        """Return what a person should see of these items."""
        found = self._find(ids)
        if len(found) < len(set(ids)):
            with self._reading:  # those whose rows are there do not wait for the engine
                found = self._find(ids)
                missing = [i for i in ids if i not in found]
                found |= self._read(missing) if missing else {}
        return {i: found[i] for i in ids}

    def holds(self, id: ItemId) -> bool:
        """Can an item be shown without asking the engine?"""
        with self._lock:
            return str(id) in self._rows

    def _find(self, ids: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        with self._lock:
            return {i: self._rows[str(i)] for i in ids if str(i) in self._rows}

    def _read(self, missing: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        soon = [i for i in self._session.foresee(AHEAD) if str(i) not in self._rows]
        rows = self._session.show(list(dict.fromkeys([*missing, *soon])))
        short = {str(i): row for i, row in rows.items() if _measure(row) <= LONG}
        with self._lock:
            self._rows |= short
            while len(self._rows) > MOST:
                self._rows.popitem(last=False)
        return {i: rows[i] for i in missing}


def _measure(row: dict[str, Any]) -> int:
    """Count the characters of a row."""
    return sum(len(value) for value in row.values() if isinstance(value, str | bytes))
