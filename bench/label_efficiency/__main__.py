"""Ask every question of every pool, and write pages as answers come.

Answers are kept beside the pages: asked again with the same number of runs, only pools without one are asked.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.label_efficiency import accuracies, calibration, comparison, confusion, finding
from bench.label_efficiency.pages import Row
from bench.label_efficiency.pools import find_pools

QUESTIONS = {
    "accuracies": accuracies, "calibration": calibration, "confusion": confusion, "comparison": comparison,
    "finding": finding,
}  # fmt: skip


@dataclass(frozen=True)
class Record:
    """Answers to one question that are there already, pool by pool."""

    path: Path | None

    def read(self, runs: int) -> dict[str, Any]:
        """Return the rows and the seconds of every pool that was asked as often as this."""
        if self.path is None or not self.path.exists():
            return {}
        kept = json.loads(self.path.read_text(encoding="utf-8"))
        return {pool: answer for pool, answer in kept.items() if answer["runs"] == runs}

    def write(self, answers: dict[str, Any]) -> None:
        """Keep them."""
        if self.path is not None:
            self.path.write_text(json.dumps(answers, indent=1), encoding="utf-8")


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
    names = [pool.name for pool in find_pools(options.pools)]
    asked = [
        pool for pool in find_pools(options.pools)
        if (not options.only or pool.name in options.only.split(",")) and pool.name not in options.without.split(",")
    ]  # fmt: skip
    for name in options.questions:
        record, question = Record(options.out and options.out / f"{name}.json"), QUESTIONS[name]
        answers = record.read(options.runs)
        for pool in asked:
            if pool.name in answers:
                continue
            began, rows = time.perf_counter(), []
            for row in question.answer(pool, options.runs):
                print(f"{time.perf_counter() - began:6.0f} s {row}", flush=True)
                rows.append(asdict(row))
            answers[pool.name] = {"runs": options.runs, "seconds": time.perf_counter() - began, "rows": rows}
            record.write(answers)
            if options.out:
                page = _write_page(name, [n for n in names if n in answers], names, answers, options.runs)
                (options.out / f"{name}.md").write_text(page, encoding="utf-8")


def _write_page(name: str, there: list[str], names: list[str], answers: dict[str, Any], runs: int) -> str:
    """Put all answers there are on a page, with the command that makes it."""
    missing = [n for n in names if n not in there]
    command = f"python -m bench.label_efficiency {name} --runs {runs}"
    command += f" --without {','.join(missing)}" if missing else ""
    rows = [Row(**row) for pool in there for row in answers[pool]["rows"]]
    return QUESTIONS[name].TABLE.write(command, rows, sum(answers[pool]["seconds"] for pool in there) / 60)


if __name__ == "__main__":
    main()
