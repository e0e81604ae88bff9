"""The result of `simulate`: measures of replays, and the labels each policy and prior needed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.result import Result
from fewlabels.data.sources import Frame
from fewlabels.files import check_output

Row = dict[str, Any]
CONFIGURATION = ("goal", "metric", "policy", "prior", "measure")  # columns that name a curve of a simulation


@dataclass(frozen=True, repr=False)
class Simulation(Result):
    """Rows of measures, and the labels each policy and prior needed to reach the target."""

    rows: tuple[Row, ...]
    labels_to_target: tuple[Row, ...]
    n_items: int
    frame: Frame = "pandas"
    warnings: tuple[str, ...] = ()  # about the table
    provenance: Provenance = field(default_factory=record, repr=False)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __add__(self, other: "Simulation") -> "Simulation":
        """Concatenate two simulations of the same table."""
        both = (*self.labels_to_target, *other.labels_to_target)
        warnings = tuple(dict.fromkeys((*self.warnings, *other.warnings)))
        return Simulation((*self.rows, *other.rows), both, self.n_items, self.frame, warnings, self.provenance)

    def to_dict(self) -> dict[str, Any]:
        """Return the simulation's JSON as a dict."""
        return {
            "rows": list(self.rows),
            "labels_to_target": list(self.labels_to_target),
            "n_items": self.n_items,
            "warnings": list(self.warnings),
            "provenance": self.provenance.to_dict(),
        }

    def list_rows(self) -> tuple[Row, ...]:
        """Return one row per checkpoint and measure."""
        return self.rows

    def last_rows(self) -> dict[tuple[str, ...], Row]:
        """Return the last row of every configuration and measure of the simulation."""
        return {tuple(row[name] for name in CONFIGURATION): row for row in self.rows}

    def write_plots(self, path: str | Path) -> Path:
        """Plot every measure of a simulation against the number of labels in a PNG, SVG or PDF file."""
        check_output(path, self.provenance.inputs)
        written: Path = self._find("image")(self, path)
        return written
