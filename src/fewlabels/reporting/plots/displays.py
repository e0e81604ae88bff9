"""Plots as display objects, as in scikit-learn: `ReliabilityDisplay.from_assessment(a).ax_`.

A display draws one kind of plot of an assessment and keeps its axes and figure.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewlabels.analyses.assessment import Assessment
from fewlabels.reporting.plots.assessment import KINDS
from fewlabels.reporting.plots.figure import QuietFigure, find_figure, render_svg


@dataclass
class Display:
    """A plot of an assessment; `ax_` and `figure_` are set once it is drawn."""

    assessment: Assessment
    ax_: Axes = field(init=False, repr=False)
    figure_: Figure = field(init=False, repr=False)
    kind: ClassVar[str]

    @classmethod
    def from_assessment(cls, assessment: Assessment, *, ax: Axes | None = None) -> "Display":
        """Draw an assessment as a display object, on the given axes or on a new figure."""
        return cls(assessment).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> "Display":
        """Draw the display object, on the given axes or on a new figure."""
        self.ax_ = KINDS[self.kind](self.assessment, ax)
        self.figure_ = find_figure(self.ax_)
        return self

    def _repr_html_(self) -> str | None:
        """Show the display object in a notebook, unless it is on a figure of the user's, which the notebook shows anyway."""
        return render_svg(self.ax_) if isinstance(getattr(self, "figure_", None), QuietFigure) else None


class ReliabilityDisplay(Display):
    """Accuracy against score, bin by bin, with intervals."""

    kind = "reliability"


class IntervalsDisplay(Display):
    """Every group with its interval, worst first."""

    kind = "intervals"


class ConfusionDisplay(Display):
    """P(label | predicted), with its uncertainty."""

    kind = "confusion"
