"""Intervals drawn as small inline SVG, one per row of a table: they follow the colours and the width of the page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

WIDTH, HEIGHT, MARGIN = 160, 16, 4


@dataclass(frozen=True)
class IntervalScale:
    """The common scale of the intervals of a table."""

    start: float
    stop: float

    @classmethod
    def covering(cls, rows: Iterable[Mapping[str, Any]]) -> "IntervalScale | None":
        """Return the scale of the bars that shows all intervals; None where a row has none."""
        rows = list(rows)
        if not rows or not all(_has_interval(row) for row in rows):
            return None
        start, stop = min(row["low"] for row in rows), max(row["high"] for row in rows)
        return cls(start, stop) if stop > start else None

    def draw(self, low: float, mean: float, high: float, reference: float | None = None) -> Markup:
        """Draw the bar of an interval and its mean; `reference` is a vertical line, such as the overall estimate."""
        line = "" if reference is None else _draw_line(self._place(reference))
        return Markup(
            f'<svg class="interval" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" aria-hidden="true">{line}'
            f'<line x1="{self._place(low):.1f}" x2="{self._place(high):.1f}" y1="{HEIGHT / 2:g}" y2="{HEIGHT / 2:g}" '
            'stroke="currentColor" stroke-opacity=".45" stroke-width="4" stroke-linecap="round"/>'
            f'<circle cx="{self._place(mean):.1f}" cy="{HEIGHT / 2:g}" r="3.5" fill="currentColor"/></svg>'
        )

    def _place(self, value: float) -> float:
        """Return where on the bar of an interval a value lies."""
        share = (value - self.start) / (self.stop - self.start)
        return MARGIN + min(max(share, 0.0), 1.0) * (WIDTH - 2 * MARGIN)


def _draw_line(x: float) -> str:
    """Draw a vertical line across the bar of an interval."""
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{HEIGHT}" stroke="currentColor" stroke-opacity=".3"/>'


def _has_interval(row: Mapping[str, Any]) -> bool:
    """Does a row have an interval to draw as a bar?"""
    values = [row.get(name) for name in ("low", "mean", "high")]
    return all(isinstance(value, float) and value == value for value in values)
