"""The command line that every experiment shares, and the page it leaves behind."""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.main import ROWS
from bench.harness.pools import add_pools_option
from bench.harness.rows import SETTINGS, write_rows
from experiments.pools import Dataset
from experiments.replays import Effort, Ints
from experiments.tables import Page
from fewlabels.active.simulation.replay import schedule_replay

QUICK_RUNS, QUICK_LABELS, QUICK_LOOKS = 2, 12, 4
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Options:
    """What the command line said."""

    pools: Path
    out: Path
    runs: int | None = None  # unless given, as many as each part can afford
    seed: int = 0
    jobs: int | None = None
    quick: bool = False
    json: Path | None = None  # the folder of rows

    def effort(self, usual: int, dataset: Dataset | None = None, heavy: int | None = None) -> Effort:
        """How often to play: as told, else as usual, and less often where a pool is heavy."""
        affordable = heavy if heavy is not None and dataset is not None and dataset.heavy else usual
        return Effort(QUICK_RUNS if self.quick else self.runs or affordable, self.seed, self.jobs)

    def limit(self, budget: int) -> int:
        """How many labels to play up to."""
        return min(budget, QUICK_LABELS) if self.quick else budget

    def mark(self, n_items: int, reach: float = 1.0) -> Ints:
        """At which label counts to look: every half percent of the pool, and denser at the start."""
        if self.quick:
            return schedule_replay(self.limit(n_items), QUICK_LOOKS)
        marks = schedule_replay(n_items)
        return marks[marks <= round(reach * n_items)]


Make = Callable[[Options], Page]


def read_options(
    words: Sequence[str] | None = None, *, about: str = "", also: str | None = None
) -> tuple[Options, list[str]]:
    """Read the command line; `also` names further words it may hold."""
    parser = argparse.ArgumentParser(description=about)
    if also:
        parser.add_argument("names", nargs="*", help=also)
    add_pools_option(parser)
    parser.add_argument("--out", type=Path, default=HERE / "results", help="the folder to write to")
    parser.add_argument("--runs", type=int, help="how often to play each way (default: what each part can afford)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, help="how many to play at a time (default: all cores)")
    parser.add_argument("--quick", action="store_true", help="few runs and labels: does it work?")
    parser.add_argument(
        "--json", type=Path, help="a folder to write the rows of all tables to, a JSON object to a line"
    )
    found = vars(parser.parse_args(words))
    return Options(**{k: v for k, v in found.items() if k != "names"}), found.get("names", [])


def write_page(name: str, make: Make, options: Options) -> Path:
    """Make a page and write it, with the command that makes it again and what that took."""
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    page = make(options)
    footer = (
        f"Made by `{spell_command(name, options)}` in {time.perf_counter() - began:.0f} s; ± is one standard error."
    )
    path = options.out / f"{name}.md"
    path.write_text(page.render(footer), encoding="utf-8")
    if options.json:
        options.json.mkdir(parents=True, exist_ok=True)
        settings = {"table": SETTINGS, "command": spell_command(name, options)}
        write_rows(options.json / f"{name}{ROWS}", [settings, *page.list_rows()])
    print(f"{path}  ({time.perf_counter() - began:.0f} s)", flush=True)
    return path


def spell_command(name: str, options: Options) -> str:
    """Return the command line that makes a page again."""
    runs = f" --runs {options.runs}" if options.runs else ""
    seed = f" --seed {options.seed}" if options.seed else ""
    return f"python -m experiments.{name}{runs}{seed}{' --quick' if options.quick else ''}"


def start(name: str, make: Make, words: Sequence[str] | None = None) -> None:
    """Be the command `python -m experiments.<name>`."""
    options, _ = read_options(words, about=f"Make {name} of the active assessment paper again.")
    write_page(name, make, options)
