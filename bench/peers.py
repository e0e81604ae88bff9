"""The same labels, given to fewlabels and to what one would use instead: who is closer, whose intervals hold, how long does it take?

Run from the root of the repository (extra: bench): python -m bench.peers --pools ../shared/pools --runs 24 --out bench/peers.md
Every run draws labels at random from a pool whose truth is known and hands the very same ones to every tool. All are asked for
the accuracy of every group in the population, by their own defaults, with 95 % intervals. What was measured is kept beside the
page: asked again with as many runs, only what is missing is measured.
"""

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bench.harness.main import Benchmark, start_in_batches
from bench.harness.pools import add_pools_option
from bench.harness.rows import Row, Rows, select
from bench.peers_page import render
from bench.peers_pictures import draw
from bench.peers_tools import TOOLS, Answer, Floats, Pool, read_pool

POOLS = {  # and the column whose groups are asked about
    "cifar10_resnet110": "predicted", "mnist": "predicted", "20news": "predicted", "letter26_gnb": "predicted",
    "snacks20": "predicted", "fair_adult_race": "race",
}  # fmt: skip
BUDGETS = (50, 200, 1000)
SMALLEST = 4  # groups
TINY = 1e-9
Known = npt.NDArray[np.bool_]
Judgement = tuple[Floats, ...]


def measure(pool: Pool, budget: int, runs: int) -> Iterator[Row]:
    """Hand the same labels to every tool, many times, and yield a row for each."""
    found: dict[str, list[Judgement]] = {name: [] for name in TOOLS}
    seconds = dict.fromkeys(TOOLS, 0.0)
    for run in range(runs):
        known = draw_labels(pool, budget, run)
        for name in TOOLS:
            answer, spent = ask(name, pool, known, run)
            seconds[name] += spent / runs
            found[name].append(_judge(pool, known, answer))
    small = np.argsort(pool.size, kind="stable")[:SMALLEST]
    for name, results in found.items():
        about = {"table": "tools", "pool": pool.name, "labels": budget, "tool": name}
        yield {**about, **_sum_up(results, small), "seconds": seconds[name]}


def draw_labels(pool: Pool, budget: int, run: int) -> Known:
    """Return which items are labelled in a run."""
    known = np.zeros(len(pool.group), dtype=bool)
    known[np.random.default_rng((run, budget)).choice(len(known), budget, replace=False)] = True
    return known


def ask(name: str, pool: Pool, known: Known, run: int) -> tuple[Answer, float]:
    """Return a tool's answer, and its seconds of processor time."""
    began = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of divisions by the variance of a single label
        answer = TOOLS[name](pool, known, run)
    return answer, time.process_time() - began


def _sum_up(results: Sequence[Judgement], small: npt.NDArray[np.int64]) -> Mapping[str, float]:
    """Return figures over all runs; `small` are the smallest groups."""
    error, covered, width, silent = (np.stack(part) for part in zip(*results, strict=True))
    return {
        "rmse": float(np.sqrt((error**2).mean())), "coverage": float(covered.mean()),
        "coverage_small": float(covered[:, small].mean()), "width": float(width.mean()),
        "width_small": float(width[:, small].mean()), "silent": float(silent.mean()),
    }  # fmt: skip


def _judge(pool: Pool, known: npt.NDArray[np.bool_], answer: Answer) -> tuple[Floats, ...]:
    """Error, coverage, width and silence per group. Who says nothing means: as all labels together, anywhere from 0 to 1."""
    silent = ~(np.isfinite(answer.mean) & np.isfinite(answer.low) & np.isfinite(answer.high))
    mean = np.where(silent, pool.right[known].mean(), answer.mean)
    low, high = np.where(silent, 0.0, answer.low), np.where(silent, 1.0, answer.high)
    covered = (low - TINY <= pool.truth) & (pool.truth <= high + TINY)
    return mean - pool.truth, covered.astype(np.float64), high - low, silent.astype(np.float64)


def measure_missing(options: argparse.Namespace, kept: Rows) -> Iterator[Rows]:
    """Measure pool by pool what is not kept, and yield all rows after each."""
    rows = list(kept)
    for name in (name for name in POOLS if not options.only or name in options.only.split(",")):
        pool = read_pool(options.pools, name, POOLS[name])
        for budget in (
            n for n in BUDGETS if n < len(pool.group) / 2 and not select(rows, "tools", pool=name, labels=n)
        ):
            began = time.perf_counter()
            rows += measure(pool, budget, options.runs)
            rows.append({"table": "times", "pool": name, "labels": budget, "seconds": time.perf_counter() - began})
            print(f"{time.perf_counter() - began:6.0f} s  {name}, {budget} labels", flush=True)
            yield rows
    yield rows


BENCHMARK = Benchmark("peers", __doc__, render, draw)


def main(words: Sequence[str] | None = None) -> None:
    """Measure every pool, and write the page and its pictures."""
    parser = BENCHMARK.make_parser()
    add_pools_option(parser)
    parser.add_argument("--only", default="", help="names of pools, joined by commas")
    parser.add_argument("--runs", type=int, default=24)
    start_in_batches(BENCHMARK, parser, measure_missing, words)


if __name__ == "__main__":
    main()
