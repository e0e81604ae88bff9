"""Kills of processes that create a session: it is there as a whole or not at all, and files beside it stay."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import fewlabels as fl
from bench.faults.kills import BATCH, Scenario, judge_batches, place_fault, receive, repeat_verb
from bench.faults.processes import CONTEXT, PATIENCE, Marks, Moment, Place, Span, run_verb, start
from bench.faults.sessions import (
    GOAL,
    POOL,
    SESSION,
    Answers,
    compare,
    find_label,
    make_pool,
    tell_all,
    try_session,
    with_litter,
)
from bench.faults.trials import Trial

ITEMS, BATCHES, BESIDE = 5_000, 30, 4
CREATED = "created"
Said = list[tuple[str, Answers]]


def kill_create(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill `ask` while it creates a session; the latest sessions beside it must keep their answers."""
    make_pool(place.folder, ITEMS)
    names, span = iter(f"s{k}.db" for k in range(repeats + 2)), Span(rng)
    span.measure(lambda moment: run_verb(place, _create(next(names)), moment))
    beside = {name: _tell_new(place.folder / name) for name in ("s0.db", "s1.db")}
    for name in names:
        ended, path = run_verb(place, _create(name), span.draw()), place.folder / name
        done = Trial(int(ended.is_acknowledged), lost=int(ended.is_acknowledged and not path.exists()))
        if path.exists():
            done = replace(done, half=_is_unfit(path))
        done = repeat_verb(done, place, _create(name)) + place_fault(is_after=ended.is_acknowledged)
        done = replace(done, broken=done.broken + _is_unfit(path)) + _compare_beside(place, beside)
        beside[name] = _tell_new(path)
        yield with_litter(done, place.sweep(POOL, *beside))


def _create(name: str) -> list[str]:
    return ["ask", POOL, "--session", name, *GOAL, "--n", str(BATCH)]


def _tell_new(path: Path) -> Answers:
    """Answer a few items of a new session."""
    answers = {(str(item), "ann"): find_label(item) for item in range(BATCH)}
    with fl.Session.open(path) as session:
        tell_all(session, answers)
    return answers


def _compare_beside(place: Place, beside: dict[str, Answers]) -> Trial:
    found = Trial()
    for name in list(beside)[-BESIDE:]:
        kept, trial = try_session(place.folder / name)
        found += trial if kept is None else compare(kept, beside[name])
    return found


def _is_unfit(path: Path) -> int:
    """Give 1 where a session does not open or lacks items."""
    kept, _ = try_session(path)
    if kept is None:
        return 1
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM items").fetchone() != (ITEMS,))


def kill_first_answers(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill a process that creates a session and tells thirty times, three answers at once."""
    make_pool(place.folder, ITEMS)
    _, marks = _create_and_tell(place, Moment())
    telling = marks.ended - (marks.acknowledged or marks.ended)
    for number in range(repeats):
        (place.folder / SESSION).unlink()
        anywhere, later = rng.uniform(1e-6, marks.seconds), rng.uniform(0.2, 1.0) * telling
        moment = Moment("write", anywhere) if number % 2 else Moment("acknowledgement", later)
        said, _ = _create_and_tell(place, moment)
        yield _judge_new(place, said) + place_fault(is_after=said[-1:] and said[-1][0] == "kept")


def _judge_new(place: Place, said: Said) -> Trial:
    """Compare what was told with what is there; where there is no session yet, it can be created again."""
    path = place.folder / SESSION
    if path.exists():
        return judge_batches(place, path, said, POOL, SESSION)
    again, _ = _create_and_tell(place, Moment())
    return replace(judge_batches(place, path, again, POOL, SESSION), acknowledged=len(said), lost=len(said))


def _create_and_tell(place: Place, moment: Moment) -> tuple[Said, Marks]:
    """Return what such a process said, and when it did what."""
    place.marks.unlink(missing_ok=True)
    ours, theirs = CONTEXT.Pipe()
    process = start(create_and_tell, place.folder, theirs, place=place, moment=moment, said=CREATED)
    theirs.close()
    process.join(PATIENCE)
    return list(receive(ours)), place.read_marks()


def create_and_tell(folder: Path, acknowledge: Connection) -> None:
    """Say what is told before and after; in a process of its own."""
    pool = fl.Predictions.read(folder / POOL)
    with fl.Session.create(folder / SESSION, pool, goal=fl.FindWorst(), prior=fl.flat()) as session:
        acknowledge.send(("kept", {}))
        print(CREATED)
        for _ in range(BATCHES):
            batch = {(str(item), "ann"): find_label(item) for item in session.ask(BATCH, who="ann")}
            acknowledge.send(("trying", batch))
            tell_all(session, batch)
            acknowledge.send(("kept", batch))


CREATIONS: dict[str, Scenario] = {
    "kill: new session": kill_create,
    "kill: new session and its first answers": kill_first_answers,
}
