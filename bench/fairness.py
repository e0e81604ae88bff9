"""How long does `fewlabels fairness` take: once warm, from a cold command line, and on a hundred million rows?

Run from the root of the repository, on a quiet machine: python -m bench.fairness --out bench/fairness.md
Ratios to the bare DuckDB query travel between machines, seconds do not: so this is a script, not a test.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

import fewlabels as fl
from bench.speed import Cost, measure

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


def time_warm(path: Path, repeats: int) -> tuple[float, fl.Fairness]:
    """Median seconds of a call in a process that has made one before."""
    pool = fl.Predictions.read(path, positive_score="score")
    seconds = []
    for seed in range(repeats + 1):
        began = time.perf_counter()
        found = fl.fairness(pool, by=fl.column("g"), seed=seed)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:]), found


def time_cold(path: Path, repeats: int) -> dict[str, Cost]:
    """Median costs in fresh processes."""
    tool = str(Path(sys.executable).parent / "fewlabels")
    programs = {
        "bare DuckDB query": [sys.executable, "-c", f"import duckdb; duckdb.sql({QUERY.format(path=path)!r}).fetchall()"],
        "fewlabels fairness": [tool, "fairness", str(path), "--positive-score", "score", "--by", "g", "--json", "-"],
    }  # fmt: skip
    return measure(programs, repeats)


def write_report(folder: Path, arguments: argparse.Namespace) -> Iterator[str]:
    """Measure, and say what came out."""
    yield from ("# Speed of fairness", "", f"Made by `{spell_command(arguments)}`.", "")
    small = folder / "small.parquet"
    make_pool(small, 10_000)
    warm, found = time_warm(small, arguments.repeats)
    cold = time_cold(small, arguments.repeats)["fewlabels fairness"]
    yield f"{N_LABELS} labels, 10,000 people, {N_GROUPS} groups; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}. R-hat {found.health.rhat:.4f}, {found.health.ess:,.0f} effective draws."  # fmt: skip
    yield from ("", "| | seconds | goal |", "|---|---|---|")
    for (name, goal), seconds in zip(GOALS.items(), (warm, cold.seconds), strict=True):
        yield f"| {name} | {seconds:.2f} | {goal:.0f}, {'met' if seconds < goal else '**missed**'} |"
    yield from (
        "",
        "| rows | program | seconds | MB at most | seconds / bare query |",
        "|---|---|---|---|---|",
    )
    for rows in arguments.rows:
        large = folder / "large.parquet"
        make_pool(large, rows)
        costs = time_cold(large, 1 if rows > 10**7 else arguments.repeats)
        bare = costs["bare DuckDB query"].seconds
        for name, cost in costs.items():
            yield f"| {rows:,} | `{name}` | {cost.seconds:.2f} | {cost.megabytes:.0f} | {cost.seconds / bare:.1f} |"


def spell_command(arguments: argparse.Namespace) -> str:
    """Return the command line that measures this again."""
    rows = " ".join(map(str, arguments.rows))
    return f"python -m bench.fairness --rows {rows} --repeats {arguments.repeats} --out bench/fairness.md"


def main() -> None:
    """Print the report, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 100_000_000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(write_report(Path(folder), arguments)) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
