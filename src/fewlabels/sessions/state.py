"""The fold of a journal: who was asked what, what was answered, and which answers count.

Items come in a random order within their group, and are asked about in that order. So the ones that were drawn are a
random sample of the group; an answer to any other item waits until its turn comes, or it would skew the sample.

Where several people answer every item, each has a vote, and of an item counts what most of them say, until somebody
decides it. Where one does, the last word counts, whoever said it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

from fewlabels.sessions.journal.events import Event, Item
from fewlabels.sessions.votes import Answer, Ballot, Decision


class Open(NamedTuple):
    """An item that somebody was asked about and has not answered."""

    item: Item
    who: str
    seq: int  # of the event that asked


class Deed(NamedTuple):
    """Something a person did, and may take back."""

    item: str
    who: str
    decided: bool = False  # or voted


@dataclass
class Ledger:
    """Everything the events so far amount to. It changes only by taking the next event."""

    wanted: int = 1  # people who answer each item
    seq: int = 0
    n_asked: int = 0
    n_heard: int = 0  # answers, decisions and withdrawals so far
    drawn: dict[str, Item] = field(default_factory=dict)
    ballots: dict[str, Ballot] = field(default_factory=dict)  # the one that changed last comes last
    pending: dict[str, Open] = field(default_factory=dict)  # oldest first
    short: dict[str, Item] = field(default_factory=dict)  # drawn and answered, but not by as many as are wanted
    counted: Counter[tuple[int, str]] = field(default_factory=Counter)  # (entry, label) -> how many
    place: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))  # group -> how many were drawn
    deeds: dict[Deed, str] = field(
        default_factory=dict
    )  # that stand, in the order they were done, and the note beside each
    seen: Counter[str] = field(default_factory=Counter)  # how often each label is said now
    disputes: dict[str, None] = field(default_factory=dict)  # items with all their votes, which differ, and no decision

    def copy(self) -> "Ledger":
        """Return the same state in containers of its own."""
        names = [one.name for one in fields(self) if isinstance(getattr(self, one.name), dict)]
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def take(self, event: Event) -> None:
        """Fold one more event in."""
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
        """Items with a label that counts."""
        return self.counted.total()

    @property
    def answers(self) -> dict[str, Answer]:
        """What counts of every item somebody spoke about."""
        return {name: ballot.label for name, ballot in self.ballots.items()}

    @property
    def waiting(self) -> list[str]:
        """Labelled items whose turn has not come: they were not asked for."""
        return [name for name, label in self.answers.items() if label is not None and name not in self.drawn]

    @property
    def skipped(self) -> list[str]:
        """Items nobody could tell."""
        return [name for name, label in self.answers.items() if label is None]

    @property
    def disputed(self) -> list[str]:
        """Items about which people disagree, once everybody was heard, and that nobody has decided."""
        return list(self.disputes)

    @property
    def heard(self) -> list[Ballot]:
        """Votes that count: about items whose turn has come."""
        return [ballot for name, ballot in self.ballots.items() if name in self.drawn]

    def notes_on(self, ballot: Ballot) -> dict[str, str]:
        """What people noted beside their votes on an item."""
        noted = {who: self.deeds[Deed(ballot.item.id, who)] for who in ballot.votes}
        return {who: note for who, note in noted.items() if note}

    def last_of(self, who: str) -> str | None:
        """The item this person answered or decided last."""
        last = self.last_deed(who)
        return None if last is None else last.item

    def last_deed(self, who: str, *, decisions: bool = True) -> Deed | None:
        """Return what this person may take back: the last answer or decision, or the last answer alone.

        A withdrawal takes back what the person did last to the item. So without decisions, there is nothing to take back
        where the same name has also decided the item.
        """
        last = next(
            (deed for deed in reversed(self.deeds) if deed.who == who and (decisions or not deed.decided)), None
        )
        hides = last is not None and not decisions and last._replace(decided=True) in self.deeds
        return None if hides else last

    def is_taken_back(self, deed: Deed) -> bool:
        """Is an item open again where it was answered, or decided?"""
        ballot = self.ballots.get(deed.item)
        if ballot is None:
            return True
        return ballot.decision is None if deed.decided else self.wanted > 1 and deed.who not in ballot.votes

    def list_taken(self, items: Iterable[str], who: str) -> list[str]:
        """List those items that a new answer of this person would take from somebody else."""
        answered = (item for item in items if self.wanted == 1 and item in self.ballots)
        return [item for item in answered if who not in self.ballots[item].votes]

    def pending_with(self, who: str) -> list[Item]:
        """Items this person was asked about and has not answered."""
        return [one.item for one in self.pending.values() if one.who == who]

    def pending_for(self, who: str) -> list[Item]:
        """Items this person might answer: first one's own, then those that others leave open."""
        return self.pending_with(who) + [one.item for one in self.open_with_others(who)]

    def open_with_others(self, who: str) -> list[Open]:
        """Items that somebody else was asked about and has not answered, and that this person has not answered either."""
        return [one for one in self.pending.values() if one.who != who and not self._has_heard(one.item, who)]

    def short_for(self, who: str) -> list[Item]:
        """Items that want one more answer, are nobody's at the moment, and that this person has not answered."""
        free = (item for name, item in self.short.items() if name not in self.pending)
        return [item for item in free if not self._has_heard(item, who)]

    def _is_with(self, item: Item, who: str) -> bool:
        return item.id in self.pending and self.pending[item.id].who == who

    def _has_heard(self, item: Item, who: str) -> bool:
        return item.id in self.ballots and who in self.ballots[item.id].votes

    def _ask(self, new: Open) -> None:
        item = new.item
        self.n_asked += 1
        if item.id in self.drawn:  # its turn has come before
            if item.id in self.pending or item.id in self.short:
                self.pending[item.id] = new  # it is handed on
            return
        self.place[item.group] = max(self.place[item.group], item.place + 1)
        self.drawn[item.id] = item
        if item.id not in self.ballots:
            self.pending[item.id] = new
            return
        early = self.ballots[item.id]  # it was answered before its turn, which has come now
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
        """A slip: what was decided is disputed again; what was answered is open again, with whoever slipped."""
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
        """Let one ballot take the place of another; an empty one is none."""
        self._count(before, -1)
        self.ballots.pop(before.item.id, None)
        self.disputes.pop(before.item.id, None)
        if after.votes or after.decision is not None:
            self.ballots[after.item.id] = after
        self._count(after, 1)
        self._mind(after)

    def _mind(self, ballot: Ballot) -> None:
        """Note whether an item wants more answers, or has them and people disagree."""
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
