"""Events, the items they refer to, and the interface of a journal (implemented in `memory` and `sqlite`)."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

from fewlabels.errors import InputError, join_names, quote_name

Kind = Literal["asked", "told", "skipped", "decided", "withdrawn"]
KINDS = frozenset(get_args(Kind))
Choice = Literal["", "random"]  # how an item was chosen: by the policy, or at random from all items not asked about yet
CHOICES = frozenset(get_args(Choice))


class Item(NamedTuple):  # created by the hundred thousand: four times as fast as a dataclass
    """An item of the queue."""

    id: str
    group: int  # index of its group
    place: int  # in the random order of its group: 0, 1, ...
    entry: int  # index of the entry it is counted in


class EntryItems(NamedTuple):
    """The items of a group that are counted in the same entry: how many, and their positions in the queue."""

    group: int
    entry: int
    n: int
    first: int  # position in the queue of the group
    last: int


@dataclass(frozen=True)
class NewEvent:
    """An event to be appended."""

    kind: Kind
    item: str
    label: str | None = None
    who: str = ""
    note: str = ""
    choice: Choice = ""


@dataclass(frozen=True)
class Event:
    """An event of the journal."""

    seq: int  # 1, 2, ...: the order of events, independent of clocks
    kind: Kind
    item: Item
    label: str | None
    who: str
    note: str
    at: str  # UTC, ISO 8601
    choice: Choice = ""


@runtime_checkable
class Journal(Protocol):
    """The storage of a session: its fixed settings, its queue of items, and its events."""

    @property
    def about(self) -> dict[str, Any]:
        """The settings of the session as JSON, which its journal keeps from its creation on."""
        ...

    @property
    def blobs(self) -> dict[str, bytes]:
        """Binary attachments of `about`, which the journal keeps from the session's creation on."""
        ...

    def read(self, after: int = 0) -> list[Event]:
        """Return the events after this number, in order."""
        ...

    def writing(self, *, skip_sync: bool = False) -> AbstractContextManager[None]:
        """Lock the journal for one transaction, so that other processes cannot write between its reading and its appending of events.

        If the block raises, all of it is rolled back. A nested block can be rolled back alone, and is saved with the
        outer one. A block that does not wait for the disk survives a kill, but a power cut only once a later block is
        saved.
        """
        ...

    def append(self, new_events: Iterable[NewEvent]) -> None:
        """Append all of these events or none; they are saved when this, or the `writing` around it, ends."""
        ...

    def next_items(self, group: int, place: int, n: int) -> list[Item]:
        """Return the next n items of a group's queue, from this position on, which an event can ask for."""
        ...

    def find(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return the items that have these ids, to which events refer."""
        ...

    def set_patience(self, seconds: float) -> None:
        """Set how long events wait while another process writes."""
        ...

    def backup(self, path: str | Path) -> None:
        """Write a complete copy, with all events, to a new file."""
        ...

    def close(self) -> None:
        """Close the journal of events."""
        ...


class StoredJournal(Journal, Protocol):
    """A journal that outlives its process."""

    def count_items(self) -> list[EntryItems]:
        """Count the items that the journal's events refer to, by group and entry."""
        ...


def check_new_events(new_events: Iterable[NewEvent], known: Mapping[str, Item]) -> None:
    """Check new events: refuse those about items that the journal does not have, as reading would drop them."""
    unknown = dict.fromkeys(repr(new_event.item) for new_event in new_events if new_event.item not in known)
    if unknown:
        raise InputError(
            f"not in this session: {join_names(unknown)}; nothing was saved, use the ids that were asked about"
        )


def require_unique_ids(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items of events, and refuse a second one with the same id."""
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise InputError(f"item {quote_name(item.id)} comes twice; every item needs a unique id")
        seen.add(item.id)
        yield item


def utc_now() -> str:
    """Return the current time in UTC, as events store it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def read_event(row: tuple[Any, ...]) -> Event:
    """Convert a row to an event, or raise a ValueError that says what is wrong with it."""
    seq, kind, id_, group, place, entry, label, who, note, at, choice = row
    if kind not in KINDS:
        raise ValueError(f"event {seq} is of no known kind")
    if id_ is None:
        raise ValueError(f"event {seq} is about an item that is not there")
    texts = (who, note, at, "" if label is None else label)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"event {seq} has no label, name, note or time that could be read")
    if kind != "decided" and (label is None) == (kind == "told"):
        raise ValueError(f"event {seq} is {kind}, with {'no' if label is None else 'a'} label")
    if choice not in CHOICES:
        raise ValueError(f"event {seq} says in no known way how its item was chosen")
    return Event(seq, kind, Item(id_, group, place, entry), label, who, note, at, choice)
