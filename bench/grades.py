"""Few human grades, many of a judge: error and coverage per slice and overall, beside what people use today.

Pools whose human grades are all known, of which a few per slice are shown, drawn at random: real judges (a reward model, a
model's own confidence, one model as the judge of another), and simulated judges of answers graded 1 to 5. Beside `rate`: per
slice the plain mean with Jeffreys' interval (two grades) or a bootstrap (more), overall PPI++ on the same grades with the items
weighted as they are in the pool's slices. Truth is the pool's.
Run it from the project's folder: python -m bench.grades --out bench/grades.md
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy.special import betaincinv

import fewlabels as fl
from bench.grades_page import render
from bench.harness.main import Benchmark, start
from bench.harness.pools import add_pools_option, read_columns
from bench.harness.rows import Row

Floats = npt.NDArray[np.float64]
SIZES, RUNS, BOOTSTRAPS = (2, 5, 10, 20), 60, 1000
N, SLICES, LEVELS, PASS = 4000, 8, 5, 4  # of simulated pools


@dataclass(frozen=True)
class Graded:
    """A pool: people's grade of every item, 0 to 1; a judge's, or none; and slices."""

    human: Floats
    judge: Floats | None
    part: npt.NDArray[np.int64]

    @property
    def n_slices(self) -> int:
        """The number of slices."""
        return int(self.part.max()) + 1


def simulate(seed: int, judge: str, *, passes: bool = False) -> Graded:
    """Return answers graded 1 to 5 by people, in slices of different quality, and a simulated judge's grades.

    With `passes`, people and the judge only say whether an answer deserves a 4 or more.
    """
    rng = np.random.default_rng([7, seed])
    part = rng.integers(0, SLICES, N)
    quality = 3.5 + 1.1 * rng.normal(size=N) + rng.normal(0, 0.6, SLICES)[part]
    human = np.clip((quality + 0.4 * rng.normal(size=N)).round(), 1, LEVELS)
    noise = rng.normal(size=N)
    says = {
        "lenient": quality + 1.0 + 0.6 * noise, "noisy": quality + 1.5 * noise, "useless": 3 + noise, "opposite": 6 - quality + 0.5 * noise,
        "biased by slice": quality + rng.normal(0, 1.0, SLICES)[part] + 0.5 * noise, "always right": human,
        "always the same": np.full(N, 4.0),
    }[judge]  # fmt: skip
    said = np.clip(says.round(), 1, LEVELS)
    if passes:
        return Graded((human >= PASS).astype(float), (said >= PASS).astype(float), part)
    return Graded((human - 1) / 4, (said - 1) / 4, part)


def read_pool(folder: Path, name: str) -> Graded:
    """Return a pool of real outputs: what people would say is whether the output is right, or which is better."""
    if name == "cifar10_lenet judged by cifar10_wideresnet":
        return _judge_by_another(folder)
    columns = read_columns(folder / f"{name}.parquet")
    right = (columns["label"] == columns["predicted"]).astype(float)
    if name == "judgebench_reward":
        chance = np.where(columns["predicted"] == "A>B", columns["score"], 1 - columns["score"])
        return Graded((columns["label"] == "A>B").astype(float), chance, _number(columns["source"]))
    parts = _number(columns.get("category", columns["predicted"]))
    return Graded(right, columns["score"].astype(float) if "score" in columns else None, parts)


def _judge_by_another(folder: Path) -> Graded:
    """Return a weak model's predictions, judged by a strong model of the same images: row orders agree."""
    weak, strong = (read_columns(folder / f"cifar10_{name}.parquet") for name in ("lenet", "wideresnet"))
    agrees = weak["predicted"] == strong["predicted"]
    chance = np.where(agrees, strong["score"], 1 - strong["score"]).astype(float)
    return Graded((weak["label"] == weak["predicted"]).astype(float), chance, _number(weak["predicted"]))


