"""The template that all reports share."""

from collections.abc import Iterable

from jinja2 import Environment, PackageLoader, StrictUndefined

from fewlabels import __version__
from fewlabels.reporting.html.captions import CaptionedFigure
from fewlabels.text import format_probability

TEMPLATES = Environment(loader=PackageLoader("fewlabels.reporting.html", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # fmt: skip
TEMPLATES.filters["probability"] = format_probability
HEADINGS = ("What the estimates support", "What they do not support")
SIMULATED = ("What the simulations show", "What they do not show")  # headings of plans and simulations
DEFAULTS: dict[str, object] = {"headings": HEADINGS, "assessment": None, "rows": (), "number": str, "tables": ()}


def render(*, pictures: Iterable[CaptionedFigure], **content: object) -> str:
    """Fill the template that all reports share; `headings` are those of the supported and unsupported statements."""
    return TEMPLATES.get_template("page.html.jinja").render(
        pictures=list(pictures), version=__version__, **(DEFAULTS | content)
    )
