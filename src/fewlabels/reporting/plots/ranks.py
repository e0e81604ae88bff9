"""The interval of each group's rank; rank 1 is the best."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from fewlabels.analyses.assessment import Assessment
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import format_level, format_n_shown, spell_metric
from fewlabels.reporting.plots.rows import label_rows, rows_height, write_text_column
from fewlabels.reporting.plots.style import BLUE, GREY, INK, MAX_ROWS


def plot_ranks(assessment: Assessment, *, ax: Axes | None = None) -> Axes:
    """Draw the interval of ranks of every group, worst first."""
    rows, n = assessment.worst_first[:MAX_ROWS], len(assessment.groups)
    ax = ax or new_axes(rows_height(len(rows)))
    label_rows(ax, [row.group for row in rows])
    low, high = np.array([row.rank_low or 1 for row in rows]), np.array([row.rank_high or n for row in rows])
    half = max(0.3, n / 400)  # makes an interval of a single rank visible
    ax.barh(
        range(len(rows)), high - low + 2 * half, left=low - half, height=0.42, zorder=2,
        color=[BLUE if row.n_labels else GREY for row in rows],
    )  # fmt: skip
    ax.set_xlim(0.5, n + 0.5)
    ax.set_xticks(
        [1, *(tick for tick in MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]).tick_values(1, n) if 1 < tick <= n)]
    )
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    write_text_column(ax, [row.ranks for row in rows], "ranks")
    text = f"rank by {spell_metric(assessment.metric)} (1 = best), {format_level(assessment.level)} intervals"
    ax.set_xlabel(text + format_n_shown(len(rows), len(assessment.groups)), color=INK)
    return ax
