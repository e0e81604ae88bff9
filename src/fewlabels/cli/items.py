"""Print an item's columns for labelling, wrapped and truncated to the available lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fewlabels.text import as_text, sanitize, sanitize_line

MAX_CHARACTERS = 20_000  # maximum characters of a value to wrap, unless the whole value is requested
NAME_WIDTH = 24


@dataclass(frozen=True)
class WrappedValue:
    """A value of an item, wrapped into lines."""

    lines: tuple[Text, ...]
    n_unwrapped: int  # characters that were not wrapped

    def truncate(self, n_lines: int) -> Text:
        """Return the first lines of an item's value, and a note of how many characters are hidden."""
        kept = Text("\n").join(self.lines[:n_lines])
        if self.is_truncated(n_lines):
            hidden = self.n_unwrapped + sum(len(line) for line in self.lines[n_lines:])
            kept.append(f"\n… {hidden:,} more characters", style="dim")
        return kept

    def is_truncated(self, n_lines: int) -> bool:
        """Whether these lines hide part of the item's value."""
        return len(self.lines) > n_lines or self.n_unwrapped > 0


def print_item(out: Console, id: object, row: Mapping[str, Any], *, max_lines: int | None = None) -> bool:
    """Print an item in at most so many lines; return whether a value was truncated."""
    out.print(Text.assemble(("item ", "dim"), (sanitize_line(id), "bold")), soft_wrap=True)
    if not row:
        return False
    names = [sanitize_line(name)[:NAME_WIDTH] for name in row]
    width = max(20, out.width - max(map(cell_len, names)) - 5)
    values = [_wrap_value(out, as_text(value), width, whole=max_lines is None) for value in row.values()]
    n_lines = _allot_lines([len(value.lines) for value in values], max_lines)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    for name, value in zip(names, values, strict=True):
        table.add_row(f"  {name}", value.truncate(n_lines))
    out.print(table)
    return any(value.is_truncated(n_lines) for value in values)


def _wrap_value(out: Console, text: str, width: int, *, whole: bool) -> WrappedValue:
    """Wrap a value of an item into lines of the terminal's width."""
    n_wrapped = len(text) if whole else MAX_CHARACTERS
    return WrappedValue(tuple(Text(sanitize(text[:n_wrapped])).wrap(out, width)), len(text[n_wrapped:]))


def _allot_lines(lengths: list[int], available: int | None) -> int:
    """Return the largest number of lines per value of an item with which all fit; short values leave lines to long ones."""
    if available is None:
        return max(lengths)
    return next(
        (n_lines for n_lines in range(max(lengths), 1, -1) if sum(min(n, n_lines) for n in lengths) <= available), 1
    )
