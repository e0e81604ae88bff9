"""Markdown's own marks: tables, folds and notes, and text that cannot be taken for any of them."""

import re
from collections.abc import Iterable, Sequence

from fewlabels.text import tame_line

MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~$])")
LINKS = re.compile(r"([@#]|:(?=//)|www(?=\.))")  # starts of mentions, issues and addresses; a comment ends them
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escape(text: object) -> str:
    r"""Write text so that it reads as it is, in a sentence or in a cell of a table.

    >>> print(escape("<b>a|b</b>"))
    &lt;b&gt;a\|b&lt;/b&gt;
    """
    line = "".join(ENTITIES.get(c, c) for c in tame_line(text))
    return LINKS.sub(r"\1<!-- -->", MARKS.sub(r"\\\1", line)) or "(blank)"


def lay_out(header: Sequence[str], rows: Iterable[Sequence[str]], *, n_names: int = 1) -> str:
    """Return a table; the first columns hold names, the others numbers. Cells are escaped already."""
    sides = [":--" if i < n_names else "--:" for i in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, sides, *rows))


def fold(title: str, body: str) -> str:
    """Return something folded away under its title."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def remark(notes: Iterable[str]) -> str:
    """Return notes as a box of their own; nothing where there are none."""
    lines = [f"> - {escape(note)}" for note in notes]
    return "\n".join(["> [!NOTE]", *lines]) if lines else ""


def join(*parts: str) -> str:
    """Put the parts that there are under each other."""
    return "\n\n".join(part for part in parts if part) + "\n"


def write_interval(low: float, high: float, sign: str = "") -> str:
    """Write the two ends of an interval."""
    return f"{low:{sign}.3f} to {high:{sign}.3f}"
