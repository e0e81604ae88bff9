"""P(worst) and P(best) of the groups for which they are largest."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Row
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import spell_metric
from fewlabels.reporting.plots.rows import label_rows, rows_height
from fewlabels.reporting.plots.style import BLUE, INK, ORANGE, SMALL
from fewlabels.text import format_probability

N_WORST, N_BEST = 8, 7  # groups shown for each


def plot_extremes(assessment: Assessment, *, ax: Axes | None = None) -> Axes:
    """Draw P(worst) to the right and P(best) to the left, for the most likely groups."""
    rows = _select_rows([row for row in assessment.worst_first if row.p_worst is not None] or assessment.worst_first)
    ax = ax or new_axes(rows_height(len(rows)) + 0.2)
    label_rows(ax, [row.group for row in rows])
    worst, best = [row.p_worst or 0.0 for row in rows], [row.p_best or 0.0 for row in rows]
    reach = 1.18 * (max(*worst, *best) or 1.0)
    _draw_probabilities(ax, worst, ORANGE, side=1, least=reach / 50)
    _draw_probabilities(ax, best, BLUE, side=-1, least=reach / 50)
    ax.set_xlim(-reach, reach)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * abs(x):g}%"))
    ax.axvline(0, color=INK, linewidth=0.8)
    _write_headers(ax, assessment.spec.m)
    shown = "" if len(rows) == len(assessment.groups) else f" · {len(rows)} most likely of {len(assessment.groups):,}"
    ax.set_xlabel(f"by {spell_metric(assessment.metric)}{shown}", color=INK)
    return ax


def _select_rows(rows: Sequence[Row]) -> list[Row]:
    """Choose the groups most likely to be worst or best, the extremes, worst first."""
    if len(rows) > N_WORST + N_BEST:
        worst = sorted(rows, key=lambda row: -(row.p_worst or 0.0))[:N_WORST]
        best = sorted(rows, key=lambda row: -(row.p_best or 0.0))[:N_BEST]
        rows = [row for row in rows if row in worst or row in best]
    return sorted(rows, key=lambda row: (row.p_best or 0.0) - (row.p_worst or 0.0))


def _draw_probabilities(ax: Axes, probabilities: Sequence[float], colour: str, *, side: int, least: float) -> None:
    """Draw bars of P(worst) or P(best) to one side, with a number at each visible bar."""
    ax.barh(range(len(probabilities)), side * np.array(probabilities), height=0.6, color=colour, zorder=2)
    for y, p in enumerate(probabilities):
        if p > least:
            ax.annotate(
                format_probability(p), (side * p, y), xytext=(3 * side, 0), textcoords="offset points", va="center",
                ha="left" if side > 0 else "right", fontsize=SMALL, color=INK,
            )  # fmt: skip


def _write_headers(ax: Axes, m: int) -> None:
    """Write P(worst) and P(best) above their sides of the plot."""
    worst = "worst" if m == 1 else f"among the {m} worst"
    ax.text(0.0, 1.0, "← P(best)", transform=ax.transAxes, va="bottom", fontsize=SMALL, color=BLUE)
    ax.text(
        1.0,
        1.0,
        f"P({worst}) →",
        transform=ax.transAxes,
        va="bottom",
        ha="right",
        fontsize=SMALL,
        color=ORANGE,
    )
