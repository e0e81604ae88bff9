"""What a notebook shows of a result: one sentence, the first rows of its frame, and its warnings."""

from collections.abc import Mapping, Sequence
from typing import Any

from fewlabels.analyses.result import Result
from fewlabels.reporting.html.template import TEMPLATES
from fewlabels.text import sanitize_line

MAX_ROWS = 10


def render_excerpt(result: Result, headline: str) -> str:
    """Return a small HTML fragment; names and messages are escaped."""
    rows = result.list_rows()
    return TEMPLATES.get_template("excerpt.html.jinja").render(
        headline=sanitize_line(headline),
        columns=list(rows[0]) if rows else [],
        rows=_format_rows(rows[:MAX_ROWS]),
        n_left=max(0, len(rows) - MAX_ROWS),
        warnings=[sanitize_line(warning) for warning in result.warnings],
    )


def _format_rows(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [[_format_cell(value) for value in row.values()] for row in rows]


def _format_cell(value: Any) -> str:
    """Format a cell: nothing for None, three decimals for floats, thousands separated in counts."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_count else sanitize_line(str(value))
