"""People err: does the accuracy of the model still lie in its interval as often as claimed?

Pools whose truth is known, people who err by a known rate, a session that asks several of them about each item. The
interval of the overall accuracy, from the votes (`fewlabels`) and from what most people say taken as true (`as told`).
Run it from the project's folder: python -m bench.votes --out bench/votes.md
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import fewlabels as fl
from bench.harness.main import Benchmark, start
from bench.harness.page import figure, show_notes, show_table, text
from bench.harness.rows import Row, Rows, find_settings, select
from fewlabels.analyses.assessment import assess_counts

Say = Callable[[str, int], str]
WAYS = ("fewlabels", "as told")
RIGHT, ITEMS, LABELS, RUNS = 0.8, 1500, 150, 200


@dataclass(frozen=True)
class Setting:
    """How people label, and how many of them each item."""

    name: str
    votes: int
    skill: tuple[float, ...]
    classes: int = 2
    lopsided: bool = False  # people err only on the last class, twice as often
    hard: float = 0.0  # share of items that take in the model and people alike, which no vote shows
    decides: bool = False  # does somebody who knows settle every disagreement?


SETTINGS = (
    Setting("two of two, right 90% and 80%", 2, (0.9, 0.8)),
    Setting("two of four, right 80% to 90%", 2, (0.9, 0.87, 0.83, 0.8)),
    Setting("three of three, right 80% to 90%", 3, (0.9, 0.85, 0.8)),
    Setting("two of three, right 80% to 90%, five classes", 2, (0.9, 0.85, 0.8), classes=5),
    Setting("two of two who err on one class of two, 30%", 2, (0.85, 0.85), lopsided=True),
    Setting("two of two who never err", 2, (1.0, 1.0)),
    Setting("two of two, right 85%, and 10% of items hard for all", 2, (0.85, 0.85), hard=0.1),
    Setting("the same, disagreements decided", 2, (0.85, 0.85), hard=0.1, decides=True),
)


def make(rng: np.random.Generator, setting: Setting) -> tuple[dict[str, object], Say]:
    """Return a pool and what a person says of an item of it; the one called expert knows."""
    k = setting.classes
    predicted = rng.integers(0, k, ITEMS)
    wrong = rng.random(ITEMS) >= RIGHT
    truth = np.where(wrong, (predicted + rng.integers(1, k, ITEMS)) % k, predicted)
    hard = wrong & (rng.random(ITEMS) < setting.hard / (1 - RIGHT))

    def say(who: str, item: int) -> str:
        if who == "expert":
            return str(truth[item])
        error = 1 - setting.skill[int(who)]
        if setting.lopsided:
            error = 2 * error if truth[item] == k - 1 else 0.0
        if hard[item] and rng.random() < 0.5:
            return str(predicted[item])  # taken in by what took the model in
        return str((truth[item] + rng.integers(1, k)) % k if rng.random() < error else truth[item])

    return {"id": range(ITEMS), "predicted": predicted.astype(str)}, say


def label(session: fl.Session, setting: Setting, say: Say, rng: np.random.Generator) -> None:
    """Let people vote in a random order until there are enough labels and no item lacks a vote."""
    everyone = [str(i) for i in range(len(setting.skill))]
    while session._store.state.n_labels < LABELS or session._store.state.short_of_votes:
        for who in rng.permutation(everyone):
            n = count_wanted(session, who)
            ids = session.ask(n, who=who, lease=600, fresh=False) if n else []
            session.tell({i: say(who, int(i)) for i in ids}, who=who)


def count_wanted(session: fl.Session, who: str) -> int:
    """Return how many items to give to a person: once there are enough labels, those alone that lack a vote."""
    state = session._store.state
    return 10 if state.n_labels < LABELS else min(10, len(state.short_of_vote_from(who)))


def run(setting: Setting, seed: int) -> Iterator[tuple[float, float, float]]:
    """Label, and yield mean, low and high of every way."""
    rng = np.random.default_rng([11, seed])
    pool, say = make(rng, setting)
    names = [str(i) for i in range(setting.classes)]
    session = fl.Session.create(
        None, pool, goal=fl.Estimate(), policy=fl.random, votes=setting.votes, classes=names, seed=seed
    )
    label(session, setting, say, rng)
    if setting.decides:
        session.decide({row["id"]: say("expert", row["id"]) for row in session.disputes(fresh=False)}, who="expert")
    found = session.assess()
    for one in (found, assess_counts(found.tally, found.spec)):
        yield one.overall.mean, one.overall.low, one.overall.high


def repeat(setting: Setting, runs: int) -> Iterator[Row]:
    """Yield a row for every way."""
    began = time.perf_counter()
    figures = np.array([list(run(setting, seed)) for seed in range(runs)])  # (run, way, figure)
    spent = (time.perf_counter() - began) / runs
    for i, way in enumerate(WAYS):
        mean, low, high = figures[:, i].T
        covered = float(((low <= RIGHT) & (high >= RIGHT)).mean())
        yield {
            "table": "ways", "people": setting.name, "way": way, "bias": float(mean.mean() - RIGHT),
            "width": float((high - low).mean()), "coverage": covered, "error": (covered * (1 - covered) / runs) ** 0.5,
            "seconds": spent if way == WAYS[0] else 0.0,
        }  # fmt: skip


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of all settings that were asked for."""
    for setting in (one for one in SETTINGS if options.only in one.name):
        for row in repeat(setting, options.runs):
            print(row, flush=True)
            yield row


COLUMNS = (
    ("people", text("people")),
    ("way", text("way")),
    ("bias", figure("bias", "+.3f")),
    ("width", figure("width", ".3f")),
    ("coverage", lambda row: f"{row['coverage']:.3f} ± {row['error']:.3f}"),
    ("s per run", figure("seconds", ".1f")),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    settings = find_settings(rows)
    yield "# When people err"
    yield f"`{settings['command']}`"
    yield (
        f"The model is right {RIGHT:.0%} of the time; about {LABELS} of {ITEMS:,} items are labelled at random, each by as many people as said; "
        f"{settings['runs']} runs; 95% intervals of the overall accuracy, prior calibrated. `as told` takes what most people say, of a tie the "
        "last word, as true. The error after ± is one standard error of the runs."
    )
    yield show_table(COLUMNS, select(rows, "ways"))
    yield from show_notes(rows)


BENCHMARK = Benchmark("votes", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="", help="settings with these words in their name")
    start(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
