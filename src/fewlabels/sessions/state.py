"""The state replayed from a journal: pending items, votes, decisions, and which answers count.

Items are in random order within their group and are asked for in that order, so the drawn ones are a random sample of
the group. An answer to any other item is not counted until its turn comes, since it would bias the sample.

With several votes per item, the majority label counts until the item is decided. With one, the last answer counts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

from fewlabels.sessions.journal.events import Event, Item
from fewlabels.sessions.votes import Answer, Ballot, Decision


class Open(NamedTuple):
    """An item that an annotator was asked for and has not answered."""

    item: Item
    who: str
    seq: int  # of the "asked" event


class Deed(NamedTuple):
    """An answer or decision, which its author may withdraw."""

    item: str
    who: str
    decided: bool = False  # else a vote


@dataclass
class Ledger:
    """The state after all events so far. It changes only by applying the next event."""

    wanted: int = 1  # votes per item
    seq: int = 0
    n_asked: int = 0
    n_heard: int = 0  # answers, decisions and withdrawals so far
    drawn: dict[str, Item] = field(default_factory=dict)
    ballots: dict[str, Ballot] = field(default_factory=dict)  # ordered by last change
    pending: dict[str, Open] = field(default_factory=dict)  # oldest first
    short: dict[str, Item] = field(default_factory=dict)  # drawn and answered, with fewer votes than wanted
    counted: Counter[tuple[int, str]] = field(default_factory=Counter)  # (entry, label) -> number of items
    place: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))  # group -> number of items drawn
    deeds: dict[Deed, str] = field(
        default_factory=dict
    )  # current answers and decisions in their order, with their notes
    seen: Counter[str] = field(default_factory=Counter)  # current votes and decisions per label
    disputes: dict[str, None] = field(default_factory=dict)  # undecided items that have all their votes, which differ

    def copy(self) -> "Ledger":
        """Return a copy with its own containers."""
        names = [one.name for one in fields(self) if isinstance(getattr(self, one.name), dict)]
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def take(self, event: Event) -> None:
        """Apply the next event."""
        self.seq = event.seq
        if event.kind == "asked":
            self._ask(Open(event.item, event.who, event.seq))
            return
        self.n_heard += 1
        if event.kind == "withdrawn":
            self._withdraw(Open(event.item, event.who, event.seq))
        elif event.kind == "decided":
            self._decide(event.item, Decision(event.label, event.who), event.note)
        else:
            self._answer(event.item, event.label if event.kind == "told" else None, event.who, event.note)

    @property
    def n_labels(self) -> int:
        """The number of items with a label that counts."""
        return self.counted.total()

    @property
    def answers(self) -> dict[str, Answer]:
        """The counted answer of every answered item."""
        return {name: ballot.label for name, ballot in self.ballots.items()}

    @property
    def waiting(self) -> list[str]:
        """Labelled items that were not asked for: their labels are not counted yet."""
        return [name for name, label in self.answers.items() if label is not None and name not in self.drawn]

    @property
    def skipped(self) -> list[str]:
        """Items that could not be labelled."""
        return [name for name, label in self.answers.items() if label is None]

    @property
    def disputed(self) -> list[str]:
        """Undecided items that have all their votes, which differ."""
        return list(self.disputes)

    @property
    def heard(self) -> list[Ballot]:
        """Votes that count: those on drawn items."""
        return [ballot for name, ballot in self.ballots.items() if name in self.drawn]

    def notes_on(self, ballot: Ballot) -> dict[str, str]:
        """Return the notes beside the votes on an item, by annotator."""
        noted = {who: self.deeds[Deed(ballot.item.id, who)] for who in ballot.votes}
        return {who: note for who, note in noted.items() if note}

    def last_of(self, who: str) -> str | None:
        """Return the item that an annotator answered or decided last."""
        last = self.last_deed(who)
        return None if last is None else last.item

    def last_deed(self, who: str, *, decisions: bool = True) -> Deed | None:
        """Return what an annotator may withdraw: the last answer or decision, or only the last answer.

        A withdrawal applies to the annotator's last action on the item. So without decisions there is nothing to
        withdraw if the same annotator has also decided the item.
        """
        last = next(
            (deed for deed in reversed(self.deeds) if deed.who == who and (decisions or not deed.decided)), None
        )
        hides = last is not None and not decisions and last._replace(decided=True) in self.deeds
        return None if hides else last

    def is_taken_back(self, deed: Deed) -> bool:
        """Whether an answer or decision has been withdrawn and not been given again."""
        ballot = self.ballots.get(deed.item)
        if ballot is None:
            return True
        return ballot.decision is None if deed.decided else self.wanted > 1 and deed.who not in ballot.votes

    def list_taken(self, items: Iterable[str], who: str) -> list[str]:
        """List the items where a new answer of this annotator would replace another annotator's."""
        answered = (item for item in items if self.wanted == 1 and item in self.ballots)
        return [item for item in answered if who not in self.ballots[item].votes]

    def pending_with(self, who: str) -> list[Item]:
        """Items that this annotator was asked for and has not answered."""
        return [one.item for one in self.pending.values() if one.who == who]

    def pending_for(self, who: str) -> list[Item]:
        """Items that this annotator may answer: first their own pending items, then those pending with others."""
        return self.pending_with(who) + [one.item for one in self.open_with_others(who)]

    def open_with_others(self, who: str) -> list[Open]:
        """Items that are pending with other annotators and that this annotator has not answered."""
        return [one for one in self.pending.values() if one.who != who and not self._has_heard(one.item, who)]

    def short_for(self, who: str) -> list[Item]:
        """Items that need another vote, are not pending, and that this annotator has not answered."""
        free = (item for name, item in self.short.items() if name not in self.pending)
        return [item for item in free if not self._has_heard(item, who)]

    def _is_with(self, item: Item, who: str) -> bool:
        return item.id in self.pending and self.pending[item.id].who == who

    def _has_heard(self, item: Item, who: str) -> bool:
        return item.id in self.ballots and who in self.ballots[item.id].votes

    def _ask(self, new: Open) -> None:
        item = new.item
        self.n_asked += 1
        if item.id in self.drawn:  # it was drawn before
            if item.id in self.pending or item.id in self.short:
                self.pending[item.id] = new  # it is reassigned
            return
        self.place[item.group] = max(self.place[item.group], item.place + 1)
        self.drawn[item.id] = item
        if item.id not in self.ballots:
            self.pending[item.id] = new
            return
        early = self.ballots[item.id]  # answered before it was drawn
        if early.label is not None:
            self.counted[item.entry, early.label] += 1
        self._mind(early)

    def _answer(self, item: Item, label: Answer, who: str, note: str) -> None:
        before = self.ballots.get(item.id, Ballot(item))
        others = {} if self.wanted == 1 else {name: said for name, said in before.votes.items() if name != who}
        for name in before.votes.keys() - others.keys():
            del self.deeds[Deed(item.id, name)]
        self._put(before, before._replace(votes={**others, who: label}))
        self.deeds[Deed(item.id, who)] = note
        if item.id not in self.short or self._is_with(item, who):
            self.pending.pop(item.id, None)

    def _decide(self, item: Item, decision: Decision, note: str) -> None:
        before = self.ballots.get(item.id, Ballot(item))
        if before.decision is not None:
            del self.deeds[Deed(item.id, before.decision.who, decided=True)]
        self._put(before, before._replace(decision=decision))
        self.deeds[Deed(item.id, decision.who, decided=True)] = note
        self.pending.pop(item.id, None)

    def _withdraw(self, again: Open) -> None:
        """Withdraw the last action: a decided item is disputed again; an answered one is pending again."""
        item, who = again.item, again.who
        before = self.ballots.get(item.id)
        if before is None:
            return
        deeds = [deed for deed in self.deeds if deed.item == item.id and (deed.who == who or self.wanted == 1)]
        if not deeds:
            return
        last = deeds[-1]
        del self.deeds[last]
        if last.decided:
            self._put(before, before._replace(decision=None))
            return
        self._put(
            before, before._replace(votes={name: said for name, said in before.votes.items() if name != last.who})
        )
        if item.id in self.drawn and before.decision is None:
            self.pending = {item.id: again, **{name: one for name, one in self.pending.items() if name != item.id}}

    def _put(self, before: Ballot, after: Ballot) -> None:
        """Replace the votes on an item, and drop the item if no vote is left."""
        self._count(before, -1)
        self.ballots.pop(before.item.id, None)
        self.disputes.pop(before.item.id, None)
        if after.votes or after.decision is not None:
            self.ballots[after.item.id] = after
        self._count(after, 1)
        self._mind(after)

    def _mind(self, ballot: Ballot) -> None:
        """Record whether an item needs more votes, or has all of them and they differ."""
        item = ballot.item
        self.short.pop(item.id, None)
        is_open = item.id in self.drawn and ballot.decision is None
        if is_open and 0 < len(ballot.votes) < self.wanted:
            self.short[item.id] = item
            self.disputes.pop(item.id, None)
        elif ballot.is_disputed:
            self.disputes.setdefault(item.id)

    def _count(self, ballot: Ballot, n: int) -> None:
        for label in ballot.said:
            self.seen[label] += n
            if not self.seen[label]:
                del self.seen[label]
        if ballot.label is not None and ballot.item.id in self.drawn:
            self.counted[ballot.item.entry, ballot.label] += n
