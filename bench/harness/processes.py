"""Seconds and memory of programs that run in a process of their own."""

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

TOOL = str(Path(sys.executable).parent / "fewlabels")
LAUNCHER = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
seconds, usage = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))
sys.exit(code)
"""


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    seconds: float
    busy: float  # seconds of processor time: what other users of the machine do not add to
    megabytes: float


def run(command: Sequence[str]) -> Cost:
    """Run a program to its end, under a launcher too small to be taken for the program's peak of memory."""
    return read_cost([sys.executable, "-S", "-c", LAUNCHER, *command])


def read_cost(command: Sequence[str]) -> Cost:
    """Run a program that prints its own cost; a progress bar may come before it."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command[3:])} failed: {done.stderr}")
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def measure(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, Cost]:
    """Return medians over runs taken in turn, after one of each to warm the disk."""
    turns = [{name: run(command) for name, command in commands.items()} for _ in range(repeats + 1)][1:]
    return {name: find_median([turn[name] for turn in turns]) for name in commands}


def find_median(costs: Sequence[Cost]) -> Cost:
    """Return the median of each figure."""
    return Cost(*(statistics.median(getattr(cost, field.name) for cost in costs) for field in fields(Cost)))
