"""How long do assess, fairness and a session take on a hundred million rows, beside the bare query, and in how much memory?

Run from the root of the repository, on a quiet machine: python -m bench.scale --out bench/scale.md
Every call runs in a fresh process, in turn with the bare group-by over the same columns; the clock runs from opening the
files to the answer, without Python's start and imports. Ratios travel between machines, seconds do not.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb

from bench.scale_pool import ROWS, make_pool
from bench.speed import Cost

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
    command = [sys.executable, "-c", CLOCK.format(program=program), files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return Cost(*json.loads(done.stdout.splitlines()[-1]))  # DuckDB may show its progress first


def measure(files: str, repeats: int) -> dict[str, list[Cost]]:
    """Run all of them in turn, several times, after one of each to warm the disk and what is compiled."""
    programs = list_programs(files)
    for program in programs.values():
        run(program, files)
    turns = [{name: run(program, files) for name, program in programs.items()} for _ in range(repeats)]
    return {name: [turn[name] for turn in turns] for name in programs}


def write_report(files: str, arguments: argparse.Namespace) -> Iterator[str]:
    """Measure, and say what came out."""
    size = sum(path.stat().st_size for path in Path(files).parent.glob(Path(files).name))
    before = os.getloadavg()[0]
    costs = measure(files, arguments.repeats)
    title = "A hundred million rows" if arguments.rows == ROWS else f"{arguments.rows:,} rows"
    yield from (f"# {title}", "", f"Made by `{spell_command(arguments)}`.", "")
    yield (
        f"{arguments.rows:,} rows in {size / 1e6:,.0f} MB of Parquet; {os.cpu_count()} cores, DuckDB {duckdb.__version__}, medians of {arguments.repeats} turns; "
        f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after. Seconds on the wall grow with whatever else the machine does; seconds of "
        "processor time hardly do. The bare query groups by the same columns and touches the id, as the call does."
    )
    yield from ("", "| | seconds | of processor time | MB at most | times the bare query: wall | processor |", "|---|---|---|---|---|---|")  # fmt: skip
    for name in CALLS:
        bare, ours = costs[f"bare query for {name}"], costs[name]
        yield _show(f"bare query for {name}", bare) + " | |"
        wall, busy = (_middle([getattr(o, k) / getattr(b, k) for o, b in zip(ours, bare, strict=True)]) for k in ("seconds", "busy"))  # fmt: skip
        yield _show(f"**{name}**", ours) + f" {wall:.1f}{_judge(wall)} | {busy:.1f}{_judge(busy)} |"
    most = max(cost.megabytes for name in CALLS for cost in costs[name])
    yield from ("", f"Goal: at most {LIMIT:g} times the bare query, and {MEMORY:,.0f} MB. Most memory: {most:,.0f} MB.")


def _show(name: str, costs: list[Cost]) -> str:
    seconds, busy, megabytes = (_middle([getattr(c, k) for c in costs]) for k in ("seconds", "busy", "megabytes"))
    return f"| {name} | {seconds:.1f} | {busy:.1f} | {megabytes:,.0f} |"


def _judge(ratio: float) -> str:
    return "" if ratio <= LIMIT else " (**missed**)"


def _middle(values: list[float]) -> float:
    return statistics.median(values)


def spell_command(arguments: argparse.Namespace) -> str:
    """Return the command line that measures this again."""
    rows = "" if arguments.rows == ROWS else f" --rows {arguments.rows}"
    return f"python -m bench.scale{rows} --repeats {arguments.repeats} --out bench/scale.md"


def main() -> None:
    """Print the report, or write it; the files are made for it unless a folder of them is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the files are, or are to stay")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = make_pool(arguments.folder or Path(folder), arguments.rows)
        text = "\n".join(write_report(files, arguments)) + "\n"
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
