"""The loop in which a person labels: show an item, hear an answer, say what is known now."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Protocol, runtime_checkable

import numpy as np
from rich.console import Console

from fewlabels.cli.session_files import Opened
from fewlabels.cli.session_tables import NOTHING_LEFT, count_labels, say, say_standing
from fewlabels.cli.undo import undo_last
from fewlabels.errors import InputError, count
from fewlabels.models.posterior import Posterior
from fewlabels.sessions.session import ItemId
from fewlabels.text import tame_line

SLOW, SHARE = 0.3, 10  # reckoning that takes this many seconds may take one part in so many of a person's time


class Wish(Enum):
    """What a person may want other than to answer."""

    UNDO = auto()
    STOP = auto()


@dataclass(frozen=True)
class Told:
    """An answer; None where nobody can tell."""

    label: str | None


@runtime_checkable
class Listener(Protocol):
    """Whoever shows an item and hears the answer."""

    def ask(self, id: ItemId, row: Mapping[str, Any], classes: tuple[str, ...]) -> Told | Wish:
        """Show an item and wait for an answer."""
        ...


@dataclass
class Labelling:
    """A person at work on a session."""

    opened: Opened
    out: Console
    who: str = ""
    new_classes: bool = False
    reveals: bool = False  # say what the model said, once the person has
    n_told: int = 0
    settled: bool = False
    _reckoned: float = field(default=-np.inf)  # when, and how long it took
    _took: float = 0.0

    def run(self, listener: Listener) -> None:
        """Go on until the person stops or nothing is left to ask."""
        session = self.opened.session
        while True:
            asked = session.ask(1, who=self.who)
            if not asked:
                say(self.out, NOTHING_LEFT)
                return
            heard = listener.ask(asked[0], self.opened.session.show(asked)[asked[0]], session.classes)
            if heard is Wish.STOP:
                return
            if isinstance(heard, Told):
                self._tell(asked[0], heard.label)
            else:
                self._undo()

    def _tell(self, id: ItemId, label: str | None) -> None:
        session = self.opened.session
        before = session.knowledge()
        session.tell({id: label}, who=self.who, new_classes=self.new_classes)
        self.n_told += 1
        said = "nobody can tell" if label is None else tame_line(label)
        if self.reveals:
            said += f" (the model says {tame_line(self.opened.predicted(id))})"
        say(self.out, f"→ {said}")
        self._say_progress(before, session.knowledge())

    def _undo(self) -> None:
        try:
            say(self.out, undo_last(self.opened.session, self.who))
            self.n_told = max(0, self.n_told - 1)
        except InputError as error:
            say(self.out, str(error))

    def _say_progress(self, before: Posterior, now: Posterior) -> None:
        """Say what is known now; where reckoning takes long, not after every answer."""
        n_labels = count_labels(now)
        labels = count(n_labels, "label")
        if self._took > SLOW and time.monotonic() - self._reckoned < SHARE * self._took:
            say(self.out, f"  {labels}")
            return
        start = time.monotonic()
        standing = self.opened.session.standing()
        parts = [labels, say_group(before, now), say_standing(standing, n_labels) if n_labels else ""]
        say(self.out, f"  {'; '.join(part for part in parts if part)}")
        if standing.settled and not self.settled:
            self.out.print("[green]settled[/]: you may stop, or go on to be surer")
        self.settled = standing.settled
        self._reckoned = time.monotonic()
        self._took = self._reckoned - start


def say_group(before: Posterior, now: Posterior) -> str:
    """Say what is known of the group that the last label fell into; nothing where that cannot be told."""
    changed = np.nonzero(now.n_told - before.n_told)[0]
    if len(changed) != 1:
        return ""
    g = int(changed[0])
    (low, high), mean = now.interval(), now.mean()
    return f"{now.metric.name} of {now.groups[g]} {mean[g]:.3f} [{low[g]:.3f}, {high[g]:.3f}]"
