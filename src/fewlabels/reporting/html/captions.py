"""A figure of a report: inline SVG with a title and a caption."""

from dataclasses import dataclass

from matplotlib.axes import Axes

from fewlabels.reporting.plots.figure import render_svg


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure of a report: its title, its caption (also its text alternative) and its SVG."""

    title: str
    caption: str
    svg: str


def render_figure(ax: Axes, title: str, caption: str) -> CaptionedFigure:
    """Render axes as a figure of a report with its caption."""
    return CaptionedFigure(title, caption, render_svg(ax))
