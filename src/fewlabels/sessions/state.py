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
from fewlabels.sessions.votes import Answer, Decision, ItemVotes


class PendingItem(NamedTuple):
    """An item that an annotator was asked for and has not answered."""

    item: Item
    who: str
    seq: int  # of the "asked" event


class Action(NamedTuple):
    """An answer or decision, which its author may withdraw."""

    item: str
    who: str
    decided: bool = False  # else a vote


@dataclass
class SessionState:
    """The state after all events so far. It changes only by applying the next event."""

    wanted: int = 1  # votes per item
    seq: int = 0
    n_asked: int = 0
    n_answer_events: int = 0  # answers, decisions and withdrawals so far
    drawn: dict[str, Item] = field(default_factory=dict)
    voted_items: dict[str, ItemVotes] = field(default_factory=dict)  # ordered by last change
    pending: dict[str, PendingItem] = field(default_factory=dict)  # oldest first
    short_of_votes: dict[str, Item] = field(default_factory=dict)  # drawn and answered, with fewer votes than wanted
    counted: Counter[tuple[int, str]] = field(default_factory=Counter)  # (entry, label) -> number of items
    at_random: dict[str, Item] = field(default_factory=dict)  # drawn at random from all items not asked about yet
    n_drawn: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))  # group -> number of items drawn
    actions: dict[Action, str] = field(
        default_factory=dict
    )  # current answers and decisions in their order, with their notes
    label_counts: Counter[str] = field(default_factory=Counter)  # current votes and decisions per label
    disputes: dict[str, None] = field(default_factory=dict)  # undecided items that have all their votes, which differ

    def copy(self) -> "SessionState":
        """Return a copy of the state with its own containers."""
        names = [one.name for one in fields(self) if isinstance(getattr(self, one.name), dict)]
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def apply(self, event: Event) -> None:
        """Apply the next event to the state."""
        self.seq = event.seq
        if event.kind == "asked":
            if event.choice == "random" and event.item.id not in self.drawn:
                self.at_random[event.item.id] = event.item
            self._ask(PendingItem(event.item, event.who, event.seq))
            return
        self.n_answer_events += 1
        if event.kind == "withdrawn":
            self._withdraw(PendingItem(event.item, event.who, event.seq))
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
        return {name: item_votes.label for name, item_votes in self.voted_items.items()}

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
    def answered(self) -> list[ItemVotes]:
        """Votes that count: those on drawn items."""
        return [item_votes for name, item_votes in self.voted_items.items() if name in self.drawn]

    @property
    def labelled_at_random(self) -> list[ItemVotes]:
        """Labelled items that were drawn at random from all items not asked about yet."""
        found = (self.voted_items[name] for name in self.at_random if name in self.voted_items)
        return [item_votes for item_votes in found if item_votes.label is not None]

    def notes_on(self, item_votes: ItemVotes) -> dict[str, str]:
        """Return the notes beside the votes on an item, by annotator."""
        noted = {who: self.actions[Action(item_votes.item.id, who)] for who in item_votes.votes}
        return {who: note for who, note in noted.items() if note}

    def count_answers(self, who: str) -> int:
        """Count an annotator's current answers, without decisions."""
        return sum(action.who == who and not action.decided for action in self.actions)

    def last_item_of(self, who: str) -> str | None:
        """Return the item that an annotator answered or decided last."""
        last = self.last_action(who)
        return None if last is None else last.item

    def last_action(self, who: str, *, decisions: bool = True) -> Action | None:
        """Return what an annotator may withdraw: the last answer or decision, or only the last answer.

        A withdrawal applies to the annotator's last action on the item. So without decisions there is nothing to
        withdraw if the same annotator has also decided the item.
        """
        last = next(
            (action for action in reversed(self.actions) if action.who == who and (decisions or not action.decided)),
            None,
        )
        hides = last is not None and not decisions and last._replace(decided=True) in self.actions
        return None if hides else last

    def is_undone(self, action: Action) -> bool:
        """Whether an answer or decision has been withdrawn and not been given again."""
        item_votes = self.voted_items.get(action.item)
        if item_votes is None:
            return True
        return item_votes.decision is None if action.decided else self.wanted > 1 and action.who not in item_votes.votes

    def list_taken(self, items: Iterable[str], who: str) -> list[str]:
        """List the items where a new answer of this annotator would replace another annotator's."""
        answered = (item for item in items if self.wanted == 1 and item in self.voted_items)
        return [item for item in answered if who not in self.voted_items[item].votes]

    def pending_with(self, who: str) -> list[Item]:
        """Items that this annotator was asked for and has not answered."""
        return [one.item for one in self.pending.values() if one.who == who]

    def pending_for(self, who: str) -> list[Item]:
        """Items that this annotator may answer: first their own pending items, then those pending with others."""
        return self.pending_with(who) + [one.item for one in self.pending_with_others(who)]

    def pending_with_others(self, who: str) -> list[PendingItem]:
        """Items that are pending with other annotators and that this annotator has not answered."""
        return [one for one in self.pending.values() if one.who != who and not self._has_vote_from(one.item, who)]

    def short_of_vote_from(self, who: str) -> list[Item]:
        """Items that need another vote, are not pending, and that this annotator has not answered."""
        free = (item for name, item in self.short_of_votes.items() if name not in self.pending)
        return [item for item in free if not self._has_vote_from(item, who)]

    def _is_pending_with(self, item: Item, who: str) -> bool:
        """Is an item pending with this annotator, in the current state?"""
        return item.id in self.pending and self.pending[item.id].who == who

    def _has_vote_from(self, item: Item, who: str) -> bool:
        """Has this annotator voted on an item, in the current state?"""
        return item.id in self.voted_items and who in self.voted_items[item.id].votes

    def _ask(self, new: PendingItem) -> None:
        """Apply an event to the state: an item was asked for."""
        item = new.item
        self.n_asked += 1
        if item.id in self.drawn:  # it was drawn before
            if item.id in self.pending or item.id in self.short_of_votes:
                self.pending[item.id] = new  # it is reassigned
            return
        self.n_drawn[item.group] = max(self.n_drawn[item.group], item.place + 1)
        self.drawn[item.id] = item
        if item.id not in self.voted_items:
            self.pending[item.id] = new
            return
        earlier_votes = self.voted_items[item.id]  # answered before it was drawn
        if earlier_votes.label is not None:
            self.counted[item.entry, earlier_votes.label] += 1
        self._update_votes_status(earlier_votes)

    def _answer(self, item: Item, label: Answer, who: str, note: str) -> None:
        """Apply an event to the state: an annotator answered an item."""
        before = self.voted_items.get(item.id, ItemVotes(item))
        others = {} if self.wanted == 1 else {name: label for name, label in before.votes.items() if name != who}
        for name in before.votes.keys() - others.keys():
            del self.actions[Action(item.id, name)]
        self._replace_votes(before, before._replace(votes={**others, who: label}))
        self.actions[Action(item.id, who)] = note
        if item.id not in self.short_of_votes or self._is_pending_with(item, who):
            self.pending.pop(item.id, None)

    def _decide(self, item: Item, decision: Decision, note: str) -> None:
        """Apply an event to the state: a disputed item was decided."""
        before = self.voted_items.get(item.id, ItemVotes(item))
        if before.decision is not None:
            del self.actions[Action(item.id, before.decision.who, decided=True)]
        self._replace_votes(before, before._replace(decision=decision))
        self.actions[Action(item.id, decision.who, decided=True)] = note
        self.pending.pop(item.id, None)

    def _withdraw(self, again: PendingItem) -> None:
        """Withdraw the last action: a decided item is disputed again; an answered one is pending again."""
        item, who = again.item, again.who
        before = self.voted_items.get(item.id)
        if before is None:
            return
        actions = [
            action for action in self.actions if action.item == item.id and (action.who == who or self.wanted == 1)
        ]
        if not actions:
            return
        last = actions[-1]
        del self.actions[last]
        if last.decided:
            self._replace_votes(before, before._replace(decision=None))
            return
        self._replace_votes(
            before, before._replace(votes={name: label for name, label in before.votes.items() if name != last.who})
        )
        if item.id in self.drawn and before.decision is None:
            self.pending = {item.id: again, **{name: one for name, one in self.pending.items() if name != item.id}}

    def _replace_votes(self, before: ItemVotes, after: ItemVotes) -> None:
        """Replace the votes on an item, and drop the item if no vote is left."""
        self._count(before, -1)
        self.voted_items.pop(before.item.id, None)
        self.disputes.pop(before.item.id, None)
        if after.votes or after.decision is not None:
            self.voted_items[after.item.id] = after
        self._count(after, 1)
        self._update_votes_status(after)

    def _update_votes_status(self, item_votes: ItemVotes) -> None:
        """Record whether an item needs more votes, or has all of them and they differ."""
        item = item_votes.item
        self.short_of_votes.pop(item.id, None)
        is_open = item.id in self.drawn and item_votes.decision is None
        if is_open and 0 < len(item_votes.votes) < self.wanted:
            self.short_of_votes[item.id] = item
            self.disputes.pop(item.id, None)
        elif item_votes.is_disputed:
            self.disputes.setdefault(item.id)

    def _count(self, item_votes: ItemVotes, n: int) -> None:
        """Add the labels on an item to the counts of the state, or subtract them."""
        for label in item_votes.all_labels:
            self.label_counts[label] += n
            if not self.label_counts[label]:
                del self.label_counts[label]
        if item_votes.label is not None and item_votes.item.id in self.drawn:
            self.counted[item_votes.item.entry, item_votes.label] += n
