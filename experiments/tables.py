"""Pages in Markdown: what was measured beside what was published, and how to measure it again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan


@dataclass(frozen=True)
class Table:
    """Rows of text under a header, with a line above."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def __str__(self) -> str:
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{self.caption}\n\n{body}" if self.caption else body


@dataclass(frozen=True)
class Page:
    """All that one command writes."""

    title: str
    says: str
    tables: Sequence[Table] = ()
    picture: str = ""  # a file beside the page
    notes: Sequence[str] = field(default_factory=tuple)

    def render(self, footer: str) -> str:
        """Return the page as Markdown."""
        parts = [f"# {self.title}", self.says, *map(str, self.tables)]
        if self.picture:
            parts.append(f"![{self.title}]({self.picture})")
        if self.notes:
            parts.append("\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join([*parts, footer]) + "\n"


def show(value: float | None, digits: int = 1) -> str:
    """A number, or a dash where there is none."""
    return "–" if value is None or isnan(value) else f"{value:.{digits}f}"


def show_error(value: float, error: float, digits: int = 1) -> str:
    """A number and its standard error; "never" where it was not reached.

    >>> show_error(12.34, 0.56), show_error(float("nan"), 0.1)
    ('12.3 ± 0.6', 'never')
    """
    if isnan(value):
        return "never"
    return f"{value:.{digits}f} ± {error:.{digits}f}" if not isnan(error) else f"{value:.{digits}f}"
