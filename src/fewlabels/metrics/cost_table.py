"""Cost tables: a row per true class and a column per predicted class. Read from CSV, frames or nested dicts."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.errors import InputError, join_names

MAX_COST = 1e100  # beyond this, sums of costs overflow


@dataclass(frozen=True)
class Costs:
    """Costs by (true class, predicted class).

    >>> Costs({"cat": {"cat": 0.0, "dog": 1.0}, "dog": {"cat": 5.0, "dog": 0.0}}).matrix(["cat", "dog"])
    array([[0., 1.],
           [5., 0.]])
    """

    table: Mapping[str, Mapping[str, float]]

    def matrix(self, classes: Sequence[str]) -> Float[np.ndarray, "class class"]:
        """Return the cost matrix for a pool's classes; other classes of the table are ignored."""
        rows = [name for name in classes if name not in self.table]
        columns = [name for name in classes if any(name not in row for row in self.table.values())]
        if rows or columns:
            lack = (
                f"no row for true class {join_names(rows)}"
                if rows
                else f"no column for predicted class {join_names(columns)}"
            )
            raise InputError(f"cost: {lack}; the matrix needs a row and a column for each of {join_names(classes)}")
        return np.array([[self.table[true][predicted] for predicted in classes] for true in classes], dtype=np.float64)


def read_costs(source: Any) -> Costs:
    """Read a cost table from a CSV file, a pandas frame indexed by true class, or nested dicts."""
    if isinstance(source, str | Path):
        return _read_cost_csv(Path(source))
    if hasattr(source, "to_dict") and hasattr(source, "index"):
        source = source.to_dict(orient="index")
    if not isinstance(source, Mapping):
        raise InputError(f"cost: give a CSV file, a frame or nested dicts, not {type(source).__name__}")
    table = {str(true): {str(predicted): float(c) for predicted, c in row.items()} for true, row in source.items()}
    for true, row in table.items():
        for predicted, value in row.items():
            if not abs(value) < MAX_COST:
                raise InputError(
                    f"cost: true class {true!r}, predicted {predicted!r}: the cost is {value}; it must be finite, and smaller than 1e100"
                )
    return Costs(table)


def _read_cost_csv(path: Path) -> Costs:
    """Read a cost table from a CSV file."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise InputError(f"cost: {path}: {reason}") from None
    except (ValueError, csv.Error):
        raise InputError(f"cost: {path} is not a CSV table: the first line names predicted classes, each next one a true class and its costs") from None  # fmt: skip
    return Costs({row[0].strip(): _read_row(path, header[1:], row, line) for line, row in enumerate(rows, start=2)})


def _read_row(path: Path, predicted: Sequence[str], row: Sequence[str], line: int) -> dict[str, float]:
    """Read one row of a cost table: a number per predicted class."""
    if len(row) != len(predicted) + 1:
        raise InputError(f"cost: {path}, line {line}: {len(row) - 1} costs for {len(predicted)} predicted classes")
    out = {}
    for name, text in zip(predicted, row[1:], strict=True):
        try:
            out[name.strip()] = float(text)
        except ValueError:
            raise InputError(f"cost: {path}, line {line}, column {name!r}: {text!r} is not a number") from None
        if not abs(out[name.strip()]) < MAX_COST:
            raise InputError(
                f"cost: {path}, line {line}, column {name!r}: a cost must be finite, and smaller than 1e100"
            )
    return out
