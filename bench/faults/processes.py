"""Processes to be killed: a verb of the command line or a function, each a fork of a server that has loaded everything.

So a process starts in milliseconds, and kills fall on its own work. A kill comes after some seconds, or before a line
of our own code that reads or writes files runs for the first time.
"""

import io
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
from typing import Any

import fewlabels
from bench.faults import preload  # noqa: F401
from fewlabels.cli.app import main

CODE = str(Path(fewlabels.__file__).parent)
WRITING = (
    "journal",
    "files",
    "session",
    "fold",
    "intake",
    "arrivals",
    "places",
    "delivery",
)  # parts of the code that write
PATIENCE = 60.0  # seconds after which a process hangs
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

    def sweep(self, *expected: str) -> list[str]:
        """Name files that nobody expects here, and remove them, so that each is counted once."""
        found = [path for path in self.folder.iterdir() if path.name not in expected]
        found += [path for path in self.temporary.rglob("*") if not path.is_dir()]
        for path in found:
            path.unlink()
        return [path.name for path in found]


@dataclass(frozen=True)
class Moment:
    """When a process is killed: after some seconds, or before its k-th new line."""

    seconds: float = PATIENCE
    line: int = sys.maxsize


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, or None where it was killed."""

    code: int | None
    printed: str
    seconds: float
    lines: int = 0

    @property
    def is_done(self) -> bool:
        """Did it say that all went well?"""
        return self.code == 0


@dataclass
class Span:
    """How long a command takes undisturbed, from which moments to kill it are drawn."""

    rng: random.Random
    seconds: float = 0.0
    lines: int = 0

    def measure(self, run: Callable[[Moment], Ended]) -> None:
        """Run it undisturbed, and as slowly as when its lines are counted."""
        self.seconds = run(Moment()).seconds
        self.lines = run(Moment(line=sys.maxsize - 1)).lines
        if not self.lines:
            raise SystemExit(f"no line of {CODE} that writes was run; see WRITING")

    def draw(self) -> Moment:
        """Draw a moment: in time up to a little after its end, or in the code."""
        if self.rng.random() < 0.5:
            return Moment(seconds=self.rng.uniform(0, 1.2 * self.seconds))
        return Moment(line=self.rng.randrange(self.lines))


def start(work: Callable[..., object], *words: Any, place: Place, line: int = sys.maxsize) -> BaseProcess:
    """Start a process that does this."""
    process = CONTEXT.Process(target=_work, args=(work, words, place, line), daemon=True)
    process.start()
    return process


def enter(*words: str) -> None:
    """Run the command line with these words."""
    sys.argv = ["fewlabels", *words]
    main()


def run_verb(place: Place, words: Sequence[str], moment: Moment = Moment()) -> Ended:
    """Run a verb, and kill it at a moment unless it is done before."""
    place.log.write_text("")
    began = time.perf_counter()
    process = start(enter, *words, place=place, line=moment.line)
    process.join(moment.seconds)
    if process.is_alive():
        process.kill()
        process.join()
    seconds = time.perf_counter() - began
    code = process.exitcode if process.exitcode != -signal.SIGKILL else None
    lines = place.log.with_suffix(".lines")
    return Ended(code, place.log.read_text(), seconds, int(lines.read_text()) if lines.exists() else 0)


def _work(work: Callable[..., object], words: Sequence[Any], place: Place, line: int) -> None:
    """In the new process: print to a file, and be killed at a line."""
    os.chdir(place.folder)
    os.environ["TMPDIR"] = tempfile.tempdir = str(place.temporary)
    log = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO(1, "w"), write_through=True)
    if place.limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (place.limit, resource.RLIM_INFINITY))
    counter = Lines(line)
    if line < sys.maxsize:
        sys.settrace(counter.trace)
    try:
        work(*words)
    finally:
        sys.settrace(None)
        if line < sys.maxsize:
            place.log.with_suffix(".lines").write_text(str(len(counter.seen)))


@dataclass
class Lines:
    """Counts lines of code that run for the first time, and kills its process before one of them."""

    last: int
    seen: set[tuple[str, int]] = field(default_factory=set)

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:  # noqa: ARG002
        """Follow the code that writes, and nothing else."""
        path = frame.f_code.co_filename
        if not path.startswith(CODE) or not {*Path(path).with_suffix("").parts[-2:]} & {*WRITING}:
            return None
        if event == "line" and (path, frame.f_lineno) not in self.seen:
            if len(self.seen) == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
            self.seen.add((path, frame.f_lineno))
        return self.trace
