"""What people see of items, read ahead: an engine takes as long for one row as for a hundred, and nobody should wait."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

from fewlabels.session import ItemId, Session

AHEAD = 200  # items read at a time
MOST = 4000  # rows on the shelf
LONG = 100_000  # characters of a row that is read anew each time


class Shelf:
    """Rows of a session's items, those that may be asked about next among them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rows: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock = Lock()

    def show(self, ids: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        """Return what a person should see of these items."""
        with self._lock:
            found = {i: self._rows[str(i)] for i in ids if str(i) in self._rows}
            missing = [i for i in ids if i not in found]
            if missing:
                found |= self._read(missing)
            return {i: found[i] for i in ids}

    def _read(self, missing: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        soon = [i for i in self._session.foresee(AHEAD) if str(i) not in self._rows]
        rows = self._session.show(list(dict.fromkeys([*missing, *soon])))
        for item, row in rows.items():
            if sum(len(value) for value in row.values() if isinstance(value, str | bytes)) <= LONG:
                self._rows[str(item)] = row
        while len(self._rows) > MOST:
            self._rows.popitem(last=False)
        return {i: rows[i] for i in missing}