def _number(names: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """Number the slices; those of fewer than 25 items are one slice."""
    _, at, n = np.unique(names.astype(str), return_inverse=True, return_counts=True)
    _, at = np.unique(np.where(n[at] < 25, -1, at), return_inverse=True)
    return at.astype(np.int64)


JUDGES = ("lenient", "noisy", "biased by slice", "useless", "opposite", "always right", "always the same")
PASS_JUDGES = ("lenient", "biased by slice", "useless")
POOLS = ("judgebench_reward", "llmconf_gpt", "mmlupro_llama3_8b", "cifar10_lenet judged by cifar10_wideresnet")


def list_sources(folder: Path) -> dict[str, Callable[[int], Graded]]:
    """Return what makes the pool of every run."""
    real: dict[str, Callable[[int], Graded]] = {name: lambda _, name=name: read_pool(folder, name) for name in POOLS if folder.exists()}  # type: ignore[misc]  # fmt: skip
    five = {f"simulated, {judge}": lambda seed, judge=judge: simulate(seed, judge) for judge in JUDGES}
    two = {f"simulated, pass or fail, {judge}": lambda seed, judge=judge: simulate(seed, judge, passes=True) for judge in PASS_JUDGES}  # fmt: skip
    return real | five | two


def run(pool: Graded, per_slice: int, seed: int) -> dict[str, Floats]:
    """Show a few grades per slice; return estimates, intervals and truths of slices and overall, by way."""
    rng = np.random.default_rng([11, per_slice, seed])
    members = [np.nonzero(pool.part == part)[0] for part in range(pool.n_slices)]
    shown = np.concatenate([rng.choice(items, min(per_slice, len(items)), replace=False) for items in members])
    human = np.full(len(pool.part), np.nan)
    human[shown] = pool.human[shown]
    table: dict[str, npt.NDArray[Any]] = {"human": human, "slice": pool.part.astype(str)}
    judges = () if pool.judge is None else ("judge",)
    table |= {} if pool.judge is None else {"judge": pool.judge}
    found = fl.rate(table, grade="human", judge=judges, by="slice", finite_pool=True, seed=seed, n_draws=2000)
    rows = sorted(found.groups, key=lambda row: int(row.group))
    truth = np.array([pool.human[items].mean() for items in members])
    plain = np.array(
        [estimate_plain(rng, pool.human[shown[pool.part[shown] == part]]) for part in range(pool.n_slices)]
    )
    overall = found.overall
    return {
        "ours": np.array([[row.mean, row.low, row.high] for row in rows]), "plain": plain, "truth": truth,
        "ours overall": np.array([overall.mean, overall.low, overall.high]), "ppi overall": estimate_ppi(pool, shown),
        "truth overall": np.array(pool.human.mean()),
    }  # fmt: skip


def estimate_plain(rng: np.random.Generator, grades: Floats) -> tuple[float, float, float]:
    """Return the mean with Jeffreys' interval if grades are 0 and 1, else with the bootstrap's."""
    mean = float(grades.mean())
    if set(grades.tolist()) <= {0.0, 1.0}:
        a, b = grades.sum() + 0.5, len(grades) - grades.sum() + 0.5
        return mean, float(betaincinv(a, b, 0.025)), float(betaincinv(a, b, 0.975))
    means = grades[rng.integers(0, len(grades), (BOOTSTRAPS, len(grades)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return mean, float(low), float(high)


def estimate_ppi(pool: Graded, shown: npt.NDArray[np.int64]) -> Floats:
    """Return PPI++ with an interval; grades are weighted by the size of their slice, as they were drawn by slice."""
    size = np.bincount(pool.part)
    weight = size[pool.part[shown]].astype(float)
    weight *= len(shown) / weight.sum()
    human = pool.human[shown]
    if pool.judge is None or np.ptp(pool.judge) == 0:
        mean = float(np.average(human, weights=weight))
        error = 1.96 * float(np.sqrt((weight**2 * (human - mean) ** 2).sum())) / len(shown)
        return np.array([mean, mean - error, mean + error])
    rest = np.setdiff1d(np.arange(len(pool.part)), shown)
    ours, theirs = pool.judge[shown], pool.judge[rest]
    point = float(np.ravel(ppi_mean_pointestimate(human, ours, theirs, w=weight))[0])
    low, high = ppi_mean_ci(human, ours, theirs, alpha=0.05, w=weight)
    return np.array([point, float(np.ravel(low)[0]), float(np.ravel(high)[0])])


def repeat(name: str, make: Callable[[int], Graded], per_slice: int, runs: int) -> Row:
    """Return a row: error, coverage and width of slices and overall, ours and others'."""
    found = [run(make(seed), per_slice, seed) for seed in range(runs)]
    row: dict[str, Any] = {
        "table": "grades",
        "pool": name,
        "per_slice": per_slice,
        "runs": runs,
        "slices": len(found[0]["truth"]),
    }
    for way, truth in (
        ("ours", "truth"),
        ("plain", "truth"),
        ("ours overall", "truth overall"),
        ("ppi overall", "truth overall"),
    ):
        each = np.stack([one[way] for one in found])
        right = np.stack([one[truth] for one in found])
        away = 1e-9
        covered = (each[..., 1] <= right + away) & (right - away <= each[..., 2])
        key = way.replace(" ", "_")
        row[f"{key}_rmse"] = float(np.sqrt(((each[..., 0] - right) ** 2).mean()))
        row[f"{key}_coverage"] = float(covered.mean())
        row[f"{key}_width"] = float((each[..., 2] - each[..., 1]).mean())
    return row


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for every pool and number of grades."""
    for name, make in list_sources(options.pools).items():
        for per_slice in SIZES if options.only in name else ():
            row = repeat(name, make, per_slice, options.runs)
            print(row, flush=True)
            yield row


BENCHMARK = Benchmark("grades", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", default="", help="pools with these words in their name")
    add_pools_option(parser)
    start(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
