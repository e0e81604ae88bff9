"""How long does `fewlabels assess` take on a million rows, and how much of that is the bare query?

Run from the root of the repository: python bench/speed.py --out bench/speed.md
Every program runs in a fresh process, in turn with the others, several times; medians are shown. Ratios to the bare
DuckDB query travel between machines, seconds do not: so this is a script, not a test.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

QUERY = (
    "select predicted, count(*), sum(score), count(label), sum((predicted = label)::int) "
    "from read_parquet('{path}') group by 1 order by 1"
)
NOTHING, BARE, ASSESS, HELP = "python -c pass", "bare DuckDB query", "fewlabels assess", "fewlabels --help"
LAUNCHER = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
seconds, usage = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))
sys.exit(code)
"""
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


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    seconds: float
    busy: float  # seconds of processor time: what other users of the machine do not add to
    megabytes: float


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


def run(command: Sequence[str]) -> Cost:
    """Run a program to its end, under a launcher too small to be taken for the program's peak of memory."""
    found = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCHER, *command], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed: {found.stderr}")
    return Cost(*json.loads(found.stdout))


def programs(path: Path) -> dict[str, list[str]]:
    tool = str(Path(sys.executable).parent / "fewlabels")
    return {
        NOTHING: [sys.executable, "-c", "pass"],
        BARE: [sys.executable, "-c", f"import duckdb; duckdb.sql({QUERY.format(path=path)!r}).fetchall()"],
        "import fewlabels.analyses.assess": [sys.executable, "-c", "import fewlabels.analyses.assess"],
        ASSESS: [tool, "assess", str(path), "--metric", "accuracy", "--json", "-"],
        HELP: [tool, "--help"],
    }


def measure(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, Cost]:
    """Medians over runs taken in turn, after one of each to warm the disk."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for i in range(repeats + 1):
        for name, command in commands.items():
            cost = run(command)
            if i > 0:
                costs[name].append(cost)
    return {name: _middle(found) for name, found in costs.items()}


def _middle(costs: Sequence[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(c, f.name) for c in costs) for f in fields(Cost)))


def measure_inside(path: Path, repeats: int) -> tuple[float, float]:
    """Median seconds of the query and of `fl.assess` in one warm process."""
    program = INSIDE.format(query=QUERY.format(path=path), path=str(path), repeats=repeats)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    query, assess = json.loads(found.stdout)
    return statistics.median(query), statistics.median(assess)


def write_report(
    arguments: argparse.Namespace, costs: Mapping[str, Cost], inside: tuple[float, float]
) -> Iterator[str]:
    yield from ("# Speed", "", "Made by `python bench/speed.py --out bench/speed.md`.", "")
    yield from (
        f"A Parquet file of {arguments.rows:,} rows and {arguments.groups} predicted classes, 5 % labelled; {os.cpu_count()} cores. Medians of {arguments.repeats} runs taken in turn,",
        f"each in a fresh process, start of Python and imports included. Load of the machine over the last minute: {os.getloadavg()[0]:.1f} (about 1 is this script's own).", "",
    )  # fmt: skip
    yield from (
        "| program | seconds | of processor | MB at most | seconds / bare query | MB / bare query |",
        "|---|---|---|---|---|---|",
    )
    bare = costs[BARE]
    for name, cost in costs.items():
        yield f"| `{name}` | {cost.seconds:.2f} | {cost.busy:.2f} | {cost.megabytes:.0f} | {cost.seconds / bare.seconds:.1f} | {cost.megabytes / bare.megabytes:.1f} |"
    query, assess = inside
    yield from (
        "",
        f"In one warm process the query takes {query:.3f} s and `fl.assess` {assess:.3f} s: a ratio of {assess / query:.1f}.",
        "",
    )
    yield from ("| goal | found | met |", "|---|---|---|")
    for goal, found, limit, unit in (
        ("`fewlabels assess --metric accuracy` in under 3 s", costs[ASSESS].seconds, 3.0, "s"),
        ("... and under 500 MB", costs[ASSESS].megabytes, 500.0, "MB"),
        ("`fewlabels --help` in under 0.5 s", costs[HELP].seconds, 0.5, "s"),
    ):
        yield f"| {goal} | {found:.3g} {unit} | {'yes' if found < limit else '**no**'} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pool.parquet"
        make_pool(path, arguments.rows, arguments.groups)
        costs = measure(programs(path), arguments.repeats)
        inside = measure_inside(path, arguments.repeats)
    text = "\n".join(write_report(arguments, costs, inside)) + "\n"
    print(text, end="")
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
