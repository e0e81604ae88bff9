"""Markdown: tables of rows, and the cells in them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.harness.rows import Row

Show = Callable[[Row], str]
Columns = Sequence[tuple[str, Show]]


@dataclass(frozen=True)
class Table:
    """Cells of text under a header, with a line above."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def __str__(self) -> str:
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{self.caption}\n\n{body}" if self.caption else body


def show_table(columns: Columns, rows: Iterable[Row]) -> str:
    """Return rows as a table: a title and a function from a row to a cell make a column."""
    titles, shows = zip(*columns, strict=True)
    return str(Table(titles, [[show(row) for show in shows] for row in rows]))


def text(name: str, frame: str = "{}") -> Show:
    """Return a function that shows what a row holds under a name as it is, inside a frame; nothing of None."""
    return lambda row: "" if row.get(name) is None else frame.format(row[name])


def figure(name: str, form: str, missing: str = "") -> Show:
    """Return a function that shows the number that a row holds under a name; `form` is a format as in `f"{x:,.1f}"`."""
    return lambda row: missing if row.get(name) is None else format(row[name], form)


def points(name: str, form: str) -> Show:
    """Return a function that shows a share, times 100."""
    return lambda row: "" if row.get(name) is None else format(100 * row[name], form)


def join_paragraphs(parts: Iterable[str]) -> str:
    """Return a page: its paragraphs and tables with a line between them."""
    return "\n\n".join(parts) + "\n"


def show_notes(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the notes of a page: what a person added to the figures."""
    return (row["text"] for row in rows if row["table"] == "notes")
