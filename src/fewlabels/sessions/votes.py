"""What people say of an item: a vote each, and the word that settles it, if somebody said it."""

from collections.abc import Mapping
from typing import NamedTuple

from fewlabels.sessions.journal.events import Item

Answer = str | None  # None: a person looked, and cannot tell


class Decision(NamedTuple):
    """The word that settles an item, and whose it is."""

    label: Answer
    who: str


class Ballot(NamedTuple):
    """Votes on an item. A value: another vote makes another ballot.

    >>> ballot = Ballot(Item("7", 0, 0, 0), {"ann": "cat", "bob": "dog", "cleo": None})
    >>> ballot.label, ballot.is_disputed, ballot._replace(decision=Decision("cat", "kim")).label
    ('dog', True, 'cat')
    """

    item: Item
    votes: Mapping[str, Answer] = {}  # by person, who spoke last coming last
    decision: Decision | None = None

    @property
    def labels(self) -> list[str]:
        """Votes of those who could tell."""
        return [label for label in self.votes.values() if label is not None]

    @property
    def said(self) -> list[str]:
        """Every label that stands on it."""
        decided = [] if self.decision is None or self.decision.label is None else [self.decision.label]
        return self.labels + decided

    @property
    def label(self) -> Answer:
        """What counts: what was decided, else what most say, and of several such what was said last."""
        if self.decision is not None:
            return self.decision.label
        labels = self.labels
        return max(reversed(labels), key=labels.count, default=None)

    @property
    def is_disputed(self) -> bool:
        """Do people disagree, and has nobody decided?"""
        return self.decision is None and len(set(self.labels)) > 1
