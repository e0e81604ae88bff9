"""Workers that run cases, each in a process of its own: one that hangs or crashes is replaced, and the case is to blame."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.cases import Verdict
from tests.fuzz.commands import KINDS

LIMITS = (
    120.0,
    480.0,
)  # seconds for one case: the first ones of a process import, and some compile; then for a late one
KILLED = -9


@dataclass
class Worker:
    """A process that runs cases."""

    seed: int
    corpus: Path
    quick: bool = False
    _process: subprocess.Popen[str] | None = field(default=None)

    def run(self, number: int) -> Verdict:
        """Run a case; one that is late runs again with more time, as other work on the machine may have delayed it."""
        found = (self._run_within(seconds, number) for seconds in LIMITS)
        late = Verdict(number, _name_kind(number), (), KILLED, (f"no end within {LIMITS[-1]:g} seconds",))
        return next((verdict for verdict in found if verdict is not None), late)

    def _run_within(self, seconds: float, number: int) -> Verdict | None:
        """Run a case; a process that does not answer in time is killed, and there is no verdict."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        clock = threading.Timer(seconds, process.kill)
        clock.start()
        try:
            process.stdin.write(f"{number}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            is_late = not clock.is_alive()
            clock.cancel()
        if line:
            found = json.loads(line)
            return Verdict(**{**found, "words": tuple(found["words"]), "faults": tuple(found["faults"])})
        code = self.stop()
        died = f"the process died (exit code {code})"
        return None if is_late else Verdict(number, _name_kind(number), (), code, (died,))

    def stop(self) -> int:
        """End the process, and return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                pipe.close()
        return process.wait(LIMITS[0])

    def _start(self) -> "subprocess.Popen[str]":
        words = [sys.executable, "-m", "tests.fuzz.worker", str(self.seed), str(self.corpus)]
        words += ["quick"] if self.quick else []
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # fmt: skip


def _name_kind(number: int) -> str:
    return KINDS[number % len(KINDS)]


def run_cases(numbers: range, seed: int, corpus: Path, jobs: int, *, quick: bool = False) -> Iterator[Verdict]:
    """Run cases on several workers, and give their verdicts in order."""
    idle = [Worker(seed, corpus, quick) for _ in range(jobs)]
    workers = list(idle)

    def run(number: int) -> Verdict:
        worker = idle.pop()
        try:
            return worker.run(number)
        finally:
            idle.append(worker)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(run, numbers)
    for worker in workers:
        worker.stop()
