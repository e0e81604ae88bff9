"""The confusion matrix with its uncertainty: P(label | predicted), one row per predicted class.

With few classes, numbers are written into the cells. With many, a darker square means a higher probability, and a
smaller square a wider interval.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Entry
from fewlabels.errors import InputError
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.figure import WIDTH, new_axes
from fewlabels.reporting.plots.formatting import format_level, shorten_label
from fewlabels.reporting.plots.heatmap import Grid, add_colour_bars, draw_cells, write_cells
from fewlabels.reporting.plots.style import GREY, INK, SMALL

MAX_WITH_NUMBERS = 12  # up to this many classes, numbers are written
MAX_CLASSES, N_MOST_CONFUSED = 40, 25  # with more classes than the first, only as many as the second are shown


def plot_confusion(assessment: Assessment, *, ax: Axes | None = None) -> Axes:
    """Draw the confusion matrix P(label | predicted): right predictions in blue, wrong ones in orange."""
    entries = assessment.matrix
    if not entries:
        raise InputError("a heat map needs a confusion matrix; assess with metric=fl.confusion")
    if any(entry.group is not None for entry in entries):
        raise InputError(
            f"this assessment has a confusion matrix for every group of {assessment.by!r}; to draw a single one, use by=fl.predicted"
        )
    every = list(dict.fromkeys(entry.label for entry in entries))
    classes = every if len(every) <= MAX_CLASSES else _most_confused(entries, every)
    ax = ax or new_axes(min(WIDTH, 2.2 + 0.55 * len(classes)) if len(classes) <= MAX_WITH_NUMBERS else 5.7)
    mean, width = _fill_matrix(entries, classes)
    _label_confusion_axes(ax, classes, assessment.level)
    if len(classes) <= MAX_WITH_NUMBERS:
        draw_cells(ax, mean, np.ones_like(mean))
        write_cells(ax, mean, width)
    else:
        add_colour_bars(ax, draw_cells(ax, mean, 1 - 0.75 * width))
    if len(classes) < len(every):
        ax.set_title(
            f"{len(classes)} classes with the largest confusions, of {len(every):,}",
            loc="left",
            fontsize=SMALL,
            color=GREY,
        )
    return ax


def _most_confused(entries: Sequence[Entry], every: Sequence[str]) -> list[str]:
    """Return the classes of the largest confusions, as many as are shown."""
    wrong = (entry for entry in entries if entry.predicted != entry.label)
    chosen: dict[str, None] = {}
    for entry in sorted(wrong, key=lambda entry: -entry.mean):
        wider = chosen | dict.fromkeys((entry.predicted, entry.label))
        chosen = wider if len(wider) <= N_MOST_CONFUSED else chosen
        if len(chosen) == N_MOST_CONFUSED:
            break
    return [name for name in every if name in chosen]


def _fill_matrix(entries: Sequence[Entry], classes: Sequence[str]) -> tuple[Grid, Grid]:
    """Return the confusion matrices of means and interval widths; NaN for classes that are never predicted."""
    at = {name: i for i, name in enumerate(classes)}
    mean, width = np.full((2, len(classes), len(classes)), np.nan)
    for entry in entries:
        if entry.predicted in at and entry.label in at:
            mean[at[entry.predicted], at[entry.label]] = entry.mean
            width[at[entry.predicted], at[entry.label]] = entry.high - entry.low
    return mean, width


def _label_confusion_axes(ax: Axes, classes: Sequence[str], level: float) -> None:
    """Label the axes of the confusion matrix with the classes."""
    n = len(classes)
    names = [shorten_label(name, 20) for name in classes]
    clean_axes(ax, keep=())
    ax.set_aspect("equal")
    ax.set_xlim(-0.5, n - 0.5)
    ax.set_ylim(n - 0.5, -0.5)
    ax.set_xticks(range(n), names, rotation=90 if max(map(len, names)) > 3 else 0)
    ax.set_yticks(range(n), names)
    ax.tick_params(length=0)
    how = "± half the" if n <= MAX_WITH_NUMBERS else "smaller square: wider"
    ax.set_xlabel(f"true class, in % of each row ({how} {format_level(level)} interval)", color=INK)
    ax.set_ylabel("predicted class", color=INK)
