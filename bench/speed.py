"""How long does `fewlabels assess` take on a million rows, and how much of that is the bare query?

Run from the root of the repository: python -m bench.speed --out bench/speed.md
Every program runs in a fresh process, in turn with the others, several times; medians are shown. Ratios to the bare
DuckDB query travel between machines, seconds do not: so this is a script, not a test.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.harness.main import Benchmark, start
from bench.harness.page import figure, show_table, text
from bench.harness.processes import TOOL, Cost, measure
from bench.harness.rows import Row, Rows, find_settings, select

QUERY = (
    "select predicted, count(*), sum(score), count(label), sum((predicted = label)::int) "
    "from read_parquet('{path}') group by 1 order by 1"
)
NOTHING, BARE, ASSESS, HELP = "python -c pass", "bare DuckDB query", "fewlabels assess", "fewlabels --help"
INSIDE = """
import json, time, duckdb, fewlabels as fl
def clock(call, n):
    out = []
    for _ in range(n):
        began = time.perf_counter(); call(); out.append(time.perf_counter() - began)
    return out
query, path, n = {query!r}, {path!r}, {repeats}
fl.assess(path, n_draws=1000)
print(json.dumps([clock(lambda: duckdb.sql(query).fetchall(), n), clock(lambda: fl.assess(path), n)]))
"""


GOALS = (
    ("`fewlabels assess --metric accuracy` in under 3 s", ASSESS, "seconds", 3.0, "s"),
    ("... and under 500 MB", ASSESS, "megabytes", 500.0, "MB"),
    ("`fewlabels --help` in under 0.5 s", HELP, "seconds", 0.5, "s"),
)


def make_pool(path: Path, n: int, n_groups: int) -> None:
    """A million predictions of a hundred classes, 5 % of them labelled, 85 % of these right."""
    rng = np.random.default_rng(0)
    names = np.array([f"class_{i:02d}" for i in range(n_groups)])
    predicted = rng.integers(n_groups, size=n)
    label = np.where(rng.random(n) < 0.85, predicted, rng.integers(n_groups, size=n))
    columns = {
        "id": np.arange(n, dtype=np.int64),
        "predicted": names[predicted],
        "score": rng.beta(9, 1, size=n),
        "label": pa.array(names[label], mask=rng.random(n) < 0.95),
        "site": np.array(list("ABCDE"))[rng.integers(5, size=n)],
    }
    pq.write_table(pa.table(columns), path)


def list_programs(path: Path) -> dict[str, list[str]]:
    """Return the command of every program."""
    return {
        NOTHING: [sys.executable, "-c", "pass"],
        BARE: [sys.executable, "-c", f"import duckdb; duckdb.sql({QUERY.format(path=path)!r}).fetchall()"],
        "import fewlabels.analyses.assess": [sys.executable, "-c", "import fewlabels.analyses.assess"],
        ASSESS: [TOOL, "assess", str(path), "--metric", "accuracy", "--json", "-"],
        HELP: [TOOL, "--help"],
    }


def measure_inside(path: Path, repeats: int) -> Row:
    """Return median seconds of the query and of `fl.assess` in one warm process."""
    program = INSIDE.format(query=QUERY.format(path=path), path=str(path), repeats=repeats)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    query, assess = map(statistics.median, json.loads(found.stdout))
    return {"table": "inside", "query": query, "assess": assess, "ratio": assess / query}


def describe_programs(costs: Mapping[str, Cost]) -> Iterator[Row]:
    """Yield a row for every program, beside the bare query."""
    bare = costs[BARE]
    for name, cost in costs.items():
        yield {
            "table": "programs", "program": name, "seconds": cost.seconds, "busy": cost.busy, "megabytes": cost.megabytes,
            "times_bare": cost.seconds / bare.seconds, "times_bare_megabytes": cost.megabytes / bare.megabytes,
        }  # fmt: skip


def judge(costs: Mapping[str, Cost]) -> Iterator[Row]:
    """Yield a row for every goal."""
    for goal, program, figure_of, limit, unit in GOALS:
        found = getattr(costs[program], figure_of)
        yield {"table": "goals", "goal": goal, "found": found, "unit": unit, "met": found < limit}


def measure_all(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of all programs, of the warm process and of the goals."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pool.parquet"
        make_pool(path, options.rows, options.groups)
        costs = measure(list_programs(path), options.repeats)
        yield from describe_programs(costs)
        yield measure_inside(path, options.repeats)
        yield from judge(costs)


PROGRAMS = (
    ("program", text("program", "`{}`")),
    ("seconds", figure("seconds", ".2f")),
    ("of processor", figure("busy", ".2f")),
    ("MB at most", figure("megabytes", ".0f")),
    ("seconds / bare query", figure("times_bare", ".1f")),
    ("MB / bare query", figure("times_bare_megabytes", ".1f")),
)
JUDGEMENTS = (
    ("goal", text("goal")),
    ("found", lambda row: f"{row['found']:.3g} {row['unit']}"),
    ("met", lambda row: "yes" if row["met"] else "**no**"),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    settings, (inside,) = find_settings(rows), select(rows, "inside")
    yield "# Speed"
    yield f"Made by `{settings['command']}`."
    yield (
        f"A Parquet file of {settings['rows']:,} rows and {settings['groups']} predicted classes, 5 % labelled; {settings['cores']} cores. "
        f"Medians of {settings['repeats']} runs taken in turn,\neach in a fresh process, start of Python and imports included. "
        f"Load of the machine over the last minute: {settings['load']:.1f} (about 1 is this script's own)."
    )
    yield show_table(PROGRAMS, select(rows, "programs"))
    yield (
        f"In one warm process the query takes {inside['query']:.3f} s and `fl.assess` {inside['assess']:.3f} s: a ratio of "
        f"{inside['ratio']:.1f}."
    )
    yield show_table(JUDGEMENTS, select(rows, "goals"))


BENCHMARK = Benchmark("speed", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    start(BENCHMARK, parser, measure_all, words)


if __name__ == "__main__":
    main()
