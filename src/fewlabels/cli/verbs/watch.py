"""`fewlabels watch`: import answers as their files arrive in a folder."""

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
    """Import answers into a session as their files arrive in a folder, until Ctrl-C.

    Parameters
    ----------
    folder: str
        Folder for files of answers (.csv or .jsonl) and Label Studio exports (.json).
    session: str
        File of the session.
    every: float
        Seconds between two checks of the folder. A file is read once it is unchanged between two checks.
    once: bool
        Read the files in the folder and exit; the exit code is 1 if a file cannot be read.
    """
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: no such folder")
    if not 0 <= every < float("inf"):
        raise InputError(f"watch: --every must be a number of seconds, 0 or more, got {every:g}")
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
    """Imports the files of a folder into a session."""

    session: Session
    path: str
    out: Console
    terms: Terms
    arrivals: Arrivals
    n_kept: int = 0
    complaints: dict[Path, str] = field(default_factory=dict)
    _said: tuple[bool, str] | None = None  # the state of the goal when last printed

    def run(self, every: float, *, once: bool) -> None:
        """Check the folder repeatedly, or twice with `once`, because a file must be unchanged between two checks."""
        say(self.out, f"watching {self.arrivals.folder}" + ("" if once else "; stop with Ctrl-C"))
        self._print_news()
        self.sweep()
        while True:
            time.sleep(every)
            self.sweep()
            if once:
                return

    def sweep(self) -> None:
        """Import the files that have arrived since the last check."""
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
        """Skip a file, and print what is wrong with it once."""
        self.arrivals.put_off(arrival)
        if self.complaints.get(arrival.path) != message:
            say(complainer(), f"skipped: {shorten(message)}")
        self.complaints[arrival.path] = message

    def _print_news(self) -> None:
        """Print the current answer if it changed."""
        with working("computing"):
            standing, n_labels = self.session.standing(), count_labels(self.session.knowledge())
        now = standing.settled, standing.sentence
        if now != self._said:
            print_standing(self.out, standing, n_labels)
        self._said = now
