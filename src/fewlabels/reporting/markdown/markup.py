"""Markdown syntax: tables, collapsed sections and warnings, and escaping of text."""

import re
from collections.abc import Iterable, Sequence

from fewlabels.text import sanitize_line

SPECIAL_CHARACTERS = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
AUTOLINKS = re.compile(
    r"([@#]|:(?=//)|www(?=\.))"
)  # starts of mentions, issue numbers and URLs; an HTML comment after them prevents a link
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escape(text: object) -> str:
    r"""Escape text in Markdown markup, so that a sentence or a table cell shows it literally.

    >>> print(escape("<b>a|b</b>"))
    &lt;b&gt;a\|b&lt;/b&gt;
    """
    line = "".join(ENTITIES.get(c, c) for c in sanitize_line(text))
    return AUTOLINKS.sub(r"\1<!-- -->", SPECIAL_CHARACTERS.sub(r"\\\1", line)) or "(blank)"


def render_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, n_names: int = 1) -> str:
    """Return a table in Markdown markup; the first `n_names` columns hold names, the others numbers. Cells must be escaped."""
    sides = [":--" if i < n_names else "--:" for i in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, sides, *rows))


def collapse(title: str, body: str) -> str:
    """Return the Markdown markup of a collapsed section with its title."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def render_warnings(warnings: Iterable[str]) -> str:
    """Return the Markdown markup of warnings as a GitHub alert; empty if there are none."""
    lines = [f"> - {escape(warning)}" for warning in warnings]
    return "\n".join(["> [!NOTE]", *lines]) if lines else ""


def join(*parts: str) -> str:
    """Join the non-empty parts of Markdown markup by blank lines."""
    return "\n\n".join(part for part in parts if part) + "\n"


def format_interval(low: float, high: float, sign: str = "") -> str:
    """Format the two ends of an interval in Markdown markup."""
    return f"{low:{sign}.3f} to {high:{sign}.3f}"
