"""Kills of the library and of verbs: each at a random moment, then the same again undisturbed."""

import json
import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import fewlabels as fl
from bench.faults.processes import CONTEXT, Ended, Moment, Place, Span, enter, run_verb, start, wait_for
from bench.faults.sessions import (
    GOAL,
    POOL,
    SESSION,
    Answers,
    compare,
    find_label,
    make_old,
    make_pool,
    make_session,
    try_session,
    with_litter,
    write_export,
    write_sheet,
)
from bench.faults.trials import Trial
from fewlabels.journal.schema import VERSION

BATCH, ROWS, PEOPLE = 3, 300, 5


# -- telling --------------------------------------------------------------------------------------------------


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
        yield judge_batches(place, path, list(receive(ours)), POOL, SESSION)


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


def kill_tell(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill `tell` with three answers."""
    path, span = make_session(place.folder, 3 * repeats + 30), Span(rng)
    batches = iter(_make_batches(repeats + 2))
    span.measure(lambda moment: _tell(place, next(batches), moment)[0])
    for batch in batches:
        ended, words = _tell(place, batch, span.draw())
        kept, trial = try_session(path)
        if kept is None:
            yield trial
            continue
        found = compare(kept, batch if ended.is_done else {}, batch)
        if not any(key in kept.answers for key in batch):
            found = _repeat(found, place, words)
        yield with_litter(found, place.sweep(POOL, SESSION))


def _make_batches(n: int) -> list[Answers]:
    return [{(str(BATCH * k + j), f"person {k}"): find_label(BATCH * k + j) for j in range(BATCH)} for k in range(n)]


def _tell(place: Place, batch: Answers, moment: Moment) -> tuple[Ended, list[str]]:
    [who] = {who for _, who in batch}
    words = ["tell", "--session", SESSION, "--as", who, *(f"{item}={label}" for (item, _), label in batch.items())]
    return run_verb(place, words, moment), words


def _repeat(trial: Trial, place: Place, words: list[str]) -> Trial:
    """Run a verb again, which must succeed."""
    ended = run_verb(place, words)
    recovery = max(trial.recovery, ended.seconds)
    if ended.is_done:
        return replace(trial, recovery=recovery)
    note = f"{words[0]} again: exit {ended.code}: {ended.printed.strip()[-300:]}"
    return replace(trial, broken=trial.broken + 1, recovery=recovery, notes=(*trial.notes, note))


# -- creating and upgrading -----------------------------------------------------------------------------------


def kill_create(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill `ask` while it makes a new session."""
    make_pool(place.folder, 5_000)
    names, span = iter(f"s{k}.db" for k in range(repeats + 2)), Span(rng)
    span.measure(lambda moment: run_verb(place, _create(next(names)), moment))
    there = {POOL, "s0.db", "s1.db"}
    for name in names:
        ended, path = run_verb(place, _create(name), span.draw()), place.folder / name
        done = Trial(int(ended.is_done), lost=int(ended.is_done and not path.exists()))
        if path.exists():
            done = replace(done, half=_is_unfit(path))
        done = _repeat(done, place, _create(name))
        there.add(name)
        yield with_litter(replace(done, broken=done.broken + _is_unfit(path)), place.sweep(*there))


def _create(name: str) -> list[str]:
    return ["ask", POOL, "--session", name, *GOAL, "--n", "3"]


def _is_unfit(path: Path, n_items: int = 5_000) -> int:
    """Give 1 where a session does not open or lacks items."""
    kept, _ = try_session(path)
    if kept is None:
        return 1
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM items").fetchone() != (n_items,))


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
        found = compare(kept, answers | (batch if ended.is_done else {}), batch)
        is_upgraded = before in (1, VERSION) and _read_version(path) == VERSION
        yield with_litter(replace(found, broken=int(not is_upgraded)), place.sweep(SESSION))


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


# -- importing ------------------------------------------------------------------------------------------------


def kill_import(
    rng: random.Random, place: Place, repeats: int, *, write: Callable[[Path, Answers], Path], votes: int, name: str
) -> Iterator[Trial]:
    """Kill `import` of a file, with answers of five people where it can name them: all of them are kept or none."""
    original = make_session(place.temporary.parent, 2 * ROWS, votes)
    people = [f"person{k}@example.org" for k in range(PEOPLE)] if write is write_export or votes > 1 else [""]
    answers = {(str(item), people[item % len(people)]): find_label(item) for item in range(ROWS)}
    write(place.folder / name, answers)
    span = Span(rng)
    span.measure(lambda moment: _import_copy(place, original, name, moment))
    for _ in range(repeats):
        ended = _import_copy(place, original, name, span.draw())
        kept, trial = try_session(place.folder / SESSION)
        if kept is None:
            yield trial
            continue
        found = compare(kept, answers if ended.is_done else {}, answers)
        found = _repeat(found, place, ["import", name, "--session", SESSION])
        yield with_litter(found + _compare_again(place, answers), place.sweep(SESSION, name))


def _import_copy(place: Place, original: Path, name: str, moment: Moment) -> Ended:
    shutil.copy(original, place.folder / SESSION)
    return run_verb(place, ["import", name, "--session", SESSION], moment)


def _compare_again(place: Place, answers: Answers) -> Trial:
    """After the repetition everything is there, once."""
    kept, trial = try_session(place.folder / SESSION)
    return trial if kept is None else replace(compare(kept, answers), acknowledged=0)


IMPORTS: dict[str, dict[str, Any]] = {
    "sheet": {"write": write_sheet, "votes": 1, "name": "answers.csv"},
    "sheet of votes": {"write": write_sheet, "votes": 2, "name": "answers.csv"},
    "Label Studio export": {"write": write_export, "votes": 1, "name": "export.json"},
}


def kill_watch(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill `watch` while a sheet with answers of two people arrives; then let it read what is left."""
    path = make_session(place.folder, 20 * (repeats + 2), votes=2)
    (place.folder / "in").mkdir()
    words = ["watch", "in", "--session", SESSION, "--every", "0.02"]
    span = 0.0  # seconds from the arrival of a file until it is read; two are read undisturbed, as votes take time
    for number in range(repeats + 2):
        place.log.write_text("")
        process = start(enter, *words, place=place)
        wait_for(place.log, "watching")
        batch = _drop(place, number)
        if number < 2:
            span = wait_for(place.log, f"{number}.csv: 20 new")
        time.sleep(rng.uniform(0, 1.5 * span))
        process.kill()
        process.join()
        if number < 2:
            continue
        acknowledged = batch if f"{number}.csv: 20 new" in place.log.read_text() else {}
        kept, trial = try_session(path)
        found = trial if kept is None else compare(kept, acknowledged, batch)
        found = _repeat(found, place, [*words, "--once"])
        found += _compare_again(place, batch)
        yield with_litter(found, place.sweep(POOL, SESSION, "in", f"{SESSION}.read"))


def _drop(place: Place, number: int) -> Answers:
    items = [str(20 * number + k) for k in range(20)]
    answers = {(item, f"person {k % 2}"): find_label(item) for k, item in enumerate(items)}
    write_sheet(place.temporary.with_name("next"), answers).rename(place.folder / "in" / f"{number}.csv")
    return answers


# -- reports --------------------------------------------------------------------------------------------------


def kill_report(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill `assess` while it replaces reports: each is the old one or a whole new one."""
    make_pool(place.folder, 500)
    names = ("r.html", "r.json", "r.md")
    words = ["assess", POOL, "--html", names[0], "--json", names[1], "--markdown", names[2]]
    span = Span(rng)
    span.measure(lambda moment: run_verb(place, words, moment))
    for _ in range(repeats):
        for name in names:
            (place.folder / name).write_text("old")
        ended = run_verb(place, words, span.draw())
        half = sum(not _is_whole(place.folder / name) for name in names)
        done = Trial(3 * ended.is_done, lost=sum(ended.is_done and (place.folder / name).read_text() == "old" for name in names), half=half)  # fmt: skip
        yield with_litter(_repeat(done, place, words), place.sweep(POOL, *names))


def _is_whole(path: Path) -> bool:
    text = path.read_text()
    if text == "old":
        return True
    if path.suffix == ".json":
        return "groups" in _parse(text)
    return (
        text.rstrip().endswith("</html>") if path.suffix == ".html" else "fewlabels" in text[-200:] or len(text) > 500
    )


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


Scenario = Callable[[random.Random, Place, int], Iterator[Trial]]
KILLS: dict[str, Scenario] = {
    "kill: library that tells": kill_library,
    "kill: `tell`": kill_tell,
    "kill: new session": kill_create,
    **{f"kill: `import`, {name}": partial(kill_import, **choices) for name, choices in IMPORTS.items()},
    "kill: `watch`": kill_watch,
    "kill: upgrade": kill_upgrade,
    "kill: reports": kill_report,
}
