"""The same labels, given to fewlabels and to what one would use instead: who is closer, whose intervals hold, how long does it take?

Run from the root of the repository (extra: bench): python -m bench.peers --pools ../shared/pools --runs 24 --out bench/peers.md
Every run draws labels at random from a pool whose truth is known and hands the very same ones to every tool. All are asked for
the accuracy of every group in the population, by their own defaults, with 95 % intervals. What was measured is kept beside the
page: asked again with as many runs, only what is missing is measured.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from fairlearn.metrics import MetricFrame
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy.special import betaincinv
from sklearn.metrics import accuracy_score

import fewlabels as fl
from bench.peers_page import Measure, Record
from fewlabels.models.priors import Prior

Floats = npt.NDArray[np.float64]
POOLS = {  # and the column whose groups are asked about
    "cifar10_resnet110": "predicted", "mnist": "predicted", "20news": "predicted", "letter26_gnb": "predicted",
    "snacks20": "predicted", "fair_adult_race": "race",
}  # fmt: skip
BUDGETS = (50, 200, 1000)
LEVEL, RESAMPLES = 0.95, 100
SMALLEST = 4  # groups
Z = 1.959963984540054
TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Pool:
    """Predictions with every label, cut into groups."""

    name: str
    by: str
    names: tuple[str, ...]
    group: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.str_]
    score: Floats
    label: npt.NDArray[np.str_]

    @property
    def right(self) -> Floats:
        """1 where the prediction is right."""
        return (self.predicted == self.label).astype(np.float64)

    @property
    def size(self) -> npt.NDArray[np.int64]:
        """Items per group."""
        return np.bincount(self.group, minlength=len(self.names))

    @property
    def truth(self) -> Floats:
        """Accuracy per group, from all labels."""
        return np.asarray(np.bincount(self.group, weights=self.right) / self.size)


@dataclass(frozen=True)
class Answer:
    """What a tool says of every group; nan where it says nothing."""

    mean: Floats
    low: Floats
    high: Floats


Tool = Callable[[Pool, npt.NDArray[np.bool_], int], Answer]


def read_pool(folder: Path, name: str, by: str) -> Pool:
    """Read a pool; of those about people, by one of their models."""
    table = pq.read_table(folder / f"{name}.parquet")
    columns = {c: table[c].to_numpy(zero_copy_only=False) for c in table.column_names if not c.startswith("p_")}
    if "predicted" not in columns:
        chance = columns["score_mlp"].astype(np.float64)
        columns |= {"predicted": (chance >= 0.5).astype(int), "score": np.maximum(chance, 1 - chance)}
    predicted, label = columns["predicted"].astype(str), columns["label"].astype(str)
    names, group = np.unique(columns[by].astype(str), return_inverse=True)
    return Pool(name, by, tuple(names.tolist()), group, predicted, columns["score"].astype(np.float64), label)


# -- the tools ----------------------------------------------------------------------------------------------


def ask_fewlabels(prior: Prior) -> Tool:
    """Return fewlabels with a prior, from a plain table to its rows."""

    def ask(pool: Pool, known: npt.NDArray[np.bool_], seed: int) -> Answer:
        label = [name if is_known else None for name, is_known in zip(pool.label.tolist(), known, strict=True)]
        table = {
            "predicted": pool.predicted,
            "score": pool.score,
            "label": label,
            "cut": np.array(pool.names)[pool.group],
        }
        a = fl.assess(table, by=fl.column("cut"), prior=prior, level=LEVEL, seed=seed)
        rows = [a.row(name) for name in pool.names]
        return Answer(*(np.array([getattr(row, part) for row in rows]) for part in ("mean", "low", "high")))

    return ask


def ask_fairlearn(pool: Pool, known: npt.NDArray[np.bool_], seed: int) -> Answer:
    """MetricFrame with its bootstrap; a group without a label is not in it."""
    frame = MetricFrame(
        metrics=accuracy_score, y_true=pool.label[known], y_pred=pool.predicted[known],
        sensitive_features=pool.group[known], n_boot=RESAMPLES, ci_quantiles=[(1 - LEVEL) / 2, (1 + LEVEL) / 2],
        random_state=seed,
    )  # fmt: skip
    found = (frame.by_group, *frame.by_group_ci)
    return Answer(*(series.reindex(range(len(pool.names))).to_numpy(dtype=np.float64) for series in found))


def ask_ppi(pool: Pool, known: npt.NDArray[np.bool_], _: int) -> Answer:
    """Prediction-powered inference in every group: labels correct the mean score of the items without one."""
    right, out = pool.right, np.full((3, len(pool.names)), np.nan)
    for g in range(len(pool.names)):
        inside = pool.group == g
        data = right[inside & known], pool.score[inside & known], pool.score[inside & ~known]
        if len(data[0]) >= 2 and len(data[2]) >= 2:
            low, high = ppi_mean_ci(*data, alpha=1 - LEVEL)
            out[:, g] = [float(np.squeeze(x)) for x in (ppi_mean_pointestimate(*data), low, high)]
    return Answer(*np.clip(out, 0, 1))


def ask_jeffreys(pool: Pool, known: npt.NDArray[np.bool_], _: int) -> Answer:
    """Each group by its own labels, with Jeffreys' interval."""
    n, k = _count(pool, known)
    a, b = k + 0.5, n - k + 0.5
    tail = (1 - LEVEL) / 2
    low, high = (np.asarray(betaincinv(a, b, q), dtype=np.float64) for q in (tail, 1 - tail))
    return Answer(a / (a + b), low, high)


