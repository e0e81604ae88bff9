"""A journal in memory, for simulations and tests."""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias

from fewlabels.errors import InputError
from fewlabels.sessions.journal.events import Event, Item, NewEvent, check_new_events, require_unique_ids, utc_now

Row: TypeAlias = tuple[Any, ...]  # of an item: tuples of plain values are not tracked by the garbage collector
_PLACE = itemgetter(2)  # position of a row in the queue of its group


class MemoryJournal:
    """A journal that is lost when its process ends.

    >>> journal = MemoryJournal({"metric": "accuracy"}, [Item("a", 0, 0, 0), Item("b", 0, 1, 0)], {})
    >>> journal.append([NewEvent("asked", "b"), NewEvent("told", "b", "cat")])
    >>> [(event.seq, event.kind, event.item.place, event.label) for event in journal.read()]
    [(1, 'asked', 1, None), (2, 'told', 1, 'cat')]
    """

    def __init__(self, about: Mapping[str, Any], items: Iterable[Item], blobs: Mapping[str, bytes]) -> None:
        self._about = json.dumps(about)  # as text, so that callers cannot change it
        self._blobs = dict(blobs)
        rows: list[Row] = list(map(tuple, items))
        self._items = {row[0]: row for row in rows}
        if len(self._items) < len(rows):
            list(require_unique_ids(map(Item._make, rows)))  # raises with the repeated id
        self._queues: dict[int, list[Row]] = defaultdict(list)
        for row in rows:
            self._queues[row[1]].append(row)
        for queue in self._queues.values():
            queue.sort(key=_PLACE)  # mostly sorted already, which makes it fast
        self._events: list[Event] = []
        self._lock = RLock()

    @property
    def about(self) -> dict[str, Any]:
        """The settings of the session."""
        return json.loads(self._about)

    @property
    def blobs(self) -> dict[str, bytes]:
        """Binary attachments of `about`."""
        return dict(self._blobs)

    def read(self, after: int = 0) -> list[Event]:
        """Return the events after this number, in order."""
        with self._lock:
            return self._events[after:]

    @contextmanager
    def writing(self, *, skip_sync: bool = False) -> Iterator[None]:  # noqa: ARG002
        """Lock out other threads, and drop what was appended if the block raises."""
        with self._lock:
            n_before = len(self._events)
            try:
                yield
            except BaseException:
                del self._events[n_before:]
                raise

    def append(self, new_events: Iterable[NewEvent]) -> None:
        """Append all of these events or none."""
        new_events = list(new_events)
        known = self.find(new_event.item for new_event in new_events)
        check_new_events(new_events, known)
        with self.writing():
            for seq, a in enumerate(new_events, start=len(self._events) + 1):
                self._events.append(Event(seq, a.kind, known[a.item], a.label, a.who, a.note, utc_now(), a.choice))

    def next_items(self, group: int, place: int, n: int) -> list[Item]:
        """Return the next n items of a group's queue, from this position on."""
        queue = self._queues.get(group, [])
        start = bisect_left(queue, place, key=_PLACE)
        return [Item(*row) for row in queue[start : start + n]]

    def find(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return the items of this session that have these ids."""
        return {id_: Item(*self._items[id_]) for id_ in ids if id_ in self._items}

    def set_patience(self, seconds: float) -> None:
        """Do nothing: no other process can write here."""

    def backup(self, path: str | Path) -> None:
        """Refuse: there is no file to copy."""
        raise InputError(f"{path}: not written: the session is in memory; give it a file when you create it")

    def close(self) -> None:
        """Do nothing: there is no file."""
