"""Do intervals hold where people look? Random labels, the calibrated prior, every pool, about exactly these items.

Coverage of 95 % intervals of group accuracies and calibration errors: of all groups, of groups without labels and of the
least accurate tenth; coverage and error of the overall figure, beside the mean of the same labels under a Jeffreys prior
and beside PPI++. The page begins with the worst figures.
Run it from the project's folder: python -m bench.honesty --out bench/honesty.md
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from scipy.stats import beta

import fewlabels as fl
from bench.harness.main import Benchmark, start_in_batches
from bench.harness.page import Columns, figure, points, show_notes, show_table, text
from bench.harness.pools import add_pools_option
from bench.harness.rows import Row, Rows, find_settings, select
from fewlabels.active.simulation.labelled_pool import LabelledPool, make_labelled_pool
from fewlabels.data.counts import STRATA
from fewlabels.metrics.metric import Metric, accuracy, ece
from fewlabels.models.inference import infer
from fewlabels.models.posterior import Posterior

Floats = npt.NDArray[np.float64]
PER_CLASS, IN_ALL = (1, 2, 5, 10, 20), (20, 50, 100, 500)  # labels
FEWEST = 20  # labels from which coverage is held to the goal
LARGEST_SHARE = 0.5  # of a pool that is labelled
ROUNDING = 1e-9
N_DRAWS, N_WORST = 2000, 15
MANY_GROUPS, FEWER = 500, 5  # pools of so many groups get a fifth of the runs
ENOUGH_RUNS = 10  # from which a ratio of errors is more than chance
SCORES = ("score_mlp", "score_lr")  # of pools about people: the first model there is


@dataclass(frozen=True, eq=False)
class Pool:
    """A pool whose labels are all known, grouped by predicted class, and the truth of a metric."""

    name: str
    labelled: LabelledPool
    metric: Metric

    @cached_property
    def truth(self) -> Posterior:
        """The posterior with every label known: the truth, per group and overall."""
        return infer(
            self.labelled.add_labels(np.arange(self.labelled.n_items)), self.metric, fl.flat(), finite_pool=True
        )

    @cached_property
    def worst(self) -> npt.NDArray[np.intp]:
        """The tenth of the groups where the truth is worst."""
        values = self.truth.mean() if self.metric.worst == "lowest" else -self.truth.mean()
        return np.argsort(values)[: max(1, len(values) // 10)]

    @cached_property
    def score(self) -> Floats | None:
        """The score of every item; None without scores."""
        tally = self.labelled.tally
        return None if np.isnan(tally.score).any() else (tally.score / tally.n_items)[self.labelled.entry]

    @property
    def budgets(self) -> Iterator[tuple[str, int]]:
        """How many labels, in words and in all."""
        n_groups = len(self.labelled.tally.groups)
        words = [(f"{n} a class", n * n_groups) for n in PER_CLASS] + [(f"{n} in all", n) for n in IN_ALL]
        return (pair for pair in words if pair[1] <= LARGEST_SHARE * self.labelled.n_items)

    def label_at_random(self, n: int, run: int) -> npt.NDArray[np.int64]:
        """Return the items that are labelled in a run."""
        return np.random.default_rng([crc32(self.name.encode()), n, run]).permutation(self.labelled.n_items)[:n]


def read_pools(folder: Path, only: Sequence[str], metrics: Sequence[str] = ("accuracy", "ece")) -> Iterator[Pool]:
    """Yield every pool, once for each of the metrics that it allows."""
    for path in sorted(folder.glob("*.parquet")):
        if only and path.stem not in only:
            continue
        names = pq.read_schema(path).names
        for metric in (accuracy, ece) if "score" in names or set(names) & set(SCORES) else (accuracy,):
            if metric.name not in metrics:
                continue
            has_probabilities = metric is accuracy and any(name.startswith("p_") for name in names)
            bins = fl.bins(10) if metric is ece else None
            pool = _read(path, names)
            laid_out = make_labelled_pool(pool, fl.predicted, bins=bins, probabilities=has_probabilities, strata=STRATA)
            yield Pool(path.stem, laid_out, metric)


def _read(path: Path, names: Sequence[str]) -> fl.Predictions:
    if "predicted" in names:
        return fl.Predictions.read(path)
    score = next(name for name in SCORES if name in names)
    return fl.Predictions.read(path, positive_score=score, positive="1", label="label")


def replay(pool: Pool, n: int, run: int) -> dict[str, float]:
    """Label at random, and compare the posterior with the truth."""
    order = pool.label_at_random(n, run)
    posterior = infer(
        pool.labelled.add_labels(order), pool.metric, fl.calibrated(), finite_pool=True, n_draws=N_DRAWS, seed=run
    )
    truth, mean, (low, high) = pool.truth.mean(), posterior.mean(), posterior.interval()
    covered = (low - ROUNDING <= truth) & (truth <= high + ROUNDING)
    unlabelled = posterior.n_told == 0
    return {
        "covered": float(covered.mean()),
        "covered_worst": float(covered[pool.worst].mean()),
        "covered_unlabelled": float(covered[unlabelled].mean()) if unlabelled.any() else np.nan,
        "square": float(posterior.share @ (mean - truth) ** 2),
        "width": float((high - low).mean()),
        "jeffreys_width": _jeffreys_width(posterior) if pool.metric is accuracy else np.nan,
        **compare_overall(pool, posterior, order),
    }


def compare_overall(pool: Pool, posterior: Posterior, order: npt.NDArray[np.int64]) -> dict[str, float]:
    """Compare the overall figure with the truth, and with simpler estimates from the same labels."""
    truth = float(pool.truth.overall.mean()[0])
    (low,), (high,) = posterior.overall.interval()
    right = pool.labelled.right[order]
    simple = pool.metric is accuracy
    return {
        "whole_covered": float(low - ROUNDING <= truth <= high + ROUNDING),
        "whole_bias": float(posterior.overall.mean()[0]) - truth,
        "whole_square": (float(posterior.overall.mean()[0]) - truth) ** 2,
        "jeffreys_square": ((right.sum() + 0.5) / (len(right) + 1) - truth) ** 2 if simple else np.nan,
        "ppi_square": (estimate_ppi(pool.score, right, order) - truth) ** 2
        if simple and pool.score is not None
        else np.nan,
    }


def estimate_ppi(score: Floats, right: Floats, order: npt.NDArray[np.int64]) -> float:
    """PPI++: the mean of the labels, corrected by the scores with a factor tuned to the labels (Angelopoulos et al.)."""
    if len(order) < 2 or not np.var(score[order]):
        return float(np.mean(right))
    covariance = np.cov(score[order], right)[0, 1]
    factor = np.clip(covariance / ((1 + len(order) / len(score)) * np.var(score)), 0, 1)
    return float(np.mean(right) + factor * (np.mean(score) - np.mean(score[order])))


def _jeffreys_width(posterior: Posterior) -> float:
    right, n = posterior.cells.right, posterior.cells.n_labels
    ends = [beta.ppf(q, right + 0.5, n - right + 0.5) for q in (0.025, 0.975)]
    return float(np.mean(ends[1] - ends[0]))


def measure(options: argparse.Namespace, kept: Rows) -> Iterator[Rows]:
    """Yield the rows of all pools and metrics so far, after each; those of an earlier run are not measured again."""
    rows, done = list(kept), {(row["pool"], row["metric"]) for row in select(kept, "cells")}
    for pool in read_pools(options.pools, _split(options.only), _split(options.metrics)):
        if (pool.name, pool.metric.name) not in done:
            rows += measure_pool(pool, options.runs)
            yield rows


def measure_pool(pool: Pool, runs: int) -> Iterator[Row]:
    """Yield a row for every number of labels."""
    n_groups = len(pool.labelled.tally.groups)
    runs = max(2, runs // FEWER) if n_groups >= MANY_GROUPS else runs
    for words, n in pool.budgets:
        began = time.process_time()
        found = [replay(pool, n, run) for run in range(runs)]
        spent = (time.process_time() - began) / runs
        yield {
            "table": "cells", "pool": pool.name, "metric": pool.metric.name, "labels": words, "n": n,
            "groups": n_groups, "runs": runs, "seconds": round(spent, 3), **average(found),
        }  # fmt: skip


def _split(words: str) -> Sequence[str]:
    return words.split(",") if words else ()


def average(found: Sequence[dict[str, float]]) -> dict[str, float | None]:
    """Average over runs; None where a figure exists in no run. Squared errors become root mean squared errors."""
    means: dict[str, float | None] = {}
    for name in found[0]:
        values = np.array([one[name] for one in found])
        there = values[~np.isnan(values)]
        mean = float(there.mean()) if len(there) else None
        means[name.replace("square", "rmse")] = mean**0.5 if mean is not None and "square" in name else mean
    return means


COLUMNS: Columns = (
    ("pool", text("pool")), ("labels", text("labels")), ("covered", points("covered", ".1f")),
    ("worst tenth", points("covered_worst", ".1f")), ("no labels", points("covered_unlabelled", ".1f")),
    ("RMSE", points("rmse", ".1f")), ("width", points("width", ".0f")), ("overall covered", points("whole_covered", ".0f")),
    ("overall RMSE", points("whole_rmse", ".1f")), ("bias", points("whole_bias", "+.1f")),
    ("Jeffreys", points("jeffreys_rmse", ".1f")), ("PPI++", points("ppi_rmse", ".1f")), ("runs", figure("runs", "d")),
)  # fmt: skip


def render(rows: Rows) -> Iterator[str]:
    """Yield the page: the worst figures first, then averages, then every cell."""
    runs = find_settings(rows)["runs"]
    yield (
        "# Coverage where people look\n\nRandom labels, calibrated prior, 95% intervals about exactly these items. Percentages and "
        f"points; {runs} runs of each pool and number of labels (fewer in pools of a thousand classes)."
    )
    yield from show_notes(rows)
    for metric in ("accuracy", "ece"):
        cells = [row for row in select(rows, "cells") if row["metric"] == metric]
        if cells:
            yield f"## {metric}"
            yield summarize(cells)
            held = [row for row in cells if row["n"] >= FEWEST]
            worst = sorted(held, key=lambda row: min(row["covered"], row["whole_covered"]))[:N_WORST]
            yield "The worst by coverage:\n\n" + show_table(COLUMNS, worst)
            yield "All:\n\n" + show_table(COLUMNS, cells)


def summarize(cells: Sequence[Row]) -> str:
    """Say in a paragraph what the goals are and how many cells miss them."""
    held = [row for row in cells if row["n"] >= FEWEST]
    said = [
        f"{len(held)} pools and numbers of labels with at least {FEWEST} labels: groups are covered {_mean(held, 'covered'):.1f}% "
        f"on average ({_count(held, 'covered', 0.93)} below 93%, {_count(held, 'covered', 0.85)} below 85%), the worst tenth "
        f"{_mean(held, 'covered_worst'):.1f}% ({_count(held, 'covered_worst', 0.85)} below 85%), groups without labels "
        f"{_mean(held, 'covered_unlabelled'):.1f}% ({_count(held, 'covered_unlabelled', 0.9)} below 90%), overall figures "
        f"{_mean(held, 'whole_covered'):.1f}% ({_count(held, 'whole_covered', 0.85)} below 85%)."
    ]
    compared = [row for row in held if row["jeffreys_rmse"] and row["runs"] >= ENOUGH_RUNS]
    ratios = [row["whole_rmse"] / min(row["jeffreys_rmse"], row["ppi_rmse"] or np.inf) for row in compared]
    if ratios:
        worst = compared[int(np.argmax(ratios))]
        narrow = np.exp(np.mean([np.log(row["width"] / row["jeffreys_width"]) for row in held]))
        said.append(
            f"Where there are at least {ENOUGH_RUNS} runs ({len(ratios)} rows), the overall error is {np.exp(np.mean(np.log(ratios))):.2f} of "
            f"the better of Jeffreys and PPI++ (geometric mean; above 1 in {sum(ratio > 1 for ratio in ratios)}, largest {max(ratios):.2f}, "
            f"on {worst['pool']} with {worst['n']} labels); intervals of groups are {narrow:.2f} of Jeffreys'."
        )
    return " ".join(said)


def _mean(cells: Sequence[Row], name: str) -> float:
    return 100 * float(np.mean([row[name] for row in cells if row[name] is not None]))


def _count(cells: Sequence[Row], name: str, least: float) -> int:
    return sum(row[name] < least for row in cells if row[name] is not None)


BENCHMARK = Benchmark("honesty", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Replay on the pools that are asked for."""
    parser = BENCHMARK.make_parser()
    add_pools_option(parser)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--only", default="", help="names of pools, joined by commas")
    parser.add_argument("--metrics", default="accuracy,ece", help="names of metrics, joined by commas")
    start_in_batches(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
