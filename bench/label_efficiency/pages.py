"""Questions that are asked of every pool: a row for each pool and budget, and what they come to over all pools."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.harness.page import Columns, show_notes, show_table
from bench.harness.rows import Row, Rows, find_settings, select
from bench.label_efficiency.pools import Pool


@dataclass(frozen=True)
class Ratio:
    """A ratio that is averaged over pools: what it is called, the name of its values, and the rows that have it."""

    title: str
    name: str
    where: Mapping[str, Any]

    def find(self, rows: Rows) -> list[Row]:
        """Return the rows that have it."""
        return [
            row for row in select(rows, "pools", **self.where) if row.get(self.name) is not None and row[self.name] > 0
        ]


@dataclass(frozen=True)
class Question:
    """A title, the columns of the table, what was hoped for, ratios, and how the rows of a pool are found."""

    title: str
    columns: Columns
    goal: str
    ratios: tuple[Ratio, ...]
    answer: Callable[[Pool, int], Iterator[Row]]

    def sum_up(self, rows: Rows) -> Iterator[Row]:
        """Yield a row for every ratio: its geometric mean over large pools and over all, and the highest."""
        for ratio in self.ratios:
            having = ratio.find(rows)
            if having:
                yield _average(ratio, having)

    def render(self, rows: Rows) -> Iterator[str]:
        """Yield the parts of the page: what it comes to, then row by row."""
        minutes = sum(row["seconds"] for row in select(rows, "times")) / 60
        yield f"# {self.title}"
        yield f"`{find_settings(rows)['command']}` ({minutes:.0f} minutes)"
        yield f"Goal: {self.goal}"
        yield from show_notes(rows)
        yield "\n".join(map(_show_mean, select(rows, "means")))
        yield show_table(self.columns, select(rows, "pools"))


def _average(ratio: Ratio, having: Rows) -> Row:
    large = [row for row in having if not row["small"]]
    worst = max(having, key=lambda row: float(row[ratio.name]))
    return {
        "table": "means", "ratio": ratio.title, "mean": _find_mean(row[ratio.name] for row in large) if large else None,
        "pools": len(large), "mean_of_all": _find_mean(row[ratio.name] for row in having), "pools_in_all": len(having),
        "highest": worst[ratio.name], "pool": worst["pool"],
    }  # fmt: skip


def _find_mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(list(ratios)))))


def _show_mean(row: Row) -> str:
    parts = [f"**{row['mean']:.2f}** over {row['pools']} pools"] if row["pools"] else []
    if row["pools"] < row["pools_in_all"]:
        parts.append(f"{row['mean_of_all']:.2f} with those of two groups ({row['pools_in_all']})")
    return f"- {row['ratio']}: {'; '.join(parts)}; highest {row['highest']:.2f} ({row['pool']})"
