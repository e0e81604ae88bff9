"""A journal and the state replayed from it, kept in sync for any number of threads and processes.

Inside a block the state does not change under the reader. The journal is the source of truth. After a block that
failed, the state is rebuilt from a recent checkpoint and the events since then.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from threading import RLock
from time import monotonic

from fewlabels.sessions.journal.errors import StorageError
from fewlabels.sessions.journal.events import Act, Event, Item, Journal, tell_time
from fewlabels.sessions.state import Ledger, Open

COPY_EVERY = 500  # events; at most so many are replayed after a block that failed
BUSY = "another request is using the session; try again in a moment"


class Fold:
    """The state of a session and the only way to append events to it."""

    def __init__(self, journal: Journal, votes: int) -> None:
        self.journal, self.ledger = journal, Ledger(votes)
        self.patience = -1.0  # seconds to wait for other threads; -1 waits without limit
        self._copy, self._folding, self._depth = self.ledger.copy(), RLock(), 0
        self._leases = Leases()
        self._catch_up()

    @contextmanager
    def reading(self) -> Iterator[Ledger]:
        """Yield the current state, locked against other threads."""
        with self._locked():
            self._catch_up()
            yield self.ledger

    @contextmanager
    def writing(self, *, hurried: bool = False) -> Iterator[None]:
        """Read, decide and append in one transaction; if it fails, roll the state back too."""
        with self._locked():  # always before the journal's lock: no deadlock
            before = self.ledger.seq
            try:
                with self.journal.writing(hurried=hurried):
                    self._catch_up()
                    before = self.ledger.seq
                    self._depth += 1
                    try:
                        yield
                    finally:
                        self._depth -= 1
            except BaseException:
                self._roll_back(before)
                raise

    def append(self, acts: Iterable[Act]) -> None:
        """Append all of these events or none, inside a block of writing, and apply them."""
        self.journal.append(acts)
        self._catch_up()

    def ask_about(self, items: Sequence[Item], who: str) -> None:
        """Record that an annotator is asked for these items."""
        if items:
            self.append([Act("asked", item.id, who=who) for item in items])

    def hand_on(self, n: int, who: str, lease: float) -> None:
        """Renew an annotator's leases, and reassign items whose lease with others has expired."""
        ledger, age = self.ledger, self._leases.age
        mine = ledger.pending_with(who)
        old = [item for item in mine[:n] if age(ledger.pending[item.id]) > lease / 2]
        left = [one.item for one in ledger.open_with_others(who) if age(one) > lease]
        self.ask_about([*old, *left[: max(n - len(mine), 0)]], who)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if not self._folding.acquire(timeout=self.patience):
            raise StorageError(BUSY)
        try:
            yield
        finally:
            self._folding.release()

    def _catch_up(self) -> None:
        events = self.journal.read(after=self.ledger.seq)
        self._leases.note(events)
        for event in events:
            self.ledger.take(event)
        self._leases.forget_all_but(self.ledger.pending)
        if not self._depth and self.ledger.seq - self._copy.seq >= COPY_EVERY:  # outside a block all events are saved
            self._copy = self.ledger.copy()

    def _roll_back(self, seq: int) -> None:
        """Go back to the checkpoint if events came after this one; the next block reads the saved ones again."""
        if self.ledger.seq != seq:
            self.ledger = self._copy.copy()
            self._leases.forget_after(seq)


class Leases:
    """How long ago items were asked for, by the monotonic clock.

    Events carry wall-clock time, which may jump. So it is used only for events from before this process first read the
    journal; an event that was absent at the previous read is at most as old as that read.
    """

    def __init__(self) -> None:
        self._since: dict[int, float] = {}  # event -> its time on the monotonic clock
        self._looked = -float("inf")

    def age(self, one: Open) -> float:
        """Return for how many seconds an item has been pending."""
        return monotonic() - self._since.get(one.seq, self._looked)

    def note(self, events: Sequence[Event]) -> None:
        """Record the times of events; those already recorded keep theirs."""
        now, gap = monotonic(), monotonic() - self._looked
        for event, age in zip(events, _find_ages(events), strict=True):
            if event.kind in ("asked", "withdrawn"):
                self._since.setdefault(event.seq, now - min(age, gap))
        self._looked = now

    def forget_after(self, seq: int) -> None:
        """Drop events that were not saved: their numbers will be reused."""
        self._since = {event: since for event, since in self._since.items() if event <= seq}

    def forget_all_but(self, pending: Mapping[str, Open]) -> None:
        """Drop answered items, once there are many."""
        if len(self._since) > 2 * len(pending) + COPY_EVERY:
            kept = {one.seq for one in pending.values()}
            self._since = {event: since for event, since in self._since.items() if event in kept}


def _find_ages(events: Sequence[Event]) -> list[float]:
    """Return the ages of events in seconds, made non-negative and monotone in case the wall clock jumped."""
    latest, ages = tell_time(), []
    now = _read_time(latest)
    for event in reversed(events):
        latest = min(latest, event.at)
        ages.append(max(now - _read_time(latest), 0.0))
    return ages[::-1]


def _read_time(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError):  # not written by us
        return float("inf")
