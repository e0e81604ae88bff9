"""Inject faults on purpose, and count what was lost, kept twice, kept in part or left lying about.

Run from the root of the repository: python -m bench.faults --out bench/faults.md
Each scenario is repeated at moments that the seed decides: --repeats times. How long a command works is measured first;
it is killed in turn at a random moment while it uses files, before a random line of the code that does so, and just
after it has acknowledged: "before" and "after" count faults before and after the acknowledgement of the work at hand.
"acknowledged" counts, over all faults, the answers, sessions and files that were acknowledged until then, also by
earlier commands: none may be lost. Afterwards the command is run again, undisturbed, and the session must hold every
acknowledged answer once. Litter is what lies in the folder or in TMPDIR after that. Full disks are small ones of their own where this user may mount them, else limits on the size of files.
Exit code 1 where anything is wrong.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.faults.backups import BACKUPS
from bench.faults.clocks import CLOCKS
from bench.faults.creation import CREATIONS
from bench.faults.disks import DISKS
from bench.faults.imports import IMPORTS
from bench.faults.kills import KILLS, Scenario
from bench.faults.page import render
from bench.faults.processes import Place
from bench.faults.reports import REPORTS
from bench.faults.servers import SERVERS
from bench.faults.trials import ScenarioResult, add_up
from bench.harness.main import Benchmark, run
from bench.harness.rows import Rows

SCENARIOS: dict[str, Scenario] = {**KILLS, **CREATIONS, **IMPORTS, **REPORTS, **SERVERS, **DISKS, **CLOCKS, **BACKUPS}

BENCHMARK = Benchmark("faults", __doc__, render)


def run_scenarios(names: Sequence[str], repeats: int, seed: int) -> Iterator[ScenarioResult]:
    """Give a result per scenario, each in a folder of its own."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            place = Place.make(Path(folder))
            yield add_up(name, SCENARIOS[name](random.Random(f"{seed} {name}"), place, repeats))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page and the rows after every scenario; end with exit code 1 where anything was wrong."""
    parser = BENCHMARK.make_parser()
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--repeats", type=int, default=20, help="faults per scenario; %(default)s by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="scenarios whose name holds this")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error("--repeats must be 1 or more")
    found: list[ScenarioResult] = []
    run(BENCHMARK, parser, options, lambda chosen, _: measure(chosen, found))
    raise SystemExit(0 if all(result.total.is_clean for result in found) else 1)


def measure(options: argparse.Namespace, found: list[ScenarioResult]) -> Iterator[Rows]:
    """Yield the rows of all scenarios so far after each, and note the results."""
    for result in run_scenarios([name for name in SCENARIOS if options.only in name], options.repeats, options.seed):
        found.append(result)
        print(f"{result.scenario}: {'nothing' if result.total.is_clean else 'something'} wrong", file=sys.stderr, flush=True)  # fmt: skip
        yield [row for one in found for row in one.list_rows()]


if __name__ == "__main__":
    main()
