"""Kinds of plots of an assessment: their names, the default, and what each requires."""

from collections.abc import Callable, Mapping

from matplotlib.axes import Axes

from fewlabels.analyses.assessment import Assessment
from fewlabels.errors import InputError, did_you_mean
from fewlabels.metrics.metric import accuracy, confusion, ece
from fewlabels.reporting.plots.calibration import plot_ece
from fewlabels.reporting.plots.confusion import plot_confusion
from fewlabels.reporting.plots.extremes import plot_extremes
from fewlabels.reporting.plots.intervals import plot_intervals
from fewlabels.reporting.plots.ranks import plot_ranks
from fewlabels.reporting.plots.reliability import has_bins, plot_reliability
from fewlabels.reporting.plots.scatter import plot_scatter


def plot_assessment(assessment: Assessment, kind: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw an assessment; `kind` is one of `KINDS`, by default the one that suits the metric and groups."""
    kind = kind or choose_kind(assessment)
    if kind not in KINDS:
        raise InputError(f"plot: there is no kind {kind!r}; {did_you_mean(kind, KINDS)} (all: {', '.join(KINDS)})")
    return KINDS[kind](assessment, ax)


def choose_kind(assessment: Assessment) -> str:
    """Return the default kind of plot of an assessment."""
    if assessment.matrix and all(entry.group is None for entry in assessment.matrix):
        return "confusion"
    return "reliability" if assessment.metric == "accuracy" and has_bins(assessment) else "intervals"


def _plot_own_reliability(assessment: Assessment, ax: Axes | None) -> Axes:
    """Plot the reliability diagram of an assessment."""
    if has_bins(assessment):
        return plot_reliability(_assess_accuracy(assessment), ax=ax)
    return plot_reliability(assessment.reliability(), ax=ax)


def _plot_accuracy_and_ece(assessment: Assessment, ax: Axes | None) -> Axes:
    """Plot an assessment's accuracy against its calibration error."""
    _require_scores(assessment)
    return plot_scatter(_assess_accuracy(assessment), assessment.about(ece), ax=ax)


def _plot_overall_ece(assessment: Assessment, ax: Axes | None) -> Axes:
    """Plot the overall calibration error of an assessment."""
    _require_scores(assessment)
    return plot_ece(assessment.merged(ece), ax=ax)


def _plot_own_confusion(assessment: Assessment, ax: Axes | None) -> Axes:
    """Plot the confusion matrix of an assessment."""
    if not assessment.tally.classes:
        raise InputError("a confusion matrix needs predicted classes, and these predictions have none")
    return plot_confusion(assessment if assessment.matrix else assessment.about(confusion), ax=ax)


def _assess_accuracy(assessment: Assessment) -> Assessment:
    """Return the assessment of accuracy with the same labels, for a plot."""
    return assessment if assessment.metric == "accuracy" else assessment.about(accuracy)


def _require_scores(assessment: Assessment) -> None:
    """Refuse a plot that needs scores if the assessment has none."""
    if not assessment.tally.bins:
        raise InputError("calibration error needs scores, and these predictions have none")


KINDS: Mapping[str, Callable[[Assessment, Axes | None], Axes]] = {
    "intervals": lambda assessment, ax: plot_intervals(assessment, ax=ax),
    "reliability": _plot_own_reliability,
    "ranks": lambda assessment, ax: plot_ranks(assessment, ax=ax),
    "extremes": lambda assessment, ax: plot_extremes(assessment, ax=ax),
    "scatter": _plot_accuracy_and_ece,
    "ece": _plot_overall_ece,
    "confusion": _plot_own_confusion,
}
