"""`fewlabels watch`: answers are read as their files arrive in a folder."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from fewlabels.cli.import_options import ImportOptions
from fewlabels.cli.options import File, Flag
from fewlabels.cli.session_files import open_session
from fewlabels.cli.session_tables import count_labels, print_standing, say
from fewlabels.cli.tables import complainer, printer, working
from fewlabels.errors import InputError, count
from fewlabels.sessions.exchange.folder import Arrival, Arrivals
from fewlabels.sessions.exchange.importer import Terms, take_in
from fewlabels.sessions.session import Session
from fewlabels.text import shorten


def watch(
    folder: File,
    /,
    *,
    session: File,
    every: Annotated[float, Parameter(show_default=True)] = 2.0,
    once: Flag = False,
    options: ImportOptions = ImportOptions(),
) -> int:
    """Read answers into a session as their files arrive in a folder, until Ctrl-C.

    Parameters
    ----------
    folder: str
        Where sheets (.csv or .jsonl) and Label Studio's exports (.json) arrive.
    session: str
        File of the session.
    every: float
        Look so often, in seconds. A file is read once it stays the same from one look to the next.
    once: bool
        Read what is there, and end; with exit code 1 where a file cannot be read.
    """
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: there is no such folder")
    if not 0 <= every < float("inf"):
        raise InputError(f"watch: --every {every:g} makes no sense; say how many seconds, for instance 2")
    with open_session(session) as opened:
        work = Watching(opened, session, printer(), options, Arrivals(Path(folder), session))
        try:
            work.run(every, once=once)
        except KeyboardInterrupt:
            work.out.print()
        say(work.out, f"{count(work.n_kept, 'answer')} kept in {session}")
    return 1 if once and work.complaints else 0


@dataclass
class Watching:
    """A session that learns from a folder."""

    session: Session
    path: str
    out: Console
    terms: Terms
    arrivals: Arrivals
    n_kept: int = 0
    complaints: dict[Path, str] = field(default_factory=dict)
    _said: tuple[bool, str] | None = None  # where the goal stood when that was last printed

    def run(self, every: float, *, once: bool) -> None:
        """Look again and again, or once: which takes two looks, since a file must have stayed the same."""
        say(self.out, f"watching {self.arrivals.folder}" + ("" if once else "; Ctrl-C ends it"))
        self._print_news()
        self.sweep()
        while True:
            time.sleep(every)
            self.sweep()
            if once:
                return

    def sweep(self) -> None:
        """Read what has arrived."""
        was = self.n_kept
        for arrival in self.arrivals.look():
            try:
                self._read(arrival)
            except InputError as error:
                self._complain(arrival, str(error))
        if self.n_kept > was:
            self._print_news()

    def _read(self, arrival: Arrival) -> None:
        taken = take_in(self.session, self.path, str(arrival.path), self.terms)
        self.n_kept += taken.n_new + taken.n_changed
        self.arrivals.keep(arrival)
        self.complaints.pop(arrival.path, None)
        say(self.out, taken.say(str(arrival.path)))
        for remark in taken.remarks:
            say(self.out, f"  {remark}")

    def _complain(self, arrival: Arrival, message: str) -> None:
        """Say what is wrong with a file, once, and leave it alone."""
        self.arrivals.put_off(arrival)
        if self.complaints.get(arrival.path) != message:
            say(complainer(), f"left alone: {shorten(message)}")
        self.complaints[arrival.path] = message

    def _print_news(self) -> None:
        """Print where the goal stands, if that is news."""
        with working("reckoning"):
            standing, n_labels = self.session.standing(), count_labels(self.session.knowledge())
        now = standing.settled, standing.sentence
        if now != self._said:
            print_standing(self.out, standing, n_labels)
        self._said = now
