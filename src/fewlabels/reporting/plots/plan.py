"""The share of simulated futures in which a goal is settled, against the number of further labels."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewlabels.active.simulation.plan_result import Plan
from fewlabels.errors import InputError
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.style import BLUE, GREY, INK, PALE, SMALL


def plot_plan(plan: Plan, *, ax: Axes | None = None) -> Axes:
    """Draw a plan: the cumulative distribution of the labels needed, its median and the central 80% of futures."""
    if not plan.needed:
        raise InputError("this plan holds no simulated futures to draw; make it with fl.plan")
    ax = ax or new_axes(3.2)
    clean_axes(ax, keep=("bottom", "left"))
    end = _find_end(plan)
    _draw_central_futures(ax, plan, end)
    _draw_steps(ax, plan, end)
    _label_plan_axes(ax, plan, end)
    return ax


def _find_end(plan: Plan) -> float:
    """Find the end of the axis of a plan: all unlabelled items if some future never settles, else a little past the last."""
    if None in plan.needed:
        return max(1.0, float(plan.n_items - plan.n_labels))
    return max(1.0, 1.08 * max(n for n in (*plan.needed, plan.high) if n is not None))


def _draw_steps(ax: Axes, plan: Plan, end: float) -> None:
    """Draw the steps of a plan: the share of futures that are settled by the number of labels."""
    sizes = np.sort([n for n in plan.needed if n is not None])
    x = np.concatenate([[0.0], sizes, [end]])
    share = np.concatenate([[0.0], np.arange(1, len(sizes) + 1), [len(sizes)]]) / len(plan.needed)
    ax.step(x, share, where="post", color=BLUE, linewidth=1.8)


def _draw_central_futures(ax: Axes, plan: Plan, end: float) -> None:
    """Shade the central 80% of a plan's futures and mark the median; both need a finite end."""
    if plan.low is not None:
        ax.axvspan(plan.low, end if plan.high is None else plan.high, color=PALE, linewidth=0, zorder=0.5)
    if plan.n_more is not None:
        ax.axvline(plan.n_more, color=GREY, linewidth=1, zorder=0.6)
    ax.set_title(_describe_quantiles(plan), loc="left", fontsize=SMALL, color=GREY)


def _describe_quantiles(plan: Plan) -> str:
    """Return the title of the plot of a plan: the median and the central 80% of futures."""
    if plan.low is None:
        return "more than 90% of futures never settle"
    high = "more than there are items" if plan.high is None else f"{plan.high:,}"
    median = "no median: most futures never settle" if plan.n_more is None else f"line: median {plan.n_more:,}"
    return f"{median}; band: central 80% of futures, {plan.low:,} to {high}"


def _label_plan_axes(ax: Axes, plan: Plan, end: float) -> None:
    """Label the axes of the plot of a plan."""
    ax.set_xlim(0, end)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(f"more labels ({plan.n_labels:,} of {plan.n_items:,} items are labelled)", color=INK)
    ax.set_ylabel("futures that are settled", color=INK)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g}%"))
