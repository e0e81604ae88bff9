"""The figures of an assessment or comparison report: inline SVG, each with a title and a caption."""

from collections.abc import Iterator

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.comparison import Comparison
from fewlabels.metrics.metric import accuracy, confusion, ece
from fewlabels.reporting.html.captions import CaptionedFigure, render_figure
from fewlabels.reporting.plots.assessment import plot_assessment
from fewlabels.reporting.plots.difference import plot_comparison

MAX_CLASSES = 100  # a larger confusion matrix is unreadable on a page


def draw_figures(a: Assessment) -> Iterator[CaptionedFigure]:
    """Yield the figures of the HTML report that this assessment and its counts allow."""
    if a.matrix and a.by == "predicted":
        yield render_figure(plot_assessment(a, "confusion"), "Confusion matrix", _CONFUSION_CAPTION)
    if len(a.groups) > 1:
        yield render_figure(plot_assessment(a, "intervals"), f"{a.metric} per group", _INTERVALS_CAPTION)
        yield render_figure(
            plot_assessment(a, "extremes"), "Probability of being the worst or the best group", _EXTREMES_CAPTION
        )
        yield render_figure(plot_assessment(a, "ranks"), "Ranks and their intervals", _RANKS_CAPTION)
    if a.prior != "earlier":
        yield from _draw_related_figures(a)


def draw_difference(c: Comparison) -> CaptionedFigure:
    """Return the figure of the posterior of a difference, for an HTML report."""
    return render_figure(plot_comparison(c), "Posterior of the difference", _DIFFERENCE_CAPTION)


def _draw_related_figures(a: Assessment) -> Iterator[CaptionedFigure]:
    """Yield further figures of an assessment's counts: calibration if there are scores, confusion if there are classes."""
    if a.tally.bins and a.metric in ("accuracy", "ece", "confusion"):
        yield render_figure(
            plot_assessment(a.reliability(), "reliability"), "Reliability diagram", _RELIABILITY_CAPTION
        )
        yield render_figure(plot_assessment(a.merged(ece), "ece"), "Calibration error, all items", _ECE_CAPTION)
        if a.metric != "confusion" and len(a.groups) >= 2 and not a.by.startswith("bins"):
            yield render_figure(
                plot_assessment(a.about(accuracy), "scatter"),
                "Accuracy and calibration error per group",
                _SCATTER_CAPTION,
            )
    classes = len(a.tally.classes)
    if a.metric == "accuracy" and a.by == "predicted" and 2 <= classes <= MAX_CLASSES and a.tally.label.max() >= 0:
        yield render_figure(plot_assessment(a.about(confusion), "confusion"), "Confusion matrix", _CONFUSION_CAPTION)


_INTERVALS_CAPTION = "Dots are estimates and bars their intervals; the line and band are the overall estimate and its interval. Hollow dots mark groups without labels: their estimates come from the prior, which may use scores and the labels of other groups."
_EXTREMES_CAPTION = "The posterior probability, given the labels so far, that a group is the worst or the best."
_RANKS_CAPTION = (
    "The interval of each group's rank; a long bar means that its rank is uncertain. Rank 1 is the best group."
)
_RELIABILITY_CAPTION = "On the diagonal, accuracy equals the score; below it, the model is overconfident. Shaded: the difference between accuracy and score."
_ECE_CAPTION = "The posterior distribution of the expected calibration error (ECE), with its mean and interval."
_SCATTER_CAPTION = "Accuracy and calibration error of each group, with the intervals of both."
_CONFUSION_CAPTION = (
    "Rows are predicted classes, columns true classes, in percent of each row. Each cell also shows its uncertainty: "
    "± half the interval width or, with many classes, a smaller square for a wider interval."
)
_DIFFERENCE_CAPTION = "The posterior distribution of the difference, with its mean and interval. The solid lines bound the region of practical equivalence (ROPE)."
