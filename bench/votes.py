"""People err: does the accuracy of the model still lie in its interval as often as claimed?

Pools whose truth is known, people who err by a known rate, a session that asks several of them about each item. The
interval of the overall accuracy, from the votes (`fewlabels`) and from what most people say taken as true (`as told`).
Run it from the project's folder: python -m bench.votes --out bench/votes.md
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fewlabels as fl
from fewlabels.analyses.assessment import assess_counts

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


def make(rng: np.random.Generator, setting: Setting) -> tuple[dict[str, object], Callable[[str, int], str]]:
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


def run(setting: Setting, seed: int) -> Iterator[tuple[str, float, float, float]]:
    """Label, and yield way, mean, low and high."""
    rng = np.random.default_rng([11, seed])
    pool, say = make(rng, setting)
    names = [str(i) for i in range(setting.classes)]
    session = fl.Session.create(
        None, pool, goal=fl.Estimate(), policy=fl.random, votes=setting.votes, classes=names, seed=seed
    )
    everyone = [str(i) for i in range(len(setting.skill))]
    while session._store.state.n_labels < LABELS or session._store.state.short_of_votes:
        for who in rng.permutation(everyone):
            n = (
                10
                if session._store.state.n_labels < LABELS
                else min(10, len(session._store.state.short_of_vote_from(who)))
            )
            ids = session.ask(n, who=who, lease=600, fresh=False) if n else []
            session.tell({i: say(who, int(i)) for i in ids}, who=who)
    if setting.decides:
        session.decide({row["id"]: say("expert", row["id"]) for row in session.disputes(fresh=False)}, who="expert")
    found = session.assess()
    told = assess_counts(found.tally, found.spec)
    for way, one in (("fewlabels", found), ("as told", told)):
        yield way, one.overall.mean, one.overall.low, one.overall.high


def measure(setting: Setting, runs: int) -> list[str]:
    rows: dict[str, list[tuple[float, float, float]]] = {}
    began = time.perf_counter()
    for seed in range(runs):
        for way, *figures in run(setting, seed):
            rows.setdefault(way, []).append((figures[0], figures[1], figures[2]))
    spent = (time.perf_counter() - began) / runs
    lines = []
    for way, found in rows.items():
        mean, low, high = np.array(found).T
        covered = ((low <= RIGHT) & (high >= RIGHT)).mean()
        error = (covered * (1 - covered) / runs) ** 0.5
        said = f"{mean.mean() - RIGHT:+.3f} | {(high - low).mean():.3f} | {covered:.3f} ± {error:.3f}"
        lines.append(f"| {setting.name} | {way} | {said} | {spent if way == 'fewlabels' else 0:.1f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="", help="settings with these words in their name")
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    lines = ["| people | way | bias | width | coverage | s per run |", "|---|---|---|---|---|---|"]
    for setting in (one for one in SETTINGS if words.only in one.name):
        lines += measure(setting, words.runs)
        print("\n".join(lines[-2:]), flush=True)
    text = (
        f"# When people err\n\n`python -m bench.votes --runs {words.runs} --out bench/votes.md`\n\nThe model is right {RIGHT:.0%} of the time; "
        f"about {LABELS} of {ITEMS:,} items are labelled at random, each by as many people as said; {words.runs} runs; 95% intervals of the "
        "overall accuracy, prior calibrated. `as told` takes what most people say, of a tie the last word, as true. The error after ± is one "
        "standard error of the runs.\n\n" + "\n".join(lines) + "\n"
    )
    if words.out:
        words.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
