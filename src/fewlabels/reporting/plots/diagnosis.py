"""Items and labels of every predicted class, largest first."""

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewlabels.analyses.diagnosis import Diagnosis
from fewlabels.errors import InputError
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.rows import label_rows, rows_height, write_text_column
from fewlabels.reporting.plots.style import BLUE, INK, MAX_ROWS, PALE, SMALL


def plot_diagnosis(diagnosis: Diagnosis, *, ax: Axes | None = None) -> Axes:
    """Draw the number of items of every predicted class as a bar, and the labelled ones within it."""
    if not diagnosis.sizes:
        raise InputError("the table has errors, so its classes were not counted; correct them before plotting")
    sizes = sorted(diagnosis.sizes, key=lambda size: -size.n_items)[:MAX_ROWS]
    ax = ax or new_axes(rows_height(len(sizes)) + 0.3)
    label_rows(ax, [size.group for size in sizes])
    ax.grid(visible=False)
    ax.barh(range(len(sizes)), [size.n_items for size in sizes], color=PALE, height=0.72, label="items")
    ax.barh(range(len(sizes)), [size.n_labels for size in sizes], color=BLUE, height=0.72, label="labelled")
    write_text_column(ax, [f"{size.n_labels:,} of {size.n_items:,}" for size in sizes], "labelled")
    _label_diagnosis_axes(ax, diagnosis, len(sizes))
    return ax


def _label_diagnosis_axes(ax: Axes, diagnosis: Diagnosis, n_shown: int) -> None:
    """Label the axes of the plot of a diagnosis."""
    n = len(diagnosis.sizes)
    per = (
        f" per predicted class; the {n_shown} largest of {n:,}"
        if n_shown < n
        else " per predicted class"
        if n > 1
        else ""
    )
    ax.set_xlabel(f"items{per}", color=INK)
    ax.set_xlim(left=0)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=SMALL, labelcolor=INK)
