"""Kills of `assess` while it replaces reports: each file is the old one or a whole new one."""

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.faults.kills import Scenario, place_fault, repeat_verb
from bench.faults.processes import Place, Span, run_verb
from bench.faults.sessions import POOL, make_pool, with_litter
from bench.faults.trials import Trial

OLD = "an older report\n"
NAMES = ("r.html", "r.json", "r.md")


def kill_report(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Kill `assess` at random moments; the files that were there count as acknowledged."""
    make_pool(place.folder, 500)
    words = ["assess", POOL, "--html", NAMES[0], "--json", NAMES[1], "--markdown", NAMES[2]]
    span = Span(rng)
    span.measure(lambda moment: run_verb(place, words, moment))
    same = {NAMES[2]: (place.folder / NAMES[2]).read_text()}  # the others hold the date
    for _ in range(repeats):
        write_old(place.folder, NAMES)
        ended = run_verb(place, words, span.draw())
        found = judge_files(place.folder, NAMES, same, is_new=ended.is_acknowledged)
        found = repeat_verb(found + place_fault(is_after=ended.is_acknowledged), place, words)
        yield with_litter(found, place.sweep(POOL, *NAMES))


def write_old(folder: Path, names: tuple[str, ...]) -> None:
    """Put files where the reports will be."""
    for name in names:
        (folder / name).write_text(OLD)


def judge_files(folder: Path, names: tuple[str, ...], same: Mapping[str, str], *, is_new: bool) -> Trial:
    """Count files that are gone or not whole, and old ones where new ones were acknowledged; some are always the same."""
    texts = {name: (folder / name).read_text() for name in names if (folder / name).exists()}
    old = [name for name, text in texts.items() if text == OLD]
    half = [name for name, text in texts.items() if text != OLD and not _is_whole(name, text, same.get(name))]
    lost = len(names) - len(texts) + (len(old) if is_new else 0)
    return Trial(len(names), lost=lost, half=len(half), notes=tuple(f"not whole: {name}" for name in half))


def _is_whole(name: str, text: str, same: str | None) -> bool:
    if same is not None:
        return text == same
    return "groups" in _parse(text) if name.endswith(".json") else text.rstrip().endswith("</html>")


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


REPORTS: dict[str, Scenario] = {"kill: reports": kill_report}
