"""How long does a surface take? 2,000 labels over 320 and 4,096 arms, and twelve labels more, beside a logistic regression.

Run it from the project's folder: python -m bench.surfaces --out bench/surfaces.md
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import fewlabels as fl
from bench.harness.clocks import clock, find_median_time
from bench.harness.main import Benchmark, start
from bench.harness.page import figure, show_table, text
from bench.harness.rows import Row, Rows, find_settings, select

ITEMS, LABELS, BATCH, ROUNDS = 50_000, 2000, 12, 5
SHAPES = {"320 arms (10 × 2⁵)": (10, 2, 2, 2, 2, 2), "4,096 arms (2¹²)": (2,) * 12, "4,096 arms (8⁴)": (8, 8, 8, 8)}
GOALS = {"320": 3.0, "4,096": 10.0, "update": 0.3}  # seconds


def make_pool(shape: tuple[int, ...], seed: int = 0) -> pd.DataFrame:
    """Items whose chance of being right hangs on every attribute and on some pairs."""
    rng = np.random.default_rng(seed)
    values = np.stack([rng.integers(0, n, ITEMS) for n in shape], axis=1)
    height = 1.2 + sum(rng.normal(0, 0.6, n)[values[:, i]] for i, n in enumerate(shape))
    for i in range(1, len(shape)):
        height += rng.normal(0, 0.6, (shape[i - 1], shape[i]))[values[:, i - 1], values[:, i]]
    right = rng.random(ITEMS) < 1 / (1 + np.exp(-height))
    columns = {f"a{i}": [f"v{v}" for v in values[:, i]] for i in range(len(shape))}
    return pd.DataFrame({"id": np.arange(ITEMS), "predicted": "a", "label": np.where(right, "a", "b"), **columns})


def hide(pool: pd.DataFrame, kept: int) -> pd.DataFrame:
    """Keep the labels of the first items alone; they are in random order."""
    return pool.assign(label=pool["label"].where(np.arange(len(pool)) < kept, None))


def regress(pool: pd.DataFrame) -> None:
    """Fit a logistic regression on one column per value, as people would."""
    seen = pool[:LABELS]
    design = pd.get_dummies(seen.drop(columns=["id", "predicted", "label"]))
    LogisticRegression(max_iter=1000).fit(design, seen["label"] == seen["predicted"])


def update(pool: pd.DataFrame, attributes: tuple[str, ...]) -> float:
    """Tell a session twelve labels and ask for twelve more: the median of a few rounds."""
    truth = dict(zip(pool["id"], pool["label"], strict=True))
    session = fl.Session.create(
        None, hide(pool, LABELS), goal=fl.Explore(), by=fl.cross(*map(fl.column, attributes)), prior=fl.smooth()
    )
    asked, spent = session.ask(BATCH), []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        session.tell({item: truth[item] for item in asked})
        asked = session.ask(BATCH)
        spent.append(time.perf_counter() - began)
    return float(np.median(spent))


def measure(_: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for every shape."""
    for name, shape in SHAPES.items():
        pool = make_pool(shape)
        attributes = tuple(f"a{i}" for i in range(len(shape)))
        call = partial(fl.surface, hide(pool, LABELS), attributes=attributes)
        first, again = clock(call), find_median_time(call, 3)
        plain = find_median_time(partial(regress, pool), 3)
        yield {
            "table": "shapes", "shape": name, "first": first, "again": again, "update": update(pool, attributes),
            "regression": plain, "ratio": again / plain,
        }  # fmt: skip


COLUMNS = (
    ("", text("shape")),
    ("first call", figure("first", ".2f")),
    ("again", figure("again", ".2f")),
    (f"{BATCH} labels more", figure("update", ".2f")),
    ("logistic regression", figure("regression", ".2f")),
    ("ratio", figure("ratio", ".0f")),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    yield "# Surfaces"
    yield f"`{find_settings(rows)['command']}`"
    yield (
        f"{LABELS:,} labels among {ITEMS:,} items, in seconds. Goals: a surface in {GOALS['320']:g} (320 arms) and "
        f"{GOALS['4,096']:g} (4,096), first call included; telling a session {BATCH} labels and asking for {BATCH} more in {GOALS['update']:g}."
    )
    yield show_table(COLUMNS, select(rows, "shapes"))


BENCHMARK = Benchmark("surfaces", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    start(BENCHMARK, BENCHMARK.make_parser(), measure, words)


if __name__ == "__main__":
    main()
