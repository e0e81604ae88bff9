"""The fold of a journal: who was asked what, what was answered, and which answers count.

Items come in a random order within their group, and are asked about in that order. So the ones that were drawn are a
random sample of the group; an answer to any other item waits until its turn comes, or it would skew the sample.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from fewlabels.journal import Event, Item

Answer = str | None  # None: a person looked, and cannot tell


class Open(NamedTuple):
    """An item that somebody was asked about and has not answered."""

    item: Item
    who: str
    at: str  # since when


@dataclass
class Ledger:
    """Everything the events so far amount to. It changes only by taking the next event."""

    seq: int = 0
    n_asked: int = 0
    drawn: dict[str, Item] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    pending: dict[str, Open] = field(default_factory=dict)  # oldest first
    counted: Counter[tuple[int, str]] = field(default_factory=Counter)  # (entry, label) -> how many
    place: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))  # group -> how many were drawn
    history: dict[str, str] = field(default_factory=dict)  # items in the order of their answers, and whose they are
    seen: Counter[str] = field(default_factory=Counter)  # how often each label is an answer now

    def take(self, event: Event) -> None:
        """Fold one more event in."""
        self.seq = event.seq
        if event.kind == "asked":
            self._ask(Open(event.item, event.who, event.at))
        elif event.kind == "withdrawn":
            self._withdraw(Open(event.item, event.who, event.at))
        else:
            self._answer(event.item, event.label if event.kind == "told" else None, event.who)

    @property
    def n_labels(self) -> int:
        """Answers that count."""
        return self.counted.total()

    @property
    def waiting(self) -> list[str]:
        """Labelled items whose turn has not come: they were not asked for."""
        return [name for name, label in self.answers.items() if label is not None and name not in self.drawn]

    @property
    def skipped(self) -> list[str]:
        """Items nobody could tell."""
        return [name for name, label in self.answers.items() if label is None]

    def last_of(self, who: str) -> str | None:
        """The item this person answered last."""
        return next((name for name in reversed(self.history) if self.history[name] == who), None)

    def pending_with(self, who: str) -> list[Item]:
        """Items this person was asked about and has not answered."""
        return [one.item for one in self.pending.values() if one.who == who]

    def pending_for(self, who: str) -> list[Item]:
        """Items this person might answer: first one's own, then those that others leave open."""
        others = [one.item for one in self.pending.values() if one.who != who]
        return self.pending_with(who) + others

    def overdue(self, who: str, since: str) -> list[Item]:
        """Items that somebody else was asked about before this time, and has not answered: they may be handed on."""
        return [one.item for one in self.pending.values() if one.who != who and one.at < since]

    def _ask(self, new: Open) -> None:
        item = new.item
        self.n_asked += 1
        if item.id in self.drawn:  # its turn has come before
            if item.id in self.pending:
                self.pending[item.id] = new  # it is handed on
            return
        self.place[item.group] = max(self.place[item.group], item.place + 1)
        self.drawn[item.id] = item
        if item.id not in self.answers:
            self.pending[item.id] = new
        elif self.answers[item.id] is not None:  # it was answered before its turn, which has come now
            self._count(item, self.answers[item.id], 1)

    def _answer(self, item: Item, label: Answer, who: str) -> None:
        before = self.answers.get(item.id)
        if item.id in self.answers:
            del self.history[item.id]
        self.pending.pop(item.id, None)
        self.answers[item.id] = label
        self._see(before, -1)
        self._see(label, 1)
        self.history[item.id] = who
        if item.id in self.drawn:
            self._count(item, before, -1)
            self._count(item, label, 1)

    def _withdraw(self, again: Open) -> None:
        """The answer was a slip: the item is open again, with whoever slipped."""
        item = again.item
        if item.id not in self.answers:
            return
        label = self.answers.pop(item.id)
        self._see(label, -1)
        del self.history[item.id]
        if item.id in self.drawn:
            self._count(item, label, -1)
            self.pending = {item.id: again, **self.pending}

    def _count(self, item: Item, label: Answer, n: int) -> None:
        if label is not None:
            self.counted[item.entry, label] += n

    def _see(self, label: Answer, n: int) -> None:
        if label is not None:
            self.seen[label] += n
            if not self.seen[label]:
                del self.seen[label]
