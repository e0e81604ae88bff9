"""A journal and its fold, kept in step: read and written by as many threads and processes as like.

What is read inside a block stays true until it ends. The journal is the truth; the ledger is what it amounts to, and is
made again from it whenever there is any doubt.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

from fewlabels.journal import Act, Item, Journal, tell_time
from fewlabels.ledger import Ledger


class Fold:
    """Everything that has happened so far, and the only way to make something happen."""

    def __init__(self, journal: Journal, votes: int) -> None:
        self.journal, self.ledger = journal, Ledger(votes)
        self._votes, self._folding = votes, RLock()
        self._catch_up()

    @contextmanager
    def reading(self) -> Iterator[Ledger]:
        """Give the fold of everything so far, which no other thread changes meanwhile."""
        with self._folding:
            self._catch_up()
            yield self.ledger

    @contextmanager
    def writing(self, *, hurried: bool = False) -> Iterator[None]:
        """Read, decide and append as one; what was not kept is forgotten here too."""
        with self._folding:  # before the journal's lock everywhere, or threads wait for each other
            try:
                with self.journal.writing(hurried=hurried):
                    self._catch_up()
                    yield
            except BaseException:
                self.ledger = Ledger(self._votes)
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
        ledger = self.ledger
        old = [item for item in ledger.pending_with(who)[:n] if ledger.pending[item.id].at < tell_time(lease / 2)]
        left = ledger.overdue(who, tell_time(lease))[: max(n - len(ledger.pending_with(who)), 0)]
        self.ask_about([*old, *left], who)

    def _catch_up(self) -> None:
        with self._folding:  # threads may share a session, and every event is folded once
            for event in self.journal.read(after=self.ledger.seq):
                self.ledger.take(event)
