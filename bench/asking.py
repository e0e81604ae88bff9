"""How long does a person wait for the next item? `ask` and `tell` of a session in a file, with many groups.

Run from the root of the repository: python bench/asking.py --out bench/asking.md
Beside them, in the same run: one synced append of SQLite, below which no durable answer can go, and one draw of a Beta
per group, below which Thompson sampling by definition cannot.
"""

import argparse
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import fewlabels as fl

STEPS = 300


def make_pool(n_groups: int, n_items: int = 50_000) -> tuple[fl.Predictions, dict[int, str]]:
    """Predictions of many classes, each with an accuracy of its own."""
    rng = np.random.default_rng(0)
    predicted = rng.integers(n_groups, size=n_items)
    right = rng.random(n_items) < rng.beta(8, 2, size=n_groups)[predicted]
    label = np.where(right, predicted, (predicted + 1) % n_groups)
    table = {"id": np.arange(n_items), "predicted": predicted.astype(str), "score": rng.beta(8, 2, size=n_items)}
    return fl.Predictions.read(table), dict(enumerate(label.astype(str).tolist()))


def clock(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - began)


def time_session(path: Path, n_groups: int) -> tuple[list[float], list[float]]:
    """Ask and tell one item at a time, and time both."""
    pool, truth = make_pool(n_groups)
    asking, telling = [], []
    with fl.Session.create(path, pool, goal=fl.FindWorst(), policy=fl.thompson) as session:
        for _ in range(STEPS):
            asking.append(clock(lambda: session.ask(1)))
            answers = {i: truth[int(i)] for i in session.ask(1)}
            telling.append(clock(partial(session.tell, answers)))
    return asking, telling


def time_append(path: Path) -> list[float]:
    """One row, committed and synced."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (a)")
    took = [clock(lambda: connection.execute("INSERT INTO t VALUES (1)")) for _ in range(STEPS)]
    connection.close()
    return took


def time_draw(n_groups: int) -> list[float]:
    """A Beta per group."""
    rng, alpha = np.random.default_rng(0), np.full(n_groups, 3.5)
    return [clock(lambda: rng.beta(alpha, 1.5)) for _ in range(STEPS)]


def measure(sizes: Sequence[int]) -> list[str]:
    """A row of the table for every number of groups."""
    rows = []
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            asking, telling = time_session(Path(folder) / "s.db", n)
            append, draw = time_append(Path(folder) / "plain.db"), time_draw(n)
        floor = statistics.median(append) + statistics.median(draw)
        ask, slow = statistics.median(asking), float(np.quantile(asking, 0.95))
        rows.append(
            f"| {n:,} | {ask:.2f} | {slow:.2f} | {statistics.median(telling):.2f} | {statistics.median(append):.2f} | "
            f"{statistics.median(draw):.2f} | {ask / floor:.1f} |"
        )
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path)
    out = options.parse_args().out
    head = (
        "# Asking\n\nMade by `python bench/asking.py --out bench/asking.md`: 50,000 items in so many groups, goal find-worst, policy "
        f"thompson, a session in a file; medians of {STEPS} steps, milliseconds, load {os.getloadavg()[0]:.1f} on "
        f"{os.cpu_count()} cores. The floor is one synced append and one draw per group.\n\n"
        "| groups | ask | ask, 95 % | tell | synced append | draw | ask / floor |\n|---|---|---|---|---|---|---|\n"
    )
    text = head + "\n".join(measure((10, 100, 1000))) + "\n\nGoal: `ask` with 1,000 groups in under 10 ms.\n"
    print(text)
    if out:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
