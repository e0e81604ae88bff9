"""What a shell and a notebook show of a result: the first rows of its frame, as text; `html.notebook` shows them as HTML."""

from collections.abc import Mapping, Sequence
from typing import Any

from fewlabels.analyses.result import Result
from fewlabels.errors import count
from fewlabels.text import display_width, sanitize_line

MAX_ROWS = 10
MAX_WIDTH = 40  # of a cell, in columns of a terminal


def render_text(result: Result, headline: str) -> str:
    """Render an excerpt as text: the headline, the first rows as an aligned table, and the number of warnings."""
    rows = result.list_rows()
    lines = [sanitize_line(headline), *_align(rows[:MAX_ROWS])]
    if len(rows) > MAX_ROWS:
        lines.append(f"{count(len(rows) - MAX_ROWS, 'more row')}: .to_frame() has all")
    if result.warnings:
        lines.append(f"{count(len(result.warnings), 'warning')}: .warnings")
    return "\n".join(lines)


def format_cell(value: Any) -> str:
    """Format a cell of an excerpt: nothing for None, three decimals for floats, thousands separated in counts."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_count else sanitize_line(str(value))


def _align(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Align the rows of an excerpt as lines of text: names to the left, numbers to the right."""
    if not rows:
        return []
    columns = [[name, *(_shorten_cell(format_cell(row[name])) for row in rows)] for name in rows[0]]
    to_left = [any(isinstance(row[name], str) for row in rows) for name in rows[0]]
    padded = [_pad(cells, left=left) for cells, left in zip(columns, to_left, strict=True)]
    return ["  ".join(cells).rstrip() for cells in zip(*padded, strict=True)]


def _pad(cells: Sequence[str], *, left: bool) -> list[str]:
    """Pad the cells of an excerpt to the same width."""
    width = max(map(display_width, cells))
    gaps = [" " * (width - display_width(cell)) for cell in cells]
    return [cell + gap if left else gap + cell for cell, gap in zip(cells, gaps, strict=True)]


def _shorten_cell(cell: str) -> str:
    """Cut a long name in an excerpt in the middle, because names of groups often differ at their ends."""
    return cell if len(cell) <= MAX_WIDTH else f"{cell[: MAX_WIDTH // 2]}…{cell[-MAX_WIDTH // 2 + 1 :]}"
