"""A journal and its fold, kept in step: read and written by as many threads and processes as like.

What is read inside a block stays true until it ends. The journal is the truth; the ledger is what it amounts to. After
a block that failed, the ledger is made again from a recent copy and the events since then.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from threading import RLock
from time import monotonic

from fewlabels.sessions.journal.errors import StorageError
from fewlabels.sessions.journal.events import Act, Event, Item, Journal, tell_time
from fewlabels.sessions.state import Ledger, Open

COPY_EVERY = 500  # events: at most so many are read again after a block that failed
BUSY = "another request is using the session; try again in a moment"


class Fold:
    """Everything that has happened so far, and the only way to make something happen."""

    def __init__(self, journal: Journal, votes: int) -> None:
        self.journal, self.ledger = journal, Ledger(votes)
        self.patience = -1.0  # seconds to wait for other threads; without end unless somebody sets it
        self._copy, self._folding, self._depth = self.ledger.copy(), RLock(), 0
        self._leases = Leases()
        self._catch_up()

    @contextmanager
    def reading(self) -> Iterator[Ledger]:
        """Give the fold of everything so far, which no other thread changes meanwhile."""
        with self._locked():
            self._catch_up()
            yield self.ledger

    @contextmanager
    def writing(self, *, hurried: bool = False) -> Iterator[None]:
        """Read, decide and append as one; what was not kept is forgotten here too."""
        with self._locked():  # before the journal's lock everywhere, or threads wait for each other
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
        """Write down all of these or none, inside a block of writing, and fold them in."""
        self.journal.append(acts)
        self._catch_up()

    def ask_about(self, items: Sequence[Item], who: str) -> None:
        """Note that somebody is asked about these items."""
        if items:
            self.append([Act("asked", item.id, who=who) for item in items])

    def hand_on(self, n: int, who: str, lease: float) -> None:
        """Renew one's own leases, and take over what others have left lying."""
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
        if not self._depth and self.ledger.seq - self._copy.seq >= COPY_EVERY:  # outside: what is read is saved
            self._copy = self.ledger.copy()

    def _roll_back(self, seq: int) -> None:
        """Forget what happened after this event; the next block reads again what was saved."""
        if self.ledger.seq != seq:
            self.ledger = self._copy.copy()
            self._leases.forget_after(seq)


class Leases:
    """How long ago items were asked about, by the monotonic clock, which is never set.

    The times in a journal are those of the computer's clock, which jumps when somebody sets it. So they tell only of
    what happened before this process looked; an event that was not there a second ago is at most a second old.
    """

    def __init__(self) -> None:
        self._since: dict[int, float] = {}  # event -> when it happened, on the monotonic clock
        self._looked = -float("inf")

    def age(self, one: Open) -> float:
        """Return for how many seconds an item has been with a person."""
        return monotonic() - self._since.get(one.seq, self._looked)

    def note(self, events: Sequence[Event]) -> None:
        """Take down when these happened; those already known keep their time."""
        now, gap = monotonic(), monotonic() - self._looked
        for event, age in zip(events, _find_ages(events), strict=True):
            if event.kind in ("asked", "withdrawn"):
                self._since.setdefault(event.seq, now - min(age, gap))
        self._looked = now

    def forget_after(self, seq: int) -> None:
        """Drop events that were not saved: others will have their numbers."""
        self._since = {event: since for event, since in self._since.items() if event <= seq}

    def forget_all_but(self, pending: Mapping[str, Open]) -> None:
        """Drop items that were answered, once in a while."""
        if len(self._since) > 2 * len(pending) + COPY_EVERY:
            kept = {one.seq for one in pending.values()}
            self._since = {event: since for event, since in self._since.items() if event in kept}


def _find_ages(events: Sequence[Event]) -> list[float]:
    """Return how many seconds ago events happened: none after a later one, or in the future, whatever the clock said then."""
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
