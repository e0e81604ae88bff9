"""What a notebook shows of a result: one sentence, the first rows with their intervals drawn, and its warnings."""

from collections.abc import Mapping, Sequence
from typing import Any

from fewlabels.analyses.result import Result
from fewlabels.reporting.excerpts import MAX_ROWS, format_cell
from fewlabels.reporting.html.interval_bars import IntervalScale
from fewlabels.reporting.html.template import TEMPLATES
from fewlabels.text import sanitize_line


def render_excerpt(result: Result, headline: str) -> str:
    """Return what a notebook shows, a small HTML fragment; names and messages are escaped."""
    rows = result.list_rows()
    scale = IntervalScale.covering(rows[:MAX_ROWS])
    return TEMPLATES.get_template("excerpt.html.jinja").render(
        headline=sanitize_line(headline),
        columns=[*(rows[0] if rows else ()), *([""] if scale else [])],
        rows=[_format_row(row, scale) for row in rows[:MAX_ROWS]],
        n_left=max(0, len(rows) - MAX_ROWS),
        warnings=[sanitize_line(warning) for warning in result.warnings],
    )


def _format_row(row: Mapping[str, Any], scale: IntervalScale | None) -> Sequence[str]:
    """Return the cells of a row as a notebook shows it, with its interval drawn."""
    bars = [scale.draw(row["low"], row["mean"], row["high"])] if scale else []
    return [*(format_cell(value) for value in row.values()), *bars]
