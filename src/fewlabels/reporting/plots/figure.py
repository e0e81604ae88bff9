"""Figures without pyplot, and their rendering as SVG.

Group names may use scripts that the font lacks. Matplotlib then draws boxes and warns at every drawing. Figures made
here suppress this one warning, and `render_svg` keeps text as text, so that a browser can find the glyphs.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewlabels.errors import InputError

WIDTH = 5.4  # inches: on a phone, text of 9 points is then still 8 pixels high


@contextmanager
def ignore_missing_glyphs() -> Iterator[None]:
    """Suppress only the warning about glyphs missing from the font of a figure."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font", category=UserWarning)
        yield


class QuietFigure(Figure):
    """A figure that does not warn about glyphs missing from the font."""

    def draw(self, renderer: Any) -> None:
        """Draw the figure on the renderer, without warnings about fonts."""
        with ignore_missing_glyphs():
            super().draw(renderer)

    def get_tightbbox(self, *args: Any, **kwargs: Any) -> Any:
        """Return the bounding box of what is drawn on the figure, in inches."""
        with ignore_missing_glyphs():
            return super().get_tightbbox(*args, **kwargs)

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        """Write the figure to a file."""
        with ignore_missing_glyphs():
            super().savefig(fname, **kwargs)


def new_axes(height: float) -> Axes:
    """Make a figure of the common width and return its only axes."""
    return QuietFigure(figsize=(WIDTH, height), layout="constrained").subplots()


def find_figure(ax: Axes) -> Figure:
    """Return the root figure of axes, also if they are on a subfigure."""
    return ax.figure.figure  # get_figure(root=True) came with matplotlib 3.10


def render_svg(ax: Axes) -> str:
    """Return the figure as an SVG element to embed in a page; equal figures give equal text."""
    out, figure = StringIO(), find_figure(ax)
    with ignore_missing_glyphs(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fewlabels"}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    svg = out.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = svg.replace("<svg ", '<svg role="img" style="max-width: 100%; height: auto; overflow: visible" ', 1)
    return re.sub(r'<g id="[^"]*"', "<g", svg)  # a page holds several figures, and ids must be unique


def check_format(path: str | Path) -> str:
    """Return the image format of a figure from the file extension, or raise InputError."""
    kind = Path(path).suffix
    if kind not in (".png", ".svg", ".pdf"):
        raise InputError(f"plot: {path} should end in .png, .svg or .pdf")
    return kind[1:]
