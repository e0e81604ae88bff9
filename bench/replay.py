"""How long does one replay take: by the compiled kernels, by the plain definition in NumPy, and by the papers' code?

Run from the root of the repository: python -m bench.replay --pools ../shared/pools --out bench/replay.md
(as a module: `bench/coverage.py` would otherwise be taken for the package that Numba looks for).
A replay labels a whole pool, one item at a time. The definition draws every group at every step; it is timed over its
first steps, while all groups are open, and extrapolated to the last. Seconds are of processor time, which other users
of the machine add little to. The papers' seconds were measured elsewhere, so the ratio to the definition is the one
that travels.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from fewlabels.active.simulation.kernels.loop import choose
from fewlabels.active.simulation.kernels.measures import measure_estimate
from fewlabels.active.simulation.kernels.pool import Pool, sort_by_group
from fewlabels.active.simulation.kernels.problems import (
    CalibrationError,
    Cost,
    Problem,
    Rate,
    RopeComparison,
    ShareVariance,
    Variance,
)
from fewlabels.active.simulation.kernels.rules import THOMPSON, TOP_TWO, Rule, multi_play

Gains = Float[np.ndarray, " group"]
Rng = np.random.Generator
EDGE = 1e-6


@dataclass(frozen=True)
class Table:
    """A pool of predictions as arrays."""

    predicted: Int[np.ndarray, " item"]
    label: Int[np.ndarray, " item"]
    score: Float[np.ndarray, " item"]
    probability: Float[np.ndarray, "item class"] | None
    n_classes: int

    @property
    def right(self) -> Float[np.ndarray, " item"]:
        """Which predictions are right."""
        return (self.predicted == self.label).astype(np.float64)


def read(path: Path) -> Table:
    frame = pd.read_parquet(path)
    names = sorted(set(frame["predicted"]) | set(frame["label"]))
    index = {name: i for i, name in enumerate(names)}
    columns = [f"p_{name}" for name in names]
    known = set(columns) <= set(frame.columns)
    return Table(
        frame["predicted"].map(index).to_numpy(),
        frame["label"].map(index).to_numpy(),
        frame["score"].to_numpy(np.float64),
        frame[columns].to_numpy(np.float64) if known else None,
        len(names),
    )


# -- problems -----------------------------------------------------------------------------------------------------


def seek_least_accurate(table: Table) -> Rate:
    pool, source = sort_by_group(table.predicted, np.arange(table.n_classes))
    return Rate(pool, table.right[source], np.ones(pool.n_cells), np.ones(pool.n_cells))


def estimate_accuracy(table: Table) -> Variance:
    pool, source = sort_by_group(table.predicted, np.arange(table.n_classes))
    ones = np.ones(pool.n_cells)
    return Variance(pool, table.right[source], ones, ones, ones)


def seek_least_calibrated(table: Table) -> CalibrationError:
    """Ten bins of equal width per predicted class."""
    bins = np.minimum((table.score * 10).astype(np.int64), 9)
    keys, cell = np.unique(table.predicted * 10 + bins, return_inverse=True)
    pool, source = sort_by_group(cell, keys // 10)
    ones = np.ones(pool.n_cells)
    return CalibrationError(pool, table.right[source], ones, ones, np.bincount(cell, table.score) / np.bincount(cell))


def seek_costliest(table: Table, *, scores: bool) -> Cost:
    """Three prices to a column, as in the papers: nothing, a mistake, and a grave one."""
    pool, source = sort_by_group(table.predicted, np.arange(table.n_classes))
    k = np.arange(table.n_classes)
    price = np.where(k[:, None] == k, 0.0, np.where((k[:, None] // 5) == (k // 5), 1.0, 10.0))
    return Cost(pool, table.label[source], start_confusion(table, scores=scores), price)


def estimate_confusion(table: Table, *, scores: bool) -> ShareVariance:
    pool, source = sort_by_group(table.predicted, np.arange(table.n_classes))
    return ShareVariance(pool, table.label[source], start_confusion(table, scores=scores), np.ones(pool.n_cells))


def start_confusion(table: Table, *, scores: bool) -> Float[np.ndarray, "group class"]:
    """A Dirichlet of strength 1 per predicted class: even, or the mean predicted probabilities."""
    if not scores or table.probability is None:
        return np.full((table.n_classes, table.n_classes), 1 / table.n_classes)
    mean = np.stack([table.probability[table.predicted == k].mean(axis=0) for k in range(table.n_classes)])
    mean = np.clip(mean, EDGE, None)
    return mean / mean.sum(axis=1, keepdims=True)


def compare_two(table: Table) -> RopeComparison:
    """The two largest classes."""
    found = seek_least_accurate(table)
    a, b = np.argsort(np.diff(found.pool.start))[-2:]
    return RopeComparison(found.pool, found.right, found.alpha, found.beta, int(a), int(b), 0.05)


# -- the definition -----------------------------------------------------------------------------------------------


class Definition:
    """Thompson sampling as it is written down: draw the whole belief, take the best group, label, count."""

    def __init__(self, problem: Any, rule: Rule) -> None:
        self.problem, self.rule, self.pool = problem, rule, problem.pool
        self.alpha = problem.alpha.copy()
        self.beta = problem.beta.copy() if self.alpha.ndim == 1 else self.alpha
        self.left = [list(range(a, b)) for a, b in zip(self.pool.start[:-1], self.pool.start[1:], strict=True)]

    def draw(self, rng: Rng) -> Gains:
        """Gains at one draw of everything."""
        problem, pool = self.problem, self.pool
        if isinstance(problem, Cost | ShareVariance):
            theta = rng.standard_gamma(self.alpha)
            theta /= theta.sum(axis=1, keepdims=True)
            if isinstance(problem, Cost):
                return problem.sign * (problem.price * theta).sum(axis=1)
            total, squares = self.alpha.sum(axis=1, keepdims=True), (self.alpha**2).sum(axis=1, keepdims=True)
            now = (1 - squares / total**2) / (total + 1)
            later = (1 - (squares + 2 * self.alpha + 1) / (total + 1) ** 2) / (total + 2)
            return pool.share * (now[:, 0] - (theta * later).sum(axis=1))
        theta = rng.beta(self.alpha, self.beta)
        if isinstance(problem, Rate):
            return problem.sign * theta
        if isinstance(problem, CalibrationError):
            return np.bincount(pool.group, weights=pool.weight * np.abs(theta - problem.score))
        now, right, wrong = (_variance(self.alpha + i, self.beta + j) for i, j in ((0, 0), (1, 0), (0, 1)))
        return pool.share * (now - theta * right - (1 - theta) * wrong)

    def pick(self, rng: Rng, closed: Bool[np.ndarray, " group"]) -> list[int]:
        """Groups to label in."""
        gains = np.where(closed, -np.inf, self.draw(rng))
        if self.rule.m > 1:
            return np.argsort(-gains)[: self.rule.m].tolist()
        best = int(gains.argmax())
        if self.rule.kind is TOP_TWO.kind and rng.random() < 0.5:
            for _ in range(100):
                gains = np.where(closed, -np.inf, self.draw(rng))
                if gains.argmax() != best:
                    break
            gains[best] = -np.inf
            best = int(gains.argmax())
        return [best]

    def run(self, rng: Rng, n_steps: int) -> int:
        """Label until so many are labelled; how many were."""
        n, closed = 0, np.array([not items for items in self.left])
        while n < n_steps:
            for group in self.pick(rng, closed):
                item = self.left[group].pop(rng.integers(len(self.left[group])))
                self.learn(item)
                closed[group] = not self.left[group]
                n += 1
        return n

    def learn(self, item: int) -> None:
        """Count an outcome."""
        cell = self.pool.cell[item]
        if self.alpha.ndim == 2:
            self.alpha[cell, self.problem.label[item]] += 1
        else:
            self.alpha[cell] += self.problem.right[item]
            self.beta[cell] += 1 - self.problem.right[item]


def _variance(alpha: Gains, beta: Gains) -> Gains:
    return alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1))


# -- timing -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One line of the report."""

    name: str
    pool: str
    make: Callable[[Table], Problem]
    rule: Rule = THOMPSON
    published: float | None = None  # seconds of the papers' code
    goal: float | None = None  # seconds we set out for


