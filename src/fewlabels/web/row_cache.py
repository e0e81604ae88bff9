"""A cache of item rows with prefetching: a query engine takes as long for one row as for a hundred."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from fewlabels.data.names import ItemId

PREFETCH = 200  # items read at a time
MAX_ROWS = 4000  # cached rows
MAX_ROW_CHARACTERS = 100_000  # rows with more characters are not cached


class RowCache:
    """The shown rows of items, including the items likely to be asked next.

    `fetch` reads the shown columns of items, and `foresee` lists up to n items that may be asked next.
    """

    def __init__(
        self,
        fetch: Callable[[Sequence[ItemId]], dict[ItemId, dict[str, Any]]],
        foresee: Callable[[int], Sequence[ItemId]],
    ) -> None:
        self._fetch, self._foresee = fetch, foresee
        self._rows: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._lock, self._engine_lock = Lock(), Lock()  # of the rows, of the engine

    def show(self, ids: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        """Return the shown columns of these items, from the cache where it has them."""
        found = self._find(ids)
        if len(found) < len(set(ids)):
            with self._engine_lock:  # requests for cached rows do not wait for the engine
                found = self._find(ids)
                missing = [i for i in ids if i not in found]
                found |= self._read(missing) if missing else {}
        return {i: found[i] for i in ids}

    def contains(self, id: ItemId) -> bool:
        """Return whether the row of an item is cached."""
        with self._lock:
            return str(id) in self._rows

    def _find(self, ids: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        """Return the cached rows among those of these items."""
        with self._lock:
            return {i: self._rows[str(i)] for i in ids if str(i) in self._rows}

    def _read(self, missing: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        """Fetch missing rows and upcoming ones into the cache; drop the oldest above its limit."""
        upcoming = [i for i in self._foresee(PREFETCH) if str(i) not in self._rows]
        rows = self._fetch(list(dict.fromkeys([*missing, *upcoming])))
        short = {str(i): row for i, row in rows.items() if _count_characters(row) <= MAX_ROW_CHARACTERS}
        with self._lock:
            self._rows |= short
            while len(self._rows) > MAX_ROWS:
                self._rows.popitem(last=False)
        return {i: rows[i] for i in missing}


def _count_characters(row: dict[str, Any]) -> int:
    """Count the characters of a row to cache."""
    return sum(len(value) for value in row.values() if isinstance(value, str | bytes))
