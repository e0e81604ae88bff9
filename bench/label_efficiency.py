"""What do labels buy with each prior? Every pool with scores, every question, every prior, on the same draws.

Run it from the project's folder: python -m bench.label_efficiency --pools ../shared/pools --runs 100 --out bench/label_efficiency.md
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from joblib import Parallel, delayed

import fewlabels as fl
from fewlabels.goals import Goal
from fewlabels.groups import Groups
from fewlabels.policies import Policy
from fewlabels.priors import Prior
from fewlabels.replay.compiled import play
from fewlabels.replay.measures import measure_confusion, measure_finding, measure_verdict
from fewlabels.replay.stage import Stage, set_stage
from fewlabels.replay.trial import Trial

PRIORS: dict[str, Prior] = {"flat": fl.flat(), "scores": fl.from_scores(), "calibrated": fl.calibrated()}
POLICIES: dict[str, Policy] = {"random": fl.random, "Thompson": fl.thompson, "multi-play": fl.multi_play}
EACH = (2, 5, 10)  # labels per class
FEW = (20, 50, 100)  # labels in all
LOOKS = 60
PAIRS, SMALLEST = 10, 20  # pairs of groups to compare, of at least so many items
Figures = dict[str, np.ndarray]


@dataclass(frozen=True)
class Way:
    """A prior and a policy."""

    prior: str
    policy: str

    def try_on(self, stage: Stage, goal: Goal) -> Trial:
        """Return the trial of this way."""
        return Trial(stage, goal, POLICIES[self.policy], PRIORS[self.prior])


THEIRS = (Way("scores", "random"), Way("scores", "Thompson"))
OURS = (Way("calibrated", "random"), Way("calibrated", "Thompson"))
ALL = (Way("flat", "random"), *THEIRS, *OURS)


@dataclass(frozen=True)
class Task:
    """A pool, and how to read it."""

    path: Path

    @property
    def name(self) -> str:
        """What it is called."""
        return self.path.stem

    def read(self) -> fl.Predictions:
        """Read the predictions; those about people by one of their models."""
        columns = pq.read_schema(self.path).names
        if "score" in columns:
            return fl.Predictions.read(self.path)
        return fl.Predictions.read(self.path, positive_score="score_mlp", positive="1", label="label")

    def stage(self, by: Groups = fl.predicted, *, probabilities: bool = False) -> Stage:
        """Lay its items out."""
        return set_stage(self.read(), by, probabilities=probabilities, strata=True)


def find_tasks(folder: Path) -> list[Task]:
    """Return every pool that has scores."""
    names = {path: pq.read_schema(path).names for path in sorted(folder.glob("*.parquet"))}
    return [Task(path) for path, columns in names.items() if "score" in columns or "score_mlp" in columns]


def repeat(one: Callable[[int], Figures], runs: int) -> Figures:
    """Play many times; figures of all runs, one under the other."""
    found = Parallel(n_jobs=-1)(delayed(one)(seed) for seed in range(runs))
    return {name: np.stack([f[name] for f in found]) for name in found[0]}


# -- what is measured -----------------------------------------------------------------------------------------


def estimate(trial: Trial, budgets: list[int], seed: int) -> Figures:
    """Error, coverage and width of the accuracies of groups, about exactly these items."""
    order = play(trial, np.random.default_rng(seed), max(budgets))
    out = []
    for n in budgets:
        known = trial.know(order[:n])
        mean, (low, high) = known.mean(), known.interval()
        covered = (low - 1e-9 <= trial.truth) & (trial.truth <= high + 1e-9)
        out.append((known.share @ (mean - trial.truth) ** 2, covered.mean(), (high - low).mean()))
    error, coverage, width = np.array(out).T
    return {"square": error, "coverage": coverage, "width": width}


def find(trial: Trial, looks: np.ndarray, seed: int) -> Figures:
    """MRR of the worst groups as labels grow."""
    order = play(trial, np.random.default_rng(seed), int(looks[-1]))
    return {"mrr": np.array([measure_finding(trial, trial.know(order[:n]))["mrr"] for n in looks])}


def gauge(trial: Trial, budgets: list[int], seed: int) -> Figures:
    """Error of the calibration error over ten score bins, relative to what it is."""
    order = play(trial, np.random.default_rng(seed), max(budgets))
    cells = trial.start.scheme.cells

    def add_up(accuracy: np.ndarray) -> float:
        return float(trial.start.share @ np.abs(accuracy - cells.score))

    true = add_up(trial.truth)
    return {"relative": np.array([abs(add_up(trial.know(order[:n]).mean()) - true) / true for n in budgets])}


def confuse(trial: Trial, budgets: list[int], seed: int) -> Figures:
    """Error of the columns of the confusion matrix."""
    order = play(trial, np.random.default_rng(seed), max(budgets))
    return {"rmse": np.array([measure_confusion(trial, trial.know(order[:n]))["rmse"] for n in budgets])}


def compare(stage: Stage, way: Way, pairs: list[tuple[str, str]], seed: int) -> Figures:
    """Labels from which on the verdict about two groups is right, for every pair."""
    needed = []
    for a, b in pairs:
        trial = replace(way.try_on(stage, fl.Compare(a, b, rope=0.05)), finite=False)
        looks = np.unique(np.geomspace(1, trial.n_askable, 16).round().astype(int))
        order = play(trial, np.random.default_rng([seed, 1]), int(looks[-1]))
        right = np.array([measure_verdict(trial, trial.know(order[:n]))["correct"] for n in looks]) > 0
        stays = np.logical_and.accumulate(right[::-1])[::-1]
        needed.append(looks[stays.argmax()] if stays.any() else trial.n_askable)
    return {"labels": np.array(needed, dtype=float)}


# -- from figures to rows -------------------------------------------------------------------------------------


def label_enough(mrr: np.ndarray, looks: np.ndarray) -> float:
    """The first count from which the mean MRR stays at 0.99."""
    stays = np.logical_and.accumulate((mrr.mean(axis=0) >= 0.99 - 1e-9)[::-1])[::-1]
    return float(looks[stays.argmax()]) if stays.any() else float("nan")


def pick_pairs(stage: Stage, rope: float = 0.05) -> list[tuple[str, str]]:
    """A few pairs of groups that differ clearly, or clearly do not, on the whole pool."""
    trial = Trial(stage, fl.Estimate(), fl.random, fl.flat())
    size, truth, names = trial.start.n_items, trial.truth, stage.tally.groups
    clear = [
        (names[i], names[j])
        for i, j in combinations(np.nonzero(size >= SMALLEST)[0], 2)
        if abs(abs(truth[i] - truth[j]) - rope) > rope / 2
    ]
    chosen = np.random.default_rng(0).permutation(len(clear))[:PAIRS]
    return [clear[i] for i in chosen]


@dataclass(frozen=True)
class Study:
    """One question on one pool."""

    task: Task
    runs: int

    def estimate(self) -> Iterator[str]:
        """Rows about the accuracies of classes."""
        stage = self.task.stage()
        budgets = [min(n * len(stage.tally.groups), stage.n_items) for n in EACH]
        found = {way: repeat(partial(estimate, way.try_on(stage, fl.Estimate()), budgets), self.runs) for way in ALL}
        rmse = {way: np.sqrt(f["square"].mean(axis=0)) for way, f in found.items()}
        flat = found[ALL[0]]["width"].mean(axis=0)
        for i, each in enumerate(EACH):
            theirs, ours = (min(rmse[way][i] for way in ways) for ways in (THEIRS, OURS))
            cells = [f"{100 * rmse[way][i]:.1f}" for way in ALL]
            honest = [f"{100 * found[w]['coverage'].mean(axis=0)[i]:.1f} / {found[w]['width'].mean(axis=0)[i] / flat[i]:.2f}" for w in OURS]  # fmt: skip
            yield row(self.task.name, each, *cells, f"{ours / theirs:.2f}", *honest)

    def find(self) -> Iterator[str]:
        """Rows about the worst classes."""
        stage = self.task.stage()
        looks = np.unique(np.geomspace(2, stage.n_items, LOOKS).round().astype(int))
        n_groups = len(stage.tally.groups)
        for m in (1, 10 if n_groups >= 100 else 3):
            if m >= n_groups:
                continue
            needs = []
            for way in (Way("scores", "Thompson"), Way("calibrated", "Thompson")):
                way_m = replace(way, policy="multi-play") if m > 1 else way
                mrr = repeat(partial(find, way_m.try_on(stage, fl.FindWorst(m=m)), looks), self.runs)
                needs.append(label_enough(mrr["mrr"], looks))
            yield row(self.task.name, m, *(f"{n:,.0f} ({n / stage.n_items:.1%})" for n in needs), f"{needs[1] / needs[0]:.2f}")  # fmt: skip

    def gauge(self) -> Iterator[str]:
        """Rows about calibration error."""
        stage = self.task.stage(fl.bins(10))
        budgets = [min(n, stage.n_items) for n in FEW]
        found = {way: repeat(partial(gauge, way.try_on(stage, fl.Estimate()), budgets), self.runs) for way in ALL}
        error = {way: f["relative"].mean(axis=0) for way, f in found.items()}
        for i, n in enumerate(budgets):
            theirs, ours = (min(error[way][i] for way in ways) for ways in (THEIRS, OURS))
            yield row(self.task.name, n, *(f"{error[way][i]:.0%}" for way in ALL), f"{ours / theirs:.2f}")

    def confuse(self) -> Iterator[str]:
        """Rows about confusion, where there are probabilities of all classes."""
        if not self.task.read().has("probabilities"):
            return
        stage = self.task.stage(probabilities=True)
        budgets = [0, 10, *(n * len(stage.tally.groups) for n in EACH)]
        goal = fl.Estimate(fl.confusion)
        ways = (*THEIRS[:1], *OURS[:1])
        found = {
            way: repeat(partial(confuse, way.try_on(stage, goal), budgets), self.runs)["rmse"].mean(axis=0)
            for way in ways
        }  # fmt: skip
        for i, n in enumerate(budgets[1:], start=1):
            blank = found[ways[0]][0]
            cells = [f"{100 * value:.1f}" for value in (blank, *(found[way][i] for way in ways))]
            yield row(self.task.name, n, *cells, f"{found[ways[1]][i] / blank:.2f}", f"{found[ways[1]][i] / found[ways[0]][i]:.2f}")  # fmt: skip

    def compare(self) -> Iterator[str]:
        """Rows about the comparison of two classes."""
        stage = self.task.stage()
        pairs = pick_pairs(stage)
        if not pairs:
            return
        runs = max(2, self.runs // 10)
        ways = (Way("flat", "random"), Way("scores", "Thompson"), Way("calibrated", "Thompson"))
        needs = [repeat(partial(compare, stage, way, pairs), runs)["labels"].mean() for way in ways]
        yield row(self.task.name, len(pairs), *(f"{n:.0f}" for n in needs), f"{needs[2] / min(needs[:2]):.2f}")


def row(*cells: object) -> str:
    """A row of a table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


