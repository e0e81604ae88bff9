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
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.faults.backups import BACKUPS
from bench.faults.clocks import CLOCKS
from bench.faults.creation import CREATIONS
from bench.faults.disks import DISKS
from bench.faults.imports import IMPORTS
from bench.faults.kills import KILLS, Scenario
from bench.faults.processes import Place
from bench.faults.reports import REPORTS
from bench.faults.servers import SERVERS
from bench.faults.trials import HEAD, Row, add_up

SCENARIOS: dict[str, Scenario] = {**KILLS, **CREATIONS, **IMPORTS, **REPORTS, **SERVERS, **DISKS, **CLOCKS, **BACKUPS}

LEGEND = """*before*, *after*: faults before and after the work at hand was acknowledged (a server has always both). *acknowledged*:
answers, sessions and files that were acknowledged before each fault, also by earlier commands, added over all faults."""


def run_scenarios(names: Sequence[str], repeats: int, seed: int) -> Iterator[Row]:
    """Give a row per scenario, each in a folder of its own."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            place = Place.make(Path(folder))
            yield add_up(name, SCENARIOS[name](random.Random(f"{seed} {name}"), place, repeats))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row per scenario as it is done, then what is wrong; write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=20, help="faults per scenario; %(default)s by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="scenarios whose name holds this")
    parser.add_argument("--out", type=Path, help="write the page to this file")
    words = parser.parse_args(arguments)
    if words.repeats < 1:
        parser.error("--repeats must be 1 or more")
    names = [name for name in SCENARIOS if words.only in name]
    print(*HEAD, sep="\n", flush=True)
    rows = []
    for row in run_scenarios(names, words.repeats, words.seed):
        print(row.write(), flush=True)
        rows.append(row)
    notes = [f"- {row.scenario}: {note}" for row in rows for note in dict.fromkeys(row.total.notes)]
    print("", *notes, sep="\n")
    if words.out:
        words.out.write_text(render_page(rows, notes, words), encoding="utf-8")
    raise SystemExit(0 if all(row.total.is_clean for row in rows) else 1)


def render_page(rows: Sequence[Row], notes: Sequence[str], words: argparse.Namespace) -> str:
    """Write what was done and what came of it."""
    command = f"python -m bench.faults --repeats {words.repeats} --seed {words.seed}"
    table = "\n".join([*HEAD, *(row.write() for row in rows)])
    found = "\n".join(notes) if notes else "Nothing was lost, kept twice, kept in part or left lying about."
    return f"# Faults on purpose\n\n`{command} --out bench/faults.md`\n\n{table}\n\n{found}\n\n{LEGEND}\n"


if __name__ == "__main__":
    main()
