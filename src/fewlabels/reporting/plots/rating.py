"""Plots of a rating: the figure per group, the distribution of grades, and the judges against people."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewlabels.analyses.rating.estimates import GradeRow
from fewlabels.analyses.rating.result import Rating
from fewlabels.errors import InputError, did_you_mean
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import format_level, format_n_shown
from fewlabels.reporting.plots.rows import label_rows, rows_height, write_text_column
from fewlabels.reporting.plots.style import BLUE, GREY, INK, MAX_ROWS, ORANGE, PALE, SMALL
from fewlabels.reporting.rating_text import format_figure, name_figure

MEASURES = (("tpr", "TPR", BLUE, "o"), ("tnr", "TNR", ORANGE, "s"), ("kappa", "kappa", GREY, "D"))


def plot_rating(rating: Rating, kind: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw a rating; `kind` is groups (default), distribution or judges."""
    kind = kind or "groups"
    if kind not in KINDS:
        raise InputError(f"plot: there is no kind {kind!r} for a rating; {did_you_mean(kind, KINDS)}")
    return KINDS[kind](rating, ax)


def plot_groups(r: Rating, ax: Axes | None = None) -> Axes:
    """Draw the figure of a rating in every group with its interval, worst first, and the first judge's own figure."""
    rows = r.worst_first[:MAX_ROWS]
    ax = ax or new_axes(rows_height(len(rows)))
    label_rows(ax, [row.group for row in rows])
    ax.axvspan(r.overall.low, r.overall.high, color=PALE, linewidth=0, zorder=0.5)
    ax.axvline(r.overall.mean, color=GREY, linewidth=1, zorder=0.6)
    _draw_group_intervals(ax, rows)
    ends = [r.overall.low, r.overall.high, *(row.low for row in rows), *(row.high for row in rows)]
    if r.judges:
        said = dict(zip((row.group for row in r.groups), r.judges[0].said, strict=True))
        known = [(y, own) for y, row in enumerate(rows) if (own := said[row.group]) is not None]
        same = (r.judges[0].bias_of == r.figure) or r.figure == "pass-rate"
        if known and same:
            ax.plot([x for _, x in known], [y for y, _ in known], "D", markersize=5, color=ORANGE, markerfacecolor="white", zorder=2.5)  # fmt: skip
            ends += [x for _, x in known]
    _scale_rating_axis(ax, r, min(ends), max(ends))
    write_text_column(ax, [f"{row.n_grades:,}" if row.n_grades else "none" for row in rows], "grades")
    ax.set_xlabel(f"{name_figure(r)}, {format_level(r.level)} intervals" + format_n_shown(len(rows), len(r.groups)), color=INK)  # fmt: skip
    return ax


def plot_distribution(r: Rating, ax: Axes | None = None) -> Axes:
    """Draw the share of every grade of a rating with its interval."""
    shares = [one for one in r.distribution if one.group is None]
    ax = ax or new_axes(2.6)
    x = np.arange(len(shares))
    mean, low, high = (np.array([getattr(one, name) for one in shares]) for name in ("mean", "low", "high"))
    ax.bar(x, mean, width=0.7, color=BLUE, alpha=0.35)
    ax.vlines(x, low, high, color=BLUE, linewidth=1.8)
    clean_axes(ax)
    slanted = max(len(one.grade) for one in shares) * len(shares) > 60
    ax.set_xticks(x, [one.grade for one in shares], rotation=30 if slanted else 0, ha="right" if slanted else "center")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g}%"))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("people's grade", color=INK)
    return ax


def plot_judges(r: Rating, ax: Axes | None = None) -> Axes:
    """Draw TPR, TNR and kappa of every judge of a rating, overall and in groups with enough grades."""
    rows = [(judge.name if one.group is None else f"{judge.name}, {one.group}", one) for judge in r.judges for one in (judge.overall, *judge.groups)]  # fmt: skip
    rows = rows[:MAX_ROWS]
    ax = ax or new_axes(rows_height(len(rows)) + 0.3)
    label_rows(ax, [name for name, _ in rows])
    for i, (field, label, colour, marker) in enumerate(MEASURES):
        found = [getattr(one, field) for _, one in rows]
        y = np.arange(len(rows)) + 0.22 * (i - 1)
        ax.hlines(y, [one.low for one in found], [one.high for one in found], color=colour, linewidth=1.6)
        ax.plot([one.mean for one in found], y, marker, markersize=4.5, color=colour, linestyle="", label=label)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.legend(frameon=False, fontsize=SMALL, ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    ax.set_xlabel(f"agreement with people, {format_level(r.level)} intervals", color=INK)
    return ax


def _draw_group_intervals(ax: Axes, rows: Sequence[GradeRow]) -> None:
    """Draw the figure of a rating and its interval for every group."""
    for y, row in enumerate(rows):
        colour = BLUE if row.n_grades else GREY
        ax.hlines(y, row.low, row.high, color=colour, linewidth=1.8, zorder=2)
        ax.plot(row.mean, y, "o", markersize=5.5, color=colour, markerfacecolor=colour if row.n_grades else "white", zorder=3)  # fmt: skip


def _scale_rating_axis(ax: Axes, r: Rating, low: float, high: float) -> None:
    """Set the limits and ticks of a rating's axis, and mark the overall figure."""
    pad = 0.04 * (high - low) or 0.02
    ax.set_xlim(low - pad, high + pad)
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    if r.is_share:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g}%"))
    ax.annotate(
        f"overall {format_figure(r, r.overall.mean)}", (r.overall.mean, 1), xycoords=("data", "axes fraction"),
        xytext=(0, 3), textcoords="offset points", ha="center", va="bottom", fontsize=SMALL, color=GREY,
    )  # fmt: skip


KINDS: Mapping[str, Callable[[Rating, Axes | None], Axes]] = {
    "groups": plot_groups, "distribution": plot_distribution, "judges": plot_judges,
}  # fmt: skip
