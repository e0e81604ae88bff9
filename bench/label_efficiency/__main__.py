"""Ask every question of every pool, and write pages as answers come."""

import argparse
import time
from pathlib import Path

from bench.label_efficiency import accuracies, calibration, comparison, confusion, finding
from bench.label_efficiency.pages import Row
from bench.label_efficiency.pools import find_pools

QUESTIONS = {
    "accuracies": accuracies, "calibration": calibration, "confusion": confusion, "comparison": comparison,
    "finding": finding,
}  # fmt: skip


def main() -> None:
    """Write a page for every question that was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.label_efficiency", description=__doc__)
    parser.add_argument("questions", nargs="*", default=list(QUESTIONS), help=f"of {', '.join(QUESTIONS)}")
    parser.add_argument("--pools", type=Path, default=Path("../shared/pools"))
    parser.add_argument("--only", help="names of pools, joined by commas")
    parser.add_argument("--without", default="", help="pools to leave out, joined by commas")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--out", type=Path, help="folder for the pages")
    options = parser.parse_args()
    pools = [
        pool for pool in find_pools(options.pools)
        if (not options.only or pool.name in options.only.split(",")) and pool.name not in options.without.split(",")
    ]  # fmt: skip
    for name in options.questions:
        began, rows, question = time.perf_counter(), list[Row](), QUESTIONS[name]
        for pool in pools:
            for row in question.answer(pool, options.runs):
                print(f"{time.perf_counter() - began:6.0f} s {row}", flush=True)
                rows.append(row)
            if options.out:
                command = " ".join(["python -m bench.label_efficiency", name, *_repeat_options(options)])
                page = question.TABLE.write(command, rows, (time.perf_counter() - began) / 60)
                (options.out / f"{name}.md").write_text(page, encoding="utf-8")


def _repeat_options(options: argparse.Namespace) -> list[str]:
    """Say the options that change figures as they were given."""
    given = {"--runs": options.runs, "--only": options.only, "--without": options.without}
    return [f"{name} {value}" for name, value in given.items() if value]


if __name__ == "__main__":
    main()
