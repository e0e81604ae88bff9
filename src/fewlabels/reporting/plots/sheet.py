"""The paper pictures are drawn on: a figure without pyplot, and its way into a web page.

A group may be named in a script that the font lacks. Matplotlib then draws boxes and warns at every drawing; a
`Sheet` keeps that one warning to itself, and `render_svg` leaves text as text, so that a browser finds the letters.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

WIDTH = 6.5  # inches


@contextmanager
def letters_may_be_missing() -> Iterator[None]:
    """Silence the warning about glyphs that no font has, and no other."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font", category=UserWarning)
        yield


class Sheet(Figure):
    """A figure that does not complain about names in scripts the font lacks."""

    def draw(self, renderer: Any) -> None:
        """Draw on the renderer."""
        with letters_may_be_missing():
            super().draw(renderer)

    def get_tightbbox(self, *args: Any, **kwargs: Any) -> Any:
        """Measure what is drawn, in inches."""
        with letters_may_be_missing():
            return super().get_tightbbox(*args, **kwargs)

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        """Write to a file."""
        with letters_may_be_missing():
            super().savefig(fname, **kwargs)


def new_axes(height: float) -> Axes:
    """Make a figure of the common width and return its only axes."""
    return Sheet(figsize=(WIDTH, height), layout="constrained").subplots()


def find_figure(ax: Axes) -> Figure:
    """Return the whole figure that axes are on, also where they are on a part of it."""
    return ax.figure.figure  # get_figure(root=True) came with matplotlib 3.10


def render_svg(ax: Axes) -> str:
    """Return the picture as an SVG element to embed in a page: the same picture, the same text."""
    out, figure = StringIO(), find_figure(ax)
    with letters_may_be_missing(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fewlabels"}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    svg = out.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = svg.replace("<svg ", '<svg role="img" style="max-width: 100%; height: auto; overflow: visible" ', 1)
    return re.sub(r'<g id="[^"]*"', "<g", svg)  # a page holds several pictures, and an id may occur in it once
