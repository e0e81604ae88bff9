"""Kills of processes that tell: the library, `tell`, and `tell` of a session that it upgrades first."""

import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import fewlabels as fl
from bench.faults.processes import CONTEXT, Ended, Moment, Place, Span, run_verb, start
from bench.faults.sessions import (
    POOL,
    SESSION,
    Answers,
    compare,
    find_label,
    list_earlier,
    make_old,
    make_session,
    try_session,
    with_litter,
)
from bench.faults.trials import Trial
from fewlabels.sessions.journal.schema import VERSION

BATCH, ROWS = 3, 300
Scenario = Callable[[random.Random, Place, int], Iterator[Trial]]


def kill_library(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill a process that asks and tells, three answers at once."""
    path = make_session(place.folder, 20_000)
    for number in range(repeats):
        who, (ours, theirs) = f"person {number}", CONTEXT.Pipe()
        process = start(tell_forever, path, who, theirs, place=place)
        if rng.random() < 0.8:
            ours.poll(30)  # until it tells
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.join()
        theirs.close()
        said = list(receive(ours))
        yield judge_batches(place, path, said, POOL, SESSION) + place_fault(
            is_after=said[-1:] and said[-1][0] == "kept"
        )


def tell_forever(path: Path, who: str, acknowledge: Connection) -> None:
    """Say what is told before and after; in a process of its own."""
    with fl.Session.open(path) as session:
        while True:
            batch = {(str(item), who): find_label(item) for item in session.ask(BATCH, who=who)}
            acknowledge.send(("trying", batch))
            session.tell({item: label for (item, _), label in batch.items()}, who=who)
            acknowledge.send(("kept", batch))


def receive(end: Connection, at_least: int = 0) -> Iterator[tuple[str, Answers]]:
    """Give what a process has sent; wait for some of it unless it has ended."""
    try:
        for _ in range(at_least):
            yield end.recv()
        while end.poll(0):
            yield end.recv()
    except (EOFError, OSError):
        return


def judge_batches(place: Place, path: Path, said: list[tuple[str, Answers]], *expected: str) -> Trial:
    """Compare what was told in batches with what is there."""
    kept, trial = try_session(path)
    if kept is None:
        return trial
    acknowledged = {key: label for word, batch in said if word == "kept" for key, label in batch.items()}
    found = compare(kept, acknowledged, *(batch for word, batch in said if word == "trying"))
    return with_litter(found, place.sweep(*expected))


def place_fault(*, is_after: object) -> Trial:
    """Count a fault as one before or after the work at hand was acknowledged."""
    return Trial(after=1) if is_after else Trial(before=1)


def kill_tell(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill `tell` with three answers; those of earlier calls must stay, too."""
    n = BATCH * (repeats + 2) + 60
    told, span = list_earlier(n), Span(rng)
    path, batches = make_session(place.folder, n, answers=told), iter(_make_batches(repeats + 2))
    span.measure(lambda moment: _tell(place, next(batches), moment)[0])
    for batch in batches:
        ended, words = _tell(place, batch, span.draw())
        kept, trial = try_session(path)
        if kept is None:
            yield trial
            continue
        found = compare(kept, told | batch if ended.is_acknowledged else told, batch)
        if not any(key in kept.answers for key in batch):
            found = repeat_verb(found, place, words)
        told |= batch
        yield with_litter(found, place.sweep(POOL, SESSION)) + place_fault(is_after=ended.is_acknowledged)


def _make_batches(n: int) -> list[dict[tuple[str, str], str]]:
    return [{(str(BATCH * k + j), f"person {k}"): find_label(BATCH * k + j) for j in range(BATCH)} for k in range(n)]


def _tell(place: Place, batch: Answers, moment: Moment) -> tuple[Ended, list[str]]:
    [who] = {who for _, who in batch}
    words = ["tell", "--session", SESSION, "--as", who, *(f"{item}={label}" for (item, _), label in batch.items())]
    return run_verb(place, words, moment), words


def repeat_verb(trial: Trial, place: Place, words: list[str]) -> Trial:
    """Run a verb again, which must succeed."""
    ended = run_verb(place, words)
    recovery = max(trial.recovery, ended.seconds)
    if ended.is_done:
        return replace(trial, recovery=recovery)
    note = f"{words[0]} again: exit {ended.code}: {ended.printed.strip()[-300:]}"
    return replace(trial, broken=trial.broken + 1, recovery=recovery, notes=(*trial.notes, note))


def kill_upgrade(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill `tell` while it upgrades a session of the first version."""
    answers = {(str(item), ""): find_label(item) for item in range(ROWS)}
    batch = {(str(ROWS + k), "ann"): find_label(ROWS + k) for k in range(BATCH)}
    original = make_session(place.temporary.parent, 2 * ROWS)
    make_old(original, answers)
    path, span = place.folder / SESSION, Span(rng)
    span.measure(lambda moment: _tell_copy(place, original, batch, moment))
    for _ in range(repeats):
        ended = _tell_copy(place, original, batch, span.draw())
        before = _read_version(path)
        kept, trial = try_session(path)
        if kept is None:
            yield trial
            continue
        found = compare(kept, answers | (batch if ended.is_acknowledged else {}), batch)
        is_upgraded = before in (1, VERSION) and _read_version(path) == VERSION
        found = replace(found, broken=int(not is_upgraded)) + place_fault(is_after=ended.is_acknowledged)
        yield with_litter(found, place.sweep(SESSION))


def _tell_copy(place: Place, original: Path, batch: Answers, moment: Moment) -> Ended:
    shutil.copy(original, place.folder / SESSION)
    return _tell(place, batch, moment)[0]


def _read_version(path: Path) -> int:
    """Read it from a copy: to open the session here would do the work of the next user."""
    with tempfile.TemporaryDirectory() as folder:
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, folder)
        with closing(sqlite3.connect(Path(folder) / path.name)) as connection:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])


KILLS: dict[str, Scenario] = {
    "kill: library that tells": kill_library,
    "kill: `tell`": kill_tell,
    "kill: upgrade": kill_upgrade,
}
