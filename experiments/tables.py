"""Pages in Markdown: what was measured beside what was published, and how to measure it again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isnan

from bench.harness.page import Table, join_paragraphs
from bench.harness.rows import Row


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
        return join_paragraphs([*parts, footer])

    def list_rows(self) -> Iterator[Row]:
        """Yield the rows of all tables, by their headers; tables are numbered from 1."""
        for number, table in enumerate(self.tables, 1):
            names = name_columns(table.header)
            for cells in table.rows:
                yield {"table": f"table {number}", **dict(zip(names, cells, strict=True))}


def name_columns(header: Sequence[str]) -> list[str]:
    """Return a name for every column: a title that was there already comes after the title on its left.

    >>> name_columns(["labels", "IPrior, published", "ours", "IPrior+TS, published", "ours"])
    ['labels', 'IPrior, published', 'ours', 'IPrior+TS, published', 'IPrior+TS, published: ours']
    """
    left = ("", *header)
    return [f"{left[i]}: {title}" if title in header[:i] else title for i, title in enumerate(header)]


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
