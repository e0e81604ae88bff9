"""Kills of `import` and `watch`: a file's answers are kept as a whole or not at all, and earlier answers stay."""

import random
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.faults.kills import ROWS, Scenario, place_fault, repeat_verb
from bench.faults.processes import Ended, Moment, Place, Span, enter, run_verb, start, wait_for
from bench.faults.sessions import (
    EARLIER,
    POOL,
    SESSION,
    Answers,
    compare,
    find_label,
    list_earlier,
    make_session,
    try_session,
    with_litter,
    write_export,
    write_sheet,
)
from bench.faults.trials import Trial

PEOPLE = 5


def kill_import(
    rng: random.Random, place: Place, repeats: int, *, write: Callable[[Path, Answers], Path], votes: int, name: str
) -> Iterator[Trial]:
    """Kill `import` of a file, with answers of five people where it can name them: all of them are kept or none."""
    earlier = list_earlier(2 * ROWS)
    original = make_session(place.temporary.parent, 2 * ROWS, votes, answers=earlier)
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
        found = compare(kept, earlier | answers if ended.is_acknowledged else earlier, answers)
        found = repeat_verb(found, place, ["import", name, "--session", SESSION])
        found += _compare_again(place, earlier | answers) + place_fault(is_after=ended.is_acknowledged)
        yield with_litter(found, place.sweep(SESSION, name))


def _import_copy(place: Place, original: Path, name: str, moment: Moment) -> Ended:
    shutil.copy(original, place.folder / SESSION)
    return run_verb(place, ["import", name, "--session", SESSION], moment)


def _compare_again(place: Place, answers: Answers) -> Trial:
    """After the repetition everything is there, once."""
    kept, trial = try_session(place.folder / SESSION)
    return trial if kept is None else replace(compare(kept, answers), acknowledged=0)


FILES: dict[str, dict[str, Any]] = {
    "sheet": {"write": write_sheet, "votes": 1, "name": "answers.csv"},
    "sheet of votes": {"write": write_sheet, "votes": 2, "name": "answers.csv"},
    "Label Studio export": {"write": write_export, "votes": 1, "name": "export.json"},
}


def kill_watch(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill `watch` while a sheet with answers of two people arrives; then let it read what is left."""
    n = 20 * (repeats + 2) + EARLIER
    told = list_earlier(n)
    path = make_session(place.folder, n, votes=2, answers=told)
    (place.folder / "in").mkdir()
    words = ["watch", "in", "--session", SESSION, "--every", "0.02"]
    span = 0.0  # seconds from the arrival of a file until it is read; two are read undisturbed, as votes take time
    for number in range(repeats + 2):
        place.log.write_text("")
        process = start(enter, *words, place=place)
        wait_for(place.log, "watching")
        batch = _drop(place, number)
        if number < 2 or number % 3 == 0:
            span = wait_for(place.log, f"{number}.csv: 20 new")
            time.sleep(rng.uniform(0, 0.02))
        else:
            time.sleep(rng.uniform(0, span))
        process.kill()
        process.join()
        is_acknowledged = f"{number}.csv: 20 new" in place.log.read_text()
        before, told = told | batch if is_acknowledged else told, told | batch
        if number < 2:
            continue
        kept, trial = try_session(path)
        found = trial if kept is None else compare(kept, before, batch)
        found = repeat_verb(found, place, [*words, "--once"])
        found += _compare_again(place, told) + place_fault(is_after=is_acknowledged)
        yield with_litter(found, place.sweep(POOL, SESSION, "in", f"{SESSION}.read"))


def _drop(place: Place, number: int) -> dict[tuple[str, str], str]:
    items = [str(20 * number + k) for k in range(20)]
    answers = {(item, f"person {k % 2}"): find_label(item) for k, item in enumerate(items)}
    write_sheet(place.temporary.with_name("next"), answers).rename(place.folder / "in" / f"{number}.csv")
    return answers


IMPORTS: dict[str, Scenario] = {
    **{f"kill: `import`, {name}": partial(kill_import, **choices) for name, choices in FILES.items()},
    "kill: `watch`": kill_watch,
}
