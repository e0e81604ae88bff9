"""How often do 95 % intervals of group accuracy contain the truth? For every pool, with 5 % of the labels kept.

Run from the root of the repository: python -m bench.coverage --pools ../shared/pools --repeats 200 --out bench/coverage.md
Labels are hidden in NumPy; priors, beliefs and intervals are the library's own, and for every case one repeat is
compared with `fl.assess` on the masked table. Figures outside 93-97 % are taken apart by the script itself.
"""

import argparse
from collections.abc import Iterator, Sequence

from bench.coverage.cases import read_cases
from bench.coverage.checks import check_priors
from bench.coverage.page import render
from bench.coverage.study import average_checks, average_pools, study_all
from bench.harness.main import Benchmark, start
from bench.harness.pools import MODELS, add_pools_option
from bench.harness.rows import Row


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of every case, of every pool, and of checks with truths from the prior."""
    cases = [case for case in read_cases(options.pools) if options.only in case.pool]
    rows = study_all(cases, options.repeats, options.jobs)
    yield from average_pools(rows)
    yield from rows
    checks = list(check_priors([case for case in cases if case.by == "predicted" and case.model in ("", MODELS[0])]))
    yield from average_checks(checks)
    yield from (check.describe() for check in checks)


BENCHMARK = Benchmark("coverage", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    add_pools_option(parser)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--only", default="", help="pools whose name contains this")
    parser.add_argument("--jobs", type=int, help="processes; the figures do not depend on it")
    start(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
