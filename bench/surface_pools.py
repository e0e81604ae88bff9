"""Surfaces of real pools whose every label is known: how far off, and do intervals hold?

Run it from the project's folder: python -m bench.surface_pools --runs 5 --out bench/surface_pools.md
Every run labels items at random and hands the same labels to ours and to what one would use instead; all are asked about
exactly these items (what is labelled is known). Surfaces made up by `experiments.terrains` are measured beside them.
What was measured is kept beside the page: asked again with as many runs, only what is missing is measured.
"""

import argparse
from collections.abc import Iterator, Sequence

import numpy as np

from bench.harness.main import Benchmark, start_in_batches
from bench.harness.pools import add_pools_option
from bench.harness.rows import Row, Rows, select
from bench.surface_estimators import ESTIMATORS, Guess
from bench.surface_page import render
from bench.surface_sources import SOURCES, ArmPool

LABELS = (500, 2000)
WORST, TENTH = 50, 10
ROUNDING = 1e-9


def measure_run(pool: ArmPool, n: int, run: int) -> Iterator[Row]:
    """Hand the same labels to every estimator, and yield a row for each."""
    labelled = np.zeros(len(pool.arm), dtype=bool)
    labelled[np.random.default_rng((run, n)).choice(len(labelled), n, replace=False)] = True
    for name, estimate in ESTIMATORS.items():
        yield {"tool": name, **judge(pool, labelled, estimate(pool, labelled))}


def judge(pool: ArmPool, labelled: np.ndarray, guess: Guess) -> Row:
    """Compare arms that have enough items with the truth."""
    known, truth = pool.known_arms, pool.truth
    error = 100 * (guess.mean - truth)[known] ** 2
    order = np.argsort(truth[known], kind="stable")
    row = {"macro": error.mean(), "worst": error[order[:WORST]].mean()}
    if guess.low is None or guess.high is None:
        return row
    inside = ((guess.low - ROUNDING <= truth) & (truth <= guess.high + ROUNDING))[known]
    n_labels = np.bincount(pool.arm[labelled], minlength=len(truth))[known]
    tenth = order[: max(1, len(order) // TENTH)]
    return row | {
        "coverage": inside.mean(),
        "unlabelled": inside[n_labels == 0].mean() if (n_labels == 0).any() else None,
        "tenth": inside[tenth].mean(),
        "width": (guess.high - guess.low)[known].mean(),
    }


def average(rows: Rows) -> Row:
    """Average each figure over runs; runs that lack it are left out."""
    names = [name for name in dict.fromkeys(key for row in rows for key in row) if name != "tool"]
    found = {name: [row[name] for row in rows if row.get(name) is not None] for name in names}
    return {name: float(np.mean(values)) if values else None for name, values in found.items()}


def measure(options: argparse.Namespace, kept: Rows) -> Iterator[Rows]:
    """Measure pool after pool, and yield all rows so far after each."""
    rows = list(kept)
    for name, source in SOURCES.items():
        if options.only and name not in options.only:
            continue
        for scored in (False, True) if source.has_scores else (False,):
            for n in LABELS:
                key = {"pool": name, "labels": n, "scored": int(scored)}
                if select(rows, "tools", **key):
                    continue
                runs: list[Row] = []
                for run in range(options.runs):
                    pool = source.make(options.pools, run, scored)
                    runs += measure_run(pool, n, run)
                for tool in ESTIMATORS:
                    found = average([row for row in runs if row["tool"] == tool])
                    rows.append({"table": "tools", **key, "tool": tool, "arms": len(pool.known_arms), **found})
                yield rows
    yield rows


BENCHMARK = Benchmark("surface_pools", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    add_pools_option(parser)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="names of pools")
    start_in_batches(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
