"""What must hold of every run, whatever it was given."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LONGEST = 1000  # characters of a message
SLACK = 1e-9
WIDE = 0.9  # the level from which an interval must hold its mean; a narrow one around a median need not
OUTSIDE = "is outside of its interval"
WARNING = re.compile(r"\b[A-Z]\w*Warning:")
SIGNED = {"mcc", "cost"}  # metrics that leave [0, 1]


@dataclass(frozen=True)
class Run:
    """What a command line did."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    litter: tuple[str, ...] = ()  # files that nobody asked for
    changed: tuple[str, ...] = ()  # files that were only to be read


def list_faults(run: Run) -> list[str]:
    """Say what is wrong with a run; nothing, as it should be."""
    return [*_check_end(run), *_check_words(run), *_check_json(run), *_check_files(run)]


def _check_end(run: Run) -> Iterator[str]:
    if run.code not in (0, 1, 2):
        yield f"exit code {run.code}"
    if "a bug in fewlabels" in run.err:
        yield f"unexpected exception: {run.err.strip()[:300]}"
    for word in ("Traceback (most recent call last)",):
        if word in run.err + run.out:
            yield "a traceback"
    if found := WARNING.search(run.err):
        yield f"a warning of Python's: {run.err[max(found.start() - 100, 0) :][:300]}"


def _says_why(run: Run) -> bool:
    """Does a code of 1 mean that it could not run? From doctor it may also mean that a file is not sound."""
    return run.code == 1 and not (run.words[0] == "doctor" and run.out)


def _check_words(run: Run) -> Iterator[str]:
    if not _says_why(run):
        return
    lines = run.err.strip("\n").split("\n")
    if not run.err.startswith("fewlabels: ") or not lines[0].removeprefix("fewlabels:").strip():
        yield f"no message: {run.err[:200]!r}"
    if len(lines) > 1:
        yield f"a message of {len(lines)} lines: {run.err[:300]!r}"
    if len(run.err) > LONGEST:
        yield f"a message of {len(run.err):,} characters: {run.err[:200]!r}"
    if run.out.strip():
        yield f"output beside an error: {run.out[:100]!r}"


def _check_json(run: Run) -> Iterator[str]:
    if _says_why(run) or "--json" not in run.words or run.words[run.words.index("--json") + 1] != "-":
        return
    try:
        found = json.loads(run.out, parse_constant=_refuse)
    except ValueError as error:
        yield f"output is not JSON: {error}; {run.out[:100]!r}"
        return
    about = found if isinstance(found, dict) else {}
    faults = _check_numbers(found, "", about.get("metric") in SIGNED)
    yield from (fault for fault in faults if OUTSIDE not in fault or about.get("level", 1) >= WIDE)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _check_numbers(value: Any, place: str, is_signed: bool) -> Iterator[str]:
    if isinstance(value, list):
        for i, part in enumerate(value):
            yield from _check_numbers(part, f"{place}[{i}]", is_signed)
    if not isinstance(value, dict):
        return
    yield from _check_interval(value, place, is_signed)
    for name, part in value.items():
        if isinstance(part, float) and not math.isfinite(part):
            yield f"{place}.{name} is {part}"
        if name.startswith("p_") and isinstance(part, int | float) and not -SLACK <= part <= 1 + SLACK:
            yield f"{place}.{name} is the probability {part}"
        yield from _check_numbers(part, f"{place}.{name}", is_signed)


def _check_interval(value: dict[str, Any], place: str, is_signed: bool) -> Iterator[str]:
    low, mean, high = (value.get(name) for name in ("low", "mean", "high"))
    if not all(isinstance(x, int | float) for x in (low, high)):
        return
    if low > high + SLACK:
        yield f"{place}: an interval upside down, [{low}, {high}]"
    if isinstance(mean, int | float) and not low - SLACK <= mean <= high + SLACK:
        yield f"{place}: the mean {mean} {OUTSIDE} [{low}, {high}]"
    is_difference = "gap" in place or "ratio" in place or {"p_below", "p_greater"} & value.keys()
    if not is_signed and not is_difference and not (low >= -SLACK and high <= 1 + SLACK):
        yield f"{place}: the interval [{low}, {high}] leaves [0, 1]"


def _check_files(run: Run) -> Iterator[str]:
    if run.litter:
        yield f"files left behind: {', '.join(run.litter)}"
    if run.changed:
        yield f"files changed: {', '.join(run.changed)}"