@dataclass(frozen=True)
class Timing:
    """What it took."""

    case: Case
    n_labels: int
    first: float  # the first run of the process: compiled, or read from disk
    seconds: float
    definition: float | None


CASES = (
    Case("least accurate class, Thompson", "cifar100_resnet110", seek_least_accurate, published=0.40, goal=0.05),
    Case("least accurate class, top-two", "cifar100_resnet110", seek_least_accurate, TOP_TWO, published=1.1),
    Case("10 least accurate, multi-play", "cifar100_resnet110", seek_least_accurate, multi_play(10), published=0.09),
    Case("accuracy per class, Thompson", "cifar100_resnet110", estimate_accuracy, published=2.6, goal=0.1),
    Case("classwise ECE, Thompson", "cifar100_resnet110", seek_least_calibrated, published=24.4, goal=0.5),
    Case("cost, flat prior, Thompson", "cifar100_densenet", lambda t: seek_costliest(t, scores=False), published=13.1, goal=1.0),
    Case("cost, scores prior, Thompson", "cifar100_densenet", lambda t: seek_costliest(t, scores=True), published=13.1, goal=1.0),
    Case("confusion, flat prior, Thompson", "cifar100_densenet", lambda t: estimate_confusion(t, scores=False), published=850.0, goal=1.0),
    Case("confusion, scores prior, Thompson", "cifar100_densenet", lambda t: estimate_confusion(t, scores=True), published=850.0, goal=1.0),
    Case("two classes compared, Thompson", "cifar100_resnet110", compare_two, published=2.1),
    Case("least accurate class, Thompson", "imagenet_resnet152", seek_least_accurate, goal=1.0),
    Case("accuracy per class, Thompson", "imagenet_resnet152", estimate_accuracy),
)  # fmt: skip