def ask_sklearn(pool: Pool, known: npt.NDArray[np.bool_], _: int) -> Answer:
    """scikit-learn's accuracy of each group, with the normal (Wald) interval around it."""
    out = np.full((3, len(pool.names)), np.nan)
    for g in range(len(pool.names)):
        inside = known & (pool.group == g)
        if inside.any():
            p = accuracy_score(pool.label[inside], pool.predicted[inside])
            half = Z * np.sqrt(p * (1 - p) / inside.sum())
            out[:, g] = p, p - half, p + half
    return Answer(*np.clip(out, 0, 1))


def _count(pool: Pool, known: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    n = np.bincount(pool.group[known], minlength=len(pool.names)).astype(np.float64)
    k = np.bincount(pool.group[known], weights=pool.right[known], minlength=len(pool.names))
    return n, np.asarray(k)


TOOLS: Mapping[str, Tool] = {
    "fewlabels, calibrated": ask_fewlabels(fl.calibrated()),
    "fewlabels, flat": ask_fewlabels(fl.flat()),
    "fairlearn, bootstrap": ask_fairlearn,
    "ppi-python": ask_ppi,
    "Jeffreys": ask_jeffreys,
    "scikit-learn, Wald": ask_sklearn,
}


# -- measuring ----------------------------------------------------------------------------------------------


def measure(pool: Pool, budget: int, runs: int) -> Iterator[Measure]:
    """Hand the same labels to every tool, many times, and say how each does."""
    found: dict[str, list[tuple[Floats, ...]]] = {name: [] for name in TOOLS}
    seconds = dict.fromkeys(TOOLS, 0.0)
    for run in range(runs):
        known = np.zeros(len(pool.group), dtype=bool)
        known[np.random.default_rng((run, budget)).choice(len(known), budget, replace=False)] = True
        for name, ask in TOOLS.items():
            began = time.process_time()
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # of divisions by the variance of a single label
                answer = ask(pool, known, run)
            seconds[name] += (time.process_time() - began) / runs
            found[name].append(_judge(pool, known, answer))
    small = np.argsort(pool.size, kind="stable")[:SMALLEST]
    for name, results in found.items():
        error, covered, width, silent = (np.stack(part) for part in zip(*results, strict=True))
        yield Measure(
            pool.name, budget, name, float(np.sqrt((error**2).mean())), float(covered.mean()), float(covered[:, small].mean()),
            float(width.mean()), float(width[:, small].mean()), float(silent.mean()), seconds[name],
        )  # fmt: skip


def _judge(pool: Pool, known: npt.NDArray[np.bool_], answer: Answer) -> tuple[Floats, ...]:
    """Error, coverage, width and silence per group. Who says nothing means: as all labels together, anywhere from 0 to 1."""
    silent = ~(np.isfinite(answer.mean) & np.isfinite(answer.low) & np.isfinite(answer.high))
    mean = np.where(silent, pool.right[known].mean(), answer.mean)
    low, high = np.where(silent, 0.0, answer.low), np.where(silent, 1.0, answer.high)
    covered = (low - TINY <= pool.truth) & (pool.truth <= high + TINY)
    return mean - pool.truth, covered.astype(np.float64), high - low, silent.astype(np.float64)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every pool, and write the page and its pictures."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--pools", type=Path, default=Path("../shared/pools"))
    parser.add_argument("--only", default="", help="names of pools, joined by commas")
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    names = [name for name in POOLS if not options.only or name in options.only.split(",")]
    record = Record.read(options.out, options.runs)
    for name in names:
        pool = read_pool(options.pools, name, POOLS[name])
        for budget in (n for n in BUDGETS if n < len(pool.group) / 2 and not record.has(name, n)):
            began = time.perf_counter()
            rows = list(measure(pool, budget, options.runs))
            record = record.add(rows, time.perf_counter() - began)
            print(f"{time.perf_counter() - began:6.0f} s  {name}, {budget} labels", flush=True)
            record.write(options.out)
    record.write(options.out)  # what was there already may be told in other words by now
    print(record.page)


if __name__ == "__main__":
    main()
