"""The one table of all measurements, and its picture."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bench.findings import Finding
from bench.harness.page import Table
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.figure import QuietFigure
from fewlabels.reporting.plots.style import BLUE, GREY, INK, ORANGE, SMALL

ABOUT = """The ratio is how many times more what stands beside takes, in seconds, error or labels: above 1 is better than it. Seconds
are of the machine and the hour that the part's own page names."""
HEADER = ("part", "measured", "ours", "beside", "which is", "ratio")


def render(findings: Mapping[str, Sequence[Finding]], links: Mapping[str, str | None], command: str) -> Iterator[str]:
    """Yield the parts of the page: what was found in every part; a part without a page has no link."""
    there = {name: f"[{name}]({link})" for name, link in links.items() if link is not None}
    yield "# Everything that is measured"
    yield f"Made by `{command}`."
    yield ABOUT
    yield "![Ratios](ratios.png)"
    yield str(Table(HEADER, [_list_cells(there[name], one) for name, found in findings.items() for one in found]))
    alone = [link for name, link in there.items() if not findings[name]]
    if alone:
        yield f"With nothing beside them: {', '.join(alone)}."
    missing = [name for name in links if name not in there]
    if missing:
        yield f"No page: {', '.join(missing)}."


def _list_cells(link: str, one: Finding) -> tuple[str, ...]:
    ratio = f"{one.ratio:,.0f}" if one.ratio >= 10 else f"{one.ratio:.2g}"
    return link, one.what, one.ours, one.beside, one.whose, ratio


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
