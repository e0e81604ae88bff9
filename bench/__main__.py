"""Run every measurement, and put what they come to in one table with pictures.

Run from the root of the repository, on a quiet machine: python -m bench --out bench/results
Each part is a script of its own and writes its own page, with its settings; on two cores that takes about six hours. --brief plays
a tenth of the runs, for about three quarters of an hour; --quick only sees that everything works; --only names some of the parts, and
--collect runs nothing and takes the pages that are kept in this folder.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Literal

import numpy as np

from bench.gathering import GATHERERS, Finding, gather_nothing
from fewlabels.reporting.plots.figure import QuietFigure
from fewlabels.reporting.plots.style import BLUE, GREY, INK, ORANGE, SMALL, clean_axes

HERE = Path(__file__).parent
EFFICIENCY = "bench.label_efficiency"
Pace = Literal["full", "brief", "quick"]


@dataclass(frozen=True)
class Part:
    """A measurement: its name, how it is run, and with what besides when time is short."""

    name: str
    module: str
    words: tuple[str, ...] = ()
    briefly: tuple[str, ...] = ()
    quickly: tuple[str, ...] = ()
    folder: str = ""  # of its page, where that is not this one

    def command(self, out: Path, pools: Path, pace: Pace) -> list[str]:
        """Return the command that writes its page."""
        place = out if self.module == EFFICIENCY else out / f"{self.name}.md"
        said = (
            ["--pools", str(pools)]
            if self.module in (EFFICIENCY, "bench.peers", "bench.replay", "bench.coverage")
            else []
        )
        return [
            sys.executable,
            "-m",
            self.module,
            *self.words,
            *said,
            *{"full": (), "brief": self.briefly, "quick": self.quickly}[pace],
            "--out",
            str(place),
        ]

    @property
    def kept(self) -> Path:
        """Where its page is kept."""
        return HERE / self.folder / f"{self.name}.md"


PARTS = (
    Part("speed", "bench.speed", quickly=("--rows", "100000", "--repeats", "2")),
    Part("scale", "bench.scale", briefly=("--rows", "10000000"), quickly=("--rows", "100000", "--repeats", "1")),
    Part("replay", "bench.replay", quickly=("--repeats", "1", "--steps", "50")),
    Part("asking", "bench.asking"),
    Part("learning", "bench.learning"),
    Part("surfaces", "bench.surfaces"),
    Part("fairness", "bench.fairness", (), ("--rows", "1000000"), ("--rows", "100000", "--repeats", "1")),
    Part("page", "bench.page", (), ("--answers", "2000"), ("--answers", "500")),
    Part("faults", "bench.faults", (), ("--repeats", "5"), ("--repeats", "1")),
    Part("votes", "bench.votes", (), ("--runs", "10"), ("--runs", "2")),
    Part("peers", "bench.peers", (), ("--runs", "4"), ("--runs", "2", "--only", "snacks20")),
    Part("coverage", "bench.coverage", (), ("--repeats", "20"), ("--repeats", "5", "--only", "cifar10_resnet110")),
    *(
        Part(name, EFFICIENCY, (name,), ("--runs", "10"), ("--runs", "2", "--only", "snacks20"), "label_efficiency")
        for name in ("accuracies", "calibration", "confusion", "comparison", "finding")
    ),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts, gather what they found, and write the table and its picture."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--pools", type=Path, default=Path("../shared/pools"))
    parser.add_argument("--only", default="", help=f"of {', '.join(part.name for part in PARTS)}; joined by commas")
    pace = parser.add_mutually_exclusive_group()
    for name, help in (("brief", "a tenth of the runs"), ("quick", "a run or two, to see that everything works")):
        pace.add_argument(f"--{name}", dest="pace", action="store_const", const=name, help=help)
    parser.set_defaults(pace="full")
    parser.add_argument("--collect", action="store_true", help="run nothing; take the pages that are kept")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [part for part in PARTS if not options.only or part.name in options.only.split(",")]
    pages = {part.name: _obtain(part, options) for part in chosen}
    there = {name: page for name, page in pages.items() if page is not None}
    findings = {
        name: list(GATHERERS.get(name, gather_nothing)(page.read_text("utf-8"))) for name, page in there.items()
    }
    (options.out / "README.md").write_text("\n".join(_write_lines(findings, pages, options)) + "\n", encoding="utf-8")
    draw_ratios([one for found in findings.values() for one in found]).savefig(options.out / "ratios.png", dpi=110)
    print(f"written: {options.out / 'README.md'}")
    if len(there) < len(pages):
        raise SystemExit(f"no page of {', '.join(name for name in pages if name not in there)}")


def _obtain(part: Part, options: argparse.Namespace) -> Path | None:
    """Return a part's page: made now, or kept; None where there is none."""
    page: Path = part.kept if options.collect else options.out / f"{part.name}.md"
    if not options.collect:
        began = time.perf_counter()
        command = part.command(options.out, options.pools, options.pace)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        failed = "" if done.returncode == 0 else f" failed: {done.stderr[-500:]}"
        print(f"{time.perf_counter() - began:6.0f} s  {part.name}{failed}", flush=True)
        if failed:
            return None  # a page of an earlier run would pass for this one's
    return page if page.exists() else None


def _write_lines(
    findings: dict[str, list[Finding]], pages: dict[str, Path | None], options: argparse.Namespace
) -> Iterator[str]:
    links = {name: f"[{name}]({relpath(page, options.out)})" for name, page in pages.items() if page is not None}
    how = " --collect" if options.collect else "" if options.pace == "full" else f" --{options.pace}"
    yield from ("# Everything that is measured", "", f"Made by `python -m bench{how} --out {options.out}`.", "")
    yield from (
        "The ratio is how many times more what stands beside takes, in seconds, error or labels: above 1 is better than it. Seconds",
        "are of the machine and the hour that the part's own page names.", "",
        "![Ratios](ratios.png)", "", "| part | measured | ours | beside | which is | ratio |", "|---|---|---|---|---|---|",
    )  # fmt: skip
    for name, found in findings.items():
        for one in found:
            ratio = f"{one.ratio:,.0f}" if one.ratio >= 10 else f"{one.ratio:.2g}"
            yield f"| {links[name]} | {one.what} | {one.ours} | {one.beside} | {one.whose} | {ratio} |"
    alone = [link for name, link in links.items() if not findings[name]]
    missing = [name for name, page in pages.items() if page is None]
    yield ""
    if alone:
        yield f"With nothing beside them: {', '.join(alone)}."
    if missing:
        yield f"No page: {', '.join(missing)}."


def draw_ratios(findings: Sequence[Finding]) -> QuietFigure:
    """Every ratio on one scale, better than what stands beside it in blue."""
    figure = QuietFigure(figsize=(9.5, 1 + 0.21 * len(findings)), layout="constrained")
    ax = figure.subplots()
    clean_axes(ax)
    ratio, y = np.array([one.ratio for one in findings], dtype=np.float64), np.arange(len(findings))
    colours = [BLUE if r >= 1 else ORANGE for r in ratio]
    ax.hlines(y, 1, ratio, color=colours, linewidth=2)
    ax.scatter(ratio, y, color=colours, s=22, zorder=3)
    ax.axvline(1, color=GREY, linewidth=1)
    ax.set_xscale("log")
    ax.set_yticks(y, [f"{one.what}  |  {one.whose}" for one in findings], fontsize=SMALL - 2)
    ax.set_ylim(len(findings) - 0.4, -0.6)
    ax.set_xlabel("times as much of what stands beside it:\nseconds, error or labels", color=INK)
    return figure


if __name__ == "__main__":
    main()
