"""What happens to items, one thing after the other, and what a session needs of the place where it is written down."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

from fewlabels.errors import InputError, listing

Kind = Literal["asked", "told", "skipped", "decided", "withdrawn"]
KINDS = frozenset(get_args(Kind))


class Item(NamedTuple):  # made by the hundred thousand, which takes a dataclass four times as long
    """An item that may be asked about."""

    id: str
    group: int  # index of its group
    place: int  # in the random order of its group: 0, 1, ...
    entry: int  # index of the counts it belongs to


class Pile(NamedTuple):
    """The items of one group that belong to the same counts."""

    group: int
    entry: int
    n: int
    first: int  # place in line
    last: int


@dataclass(frozen=True)
class Act:
    """What happened to an item, as it is appended."""

    kind: Kind
    item: str
    label: str | None = None
    who: str = ""
    note: str = ""


@dataclass(frozen=True)
class Event:
    """What happened to an item, as it is read back."""

    seq: int  # 1, 2, ...: the order in which events happened, whatever the clocks said
    kind: Kind
    item: Item
    label: str | None
    who: str
    note: str
    at: str  # UTC, ISO 8601


@runtime_checkable
class Journal(Protocol):
    """What a session needs of the place where it writes things down."""

    @property
    def about(self) -> dict[str, Any]:
        """What the session is made from, fixed when it was created."""
        ...

    @property
    def blobs(self) -> dict[str, bytes]:
        """What `about` has no words for, fixed when it was created."""
        ...

    def read(self, after: int = 0) -> list[Event]:
        """Give the events since one already seen, in order."""
        ...

    def writing(self, *, hurried: bool = False) -> AbstractContextManager[None]:
        """Keep what is read inside true until what is appended inside is saved, whatever other processes do.

        Nothing of the block is kept if it raises. A block inside a block is saved, and undone, with it. What is written in
        a hurry survives a kill, but perhaps not a power cut, unless something else was written after it.
        """
        ...

    def append(self, acts: Iterable[Act]) -> None:
        """Write down all of these or none; they are on the disk when this, or the `writing` around it, is done."""
        ...

    def line_up(self, group: int, place: int, n: int) -> list[Item]:
        """Give the next items of a group, from this place on."""
        ...

    def find(self, ids: Iterable[str]) -> dict[str, Item]:
        """Look up which of these ids are items of this session."""
        ...

    def set_patience(self, seconds: float) -> None:
        """Wait at most so long while another process writes."""
        ...

    def backup(self, path: str | Path) -> None:
        """Write a copy that is complete by itself to a new file."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


def refuse_unknown(acts: Iterable[Act], known: Mapping[str, Item]) -> None:
    """Refuse acts on items that a session does not have: reading would lose them."""
    unknown = dict.fromkeys(repr(act.item) for act in acts if act.item not in known)
    if unknown:
        raise InputError(
            f"not in this session: {listing(unknown)}; nothing was saved, use the ids that were asked about"
        )


def each_once(items: Iterable[Item]) -> Iterator[Item]:
    """Pass items on, and refuse a second one of the same id."""
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise InputError(f"item {item.id!r} comes twice; every item needs an id of its own")
        seen.add(item.id)
        yield item


def tell_time() -> str:
    """Return the time as events carry it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def read_event(row: tuple[Any, ...]) -> Event:
    """Make an event of a row, or raise a ValueError that says what is wrong with it."""
    seq, kind, id_, group, place, entry, label, who, note, at = row
    if kind not in KINDS:
        raise ValueError(f"event {seq} is of no known kind")
    if id_ is None:
        raise ValueError(f"event {seq} is about an item that is not there")
    texts = (who, note, at, "" if label is None else label)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"event {seq} has no label, name, note or time that could be read")
    if kind != "decided" and (label is None) == (kind == "told"):
        raise ValueError(f"event {seq} is {kind}, with {'no' if label is None else 'a'} label")
    return Event(seq, kind, Item(id_, group, place, entry), label, who, note, at)
