"""The pictures of `bench.peers`: error against labels, and coverage against width."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from bench.harness.rows import Rows, select
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.figure import QuietFigure
from fewlabels.reporting.plots.style import GREY, INK, SMALL

COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#737373")  # Okabe and Ito's


def draw(rows: Rows, page: Path) -> None:
    """Draw both beside the page."""
    tools = select(rows, "tools")
    draw_errors(tools).savefig(page.with_name(f"{page.stem}_errors.png"), dpi=110)
    draw_coverage(tools).savefig(page.with_name(f"{page.stem}_coverage.png"), dpi=110)


def draw_errors(rows: Rows) -> QuietFigure:
    """RMSE against labels, pool by pool."""
    pools = list(dict.fromkeys(row["pool"] for row in rows))
    figure = QuietFigure(figsize=(9.5, 2.9 * -(-len(pools) // 3)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(-(-len(pools) // 3), min(3, len(pools)), squeeze=False)).ravel()
    for ax, pool in zip(axes, pools, strict=False):
        _draw_pool(ax, [row for row in rows if row["pool"] == pool], pool)
    for ax in axes[len(pools) :]:
        ax.set_visible(False)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL
    )
    return figure


def _draw_pool(ax: Axes, rows: Rows, pool: str) -> None:
    clean_axes(ax, keep=("bottom", "left"))
    for tool, colour in zip(dict.fromkeys(row["tool"] for row in rows), COLOURS, strict=True):
        mine = [row for row in rows if row["tool"] == tool]
        ax.plot(
            [row["labels"] for row in mine],
            [100 * row["rmse"] for row in mine],
            "o-",
            color=colour,
            label=tool,
            markersize=4,
        )
    ax.set_xscale("log")
    ax.set_xticks(sorted({row["labels"] for row in rows}), [f"{n:,}" for n in sorted({row["labels"] for row in rows})])
    ax.set_xticks([], minor=True)
    ax.set_ylim(bottom=0)
    ax.set_title(pool, loc="left", fontsize=10, color=INK)
    ax.set_xlabel("labels", color=INK, fontsize=SMALL)
    ax.set_ylabel("RMSE, points", color=INK, fontsize=SMALL)


def draw_coverage(rows: Rows) -> QuietFigure:
    """Coverage against width on the smallest groups, a panel for each number of labels."""
    budgets = sorted({row["labels"] for row in rows})
    figure = QuietFigure(figsize=(9.5, 3.7), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(budgets), sharey=True, squeeze=False)).ravel()
    for ax, labels in zip(axes, budgets, strict=True):
        clean_axes(ax, keep=("bottom", "left"))
        ax.axhline(95, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
        for tool, colour in zip(dict.fromkeys(row["tool"] for row in rows), COLOURS, strict=True):
            mine = [row for row in rows if (row["labels"], row["tool"]) == (labels, tool)]
            place = [row["width_small"] for row in mine], [100 * row["coverage_small"] for row in mine]
            ax.plot(*place, "o", color=colour, label=tool, alpha=0.85, markersize=6)
        ax.set_title(f"{labels:,} labels", loc="left", fontsize=10, color=INK)
        ax.set_xlabel("mean width of 95 % intervals", color=INK, fontsize=SMALL)
    axes[0].set_ylabel("coverage on the four smallest groups, %", color=INK, fontsize=SMALL)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL
    )
    return figure
