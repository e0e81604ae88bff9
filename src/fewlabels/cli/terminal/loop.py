"""The labelling loop: show an item, read an answer, print the updated estimate."""

import time
from dataclasses import dataclass, field

import numpy as np
from rich.console import Console

from fewlabels.cli.session_files import OpenedSession
from fewlabels.cli.session_tables import NOTHING_LEFT, count_session_labels, format_standing, print_session_line
from fewlabels.cli.terminal.answers import Answer, AnswerSource, Command
from fewlabels.cli.undo import undo_last
from fewlabels.data.names import ItemId
from fewlabels.errors import InputError, count
from fewlabels.models.posterior import Posterior
from fewlabels.text import sanitize_line

SLOW, SHARE = 0.3, 10  # an update slower than SLOW seconds may take at most 1/SHARE of the annotator's time


@dataclass
class LabellingLoop:
    """An annotator labelling a session."""

    opened: OpenedSession
    out: Console
    who: str = ""
    new_classes: bool = False
    reveals: bool = False  # show the prediction after the answer
    n_told: int = 0
    settled: bool = False
    _computed_at: float = field(default=-np.inf)  # time of the last update, and how long it took
    _computing_time: float = 0.0

    def run(self, source: AnswerSource) -> None:
        """Ask until the annotator stops or nothing is left to ask."""
        session = self.opened.session
        while True:
            asked = session.ask(1, who=self.who)
            if not asked:
                print_session_line(self.out, NOTHING_LEFT)
                return
            reply = source.ask(asked[0], self.opened.session.show(asked)[asked[0]], session.classes)
            if reply is Command.STOP:
                return
            if isinstance(reply, Answer):
                self._tell(asked[0], reply.label)
            else:
                self._undo()

    def _tell(self, id: ItemId, label: str | None) -> None:
        """Record an answer in the loop, and print it with the group's updated estimate."""
        session = self.opened.session
        before = session.knowledge()
        session.tell({id: label}, who=self.who, new_classes=self.new_classes)
        self.n_told += 1
        text = "cannot tell" if label is None else sanitize_line(label)
        if self.reveals:
            text += f" (predicted: {sanitize_line(self.opened.predicted(id))})"
        print_session_line(self.out, f"→ {text}")
        self._print_progress(before, session.knowledge())

    def _undo(self) -> None:
        """Undo the last answer of the loop."""
        try:
            print_session_line(self.out, undo_last(self.opened.session, self.who))
            self.n_told = max(0, self.n_told - 1)
        except InputError as error:
            print_session_line(self.out, str(error))

    def _print_progress(self, before: Posterior, now: Posterior) -> None:
        """Print the updated estimate; if it takes long to compute, not after every answer."""
        n_labels = count_session_labels(now)
        labels = count(n_labels, "label")
        if self._computing_time > SLOW and time.monotonic() - self._computed_at < SHARE * self._computing_time:
            print_session_line(self.out, f"  {labels}")
            return
        start = time.monotonic()
        standing = self.opened.session.standing()
        parts = [labels, format_group_change(before, now), format_standing(standing, n_labels) if n_labels else ""]
        print_session_line(self.out, f"  {'; '.join(part for part in parts if part)}")
        if standing.settled and not self.settled:
            self.out.print("[green]settled[/]: you can stop, or continue for more certainty")
        self.settled = standing.settled
        self._computed_at = time.monotonic()
        self._computing_time = self._computed_at - start


def format_group_change(before: Posterior, now: Posterior) -> str:
    """Return what the loop shows after a label: the estimate of its group; empty if not exactly one changed."""
    changed = np.nonzero(now.n_told - before.n_told)[0]
    if len(changed) != 1 or now.models is not None:
        return ""
    g = int(changed[0])
    (low, high), mean = now.interval(), now.mean()
    return f"{now.metric.name} of {now.groups[g]} {mean[g]:.3f} [{low[g]:.3f}, {high[g]:.3f}]"
