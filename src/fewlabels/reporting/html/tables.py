"""Tables of a page."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Listing:
    """A table of a page: texts as they are, numbers as the page writes them."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str | float, ...]]
    n_names: int = 1  # columns, the first, that hold names
    shown: int | None = None  # rows that are open to see; others are folded away
    note: str = ""
    has_whole: bool = False  # is the first row the sum of the others?

    @property
    def is_dense(self) -> bool:
        """Whether its columns must move together to fit a page."""
        return len(self.columns) > 12
