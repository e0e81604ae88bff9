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

SECONDS = 120.0  # for one case; the first ones of a process import, and some compile


@dataclass
class Worker:
    """A process that runs cases."""

    seed: int
    corpus: Path
    quick: bool = False
    _process: subprocess.Popen[str] | None = field(default=None)

    def run(self, number: int) -> Verdict:
        """Run a case; a process that does not answer in time is killed."""
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        clock = threading.Timer(SECONDS, process.kill)
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
        fault = f"no end within {SECONDS:g} seconds" if is_late else f"the process died (exit code {code})"
        return Verdict(number, KINDS[number % len(KINDS)], (), code, (fault,))

    def stop(self) -> int:
        """End the process, and return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                pipe.close()
        return process.wait(SECONDS)

    def _start(self) -> "subprocess.Popen[str]":
        words = [sys.executable, "-m", "tests.fuzz.worker", str(self.seed), str(self.corpus)]
        words += ["quick"] if self.quick else []
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # fmt: skip


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
