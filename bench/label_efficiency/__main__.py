"""Ask every question of every pool, and write pages as answers come.

Rows are kept beside the pages: asked again with the same number of runs, only pools without one are asked.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.harness.main import ROWS, Benchmark, run
from bench.harness.pools import add_pools_option
from bench.harness.rows import Row, Rows
from bench.label_efficiency import accuracies, calibration, comparison, confusion, finding
from bench.label_efficiency.pages import Question
from bench.label_efficiency.pools import Pool, find_pools

QUESTIONS = {
    "accuracies": accuracies.QUESTION, "calibration": calibration.QUESTION, "confusion": confusion.QUESTION,
    "comparison": comparison.QUESTION, "finding": finding.QUESTION,
}  # fmt: skip


def ask_pools(question: Question, options: argparse.Namespace, kept: Rows) -> Iterator[Rows]:
    """Ask pool by pool what is not kept, and yield all rows after each."""
    order = {pool.name: i for i, pool in enumerate(find_pools(options.pools))}
    rows = list(kept)
    known = {row.get("pool") for row in kept}
    for pool in (pool for pool in choose_pools(options) if pool.name not in known):
        details = [*(row for row in rows if row["table"] != "means"), *ask(question, pool, options.runs)]
        details.sort(key=lambda row: order.get(row.get("pool", ""), -1))
        rows = [*details, *question.sum_up(details)]
        yield rows
    yield rows


def ask(question: Question, pool: Pool, runs: int) -> Iterator[Row]:
    """Yield the rows of a pool, and how long they took."""
    began = time.perf_counter()
    for row in question.answer(pool, runs):
        print(f"{time.perf_counter() - began:6.0f} s {dict(row)}", flush=True)
        yield {"table": "pools", **row}
    yield {"table": "times", "pool": pool.name, "seconds": time.perf_counter() - began}


def choose_pools(options: argparse.Namespace) -> list[Pool]:
    """Return the pools that are named, or all but those to leave out."""
    only, without = (options.only or "").split(","), options.without.split(",")
    return [
        pool
        for pool in find_pools(options.pools)
        if (not options.only or pool.name in only) and pool.name not in without
    ]


def make_parser() -> argparse.ArgumentParser:
    """Return the options of all questions."""
    parser = argparse.ArgumentParser(prog="python -m bench.label_efficiency", description=__doc__)
    parser.add_argument("questions", nargs="*", default=list(QUESTIONS), help=f"of {', '.join(QUESTIONS)}")
    parser.add_argument("--out", type=Path, help="folder for the pages, with their rows beside them")
    parser.add_argument("--json", type=Path, help="folder for the rows")
    parser.add_argument("--render", type=Path, help="measure nothing; make the pages from the rows in this folder")
    add_pools_option(parser)
    parser.add_argument("--only", help="names of pools, joined by commas")
    parser.add_argument("--without", default="", help="pools to leave out, joined by commas")
    parser.add_argument("--runs", type=int, default=100)
    return parser


def main(words: Sequence[str] | None = None) -> None:
    """Write a page for every question that was asked for."""
    parser = make_parser()
    options = parser.parse_args(words)
    for name in options.questions:
        question = QUESTIONS[name]
        benchmark = Benchmark(f"label_efficiency/{name}", __doc__, question.render)
        run(benchmark, parser, place_files(options, name), partial(ask_pools, question))


def place_files(options: argparse.Namespace, name: str) -> argparse.Namespace:
    """Return the options of one question: files in the folders that were given."""
    chosen = {key: value for key, value in vars(options).items() if key != "questions"}
    for key, suffix in (("out", ".md"), ("json", ROWS), ("render", ROWS)):
        chosen[key] = chosen[key] and chosen[key] / f"{name}{suffix}"
    return argparse.Namespace(**chosen)


if __name__ == "__main__":
    main()
