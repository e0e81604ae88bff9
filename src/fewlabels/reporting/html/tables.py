"""Tables of an HTML report."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ReportTable:
    """A table of a report: strings are shown as they are, floats in the number format of the report."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str | float, ...]]
    n_names: int = 1  # leading columns that hold names
    shown: int | None = None  # rows that are visible; the others are collapsed
    note: str = ""
    has_whole: bool = False  # whether the first row is the overall estimate

    @property
    def is_dense(self) -> bool:
        """Whether it has so many columns that it needs narrow padding."""
        return len(self.columns) > 12
