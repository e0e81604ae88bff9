"""How long does `fewlabels fairness` take: once warm, from a cold command line, and on a hundred million rows?

Run from the root of the repository, on a quiet machine: python -m bench.fairness --out bench/fairness.md
Ratios to the bare DuckDB query travel between machines, seconds do not: so this is a script, not a test.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import duckdb

import fewlabels as fl
from bench.harness.clocks import clock
from bench.harness.main import Benchmark, start
from bench.harness.page import figure, show_table, text
from bench.harness.processes import TOOL, Cost, measure
from bench.harness.rows import Row, Rows, find_settings, select

N_LABELS, N_GROUPS = 100, 2
MAKE = """
copy (
    select 'group ' || (hash(range) % {groups}) as g, 1 / (1 + exp(-1.6 * x)) as score,
           case when range < {labels} then (random() < 1 / (1 + exp(-x)))::int end as label
    from (select range, 3 * (random() + random() + random() - 1.6) as x from range({rows}))
) to '{path}' (format parquet)
"""
QUERY = (
    "select g, score >= 0.5, floor(4 * ln(score / (1 - score))), label, count(*), sum(score) from read_parquet('{path}') "
    "group by all"
)
GOALS = {"once warm": 1.0, "from a cold command line": 3.0}


def make_pool(path: Path, rows: int) -> None:
    """People of a few groups with over-confident scores, a hundred of them labelled."""
    duckdb.sql(MAKE.format(groups=N_GROUPS, labels=N_LABELS, rows=rows, path=path))


def time_warm(path: Path, repeats: int) -> float:
    """Return median seconds of a call in a process that has made one before."""
    pool = fl.Predictions.read(path, positive_score="score")
    seconds = [clock(partial(fl.fairness, pool, by=fl.column("g"), seed=seed)) for seed in range(repeats + 1)]
    return median(seconds[1:])


def describe_draws(path: Path) -> Row:
    """Return how well the chains mix."""
    found = fl.fairness(fl.Predictions.read(path, positive_score="score"), by=fl.column("g"))
    return {"table": "draws", "rhat": found.health.rhat, "effective": found.health.ess}


def time_cold(path: Path, repeats: int) -> dict[str, Cost]:
    """Return median costs in fresh processes."""
    programs = {
        "bare DuckDB query": [sys.executable, "-c", f"import duckdb; duckdb.sql({QUERY.format(path=path)!r}).fetchall()"],
        "fewlabels fairness": [TOOL, "fairness", str(path), "--positive-score", "score", "--by", "g", "--json", "-"],
    }  # fmt: skip
    return measure(programs, repeats)


def time_rows(path: Path, rows: int, repeats: int) -> Iterator[Row]:
    """Yield a row for the bare query and one for the command, on so many rows."""
    make_pool(path, rows)
    costs = time_cold(path, 1 if rows > 10**7 else repeats)
    bare = costs["bare DuckDB query"].seconds
    for name, cost in costs.items():
        yield {
            "table": "costs", "rows": rows, "program": name, "seconds": cost.seconds, "megabytes": cost.megabytes,
            "times_bare": cost.seconds / bare,
        }  # fmt: skip


def measure_all(options: argparse.Namespace) -> Iterator[Row]:
    """Yield rows of a small pool, warm and cold, and of large ones."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.parquet"
        make_pool(small, 10_000)
        yield describe_draws(small)
        found = (time_warm(small, options.repeats), time_cold(small, options.repeats)["fewlabels fairness"].seconds)
        for (name, goal), seconds in zip(GOALS.items(), found, strict=True):
            yield {"table": "calls", "call": name, "seconds": seconds, "goal": goal}
        for rows in options.rows:
            yield from time_rows(Path(folder) / "large.parquet", rows, options.repeats)


CALLS = (
    ("", text("call")),
    ("seconds", figure("seconds", ".2f")),
    ("goal", lambda row: f"{row['goal']:.0f}, {'met' if row['seconds'] < row['goal'] else '**missed**'}"),
)
COSTS = (
    ("rows", figure("rows", ",")),
    ("program", text("program", "`{}`")),
    ("seconds", figure("seconds", ".2f")),
    ("MB at most", figure("megabytes", ".0f")),
    ("seconds / bare query", figure("times_bare", ".1f")),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    settings, (draws,) = find_settings(rows), select(rows, "draws")
    yield "# Speed of fairness"
    yield f"Made by `{settings['command']}`."
    yield (
        f"{N_LABELS} labels, 10,000 people, {N_GROUPS} groups; {settings['cores']} cores, load {settings['load']:.1f}. "
        f"R-hat {draws['rhat']:.4f}, {draws['effective']:,.0f} effective draws."
    )
    yield show_table(CALLS, select(rows, "calls"))
    yield show_table(COSTS, select(rows, "costs"))


BENCHMARK = Benchmark("fairness", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 100_000_000])
    parser.add_argument("--repeats", type=int, default=5)
    start(BENCHMARK, parser, measure_all, words)


if __name__ == "__main__":
    main()
