"""What must hold of every run, whatever it was given."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import jsonschema_rs

import fewlabels as fl

LONGEST = 1000  # characters of a message
SLACK = 1e-9
WIDE = 0.9  # the level from which an interval must hold its mean; a narrow one around a median need not
OUTSIDE = "is outside of its interval"
WARNING = re.compile(r"\b[A-Z]\w*Warning:")
SIGNED = {"mcc", "cost", "log-loss"}  # metrics that leave [0, 1]
STOPPED = 130  # the exit code after Ctrl-C
NUMBER = r"([-+]?\d*\.\d+|nan|inf)"
FIGURE = re.compile(rf"(?<![\w.]){NUMBER} +\[{NUMBER}, {NUMBER}\]")  # a mean and its interval, as text
ROUNDING = 0.0011


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
    return [*_check_end(run), *_check_words(run), *_check_json(run), *_check_text(run), *_check_files(run)]


def _check_end(run: Run) -> Iterator[str]:
    is_stopped = run.code == STOPPED and run.words[0] == "watch" and "--once" not in run.words
    if run.code not in (0, 1, 2) and not is_stopped:
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
    for line in run.err.splitlines():
        if len(line) > LONGEST:
            yield f"a message of {len(line):,} characters: {line[:200]!r}"
    if run.words[0] == "watch":
        yield from _check_remarks(run)
    elif _says_why(run):
        yield from _check_message(run)


def _check_remarks(run: Run) -> Iterator[str]:
    """Of every file that cannot be read, `watch` says so in a line of its own."""
    lines = run.err.splitlines()
    if run.code == 1 and not lines:
        yield "no message"
    for line in lines:
        if not re.match(r"(skipped|fewlabels): \S", line):
            yield f"not a message: {line[:200]!r}"


def _check_message(run: Run) -> Iterator[str]:
    lines = run.err.strip("\n").split("\n")
    if run.words[0] in ("label", "ask"):  # warnings were written when the session was started
        lines = [line for line in lines if not line.startswith("warning: ")] or [""]
    if not lines[0].startswith("fewlabels: ") or not lines[0].removeprefix("fewlabels:").strip():
        yield f"no message: {run.err[:200]!r}"
    if len(lines) > 1:
        yield f"a message of {len(lines)} lines: {run.err[:300]!r}"
    if run.out.strip() and run.words[0] != "label":  # items were shown before
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
    is_signed = about.get("metric") in SIGNED or run.words[0] in (
        "plan",
        "rate",
    )  # counts of labels, grades of any scale
    yield from _check_schema(run.words[0], found)
    faults = _check_numbers(found, "", is_signed)
    yield from (fault for fault in faults if OUTSIDE not in fault or about.get("level", 1) >= WIDE)


@cache
def _load_schema(verb: str) -> Any:
    return jsonschema_rs.Draft202012Validator(fl.schema(verb))


def _check_schema(verb: str, found: Any) -> Iterator[str]:
    """Check what a command line wrote against its published schema; judged alone, a document may be made up."""
    if isinstance(found, dict) and "provenance" not in found and "items" not in found:
        return
    for error in islice(_load_schema(verb).iter_errors(found), 2):
        yield f"not as `fewlabels schema {verb}` says: {list(error.instance_path)}: {error.message[:200]}"


def _check_text(run: Run) -> Iterator[str]:
    """Check the means and intervals that are printed for people."""
    for found in FIGURE.finditer(run.out if "--json" not in run.words else ""):
        mean, low, high = map(float, found.groups())
        if not low - ROUNDING <= high or ("--level" not in run.words and not low - ROUNDING <= mean <= high + ROUNDING):
            yield f"a figure {OUTSIDE}: {found[0]}"


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
    is_difference = (
        place == ".labels_left" or "gap" in place or "ratio" in place or {"p_below", "p_greater"} & value.keys()
    )
    if not is_signed and not is_difference and not (low >= -SLACK and high <= 1 + SLACK):
        yield f"{place}: the interval [{low}, {high}] leaves [0, 1]"


def _check_files(run: Run) -> Iterator[str]:
    if run.litter:
        yield f"files left behind: {', '.join(run.litter)}"
    if run.changed:
        yield f"files changed: {', '.join(run.changed)}"
