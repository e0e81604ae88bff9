"""Do 95 % intervals of recall, precision, F1, cost and confusion entries contain the truth? Random labels, finite pools.

A row for each pool, prior, number of labels and metric: coverage over runs and classes, of the tenth of classes where the
truth is worst, and of the figure of the whole pool; error, bias and width in points. The page begins with the worst rows.
Run it from the root of the repository: python -m bench.honesty_classes --runs 10 --out bench/honesty_classes.md
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

import fewlabels as fl
from bench.harness.main import Benchmark, start_in_batches
from bench.harness.page import Columns, figure, points, show_table, text
from bench.harness.pools import add_pools_option
from bench.harness.rows import Row, Rows, select
from fewlabels.active.simulation.labelled_pool import LabelledPool, make_labelled_pool
from fewlabels.data.counts import STRATA, CountTable
from fewlabels.distributions.belief import include_mean
from fewlabels.metrics.metric import METRICS, Metric
from fewlabels.models.inference import infer
from fewlabels.models.priors import Prior

Floats = npt.NDArray[np.float64]
PRIORS: Mapping[str, Prior] = {"calibrated": fl.calibrated(), "flat": fl.flat(), "scores": fl.from_scores()}
NAMES = ("recall", "precision", "f1", "balanced-accuracy", "mcc", "cost", "entries")
WHOLE_ONLY = ("balanced-accuracy", "mcc")
PER_CLASS, IN_ALL = (1, 2, 5, 10, 20), (20, 50, 100, 500)
MAX_SHARE = 0.8  # of the pool that is labelled
MANY_CLASSES = 150  # from which the confusion matrix and the cost are left out: they take minutes
SLACK = 1e-9
FEWEST = 20  # labels from which coverage is held to the goal
N_WORST = 25


@dataclass(frozen=True, eq=False)
class Pool:
    """A pool, all its labels known, and its true figures."""

    name: str
    labelled: LabelledPool

    @cached_property
    def truth(self) -> Floats:
        """Items by (predicted group, true class)."""
        tally = self.labelled.tally
        out = np.zeros((len(tally.groups), len(tally.classes)))
        np.add.at(out, (self.labelled.group, self.labelled.label), 1.0)
        return out

    @cached_property
    def said(self) -> npt.NDArray[np.int64]:
        """The class of each predicted group."""
        return np.array([self.labelled.tally.classes.index(group) for group in self.labelled.tally.groups])

    @cached_property
    def prices(self) -> Floats:
        """Costs by (true class, predicted class), drawn once."""
        n = len(self.labelled.tally.classes)
        prices = np.random.default_rng(n).lognormal(0.0, 1.0, (n, n)).round(3)
        np.fill_diagonal(prices, 0.0)
        return prices

    @property
    def budgets(self) -> list[tuple[str, int]]:
        """Names and numbers of labels, smallest first; the same number once."""
        found = {each * len(self.said): f"{each} per class" for each in PER_CLASS}
        found = {n: str(n) for n in IN_ALL} | found
        return [(found[n], n) for n in sorted(found) if n <= MAX_SHARE * self.labelled.n_items]

    def metric(self, name: str) -> Metric:
        """Return the metric of that name."""
        if name != "cost":
            return METRICS["recall" if name == "entries" else name]
        classes = self.labelled.tally.classes
        table = {
            true: dict(zip(classes, row, strict=True)) for true, row in zip(classes, self.prices.tolist(), strict=True)
        }
        return fl.cost(table)

    def answer(self, name: str) -> tuple[Floats, float]:
        """Return the true figures of every group (nan where undefined), and of the whole pool."""
        counts, said = self.truth, self.said
        n_items, hits = counts.sum(), counts[np.arange(len(said)), said]
        predicted, true, found = np.zeros((3, counts.shape[1]))
        predicted[said], true[:], found[said] = counts.sum(axis=1), counts.sum(axis=0), hits
        with np.errstate(invalid="ignore", divide="ignore"):
            recall, precision, f1 = found / true, found / predicted, 2 * found / (true + predicted)
        occurs = (true > 0) | (predicted > 0)
        rates = {"recall": recall, "precision": precision, "f1": f1}
        if name in rates:
            return rates[name][said], float(np.nan_to_num(rates[name])[occurs].mean())
        if name == "balanced-accuracy":
            return np.array([]), float(recall[true > 0].mean())
        if name == "mcc":
            chance, t, p = predicted @ true / n_items**2, true / n_items, predicted / n_items
            return np.array([]), float((hits.sum() / n_items - chance) / np.sqrt((1 - t @ t) * (1 - p @ p)))
        spent = (counts * self.prices[:, said].T).sum(axis=1)
        return spent / counts.sum(axis=1), float(spent.sum() / n_items)


@dataclass(frozen=True)
class Reading:
    """Means and intervals of the figures of one run."""

    mean: Floats
    low: Floats
    high: Floats


def read_pool(path: Path) -> Pool:
    pool = fl.Predictions.read(path)
    return Pool(
        path.stem, make_labelled_pool(pool, fl.predicted, probabilities=pool.has("probabilities"), strata=STRATA)
    )


def read_figures(pool: Pool, tally: CountTable, name: str, prior: Prior) -> Iterator[Reading]:
    """Yield the figures of the groups, then of the whole."""
    counted = tally.merged() if name == "mcc" else tally  # of the whole only
    found = infer(counted, pool.metric(name), prior, finite_pool=True, n_draws=1000)
    if name == "entries":
        belief = found.joint_cell_posterior
        mean = belief.mean()
        low, high = include_mean(mean, belief.interval())
        aside = np.ones_like(mean, dtype=bool)
        aside[np.arange(len(pool.said)), pool.said] = False
        yield Reading(mean[aside], low[aside], high[aside])
        return
    low, high = found.interval()
    empty = np.array([])
    yield Reading(empty, empty, empty) if name in WHOLE_ONLY else Reading(found.mean(), low, high)
    (low, high), mean = found.overall.interval(), found.overall.mean()
    yield Reading(mean, low, high)


def replay(pool: Pool, prior: str, runs: int, names: Sequence[str], most: int) -> Iterator[dict[str, str | float]]:
    """Yield one row per budget and metric."""
    orders = [np.random.default_rng(seed).permutation(pool.labelled.n_items) for seed in range(runs)]
    for budget, n in pool.budgets:
        if n > most:
            continue
        tallies = [pool.labelled.add_labels(order[:n]) for order in orders]
        for name in names:
            if name in ("entries", "cost") and len(pool.said) >= MANY_CLASSES:
                continue
            start = time.perf_counter()
            readings = [list(read_figures(pool, tally, name, PRIORS[prior])) for tally in tallies]
            seconds = (time.perf_counter() - start) / runs
            row: dict[str, str | float] = {
                "table": "cells",
                "pool": pool.name,
                "prior": prior,
                "budget": budget,
                "labels": n,
                "metric": name,
                "runs": runs,
            }
            yield row | {"seconds": round(seconds, 3)} | summarise(pool, name, readings)


def summarise(pool: Pool, name: str, readings: list[list[Reading]]) -> dict[str, str | float]:
    if name == "entries":
        aside = np.ones_like(pool.truth, dtype=bool)
        aside[np.arange(len(pool.said)), pool.said] = False
        truth = (pool.truth / pool.truth.sum(axis=1, keepdims=True))[aside]
        some = truth > 0
        groups = [one[0] for one in readings]
        return (
            compare("", groups, truth) | compare("some ", groups, truth, some) | compare("none ", groups, truth, ~some)
        )
    each, whole = pool.answer(name)
    out = compare("whole ", [one[1] for one in readings], np.array([whole]))
    sign = -1.0 if pool.metric(name).worst == "highest" else 1.0
    return out | (compare("", [one[0] for one in readings], each, sign=sign) if len(each) else {})


def compare(
    prefix: str, readings: list[Reading], truth: Floats, kept: npt.NDArray[np.bool_] | None = None, sign: float = 1.0
) -> dict[str, str | float]:
    """Coverage, of all figures and of the tenth with the worst truth (the largest where `sign` is -1); error, bias, width.

    The tenth is chosen by the truth and not by coverage: of a few runs, the least covered tenth is low by chance alone.
    """
    kept = np.ones(len(truth), dtype=bool) if kept is None else kept
    kept = kept & ~np.isnan(truth)
    if not kept.any():
        return {}
    mean, low, high = (np.array([getattr(one, side)[kept] for one in readings]) for side in ("mean", "low", "high"))
    hit = (low <= truth[kept] + SLACK) & (truth[kept] - SLACK <= high)
    worst = np.argsort(sign * truth[kept], kind="stable")[: max(1, int(kept.sum()) // 10)]
    error = mean - truth[kept]
    figures = {"covered": hit.mean(), "worst tenth": hit[:, worst].mean(), "rmse": 100 * np.sqrt((error**2).mean()),
               "bias": 100 * error.mean(), "width": 100 * (high - low).mean()}  # fmt: skip
    return {prefix + key: round(float(value), 4) for key, value in figures.items()}


def measure(options: argparse.Namespace, kept: Rows) -> Iterator[list[Row]]:
    """Yield all rows so far after every pool; pools of an earlier run with as many runs are not measured again."""
    rows = list(kept)
    if rows:
        yield rows
    names = options.only.split(",") if options.only else list_pools(options.pools)
    for name in names:
        if select(rows, "cells", pool=name):
            continue
        pool = read_pool(options.pools / f"{name}.parquet")
        for prior in options.priors.split(","):
            rows += replay(pool, prior, options.runs, options.metrics.split(","), options.most)
            yield rows


def list_pools(folder: Path) -> list[str]:
    """Return the pools of predicted classes; those about people have scores of a positive class only."""
    return sorted(path.stem for path in folder.glob("*.parquet") if "predicted" in pq.read_schema(path).names)


COLUMNS: Columns = (
    ("pool", text("pool")), ("prior", text("prior")), ("labels", text("budget")), ("metric", text("metric")),
    ("covered", points("covered", ".1f")), ("worst tenth", points("worst tenth", ".1f")),
    ("overall covered", points("whole covered", ".0f")), ("RMSE", figure("rmse", ".1f")), ("width", figure("width", ".0f")),
    ("overall RMSE", figure("whole rmse", ".1f")), ("overall bias", figure("whole bias", "+.1f")), ("runs", figure("runs", "d")),
)  # fmt: skip


def render(rows: Rows) -> Iterator[str]:
    """Yield the page: averages by metric, the worst rows, then every row."""
    cells = select(rows, "cells")
    held = [row for row in cells if row["labels"] >= FEWEST]
    runs = sorted({row["runs"] for row in cells})
    yield (
        "# Coverage of figures of classes\n\nRandom labels, 95% intervals about exactly these items, "
        f"{' or '.join(map(str, runs))} runs a row, {len({row['pool'] for row in cells})} pools. Percentages and points. With "
        f"{runs[0]} runs an overall figure resolves {100 / runs[0]:.0f} points."
    )
    yield show_table(SUMMARY, [average(held, name) for name in NAMES if any(row["metric"] == name for row in held)])
    worst = sorted(held, key=lambda row: min(row.get(key, 1.0) for key in ("covered", "whole covered")))[:N_WORST]
    yield "The worst by coverage, of groups or overall:\n\n" + show_table(COLUMNS, worst)
    yield "All:\n\n" + show_table(COLUMNS, cells)


def average(held: Sequence[Row], name: str) -> Row:
    """Average the rows of a metric, and count those that miss the goals."""
    rows = [row for row in held if row["metric"] == name]
    out: dict[str, str | float | None] = {"metric": name, "rows": len(rows)}
    for key in ("covered", "worst tenth", "whole covered"):
        values = [row[key] for row in rows if key in row]
        out[key] = float(np.mean(values)) if values else None
        out[f"{key} low"] = sum(value < LEAST for value in values) if values else None
    return out


LEAST = 0.85
SUMMARY: Columns = (
    ("metric", text("metric")), ("rows", figure("rows", "d")), ("covered", points("covered", ".1f")),
    ("below 85", figure("covered low", "d")), ("worst tenth", points("worst tenth", ".1f")),
    ("below 85", figure("worst tenth low", "d")), ("overall", points("whole covered", ".1f")),
    ("below 85", figure("whole covered low", "d")),
)  # fmt: skip
BENCHMARK = Benchmark("honesty_classes", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Replay on the pools that are asked for."""
    parser = BENCHMARK.make_parser()
    add_pools_option(parser)
    parser.add_argument("--only", default="", help="names of pools, joined by commas")
    parser.add_argument("--priors", default="calibrated", help=f"of {', '.join(PRIORS)}, joined by commas")
    parser.add_argument("--metrics", default=",".join(NAMES), help="joined by commas")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--most", type=int, default=10**9, help="most labels")
    start_in_batches(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
