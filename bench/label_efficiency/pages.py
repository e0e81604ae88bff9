"""Tables with a row for each pool and budget, and what they come to over all pools."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """A row of a table, and the ratios in it that are to be averaged over pools, by what they are of."""

    cells: tuple[object, ...]
    ratios: dict[str, float]
    small: bool = False  # two groups: a few labels each are a handful in all

    def __str__(self) -> str:
        return "| " + " | ".join(str(cell) for cell in self.cells) + " |"


@dataclass(frozen=True)
class Table:
    """A question: its title, its columns, and what was hoped for."""

    title: str
    columns: tuple[str, ...]
    goal: str

    def write(self, command: str, rows: Sequence[Row], minutes: float) -> str:
        """Return the page: what it comes to, then row by row."""
        lines = [str(Row(self.columns, {})), str(Row(("---",) * len(self.columns), {})), *map(str, rows)]
        told = "\n".join(f"- {line}" for line in _sum_up(rows))
        return "\n".join([f"# {self.title}", "", f"`{command}` ({minutes:.0f} minutes)", "", f"Goal: {self.goal}", "", told, "", *lines, ""])  # fmt: skip


def _sum_up(rows: Sequence[Row]) -> Iterator[str]:
    """Say the geometric mean of every ratio, and the worst."""
    for name in dict.fromkeys(name for row in rows for name in row.ratios):
        having = [row for row in rows if np.isfinite(row.ratios.get(name, np.nan)) and row.ratios[name] > 0]
        if not having:
            continue
        large = [row for row in having if not row.small]
        worst = max(having, key=lambda row: row.ratios[name])
        means = f"**{_average(row.ratios[name] for row in large):.2f}** over {len(large)} pools" if large else ""
        if len(large) < len(having):
            means += f"; {_average(row.ratios[name] for row in having):.2f} with those of two groups ({len(having)})"
        yield f"{name}: {means}; highest {worst.ratios[name]:.2f} ({worst.cells[0]})"


def _average(ratios: Iterable[float]) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(list(ratios)))))
