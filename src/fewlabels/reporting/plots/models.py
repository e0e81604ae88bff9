"""Plots of a comparison of models: differences with their intervals and the ROPE, and the figure of every model."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewlabels.analyses.models.estimates import ModelDifference, ModelFigure
from fewlabels.analyses.models.result import OVERALL, ModelComparison
from fewlabels.distributions.difference import NOT_SETTLED
from fewlabels.errors import InputError, did_you_mean
from fewlabels.reporting.plots.axes import scale_axis
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import format_level, format_n_shown, is_share, spell_metric
from fewlabels.reporting.plots.rows import label_rows, rows_height, write_text_column
from fewlabels.reporting.plots.style import BLUE, GREY, INK, MAX_ROWS, PALE
from fewlabels.text import format_probability


def plot_models(c: ModelComparison, kind: str = "differences", *, ax: Axes | None = None) -> Axes:
    """Draw `differences` (of two models per group; of several models against the one of least regret) or `figures`."""
    kinds = {"differences": plot_differences, "figures": plot_figures}
    if kind not in kinds:
        raise InputError(f"plot: unknown kind {kind!r}; {did_you_mean(kind, kinds)}")
    return kinds[kind](c, ax=ax)


def plot_differences(c: ModelComparison, *, ax: Axes | None = None) -> Axes:
    """Draw the mean and interval of every difference of models, over the region of practical equivalence."""
    rows = choose_differences(c)[:MAX_ROWS]
    ax = ax or new_axes(rows_height(max(len(rows), 2)))
    label_rows(ax, [_name_difference(c, row) for row in rows])
    ax.axvspan(-c.rope, c.rope, color=PALE, linewidth=0, zorder=0.4)
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=0.5)
    for y, row in enumerate(rows):
        colour = GREY if row.verdict == NOT_SETTLED else BLUE
        ax.hlines(y, row.low, row.high, color=colour, linewidth=1.8, zorder=2)
        ax.plot([row.mean], [y], "o", markersize=5.5, color=colour, markerfacecolor="white" if row.verdict == NOT_SETTLED else colour, zorder=3)  # fmt: skip
    write_text_column(
        ax, [f"{row.n_labels_disagree:,}" if c.paired else "" for row in rows], "labels" if c.paired else ""
    )
    _label_difference_axis(ax, c, rows)
    return ax


def plot_figures(c: ModelComparison, *, ax: Axes | None = None) -> Axes:
    """Draw the figure of every one of several models with its interval and P(best)."""
    rows = sorted(c.list_figures(), key=lambda row: row.regret)[:MAX_ROWS]
    ax = ax or new_axes(rows_height(max(len(rows), 2)))
    label_rows(ax, [row.model for row in rows])
    scale_axis(ax, c.metric, min(row.low for row in rows), max(row.high for row in rows))
    for y, row in enumerate(rows):
        ax.hlines(y, row.low, row.high, color=BLUE, linewidth=1.8, zorder=2)
        ax.plot([row.mean], [y], "o", markersize=5.5, color=BLUE, zorder=3)
    write_text_column(ax, [_format_best(row) for row in rows], "P(best)")
    ax.set_xlabel(
        f"{spell_metric(c.metric)}, {format_level(c.level)} intervals{format_n_shown(len(rows), len(c.models))}",
        color=INK,
    )
    return ax


def choose_differences(c: ModelComparison) -> list[ModelDifference]:
    """List the differences of models to draw: the whole first, then groups by their mean."""
    if len(c.models) == 2:
        whole, parts = c.list_differences(), [row for row in c.differences if row.group != c.whole]
        return [*whole, *sorted(parts, key=lambda row: row.mean)]
    return [row for row in c.list_differences() if c.choice.model in (row.a, row.b)]


def _name_difference(c: ModelComparison, row: ModelDifference) -> str:
    """Name a difference of models in a plot: its group, or both models."""
    if len(c.models) == 2 and len(c.differences) > 1:
        return "all items" if row.group == OVERALL else row.group
    return f"{row.a} − {row.b}"


def _format_best(row: ModelFigure) -> str:
    """Format the probability that a model is the best, for a plot."""
    return format_probability(row.p_best)


def _label_difference_axis(ax: Axes, c: ModelComparison, rows: Sequence[ModelDifference]) -> None:
    """Label the axis of a plot of differences of models."""
    unit, scale = (" (percentage points)", 100) if is_share(c.metric) else ("", 1)
    ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{scale * x:+g}".replace("-", "−") if x else "0"))
    of = f": {rows[0].a} − {rows[0].b}" if len(c.models) == 2 else ", difference"
    ax.set_xlabel(f"{spell_metric(c.metric)}{of}{unit}", color=INK)