TABLES = {
    "estimate": (
        "Accuracy of every class: RMSE in points (share-weighted, about exactly these items)",
        ("pool", "labels per class", *(f"{w.prior}, {w.policy}" for w in ALL), "ours / theirs", "coverage / width of flat: ours, random", "ours, Thompson"),
    ),
    "find": (
        "Labels to find the worst classes, MRR lastingly at 0.99",
        ("pool", "m", "scores, Thompson", "calibrated, Thompson", "ratio"),
    ),
    "gauge": (
        "Calibration error over ten bins: error relative to its size",
        ("pool", "labels", *(f"{w.prior}, {w.policy}" for w in ALL), "ours / theirs"),
    ),
    "confuse": (
        "Confusion: RMSE of columns in points, random labels",
        ("pool", "labels", "scores, no label", "scores of strength 1", "calibrated", "of no label", "of strength 1"),
    ),
    "compare": (
        "Labels to the right verdict on two classes, lastingly",
        ("pool", "pairs", "flat, random", "scores, Thompson", "calibrated, Thompson", "ratio"),
    ),
}  # fmt: skip


def main() -> None:
    """Play everything that was asked for, and write it down as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=Path, default=Path("../shared/pools"))
    parser.add_argument("--only", help="names of pools, joined by commas")
    parser.add_argument("--without", default="", help="pools to leave out, joined by commas")
    parser.add_argument("--questions", default=",".join(TABLES))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    tasks = [
        task for task in find_tasks(options.pools)
        if (not options.only or task.name in options.only.split(",")) and task.name not in options.without.split(",")
    ]  # fmt: skip
    began, pages = time.perf_counter(), [f"# Label efficiency\n\n`{' '.join(['python -m bench.label_efficiency', *sys.argv[1:]])}`\n"]  # fmt: skip
    for question in options.questions.split(","):
        title, columns = TABLES[question]
        pages += [f"\n## {title}\n", row(*columns), row(*("---" for _ in columns))]
        for task in tasks:
            for line in getattr(Study(task, options.runs), question)():
                print(f"{time.perf_counter() - began:6.0f} s {line}", flush=True)
                pages.append(line)
            if options.out:
                options.out.write_text("\n".join(pages) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
