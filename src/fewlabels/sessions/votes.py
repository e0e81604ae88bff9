"""The votes on an item, one per annotator, and the decision that settles it, if there is one."""

from collections.abc import Mapping
from typing import NamedTuple

from fewlabels.sessions.journal.events import Item

Answer = str | None  # None: an annotator looked at it and could not label it


class Decision(NamedTuple):
    """The label that settles an item, and who decided it."""

    label: Answer
    who: str


class ItemVotes(NamedTuple):
    """The votes on an item, immutable.

    >>> votes = ItemVotes(Item("7", 0, 0, 0), {"ann": "cat", "bob": "dog", "cleo": None})
    >>> votes.label, votes.is_disputed, votes._replace(decision=Decision("cat", "kim")).label
    ('dog', True, 'cat')
    """

    item: Item
    votes: Mapping[str, Answer] = {}  # by annotator, in the order of their answers
    decision: Decision | None = None

    @property
    def labels(self) -> list[str]:
        """The votes that are labels, without skips."""
        return [label for label in self.votes.values() if label is not None]

    @property
    def all_labels(self) -> list[str]:
        """All labels on the item, of votes and decision."""
        decided = [] if self.decision is None or self.decision.label is None else [self.decision.label]
        return self.labels + decided

    @property
    def label(self) -> Answer:
        """The label that counts of an item's votes: the decided one, else the majority's; among ties, the latest."""
        if self.decision is not None:
            return self.decision.label
        labels = self.labels
        return max(reversed(labels), key=labels.count, default=None)

    @property
    def is_disputed(self) -> bool:
        """Whether votes differ and there is no decision."""
        return self.decision is None and len(set(self.labels)) > 1
