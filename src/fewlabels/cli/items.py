"""Print an item's columns for labelling, wrapped and truncated to the available lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fewlabels.text import as_text, tame, tame_line

LOOKED_AT = 20_000  # maximum characters of a value to wrap, unless the whole value is requested
NAME_WIDTH = 24


@dataclass(frozen=True)
class Value:
    """A value of an item, wrapped into lines."""

    lines: tuple[Text, ...]
    n_more: int  # characters that were not wrapped

    def cut(self, most: int) -> Text:
        """Return the first lines, and a note of how many characters are hidden."""
        kept = Text("\n").join(self.lines[:most])
        if self.is_cut(most):
            hidden = self.n_more + sum(len(line) for line in self.lines[most:])
            kept.append(f"\n… {hidden:,} more characters", style="dim")
        return kept

    def is_cut(self, most: int) -> bool:
        """Return whether these lines hide part of the value."""
        return len(self.lines) > most or self.n_more > 0


def print_item(out: Console, id: object, row: Mapping[str, Any], *, most_lines: int | None = None) -> bool:
    """Print an item in at most so many lines; return whether a value was truncated."""
    out.print(Text.assemble(("item ", "dim"), (tame_line(id), "bold")), soft_wrap=True)
    if not row:
        return False
    names = [tame_line(name)[:NAME_WIDTH] for name in row]
    width = max(20, out.width - max(map(cell_len, names)) - 5)
    values = [_wrap(out, as_text(value), width, whole=most_lines is None) for value in row.values()]
    most = _share_out([len(value.lines) for value in values], most_lines)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    for name, value in zip(names, values, strict=True):
        table.add_row(f"  {name}", value.cut(most))
    out.print(table)
    return any(value.is_cut(most) for value in values)


def _wrap(out: Console, text: str, width: int, *, whole: bool) -> Value:
    looked_at = len(text) if whole else LOOKED_AT
    return Value(tuple(Text(tame(text[:looked_at])).wrap(out, width)), len(text[looked_at:]))


def _share_out(lengths: list[int], room: int | None) -> int:
    """Return the largest number of lines per value with which all values fit; short values leave lines to long ones."""
    if room is None:
        return max(lengths)
    return next((most for most in range(max(lengths), 1, -1) if sum(min(n, most) for n in lengths) <= room), 1)
