"""The template that all reports share."""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fewlabels import __version__
from fewlabels.analyses.provenance import Provenance
from fewlabels.reporting.html.captions import CaptionedFigure
from fewlabels.reporting.html.origin import describe_origin
from fewlabels.text import format_probability

TEMPLATES = Environment(loader=PackageLoader("fewlabels.reporting.html", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # fmt: skip
TEMPLATES.filters["probability"] = format_probability
HEADINGS = ("What the estimates support", "What they do not support")
SIMULATED = ("What the simulations show", "What they do not show")  # headings of plans and simulations
DEFAULTS: dict[str, object] = {
    "headings": HEADINGS, "assessment": None, "rows": (), "number": str, "tables": (), "next_steps": (), "bar": None,
}  # fmt: skip
STYLE, SCRIPT = (
    files("fewlabels.reporting.html").joinpath(name).read_text("utf-8") for name in ("page.css", "page.js")
)
SCRIPT_HASH = b64encode(sha256(SCRIPT.encode()).digest()).decode()  # the only script that the page lets run


def mark_commands(text: str) -> Markup:
    """Mark up for the template what stands between backticks as code; everything is escaped.

    >>> mark_commands("Type `fewlabels doctor <x>.csv`.")
    Markup('Type <code>fewlabels doctor &lt;x&gt;.csv</code>.')
    """
    said, *rest = text.split("`")
    marked = [escape(said)]
    for i, part in enumerate(rest):
        marked.append(Markup("<code>{}</code>").format(part) if i % 2 == 0 else escape(part))
    return Markup("").join(marked)


TEMPLATES.filters["commands"] = mark_commands


def render(*, pictures: Iterable[CaptionedFigure], made: Provenance | None = None, **content: object) -> str:
    """Fill the HTML template that all reports share.

    `headings` are those of the supported and unsupported statements, `made` says where the result comes from, and
    `next_steps` what to do next.
    """
    return TEMPLATES.get_template("page.html.jinja").render(
        pictures=list(pictures), version=__version__, origin=describe_origin(made), style=Markup(STYLE),
        script=Markup(SCRIPT), script_hash=SCRIPT_HASH, **(DEFAULTS | content),
    )  # fmt: skip
