"""A journal and the state replayed from it, kept in sync for any number of threads and processes.

Inside a block the state does not change under the reader. The journal is the source of truth. After a block that
failed, the state is rebuilt from a recent checkpoint and the events since then.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

from fewlabels.sessions.journal.errors import StorageError
from fewlabels.sessions.journal.events import Choice, Item, Journal, NewEvent
from fewlabels.sessions.leases import Leases
from fewlabels.sessions.state import SessionState

CHECKPOINT_EVERY = 500  # events; at most so many are replayed after a block that failed
BUSY = "another request is using the session; try again in a moment"


class EventStore:
    """The state of a session and the only way to append events to it."""

    def __init__(self, journal: Journal, votes: int) -> None:
        self.journal, self.state = journal, SessionState(votes)
        self.lock_timeout = -1.0  # seconds to wait for other threads; -1 waits without limit
        self._checkpoint, self._lock, self._depth = self.state.copy(), RLock(), 0
        self._leases = Leases()
        self._catch_up()

    @contextmanager
    def reading(self) -> Iterator[SessionState]:
        """Yield the current state, locked against other threads."""
        with self._locked():
            self._catch_up()
            yield self.state

    @contextmanager
    def writing(self, *, skip_sync: bool = False) -> Iterator[None]:
        """Read, decide and append in one transaction; if it fails, roll the state back too."""
        with self._locked():  # always before the journal's lock: no deadlock
            before = self.state.seq
            try:
                with self.journal.writing(skip_sync=skip_sync):
                    self._catch_up()
                    before = self.state.seq
                    self._depth += 1
                    try:
                        yield
                    finally:
                        self._depth -= 1
            except BaseException:
                self._roll_back(before)
                raise

    def append(self, new_events: Iterable[NewEvent]) -> None:
        """Append all of these events or none, inside a block of writing, and apply them."""
        self.journal.append(new_events)
        self._catch_up()

    def record_asked(self, items: Sequence[Item], who: str, choice: Choice = "") -> None:
        """Record that an annotator is asked for these items, and how they were chosen."""
        if items:
            self.append([NewEvent("asked", item.id, who=who, choice=choice) for item in items])

    def renew_and_reassign(self, n: int, who: str, lease: float) -> None:
        """Renew an annotator's leases, and reassign items whose lease with others has expired."""
        state, age = self.state, self._leases.age
        mine = state.pending_with(who)
        old = [item for item in mine[:n] if age(state.pending[item.id]) > lease / 2]
        left = [one.item for one in state.pending_with_others(who) if age(one) > lease]
        self.record_asked([*old, *left[: max(n - len(mine), 0)]], who)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the state against other threads; give up after a while."""
        if not self._lock.acquire(timeout=self.lock_timeout):
            raise StorageError(BUSY)
        try:
            yield
        finally:
            self._lock.release()

    def _catch_up(self) -> None:
        """Apply the events that the journal received since to the state."""
        events = self.journal.read(after=self.state.seq)
        self._leases.record_times(events)
        for event in events:
            self.state.apply(event)
        self._leases.keep_only(self.state.pending)
        if (
            not self._depth and self.state.seq - self._checkpoint.seq >= CHECKPOINT_EVERY
        ):  # outside a block all events are saved
            self._checkpoint = self.state.copy()

    def _roll_back(self, seq: int) -> None:
        """Go back to the checkpoint if events came after this one; the next block reads the saved ones again."""
        if self.state.seq != seq:
            self.state = self._checkpoint.copy()
            self._leases.drop_after(seq)
