"""The page of `bench.peers`: what it comes to, then pool by pool, and two pictures."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from fewlabels.reporting.plots.figure import QuietFigure
from fewlabels.reporting.plots.style import GREY, INK, SMALL, clean_axes

COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#737373")  # Okabe and Ito's
OURS, FLAT, PLAIN = "fewlabels, calibrated", "fewlabels, flat", "Jeffreys"
LEAST = 0.9  # coverage below which an interval of 95 % is not one


@dataclass(frozen=True)
class Measure:
    """How a tool did on a pool with so many labels, over all runs."""

    pool: str
    labels: int
    tool: str
    rmse: float
    coverage: float
    coverage_small: float  # on the smallest groups
    width: float
    width_small: float
    silent: float  # share of groups it says nothing about
    seconds: float  # of processor time, for all groups at once


@dataclass(frozen=True)
class Record:
    """What was measured so far, and how long it took."""

    runs: int
    rows: tuple[Measure, ...] = ()
    seconds: float = 0.0

    @classmethod
    def read(cls, page: Path | None, runs: int) -> "Record":
        """Return what is kept beside a page, if it was played as often."""
        path = page and page.with_suffix(".json")
        kept: dict[str, Any] = (
            json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else {"runs": None}
        )
        if kept["runs"] != runs:
            return cls(runs)
        return cls(runs, tuple(Measure(**row) for row in kept["rows"]), kept["seconds"])

    def has(self, pool: str, labels: int) -> bool:
        """Was this measured?"""
        return any((row.pool, row.labels) == (pool, labels) for row in self.rows)

    def add(self, rows: Sequence[Measure], seconds: float) -> "Record":
        """Return the record with more."""
        return Record(self.runs, (*self.rows, *rows), self.seconds + seconds)

    def write(self, page: Path | None) -> None:
        """Write the page, its pictures and its numbers."""
        if page is None:
            return
        page.write_text(self.page, encoding="utf-8")
        kept = {"runs": self.runs, "seconds": self.seconds, "rows": [asdict(row) for row in self.rows]}
        page.with_suffix(".json").write_text(json.dumps(kept, indent=1), encoding="utf-8")
        draw_errors(self.rows).savefig(page.with_name(f"{page.stem}_errors.png"), dpi=110)
        draw_coverage(self.rows).savefig(page.with_name(f"{page.stem}_coverage.png"), dpi=110)

    @property
    def page(self) -> str:
        """The page."""
        return "\n".join(_write_lines(self.rows, self.runs, self.seconds / 60, os.getloadavg()[0])) + "\n"


def _write_lines(rows: Sequence[Measure], runs: int, minutes: float, load: float) -> Iterator[str]:
    yield from (
        "# Side by side: fewlabels and what one would use instead", "",
        f"Made by `python -m bench.peers --runs {runs} --out bench/peers.md` in {minutes:.0f} minutes (load of the machine at the end: {load:.1f}).", "",
        "Every run draws labels at random and hands the same ones to every tool; each is asked for the accuracy of every group,",
        "with 95 % intervals, by its own defaults (fairlearn: 100 resamples). The truth is the accuracy on the whole pool. A group that",
        "a tool says nothing about counts as the accuracy of all labels together, anywhere from 0 to 1: such an interval is of no",
        "use, but it covers. RMSE is over groups, each counting alike; small groups are the four smallest of a pool; seconds are of",
        "processor time for all groups at once. fairlearn's accuracy is scikit-learn's, so their errors are the same; ppi-python's intervals",
        "lean on a normal approximation that wants more labels than small groups have here. Where coverage is 95 %, its standard error is one to two",
        "points on a pool; where it is 50 %, three to five.", "",
        "## All pools together", "",
        "RMSE in points, coverage and silence in percent. Mean over pools; in brackets the lowest coverage of any pool.", "",
    )  # fmt: skip
    yield "| labels | tool | RMSE | coverage | on small groups | width | on small groups | says nothing | seconds |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for labels in sorted({row.labels for row in rows}):
        for tool in dict.fromkeys(row.tool for row in rows):
            yield _average([row for row in rows if (row.labels, row.tool) == (labels, tool)])
    yield from ("", "![RMSE against labels](peers_errors.png)", "", "![Coverage against width](peers_coverage.png)", "")
    yield from ("## Where others win", "", *_admit(rows), "")
    yield from ("## Pool by pool", "", "| pool | labels | tool | RMSE | coverage | on small groups | width | on small groups | says nothing | seconds |")  # fmt: skip
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        cells = (
            row.pool, row.labels, row.tool, f"{100 * row.rmse:.1f}", f"{100 * row.coverage:.0f}", f"{100 * row.coverage_small:.0f}",
            f"{row.width:.2f}", f"{row.width_small:.2f}", f"{100 * row.silent:.0f}", f"{row.seconds:.2g}",
        )  # fmt: skip
        yield f"| {' | '.join(map(str, cells))} |"


def _average(rows: Sequence[Measure]) -> str:
    def mean(name: str) -> float:
        return float(np.mean([getattr(row, name) for row in rows]))

    worst, worst_small = (min(getattr(row, name) for row in rows) for name in ("coverage", "coverage_small"))
    cells = (
        rows[0].labels, rows[0].tool, f"{100 * mean('rmse'):.1f}", f"{100 * mean('coverage'):.0f} ({100 * worst:.0f})",
        f"{100 * mean('coverage_small'):.0f} ({100 * worst_small:.0f})", f"{mean('width'):.2f}", f"{mean('width_small'):.2f}",
        f"{100 * mean('silent'):.0f}", f"{mean('seconds'):.2g}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _admit(rows: Sequence[Measure]) -> Iterator[str]:
    """Name every pool and number of labels where another tool is closer or more honest, and who is quickest."""
    cases = {
        case: {row.tool: row for row in rows if (row.pool, row.labels) == case}
        for case in dict.fromkeys((row.pool, row.labels) for row in rows)
    }
    for (pool, labels), here in cases.items():
        closer = [row for tool, row in here.items() if row.rmse < here[OURS].rmse and not tool.startswith("fewlabels")]
        for row in sorted(closer, key=lambda row: row.rmse)[:1]:
            yield (
                f"- Closer: on {pool} with {labels} labels {row.tool} has an RMSE of {100 * row.rmse:.1f} points (coverage "
                f"{100 * row.coverage:.0f} %), {OURS} {100 * here[OURS].rmse:.1f} ({100 * here[OURS].coverage:.0f} %)."
            )
        for tool in (OURS, FLAT):
            low, other = min(here[tool].coverage, here[tool].coverage_small), here[PLAIN].coverage
            if low < LEAST:
                yield f"- Not honest enough: on {pool} with {labels} labels intervals of {tool} cover {100 * low:.0f} %, of {PLAIN} {100 * other:.0f} %."
    beaten = [case for case, here in cases.items() if here[PLAIN].rmse < here[FLAT].rmse]
    yield (
        f"- Without scores: {PLAIN} is closer than {FLAT} in {len(beaten)} of {len(cases)} cases. A flat prior is worth two labels and "
        "says one half, Jeffreys' one; models are mostly right, so the weaker prior hurts less."
    )
    wide = float(np.mean([here[OURS].coverage for here in cases.values()]))
    yield f"- Width: intervals of {OURS} cover {100 * wide:.1f} % on average where 95 would do, so they could be narrower."
    seconds = {tool: np.mean([row.seconds for row in rows if row.tool == tool]) for tool in {row.tool for row in rows}}
    first = min(seconds, key=lambda tool: seconds[tool])
    yield f"- Time: {first} takes {seconds[first]:.1g} s, {OURS} {seconds[OURS]:.2g} s, most of it for reading the table into an engine and for random draws."  # fmt: skip


def draw_errors(rows: Sequence[Measure]) -> QuietFigure:
    """RMSE against labels, pool by pool."""
    pools = list(dict.fromkeys(row.pool for row in rows))
    figure = QuietFigure(figsize=(9.5, 2.9 * -(-len(pools) // 3)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(-(-len(pools) // 3), min(3, len(pools)), squeeze=False)).ravel()
    for ax, pool in zip(axes, pools, strict=False):
        _draw_pool(ax, [row for row in rows if row.pool == pool], pool)
    for ax in axes[len(pools) :]:
        ax.set_visible(False)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL
    )
    return figure


def _draw_pool(ax: Axes, rows: Sequence[Measure], pool: str) -> None:
    clean_axes(ax, keep=("bottom", "left"))
    for tool, colour in zip(dict.fromkeys(row.tool for row in rows), COLOURS, strict=True):
        mine = [row for row in rows if row.tool == tool]
        ax.plot(
            [row.labels for row in mine], [100 * row.rmse for row in mine], "o-", color=colour, label=tool, markersize=4
        )
    ax.set_xscale("log")
    ax.set_xticks(sorted({row.labels for row in rows}), [f"{n:,}" for n in sorted({row.labels for row in rows})])
    ax.set_xticks([], minor=True)
    ax.set_ylim(bottom=0)
    ax.set_title(pool, loc="left", fontsize=10, color=INK)
    ax.set_xlabel("labels", color=INK, fontsize=SMALL)
    ax.set_ylabel("RMSE, points", color=INK, fontsize=SMALL)


def draw_coverage(rows: Sequence[Measure]) -> QuietFigure:
    """Coverage against width on the smallest groups, a panel for each number of labels."""
    budgets = sorted({row.labels for row in rows})
    figure = QuietFigure(figsize=(9.5, 3.7), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(budgets), sharey=True, squeeze=False)).ravel()
    for ax, labels in zip(axes, budgets, strict=True):
        clean_axes(ax, keep=("bottom", "left"))
        ax.axhline(95, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
        for tool, colour in zip(dict.fromkeys(row.tool for row in rows), COLOURS, strict=True):
            mine = [row for row in rows if (row.labels, row.tool) == (labels, tool)]
            place = [row.width_small for row in mine], [100 * row.coverage_small for row in mine]
            ax.plot(*place, "o", color=colour, label=tool, alpha=0.85, markersize=6)
        ax.set_title(f"{labels:,} labels", loc="left", fontsize=10, color=INK)
        ax.set_xlabel("mean width of 95 % intervals", color=INK, fontsize=SMALL)
    axes[0].set_ylabel("coverage on the four smallest groups, %", color=INK, fontsize=SMALL)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL
    )
    return figure
