"""How long does the calibrated prior take to learn anew? One thousand labels, one thousand groups, beside one plain scan.

Run it from the project's folder: python -m bench.learning --out bench/learning.md
"""

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import fewlabels as fl
from bench.harness.clocks import clock_often
from bench.harness.main import Benchmark, start
from bench.harness.page import figure, show_table, text
from bench.harness.rows import Row, Rows, find_settings, select
from fewlabels.data.counts import STRATA, CountTable
from fewlabels.data.tabulation import count_pool
from fewlabels.models.calibrated.design import build_design
from fewlabels.models.logit.laplace import fit
from fewlabels.models.logit.random_effects import NODES

GROUPS, ITEMS, LABELS = 1000, 50_000, 1000
GOAL = 50.0  # milliseconds


def make_tally(seed: int = 0) -> CountTable:
    """A pool of over-confident scores whose groups differ, with few labels at random."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, GROUPS, size=ITEMS)
    logit = rng.normal(1.5, 1.5, size=ITEMS) + rng.normal(0, 0.3, size=GROUPS)[group]
    right = rng.random(ITEMS) < 1 / (1 + np.exp(-logit))
    said = np.array([f"c{g:04d}" for g in group])
    label = np.where(right, said, np.roll(said, 1)).astype(object)
    label[rng.permutation(ITEMS)[LABELS:]] = None
    pool = {"id": np.arange(ITEMS), "predicted": said, "score": 1 / (1 + np.exp(-2 * logit)), "label": label}
    return count_pool(fl.Predictions.read(pool), fl.predicted, strata=STRATA)


def clock(name: str, call: Callable[[], object], times: int = 15) -> Row:
    """Return the median and the shortest time in milliseconds, after one call that warms up."""
    call()
    spent = 1000 * np.array(clock_often(call, times))
    return {"table": "calls", "call": name, "median": float(np.median(spent)), "least": float(spent.min())}


def measure(_: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of all calls, after one that describes the pool."""
    cells = make_tally().cells()
    design = build_design(cells)
    seen = design.collect_labelled(cells)
    strata = np.random.default_rng(0).normal(size=(NODES, len(design.design)))
    yield {"table": "pool", "labelled": len(seen.group), "groups": len(np.unique(seen.group)), "strata": len(design.design)}  # fmt: skip
    calls: dict[str, Callable[[], object]] = {
        "learn: fit, and what it implies for every group": lambda: fl.calibrated().learn(cells, "right", finite_pool=False),
        "the same about exactly these items": lambda: fl.calibrated().learn(cells, "right", finite_pool=True),
        "of that, the fit alone": lambda: fit(seen, design.model),
        "one exponential of every stratum and departure": lambda: np.exp(strata),
    }  # fmt: skip
    yield from (clock(name, call) for name, call in calls.items())


COLUMNS = (("", text("call")), ("median", figure("median", ".1f")), ("least", figure("least", ".1f")))


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    (pool,) = select(rows, "pool")
    yield "# Learning anew"
    yield f"`{find_settings(rows)['command']}`"
    yield (
        f"{pool['labelled']:,} labelled strata in {pool['groups']:,} of {GROUPS:,} groups, {pool['strata']:,} strata in all; "
        f"milliseconds on one core (goal: {GOAL:.0f})."
    )
    yield show_table(COLUMNS, select(rows, "calls"))


BENCHMARK = Benchmark("learning", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    start(BENCHMARK, BENCHMARK.make_parser(), measure, words)


if __name__ == "__main__":
    main()
