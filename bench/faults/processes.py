"""Processes to be killed: a verb of the command line or a function, each a fork of a server that has loaded everything.

So a process starts in milliseconds, and kills fall on its own work. A process dies some seconds after it begins to
read or write files, before a line of the code that does so runs for the first time, or just after it has acknowledged.
"""

import io
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import fewlabels
from bench.faults import preload  # noqa: F401
from fewlabels.cli.app import main

CODE = str(Path(fewlabels.__file__).parent)
WRITING = (
    "journal",
    "files",
    "session",
    "store",
    "recording",
    "opening",
    "importer",
    "watcher",
    "output",
)  # parts of the code that write
SAID = {
    "tell": "kept:", "ask": "labels:", "import": "new answer", "watch": "new answer", "assess": "written:", "backup": "a copy of",
}  # fmt: skip  # how each verb acknowledges
KILLED = (-signal.SIGKILL, -signal.SIGALRM)
PATIENCE = 300.0  # seconds after which a process hangs, on a busy machine too
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["bench.faults.processes"])


@dataclass(frozen=True)
class Place:
    """Where processes of a scenario work: a folder, and another for temporary files."""

    folder: Path
    temporary: Path
    limit: int | None = None  # bytes that a file may have, where there is no small disk

    @classmethod
    def make(cls, folder: Path) -> "Place":
        """Make both folders."""
        place = cls(folder / "work", folder / "tmp")
        place.folder.mkdir(parents=True)
        place.temporary.mkdir()
        return place

    @property
    def log(self) -> Path:
        """Where processes print."""
        return self.temporary.with_name("printed.txt")

    @property
    def marks(self) -> Path:
        """Where processes note their marks."""
        return self.temporary.with_name("marks.json")

    def read_marks(self) -> "Marks":
        """Read the marks of a process that was not killed."""
        return Marks(*json.loads(self.marks.read_text())) if self.marks.exists() else Marks()

    def sweep(self, *expected: str) -> list[str]:
        """Name files that nobody expects here, and remove them, so that each is counted once."""
        found = [path for path in self.folder.iterdir() if path.name not in expected]
        found += [path for path in self.temporary.rglob("*") if not path.is_dir()]
        for path in found:
            path.unlink()
        return [path.name for path in found]


@dataclass(frozen=True)
class Moment:
    """When a process dies: some seconds after it begins to write or acknowledges, or before its k-th new line."""

    since: Literal["write", "acknowledgement"] = "write"
    seconds: float = 2 * PATIENCE
    line: int | None = None


@dataclass(frozen=True)
class Marks:
    """What a process that ended notes: when it began to write, when it acknowledged, and how many lines it ran until then."""

    began: float | None = None
    acknowledged: float | None = None
    lines: int = 0
    ended: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it worked with files."""
        return 0.0 if self.began is None else self.ended - self.began


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, or None where it was killed."""

    code: int | None
    printed: str
    seconds: float
    is_acknowledged: bool
    at: float  # when, on the monotonic clock
    marks: Marks = Marks()

    @property
    def is_done(self) -> bool:
        """Did it say that all went well?"""
        return self.code == 0


@dataclass
class Span:
    """How long a command works undisturbed, from which moments to kill it are drawn: in time, in code, after it is done."""

    rng: random.Random
    writing: float = 0.0  # seconds from the first use of a file to the acknowledgement
    ending: float = 0.0  # seconds from the acknowledgement to the end
    lines: int = 0  # until the acknowledgement
    drawn: int = 0

    def measure(self, run: Callable[[Moment], Ended]) -> None:
        """Run it undisturbed, and as slowly as when its lines are counted."""
        timed = run(Moment())
        self.lines = run(Moment(line=sys.maxsize)).marks.lines
        if timed.marks.began is None or timed.marks.acknowledged is None or not self.lines:
            raise SystemExit(f"it did not write or did not acknowledge; see WRITING and SAID: {timed.printed[-500:]}")
        self.writing, self.ending = timed.marks.acknowledged - timed.marks.began, timed.at - timed.marks.acknowledged

    def draw(self) -> Moment:
        """Draw a moment, of each kind in turn."""
        self.drawn += 1
        if self.drawn % 3 == 1:
            return Moment("acknowledgement", max(1e-6, self.rng.uniform(0, self.ending)))
        if self.drawn % 3 == 2:
            return Moment(line=self.rng.randrange(self.lines))
        return Moment("write", max(1e-6, self.rng.uniform(0, self.writing)))


