"""Learning curves of a simulation: a measure against the number of labels, one line per policy and prior."""

from collections.abc import Sequence
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewlabels.active.simulation.simulation_result import Simulation
from fewlabels.errors import InputError, did_you_mean
from fewlabels.files import write_atomic
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.figure import WIDTH, QuietFigure, check_format, new_axes
from fewlabels.reporting.plots.formatting import shorten_label
from fewlabels.reporting.plots.style import GREY, INK, PALE, SMALL

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F")
DASHES = ("-", "--", ":", "-.")
MEASURE_NAMES = {
    "mrr": "mean reciprocal rank of the truth (MRR)", "found": "share of runs that name the right groups",
    "rmse": "error (RMSE)", "coverage": "coverage of the intervals", "width": "mean width of the intervals",
    "correct": "share of runs with the right verdict", "relative_error": "relative error of ECE",
}  # fmt: skip
SHARE_MEASURES = ("mrr", "found", "coverage", "correct")


def plot_simulation(simulation: Simulation, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw a measure of a simulation against the number of labels; bands are ± two standard errors over runs."""
    measures = list_measures(simulation)
    measure = measure or measures[0]
    if measure not in measures:
        raise InputError(f"plot: this simulation has no {measure!r}; {did_you_mean(measure, measures)}")
    ax = ax or new_axes(4.2)
    clean_axes(ax, keep=("bottom", "left"))
    ax.grid(color=PALE, linewidth=0.6)
    configurations = _group_configurations([row for row in simulation if row["measure"] == measure])
    for (name, found), (colour, dash) in zip(
        configurations.items(), _assign_line_styles(list(configurations)), strict=False
    ):
        _draw_learning_curve(ax, name, found, colour, dash)
    _label_simulation_axes(ax, measure, simulation.n_items)
    return ax


def list_measures(simulation: Simulation) -> list[str]:
    """List the measures of a simulation."""
    return list(dict.fromkeys(row["measure"] for row in simulation))


def write_curves(simulation: Simulation, path: str | Path) -> Path:
    """Write a file with one panel for each measure of a simulation."""
    kind = check_format(path)
    measures = list_measures(simulation)
    figure = QuietFigure(figsize=(WIDTH, 3.6 * len(measures)), layout="constrained")
    for measure, ax in zip(measures, figure.subplots(len(measures), 1, squeeze=False)[:, 0], strict=True):
        plot_simulation(simulation, measure, ax=ax)
    drawn = BytesIO()
    figure.savefig(drawn, format=kind, dpi=150)
    return write_atomic(path, drawn.getvalue())


def _group_configurations(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group the rows of a simulation by configuration (goal, metric, policy, prior), named by what differs between them."""
    keys = [key for key in ("goal", "metric", "policy", "prior") if len({row[key] for row in rows}) > 1] or ["policy"]
    configurations: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        configurations.setdefault(", ".join(str(row[key]) for key in keys), []).append(row)
    return configurations


def _assign_line_styles(names: list[str]) -> list[tuple[str, str]]:
    """Assign each learning curve of a simulation a colour and, when colours repeat, another dash pattern."""
    return [(colour, DASHES[i // len(PALETTE) % len(DASHES)]) for i, (colour, _) in enumerate(zip(cycle(PALETTE), names, strict=False))]  # fmt: skip


def _draw_learning_curve(ax: Axes, name: str, rows: list[dict[str, Any]], colour: str, dash: str) -> None:
    """Draw the learning curve of a configuration of a simulation, with its band."""
    x, mean, se = (np.array([row[key] for row in rows], dtype=np.float64) for key in ("n_labels", "mean", "se"))
    ax.plot(x, mean, color=colour, linestyle=dash, linewidth=1.6, label=shorten_label(name, 40))
    top = 1.0 if rows[0]["measure"] in SHARE_MEASURES else np.inf
    low, high = np.maximum(mean - 2 * se, 0.0), np.minimum(mean + 2 * se, top)
    ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def _label_simulation_axes(ax: Axes, measure: str, n_items: int) -> None:
    """Label the axes of the plot of a simulation."""
    ax.set_xlabel(f"labels (of {n_items:,} items)", color=INK)
    ax.set_ylabel(MEASURE_NAMES.get(measure, measure), color=INK)
    ax.set_xlim(left=0)
    if measure in SHARE_MEASURES:
        ax.set_ylim(max(0.0, ax.get_ylim()[0]), 1.02)
    else:
        ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.legend(frameon=False, fontsize=SMALL, labelcolor=INK, edgecolor=GREY)
