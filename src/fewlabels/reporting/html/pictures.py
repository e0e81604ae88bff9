"""The pictures a report shows, as inline SVG with a sentence for those who cannot see them."""

from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.axes import Axes

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.comparison import Comparison
from fewlabels.metrics.metric import accuracy, confusion, ece
from fewlabels.reporting.plots.difference import plot_comparison
from fewlabels.reporting.plots.kinds import plot_assessment
from fewlabels.reporting.plots.sheet import render_svg

MOST_CLASSES = 100  # beyond, a confusion matrix is noise on a page


@dataclass(frozen=True)
class Picture:
    """One picture: its title, what to read in it, and the drawing."""

    title: str
    caption: str
    svg: str


def draw_pictures(a: Assessment) -> Iterator[Picture]:
    """Yield what this assessment, and the counts behind it, can show."""
    if a.matrix and a.by == "predicted":
        yield picture(plot_assessment(a, "confusion"), "What is taken for what", _CONFUSION)
    if len(a.groups) > 1:
        yield picture(plot_assessment(a, "intervals"), f"{a.metric} per group", _INTERVALS)
        yield picture(plot_assessment(a, "extremes"), "Which group is worst, which is best?", _EXTREMES)
        yield picture(plot_assessment(a, "ranks"), "How far the ranking is settled", _RANKS)
    if a.prior != "earlier":
        yield from _draw_companions(a)


def draw_difference(c: Comparison) -> Picture:
    """Return the posterior of a difference."""
    return picture(plot_comparison(c), "The difference and what counts as none", _DIFFERENCE)


def _draw_companions(a: Assessment) -> Iterator[Picture]:
    """The same counts say more than was asked: calibration where there are scores, confusions where there are classes."""
    if a.tally.bins and a.metric in ("accuracy", "ece", "confusion"):
        yield picture(
            plot_assessment(a.reliability(), "reliability"), "Does its confidence mean anything?", _RELIABILITY
        )
        yield picture(plot_assessment(a.merged(ece), "ece"), "Calibration error of the whole pool", _ECE)
        if a.metric != "confusion" and len(a.groups) >= 2 and not a.by.startswith("bins"):
            yield picture(plot_assessment(a.about(accuracy), "scatter"), "Right, and right about being right", _SCATTER)
    classes = len(a.tally.classes)
    if a.metric == "accuracy" and a.by == "predicted" and 2 <= classes <= MOST_CLASSES and a.tally.label.max() >= 0:
        yield picture(plot_assessment(a.about(confusion), "confusion"), "What is taken for what", _CONFUSION)


def picture(ax: Axes, title: str, caption: str) -> Picture:
    """Make a picture of a drawing."""
    return Picture(title, caption, render_svg(ax))


_INTERVALS = "Dots are estimates, bars the intervals; the line and band are the whole pool. Hollow groups have no label: the prior speaks."
_EXTREMES = "The probability, given the labels so far, that a group is the worst or the best of all."
_RANKS = "Where each group may stand among the others; a long bar means its place is not settled. Rank 1 is the best."
_RELIABILITY = "On the diagonal, the model is right as often as its confidence says; below it, it is overconfident. Shaded: the gap."
_ECE = "How plausible each size of calibration error is, given the labels."
_SCATTER = "Each group's accuracy and calibration error, with the intervals of both."
_CONFUSION = (
    "Rows are what the model said, columns what it was, in percent of each row; how sure each entry is shows with it."
)
_DIFFERENCE = "The posterior of the difference; between the two lines, it counts as none."
