"""Run every measurement, and put what they come to in one table with pictures.

Run from the root of the repository, on a quiet machine: python -m bench --out bench/results
Each part is a script of its own and writes its own page and its rows, with its settings; on two cores that takes about six hours. --brief plays
a tenth of the runs, for about three quarters of an hour; --quick only sees that everything works; --only names some of the parts, and
--collect runs nothing and takes the rows that are kept in this folder.
"""

import argparse
import subprocess
import time
from collections.abc import Sequence
from os.path import relpath
from pathlib import Path

from bench.findings import FINDERS, Finding
from bench.harness.main import ROWS
from bench.harness.page import join_paragraphs
from bench.harness.pools import add_pools_option
from bench.harness.rows import read_rows
from bench.parts import PARTS, Part
from bench.ratios import draw_ratios, render


def main(words: Sequence[str] | None = None) -> None:
    """Run the parts, find what stands beside them, and write the table and its picture."""
    options = make_parser().parse_args(words)
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [part for part in PARTS if not options.only or part.name in options.only.split(",")]
    pages = {part.name: obtain(part, options) for part in chosen}
    findings = {name: find(name, page) for name, page in pages.items() if page is not None}
    links = {name: None if page is None else relpath(page, options.out) for name, page in pages.items()}
    text = join_paragraphs(render(findings, links, spell_command(options)))
    (options.out / "README.md").write_text(text, encoding="utf-8")
    draw_ratios([one for found in findings.values() for one in found]).savefig(options.out / "ratios.png", dpi=110)
    print(f"written: {options.out / 'README.md'}")
    if len(findings) < len(pages):
        raise SystemExit(f"no page of {', '.join(name for name in pages if name not in findings)}")


def make_parser() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    add_pools_option(parser)
    parser.add_argument("--only", default="", help=f"of {', '.join(part.name for part in PARTS)}; joined by commas")
    pace = parser.add_mutually_exclusive_group()
    for name, help in (("brief", "a tenth of the runs"), ("quick", "a run or two, to see that everything works")):
        pace.add_argument(f"--{name}", dest="pace", action="store_const", const=name, help=help)
    parser.set_defaults(pace="full")
    parser.add_argument("--collect", action="store_true", help="run nothing; take the rows that are kept")
    parser.add_argument("--out", type=Path, required=True)
    return parser


def spell_command(options: argparse.Namespace) -> str:
    """Return the command line that makes the table again."""
    how = " --collect" if options.collect else "" if options.pace == "full" else f" --{options.pace}"
    return f"python -m bench{how} --out {options.out}"


def obtain(part: Part, options: argparse.Namespace) -> Path | None:
    """Return a part's page: made now, or kept; None where there is none."""
    page: Path = part.kept if options.collect else options.out / f"{part.name}.md"
    if not options.collect and not run(part, options):
        return None  # a page of an earlier run would pass for this one's
    return page if page.exists() else None


def run(part: Part, options: argparse.Namespace) -> bool:
    """Run a part, and return whether it succeeded."""
    began = time.perf_counter()
    command = part.command(options.out, options.pools, options.pace)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    failed = "" if done.returncode == 0 else f" failed: {done.stderr[-500:]}"
    print(f"{time.perf_counter() - began:6.0f} s  {part.name}{failed}", flush=True)
    return not failed


def find(name: str, page: Path) -> list[Finding]:
    """Return what stands beside a part, from the rows beside its page."""
    path = page.with_suffix(ROWS)
    if name not in FINDERS:
        return []
    if not path.exists():
        raise SystemExit(f"no rows of {name}: {path} does not exist")
    return list(FINDERS[name](read_rows(path)))


if __name__ == "__main__":
    main()
