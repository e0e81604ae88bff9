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
