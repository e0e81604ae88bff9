"""How long do assess, fairness and a session take on a hundred million rows, beside the bare query, and in how much memory?

Run from the root of the repository, on a quiet machine: python -m bench.scale --out bench/scale.md
Every call runs in a fresh process, in turn with the bare group-by over the same columns; the clock runs from opening the
files to the answer, without Python's start and imports. Ratios travel between machines, seconds do not.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import duckdb

from bench.harness.main import Benchmark, start
from bench.harness.page import Show, figure, show_table
from bench.harness.processes import Cost, find_median, read_cost
from bench.harness.rows import Row, Rows, find_settings, select
from bench.scale_pool import ROWS, make_pool

LIMIT, MEMORY = 2.0, 1000.0  # times the bare query; megabytes
QUERY = (
    "select {by}, predicted, {score}, label, count(*), sum(score), count(id) from read_parquet('{files}') group by all"
)
TENTHS, LOGITS = "floor(20 * score)", "floor(4 * ln(score / (1.000001 - score)))"
BARE = 'import duckdb\ndef go(files): duckdb.sql("""{query}""").fetchall()'
WARM = "fl.fairness({'predicted': [0, 1], 'score': [0.6, 0.7], 'label': [0, 1], 'g': ['a', 'b']}, by=fl.column('g'))"
CALL = "import fewlabels as fl\n{warm}\nfl.Session\ndef go(files): {call}"
CALLS = {
    "assess": "fl.assess(files, by=fl.column('region'))",
    "fairness": "fl.fairness(fl.Predictions.read(files, positive='yes'), by=fl.column('sex'))",
    "Session.create, ask": "fl.Session.create(None, files, goal=fl.FindWorst(fl.accuracy), by=fl.column('region')).ask(10)",
}
CLOCK = """
import json, resource, sys, time
def used():
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime
{program}
began, busy = time.perf_counter(), used()
go(sys.argv[1])
print(json.dumps([time.perf_counter() - began, used() - busy, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def list_programs(files: str) -> dict[str, str]:
    """Every call, after the bare query over the columns that it reads."""
    out = {}
    for name, call in CALLS.items():
        by, score = ("sex", LOGITS) if name == "fairness" else ("region", TENTHS)
        out[f"bare query for {name}"] = BARE.format(query=QUERY.format(by=by, score=score, files=files))
        out[name] = CALL.format(call=call, warm=WARM)
    return out


def run(program: str, files: str) -> Cost:
    """Run a program in a process of its own."""
    return read_cost([sys.executable, "-c", CLOCK.format(program=program), files])


def measure_in_turn(files: str, repeats: int) -> dict[str, list[Cost]]:
    """Run all of them in turn, several times, after one of each to warm the disk and what is compiled."""
    programs = list_programs(files)
    for program in programs.values():
        run(program, files)
    turns = [{name: run(program, files) for name, program in programs.items()} for _ in range(repeats)]
    return {name: [turn[name] for turn in turns] for name in programs}


def describe_calls(costs: dict[str, list[Cost]]) -> Iterator[Row]:
    """Yield a row for every bare query, and one for the call that is compared with it."""
    for name in CALLS:
        bare, ours = costs[f"bare query for {name}"], costs[name]
        yield _describe(f"bare query for {name}", bare)
        wall, busy = (median([getattr(o, k) / getattr(b, k) for o, b in zip(ours, bare, strict=True)]) for k in ("seconds", "busy"))  # fmt: skip
        yield {**_describe(name, ours), "times_bare": wall, "times_bare_busy": busy}


def _describe(name: str, costs: list[Cost]) -> dict[str, object]:
    return {"table": "calls", "call": name, **vars(find_median(costs))}


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of all calls; the files are made for them unless a folder of them is given."""
    with tempfile.TemporaryDirectory() as folder:
        files = make_pool(options.folder or Path(folder), options.rows)
        size = sum(path.stat().st_size for path in Path(files).parent.glob(Path(files).name))
        costs = measure_in_turn(files, options.repeats)
    yield {"table": "files", "megabytes": size / 1e6, "duckdb": duckdb.__version__}
    yield from describe_calls(costs)
    most = max(cost.megabytes for name in CALLS for cost in costs[name])
    yield {"table": "memory", "megabytes": most}


def _show_times(name: str) -> Show:
    """Return a function that shows a ratio to the bare query, and whether it is too high."""
    return lambda row: (
        "" if row.get(name) is None else f"{row[name]:.1f}{'' if row[name] <= LIMIT else ' (**missed**)'}"
    )


COLUMNS = (
    ("", lambda row: row["call"] if row.get("times_bare") is None else f"**{row['call']}**"),
    ("seconds", figure("seconds", ".1f")),
    ("of processor time", figure("busy", ".1f")),
    ("MB at most", figure("megabytes", ",.0f")),
    ("times the bare query: wall", _show_times("times_bare")),
    ("processor", _show_times("times_bare_busy")),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    settings, (files,), (memory,) = find_settings(rows), select(rows, "files"), select(rows, "memory")
    yield "# A hundred million rows" if settings["rows"] == ROWS else f"# {settings['rows']:,} rows"
    yield f"Made by `{settings['command']}`."
    yield (
        f"{settings['rows']:,} rows in {files['megabytes']:,.0f} MB of Parquet; {settings['cores']} cores, DuckDB {files['duckdb']}, medians of "
        f"{settings['repeats']} turns; load {settings['load']:.1f}. Seconds on the wall grow with whatever else the machine does; seconds of "
        "processor time hardly do. The bare query groups by the same columns and touches the id, as the call does."
    )
    yield show_table(COLUMNS, select(rows, "calls"))
    yield f"Goal: at most {LIMIT:g} times the bare query, and {MEMORY:,.0f} MB. Most memory: {memory['megabytes']:,.0f} MB."


BENCHMARK = Benchmark("scale", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the files are, or are to stay")
    start(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