def start(
    work: Callable[..., object], *words: Any, place: Place, moment: Moment | None = None, said: str = ""
) -> BaseProcess:
    """Start a process that does this, acknowledges with what is `said`, and dies at a moment."""
    process = CONTEXT.Process(target=_work, args=(work, words, place, moment, said), daemon=True)
    process.start()
    return process


def wait_for(log: Path, text: str) -> float:
    """Wait until a process has printed this; return how many seconds that took."""
    began = time.monotonic()
    while text not in log.read_text():
        if time.monotonic() > began + PATIENCE:
            raise SystemExit(f"{text!r} was not printed, but: {log.read_text()[-500:]}")
        time.sleep(0.002)
    return time.monotonic() - began


def enter(*words: str) -> None:
    """Run the command line with these words."""
    sys.argv = ["fewlabels", *words]
    main()


def run_verb(place: Place, words: Sequence[str], moment: Moment | None = None) -> Ended:
    """Run a verb, which dies at a moment unless it ends before."""
    place.log.write_text("")
    place.marks.unlink(missing_ok=True)
    began = time.monotonic()
    process = start(enter, *words, place=place, moment=moment, said=SAID[words[0]])
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()
    at, printed = time.monotonic(), place.log.read_text()
    code = None if process.exitcode in KILLED else process.exitcode
    marks = Marks() if code is None else place.read_marks()  # a killed process may have begun to note them
    return Ended(code, printed, at - began, SAID[words[0]] in printed, at, marks)


def _work(work: Callable[..., object], words: Sequence[Any], place: Place, moment: Moment | None, said: str) -> None:
    """In the new process: print to a file, and die at a moment."""
    os.chdir(place.folder)
    os.environ["TMPDIR"] = tempfile.tempdir = str(place.temporary)
    log = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    death = Death(moment, said.encode())
    sys.stdout = sys.stderr = io.TextIOWrapper(Printed(death), write_through=True)
    if place.limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (place.limit, resource.RLIM_INFINITY))
    if moment is not None:
        sys.settrace(death.trace)
    try:
        work(*words)
    finally:
        sys.settrace(None)
        if moment is not None:
            place.marks.write_text(json.dumps([death.began, death.acknowledged, death.n_lines, time.monotonic()]))


@dataclass
class Death:
    """Notes when its process begins to write and when it acknowledges, counts new lines of code, and ends it at a moment."""

    moment: Moment | None
    said: bytes
    began: float | None = None
    acknowledged: float | None = None
    n_lines: int = 0  # until it acknowledged
    seen: set[tuple[str, int]] = field(default_factory=set)

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:  # noqa: ARG002
        """Follow the code that writes, and nothing else; where no line is counted, only to its beginning."""
        path = frame.f_code.co_filename
        if not path.startswith(CODE) or not {*Path(path).with_suffix("").parts[-2:]} & {*WRITING}:
            return None
        if self.began is None:
            self.began = self._note("write")
        if self.moment is None or self.moment.line is None:
            sys.settrace(None)
            return None
        if event == "line" and (path, frame.f_lineno) not in self.seen:
            if len(self.seen) == self.moment.line:
                os.kill(os.getpid(), signal.SIGKILL)
            self.seen.add((path, frame.f_lineno))
        return self.trace

    def hear(self, printed: bytes) -> None:
        """Look for the acknowledgement in what is printed."""
        if self.acknowledged is None and self.said and self.said in printed:
            self.acknowledged, self.n_lines = self._note("acknowledgement"), len(self.seen)

    def _note(self, what: str) -> float:
        """Return the time; the system ends the process so many seconds later, whatever it does then."""
        if self.moment is not None and self.moment.line is None and self.moment.since == what:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, self.moment.seconds)
        return time.monotonic()


class Printed(io.FileIO):
    """Standard output, of which a `Death` learns at once."""

    def __init__(self, death: Death) -> None:
        super().__init__(1, "w")
        self._death = death

    def write(self, text: Any, /) -> int:
        """Print, then say so."""
        n = super().write(text)
        self._death.hear(bytes(text))
        return n
