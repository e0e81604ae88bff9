"""What an annotator can answer at the terminal, and the interface of what reads it (`keys`, `lines`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol, runtime_checkable

from fewlabels.data.names import ItemId


class Command(Enum):
    """A command instead of an answer."""

    UNDO = auto()
    STOP = auto()


@dataclass(frozen=True)
class Answer:
    """An answer; None means cannot tell."""

    label: str | None


@runtime_checkable
class AnswerSource(Protocol):
    """Shows an item and returns its answer."""

    def ask(self, id: ItemId, row: Mapping[str, Any], classes: tuple[str, ...]) -> Answer | Command:
        """Show an item and wait for an answer."""
        ...