def clock(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def measure(case: Case, table: Table, repeats: int, n_steps: int) -> Timing:
    """Median of several replays, and the definition's first steps stretched to all."""
    problem = case.make(table)
    n_labels = int(np.diff(problem.pool.start)[problem.eligible_groups].sum())

    def replay(seed: int) -> object:
        return choose(np.random.default_rng(seed), problem, case.rule, n_labels)

    first = clock(partial(replay, 0))
    seconds = statistics.median(clock(partial(replay, seed)) for seed in range(1, repeats + 1))
    if isinstance(problem, RopeComparison):  # its definition is an integral, not a draw
        return Timing(case, n_labels, first, seconds, None)
    plain = Definition(problem, case.rule)
    began = time.process_time()
    n = plain.run(np.random.default_rng(0), n_steps)
    return Timing(case, n_labels, first, seconds, (time.process_time() - began) / n * n_labels)


def measure_estimates(table: Table, repeats: int) -> float:
    """Seconds to measure error, coverage and width at a hundred checkpoints of a replay."""
    problem = estimate_accuracy(table)
    order = choose(np.random.default_rng(0), problem, THOMPSON, len(table.label))
    checkpoints = np.linspace(0, len(order), 100).astype(np.int64)
    measure_estimate(problem, order, checkpoints)
    return statistics.median(clock(lambda: measure_estimate(problem, order, checkpoints)) for _ in range(repeats))


def write_report(timings: list[Timing], measuring: float, arguments: argparse.Namespace, pool: Pool) -> Iterator[str]:
    yield from ("# Replays", "", "Made by `python -m bench.replay --pools ../shared/pools --out bench/replay.md`.", "")
    yield from (
        "Seconds of processor time for one replay of a whole pool on one core, one label at a time; the kernels' are medians",
        f"of {arguments.repeats} runs. \"Definition\" is a plain NumPy loop that draws every group at every step, timed here over its first",
        f"{arguments.steps} labels and extrapolated: it draws closed groups too, so that all its steps cost the same.",
        "\"Papers\" are the seconds of the papers' own code, measured earlier on two shared cores (METHODS, section 6).",
        f"Load of the machine over the last minute: {os.getloadavg()[0]:.1f} (about 1 is this script's own).",
        "",
    )  # fmt: skip
    yield from (
        "| replay | pool | labels | kernel | definition | definition / kernel | papers | papers / kernel | goal |",
        "|---|---|---|---|---|---|---|---|---|",
    )
    for t in timings:
        yield f"| {t.case.name} | {t.case.pool} | {t.n_labels:,} | {t.seconds:.3g} | {_cell(t.definition)} | {_ratio(t.definition, t.seconds)} | {_cell(t.case.published)} | {_ratio(t.case.published, t.seconds)} | {_goal(t)} |"
    yield from (
        "",
        f"Measuring error, coverage and width of {pool.n_groups} intervals at 100 checkpoints of a replay takes {measuring:.3f} s more.",
        "",
        "The first run of a process takes longer, as it compiles its kernel or reads it from disk: "
        + ", ".join(f"{t.first:.1f} s ({t.case.name.split(',')[0]})" for t in timings if t.first > 10 * t.seconds + 0.1)
        + ".",
    )


def _cell(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.3g}"


def _ratio(seconds: float | None, kernel: float) -> str:
    return "" if seconds is None else f"{seconds / kernel:,.0f}"


def _goal(timing: Timing) -> str:
    if timing.case.goal is None:
        return ""
    return f"{timing.case.goal:g} {'met' if timing.seconds <= timing.case.goal else '**missed**'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=Path, default=Path("../shared/pools"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    tables = {name: read(arguments.pools / f"{name}.parquet") for name in {case.pool for case in CASES}}
    timings = [measure(case, tables[case.pool], arguments.repeats, arguments.steps) for case in CASES]
    small = tables["cifar100_resnet110"]
    measuring = measure_estimates(small, arguments.repeats)
    pool = seek_least_accurate(small).pool
    text = "\n".join(write_report(timings, measuring, arguments, pool)) + "\n"
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
