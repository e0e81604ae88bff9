"""Do 95 % intervals of recall, precision, F1, cost and confusion entries contain the truth? Random labels, finite pools.

Run from the root of the repository: python -m bench.honesty_classes --pools ../shared/pools --runs 10 --out rows.jsonl
Each row is one pool x prior x budget x metric: coverage over runs and classes, of the worst tenth of classes, and of the
figure of the whole pool; error, bias and width in points. `--page rows.jsonl` prints a table that leads with the worst.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

import fewlabels as fl
from fewlabels.active.simulation.labelled_pool import LabelledPool, make_labelled_pool
from fewlabels.data.counts import STRATA, CountTable
from fewlabels.distributions.belief import include_mean
from fewlabels.metrics.metric import METRICS, Metric
from fewlabels.models.inference import infer
from fewlabels.models.priors import Prior

Floats = npt.NDArray[np.float64]
Row = dict[str, str | float]
PRIORS: Mapping[str, Prior] = {"calibrated": fl.calibrated(), "flat": fl.flat(), "scores": fl.from_scores()}
NAMES = ("recall", "precision", "f1", "balanced-accuracy", "mcc", "cost", "entries")
WHOLE_ONLY = ("balanced-accuracy", "mcc")
PER_CLASS, IN_ALL = (1, 2, 5, 10, 20), (20, 50, 100, 500)
MAX_SHARE = 0.8  # of the pool that is labelled
MANY_CLASSES = 150  # from which the confusion matrix and the cost are left out: they take minutes
SLACK = 1e-9


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


def replay(pool: Pool, prior: str, runs: int, names: Sequence[str], most: int) -> Iterator[Row]:
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
            row: Row = {"pool": pool.name, "prior": prior, "budget": budget, "labels": n, "metric": name, "runs": runs}
            yield row | {"seconds": round(seconds, 3)} | summarise(pool, name, readings)


def summarise(pool: Pool, name: str, readings: list[list[Reading]]) -> Row:
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
    return out | (compare("", [one[0] for one in readings], each) if len(each) else {})


def compare(prefix: str, readings: list[Reading], truth: Floats, kept: npt.NDArray[np.bool_] | None = None) -> Row:
    """Coverage, of all and of the worst tenth of figures, error, bias and width."""
    kept = np.ones(len(truth), dtype=bool) if kept is None else kept
    kept = kept & ~np.isnan(truth)
    if not kept.any():
        return {}
    mean, low, high = (np.array([getattr(one, side)[kept] for one in readings]) for side in ("mean", "low", "high"))
    hit = (low <= truth[kept] + SLACK) & (truth[kept] - SLACK <= high)
    worst = np.sort(hit.mean(axis=0))[: max(1, len(truth[kept]) // 10)]
    error = mean - truth[kept]
    figures = {"covered": hit.mean(), "worst tenth": worst.mean(), "rmse": 100 * np.sqrt((error**2).mean()),
               "bias": 100 * error.mean(), "width": 100 * (high - low).mean()}  # fmt: skip
    return {prefix + key: round(float(value), 4) for key, value in figures.items()}


def print_page(rows: Sequence[Row], most: int) -> None:
    """Print the rows with the least coverage first."""

    def least(row: Row) -> float:
        return min(float(row[key]) for key in ("covered", "whole covered") if key in row)

    columns = ("pool", "prior", "budget", "metric", "covered", "worst tenth", "whole covered", "rmse", "whole rmse", "whole bias", "width", "whole width")  # fmt: skip
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in sorted(rows, key=least)[:most]:
        print("| " + " | ".join(str(row.get(column, "")) for column in columns) + " |")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=Path, default=Path("../shared/pools"))
    parser.add_argument("--names", nargs="*", help="pools; all with a predicted class unless given")
    parser.add_argument("--priors", nargs="*", default=["calibrated"], choices=list(PRIORS))
    parser.add_argument("--metrics", nargs="*", default=list(NAMES), choices=NAMES)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--most", type=int, default=10**9, help="most labels")
    parser.add_argument("--out", type=Path, default=Path("rows.jsonl"))
    parser.add_argument("--page", type=Path, help="rows to print, worst first")
    parser.add_argument("--rows", type=int, default=40, help="of the page")
    chosen = parser.parse_args(arguments)
    if chosen.page:
        print_page([json.loads(line) for line in chosen.page.read_text().splitlines()], chosen.rows)
        return
    with chosen.out.open("a") as file:
        for name in chosen.names or sorted(path.stem for path in chosen.pools.glob("*.parquet")):
            pool = read_pool(chosen.pools / f"{name}.parquet")
            for prior in chosen.priors:
                for row in replay(pool, prior, chosen.runs, chosen.metrics, chosen.most):
                    file.write(json.dumps(row) + "\n")
                    file.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
