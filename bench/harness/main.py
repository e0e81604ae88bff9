"""The command line of a benchmark: it measures, and writes rows and the page that is made from them."""

import argparse
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness.page import join_paragraphs
from bench.harness.rows import SETTINGS, Row, Rows, read_rows, write_rows

ROWS = ".jsonl"  # of the file that lies beside a page
NOT_SETTINGS = ("out", "json", "render", "pools", "folder", "jobs")  # figures do not depend on these

Measure = Callable[[argparse.Namespace], Iterable[Row]]
MeasureBatches = Callable[[argparse.Namespace, Rows], Iterable[Rows]]


@dataclass(frozen=True)
class Benchmark:
    """A part of the bench: its name and how its page is made from rows."""

    name: str  # of its module in bench/, and of its page
    about: str | None
    render: Callable[[Rows], Iterator[str]]  # the parts of the page, a paragraph or a table each
    draw: Callable[[Rows, Path], None] | None = None  # pictures beside the page

    @property
    def module(self) -> str:
        """Return what follows `python -m`; a question of a package is its argument."""
        return "bench." + self.name.replace("/", " ")

    @property
    def place(self) -> str:
        """Return what follows `--out`: the kept page; of a question, the folder of its page."""
        folder, _, name = self.name.rpartition("/")
        return f"bench/{folder}" if folder else f"bench/{name}.md"

    def make_parser(self) -> argparse.ArgumentParser:
        """Return the options that every benchmark has; those of its own are added to them."""
        parser = argparse.ArgumentParser(prog=f"python -m {self.module}", description=self.about)
        parser.add_argument("--out", type=Path, help="write the page to this file, and the rows beside it")
        parser.add_argument("--json", type=Path, help="write the rows to this file, a JSON object to a line")
        parser.add_argument("--render", type=Path, help="measure nothing; make the page from the rows in this file")
        return parser

    def write(self, rows: Rows, options: argparse.Namespace) -> str:
        """Write the page and the rows where the options say, and return the page."""
        page = join_paragraphs(self.render(rows))
        path = find_rows_path(options)
        if path:
            write_rows(path, rows)
        if options.out:
            options.out.write_text(page, encoding="utf-8")
        if options.out and self.draw:
            self.draw(rows, options.out)
        return page


def start(
    benchmark: Benchmark, parser: argparse.ArgumentParser, measure: Measure, words: Sequence[str] | None = None
) -> None:
    """Read the command line, measure, write, and print the page."""
    start_in_batches(benchmark, parser, lambda options, _: [list(measure(options))], words)


def start_in_batches(
    benchmark: Benchmark, parser: argparse.ArgumentParser, measure: MeasureBatches, words: Sequence[str] | None = None
) -> None:
    """Do as `start` does, but write after every batch; `measure` gets the rows of an earlier run, and yields all rows."""
    run(benchmark, parser, parser.parse_args(words), measure)


def run(
    benchmark: Benchmark, parser: argparse.ArgumentParser, options: argparse.Namespace, measure: MeasureBatches
) -> None:
    """Measure or read the rows, write after every batch, and print the page."""
    if options.render:
        print(benchmark.write(read_rows(options.render), options), end="")
        return
    page = ""
    for rows in measure(options, read_kept(benchmark, parser, options)):
        page = benchmark.write([describe_settings(benchmark, parser, options), *rows], options)
    print(page, end="")


def read_kept(benchmark: Benchmark, parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[Row]:
    """Return the rows that an earlier command with as many runs left, without its settings."""
    path = find_rows_path(options)
    if path is None or not path.exists():
        return []
    settings, *rows = read_rows(path)
    now = describe_settings(benchmark, parser, options)
    return rows if settings.get("runs") == now.get("runs") else []


def find_rows_path(options: argparse.Namespace) -> Path | None:
    """Return the file of rows: as named, or beside the page."""
    out: Path | None = options.out
    path: Path | None = options.json or (out and out.with_suffix(ROWS))
    return path


def describe_settings(benchmark: Benchmark, parser: argparse.ArgumentParser, options: argparse.Namespace) -> Row:
    """Return the row of settings: the command that measures this again, the machine and every option."""
    chosen = {name: value for name, value in vars(options).items() if name not in NOT_SETTINGS}
    return {
        "table": SETTINGS,
        "command": spell_command(benchmark, parser, chosen),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),  # over the last minute
        **{name: _flatten(value) for name, value in chosen.items()},
    }


def spell_command(benchmark: Benchmark, parser: argparse.ArgumentParser, chosen: dict[str, Any]) -> str:
    """Return the command line that measures this again: the options that are not as they are by default."""
    words = [f"--{name} {_quote(value)}" for name, value in chosen.items() if value != parser.get_default(name)]
    return " ".join([f"python -m {benchmark.module}", *words, "--out", benchmark.place])


def _quote(value: Any) -> str:
    return shlex.join(map(str, value if isinstance(value, list | tuple) else [value]))


def _flatten(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value
