"""Rows of figures: flat mappings from names to numbers, text or None, kept as JSON lines.

Every row names the table that it belongs to (`table`). The row of the table `settings` comes first: the command, its
options and the machine.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Row = Mapping[str, Any]
Rows = Sequence[Row]
SETTINGS = "settings"


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write a row to a line."""
    lines = (
        json.dumps({name: _simplify(name, value) for name, value in row.items()}, ensure_ascii=False) for row in rows
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _simplify(name: str, value: Any) -> Any:
    """Return a scalar that JSON has; of numbers that are not finite, None."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and not math.isfinite(plain):
        return None
    if not isinstance(plain, str | int | float | None):
        raise TypeError(f"rows are flat: {name} must be a number, text or None, got {type(plain).__name__}")
    return plain


def select(rows: Iterable[Row], table: str, **same: Any) -> list[Row]:
    """Return the rows of a table; those whose values are the same as these, where any are given."""
    return [
        row for row in rows if row["table"] == table and all(row.get(name) == value for name, value in same.items())
    ]


def find_settings(rows: Iterable[Row]) -> Row:
    """Return the row of settings."""
    (found,) = select(rows, SETTINGS)
    return found
