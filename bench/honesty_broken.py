"""Is a class that is silently broken covered once it has labels? Random items of every class, the calibrated prior.

In each run 45 % of the right labels of one class are changed, while its scores stay as they were. Then so many random items
of every class are labelled. Coverage of 95 % intervals about exactly these items: of the broken class, of the others, and
of the whole; error of the broken class, beside the mean of its own labels under a Jeffreys prior.
Run it from the project's folder: python -m bench.honesty_broken --out bench/honesty_broken.md
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np

import fewlabels as fl
from bench.harness.main import Benchmark, start_in_batches
from bench.harness.page import Columns, figure, points, show_table, text
from bench.harness.pools import add_pools_option
from bench.harness.rows import Row, Rows, find_settings, select
from fewlabels.active.simulation.labelled_pool import LabelledPool, make_labelled_pool
from fewlabels.data.counts import STRATA
from fewlabels.models.inference import infer

ONLY = "20news,cifar10h_people,cifar10_lenet,letter26_gnb"
N_EACH = (2, 8, 20, 50, 150)  # labels of every class
BROKEN = 0.45  # of the right labels are changed
N_DRAWS, ROUNDING = 2000, 1e-9


def break_class(pool: LabelledPool, rng: np.random.Generator) -> tuple[LabelledPool, int]:
    """Change right labels of a class that has at least 50 of them; return the pool and the class."""
    n_right = np.bincount(pool.group, weights=pool.right)
    broken = int(rng.choice(np.nonzero(n_right >= min(50, n_right.max()))[0]))
    (there,) = np.nonzero((pool.group == broken) & (pool.right > 0))
    right = pool.right.copy()
    right[rng.choice(there, int(BROKEN * len(there)), replace=False)] = 0.0
    return replace(pool, right=right), broken


def replay(pool: LabelledPool, name: str, n_each: int, run: int) -> dict[str, float]:
    """Break a class, label so many items of every class, and compare the posterior with the truth."""
    rng = np.random.default_rng([crc32(name.encode()), n_each, run])
    pool, broken = break_class(pool, rng)
    order = np.concatenate([rng.permutation(items)[:n_each] for items in _split(pool)])
    found = infer(pool.add_labels(order), fl.accuracy, fl.calibrated(), finite_pool=True, n_draws=N_DRAWS, seed=run)
    truth = np.bincount(pool.group, weights=pool.right) / np.bincount(pool.group)
    covered, others = _cover(found.interval(), truth), np.arange(len(truth)) != broken
    own = pool.right[order][pool.group[order] == broken]
    (low, high), (whole_low, whole_high) = found.interval(), found.overall.interval()
    return {
        "covered": float(covered[broken]),
        "above": float(low[broken] > truth[broken] + ROUNDING),
        "width": float(high[broken] - low[broken]),
        "square": float(found.mean()[broken] - truth[broken]) ** 2,
        "jeffreys_square": float((own.sum() + 0.5) / (len(own) + 1) - truth[broken]) ** 2,
        "covered_others": float(covered[others].mean()),
        "width_others": float((high - low)[others].mean()),
        "covered_whole": float(_cover((whole_low, whole_high), pool.right.mean())[0]),
    }


def _split(pool: LabelledPool) -> list[np.ndarray]:
    return [np.arange(first, last) for first, last in zip(pool.start[:-1], pool.start[1:], strict=True)]


def _cover(interval: tuple[np.ndarray, np.ndarray], truth: np.ndarray) -> np.ndarray:
    low, high = interval
    return (low - ROUNDING <= truth) & (truth <= high + ROUNDING)


def measure(options: argparse.Namespace, kept: Rows) -> Iterator[Rows]:
    """Yield all rows so far after each pool and number of labels; those of an earlier run are not measured again."""
    rows, done = list(kept), {(row["pool"], row["labels"]) for row in select(kept, "cells")}
    for name in options.only.split(","):
        table = fl.Predictions.read(options.pools / f"{name}.parquet")
        pool = make_labelled_pool(table, fl.predicted, strata=STRATA)
        for n_each in N_EACH:
            if (name, n_each) not in done:
                found = [replay(pool, name, n_each, run) for run in range(options.runs)]
                rows.append({"table": "cells", "pool": name, "labels": n_each, "runs": options.runs, **average(found)})
                yield rows


def average(found: Sequence[dict[str, float]]) -> Row:
    """Average over runs; squared errors become root mean squared errors."""
    means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    return {name.replace("square", "rmse"): value**0.5 if "square" in name else value for name, value in means.items()}


COLUMNS: Columns = (
    ("pool", text("pool")), ("labels a class", figure("labels", "d")), ("broken class covered", points("covered", ".0f")),
    ("interval above the truth", points("above", ".0f")), ("width", points("width", ".0f")), ("RMSE", points("rmse", ".1f")),
    ("Jeffreys", points("jeffreys_rmse", ".1f")), ("others covered", points("covered_others", ".1f")),
    ("width", points("width_others", ".1f")), ("whole covered", points("covered_whole", ".0f")), ("runs", figure("runs", "d")),
)  # fmt: skip


def render(rows: Rows) -> Iterator[str]:
    """Yield the page."""
    runs = find_settings(rows)["runs"]
    cells = select(rows, "cells")
    held = [row for row in cells if row["labels"] >= 20]
    share = 100 * float(np.mean([row["covered"] for row in held])) if held else float("nan")
    yield (
        "# A class that is silently broken\n\n45% of the right labels of one class are changed, its scores are as they were; random items "
        f"of every class are labelled. Percentages and points; {runs} runs a row resolve coverage to about {100 * 0.4 / runs**0.5:.0f} "
        f"points. With 20 labels of the broken class or more, its interval holds the truth in {share:.0f}% of runs."
    )
    yield show_table(COLUMNS, cells)


BENCHMARK = Benchmark("honesty_broken", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Replay on the pools that are asked for."""
    parser = BENCHMARK.make_parser()
    add_pools_option(parser)
    parser.add_argument("--only", default=ONLY, help="names of pools, joined by commas")
    parser.add_argument("--runs", type=int, default=40)
    start_in_batches(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
