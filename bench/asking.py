"""How long does a person wait for the next item? `ask` and `tell` of a session in a file, with many groups.

Run from the root of the repository: python -m bench.asking --out bench/asking.md
Beside them, in the same run: one synced append of SQLite, below which no durable answer can go, and one draw of a Beta
per group, below which Thompson sampling by definition cannot.
"""

import argparse
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

import fewlabels as fl
from bench.harness.clocks import clock
from bench.harness.main import Benchmark, start
from bench.harness.page import figure, show_table
from bench.harness.rows import Row, Rows, find_settings, select

STEPS, SIZES = 300, (10, 100, 1000)


def make_pool(n_groups: int, n_items: int = 50_000) -> tuple[fl.Predictions, dict[int, str]]:
    """Predictions of many classes, each with an accuracy of its own."""
    rng = np.random.default_rng(0)
    predicted = rng.integers(n_groups, size=n_items)
    right = rng.random(n_items) < rng.beta(8, 2, size=n_groups)[predicted]
    label = np.where(right, predicted, (predicted + 1) % n_groups)
    table = {"id": np.arange(n_items), "predicted": predicted.astype(str), "score": rng.beta(8, 2, size=n_items)}
    return fl.Predictions.read(table), dict(enumerate(label.astype(str).tolist()))


def clock_ms(call: Callable[[], object]) -> float:
    """Return the milliseconds of a call."""
    return 1e3 * clock(call)


def time_session(path: Path, n_groups: int) -> tuple[list[float], list[float]]:
    """Ask and tell one item at a time, and time both."""
    pool, truth = make_pool(n_groups)
    asking, telling = [], []
    with fl.Session.create(path, pool, goal=fl.FindWorst(), policy=fl.thompson) as session:
        for _ in range(STEPS):
            asking.append(clock_ms(lambda: session.ask(1)))
            answers = {i: truth[int(i)] for i in session.ask(1)}
            telling.append(clock_ms(partial(session.tell, answers)))
    return asking, telling


def time_append(path: Path) -> list[float]:
    """One row, committed and synced."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (a)")
    took = [clock_ms(lambda: connection.execute("INSERT INTO t VALUES (1)")) for _ in range(STEPS)]
    connection.close()
    return took


def time_draw(n_groups: int) -> list[float]:
    """A Beta per group."""
    rng, alpha = np.random.default_rng(0), np.full(n_groups, 3.5)
    return [clock_ms(lambda: rng.beta(alpha, 1.5)) for _ in range(STEPS)]


def measure(_: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for every number of groups."""
    for n_groups in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            asking, telling = time_session(Path(folder) / "s.db", n_groups)
            append, draw = median(time_append(Path(folder) / "plain.db")), median(time_draw(n_groups))
        ask = median(asking)
        yield {
            "table": "sizes", "groups": n_groups, "ask": ask, "ask_95": float(np.quantile(asking, 0.95)),
            "tell": median(telling), "append": append, "draw": draw, "times_floor": ask / (append + draw),
        }  # fmt: skip


COLUMNS = (
    ("groups", figure("groups", ",")),
    ("ask", figure("ask", ".2f")),
    ("ask, 95 %", figure("ask_95", ".2f")),
    ("tell", figure("tell", ".2f")),
    ("synced append", figure("append", ".2f")),
    ("draw", figure("draw", ".2f")),
    ("ask / floor", figure("times_floor", ".1f")),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    settings = find_settings(rows)
    yield "# Asking"
    yield (
        f"Made by `{settings['command']}`: 50,000 items in so many groups, goal find-worst, policy thompson, a session in a file; "
        f"medians of {STEPS} steps, milliseconds, load {settings['load']:.1f} on {settings['cores']} cores. "
        "The floor is one synced append and one draw per group."
    )
    yield show_table(COLUMNS, select(rows, "sizes"))
    yield "Goal: `ask` with 1,000 groups in under 10 ms."


BENCHMARK = Benchmark("asking", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    start(BENCHMARK, BENCHMARK.make_parser(), measure, words)


if __name__ == "__main__":
    main()
