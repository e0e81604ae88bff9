"""`fewlabels watch`: import answers as their files arrive in a folder."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from fewlabels.cli.console import spinner, stderr_console, stdout_console
from fewlabels.cli.import_options import ImportOptions
from fewlabels.cli.options import File, Flag
from fewlabels.cli.session_files import open_session
from fewlabels.cli.session_tables import count_session_labels, print_session_line, print_standing
from fewlabels.errors import InputError, count
from fewlabels.sessions.exchange.importer import ImportSettings, import_file
from fewlabels.sessions.exchange.watcher import FolderScanner, NewFile
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
        work = WatchVerb(opened, session, stdout_console(), options, FolderScanner(Path(folder), session))
        try:
            work.run(every, once=once)
        except KeyboardInterrupt:
            work.out.print()
        print_session_line(work.out, f"{count(work.n_kept, 'answer')} kept in {session}")
    return 1 if once and work.failures else 0


@dataclass
class WatchVerb:
    """Imports the files of a folder into a session."""

    session: Session
    path: str
    out: Console
    terms: ImportSettings
    arrivals: FolderScanner
    n_kept: int = 0
    failures: dict[Path, str] = field(default_factory=dict)
    _printed: tuple[bool, str] | None = None  # the state of the goal when last printed

    def run(self, every: float, *, once: bool) -> None:
        """Check the folder repeatedly, or twice with `once`, because a file must be unchanged between two checks."""
        print_session_line(self.out, f"watching {self.arrivals.folder}" + ("" if once else "; stop with Ctrl-C"))
        self._print_if_changed()
        self.read_new_files()
        while True:
            time.sleep(every)
            self.read_new_files()
            if once:
                return

    def read_new_files(self) -> None:
        """Import the files that have arrived since the last check."""
        was = self.n_kept
        for new_file in self.arrivals.find_new_files():
            try:
                self._read(new_file)
            except InputError as error:
                self._report_failure(new_file, str(error))
        if self.n_kept > was:
            self._print_if_changed()

    def _read(self, new_file: NewFile) -> None:
        """Import a file that arrived in the watched folder, and print what it held."""
        taken = import_file(self.session, self.path, str(new_file.path), self.terms)
        self.n_kept += taken.n_new + taken.n_changed
        self.arrivals.mark_read(new_file)
        self.failures.pop(new_file.path, None)
        print_session_line(self.out, taken.say(str(new_file.path)))
        for remark in taken.notes:
            print_session_line(self.out, f"  {remark}")

    def _report_failure(self, new_file: NewFile, message: str) -> None:
        """Skip a file, and print what is wrong with it once."""
        self.arrivals.retry_later(new_file)
        if self.failures.get(new_file.path) != message:
            print_session_line(stderr_console(), f"skipped: {shorten(message)}")
        self.failures[new_file.path] = message

    def _print_if_changed(self) -> None:
        """Print the current answer after files were imported, if it changed."""
        with spinner("computing"):
            standing, n_labels = self.session.standing(), count_session_labels(self.session.knowledge())
        now = standing.settled, standing.sentence
        if now != self._printed:
            print_standing(self.out, standing, n_labels)
        self._printed = now
