"""The results of `plan` and `simulate`: labels a goal is expected to need, and measures of replays."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.result import Result
from fewlabels.data.sources import Frame
from fewlabels.files import check_output

Row = dict[str, Any]
CONFIGURATION = ("goal", "metric", "policy", "prior", "measure")  # columns that name a curve of a simulation
PLAN_COLUMNS = (
    "goal", "metric", "by", "policy", "prior", "n_items", "n_labels", "n_more", "low", "high", "p_settled", "runs",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """Predicted number of further labels to settle a goal."""

    goal: str
    metric: str
    by: str
    policy: str
    prior: str
    n_items: int
    n_labels: int  # so far
    n_more: int | None  # median over simulated futures; None if most never settle
    low: int | None  # central 80 % of futures
    high: int | None
    p_settled: float  # share of futures that settle
    runs: int
    sentence: str
    remedy: str | None
    warnings: tuple[str, ...] = ()  # about the table
    provenance: Provenance = field(default_factory=record, repr=False)
    frame: Frame = "pandas"
    needed: tuple[int | None, ...] = field(default=(), repr=False)  # further labels in each future; None: never settled

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a dict."""
        plain = {name: value for name, value in asdict(self).items() if name not in ("frame", "needed")}
        return plain | {"warnings": list(self.warnings), "provenance": self.provenance.to_dict()}

    def list_rows(self) -> list[Row]:
        """Return the plan as one row."""
        return [{name: getattr(self, name) for name in PLAN_COLUMNS}]


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
        """Return the JSON as a dict."""
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
        """Return the last row of every configuration and measure."""
        return {tuple(row[name] for name in CONFIGURATION): row for row in self.rows}

    def write_plots(self, path: str | Path) -> Path:
        """Plot every measure against the number of labels in a PNG, SVG or PDF file."""
        check_output(path, self.provenance.inputs)
        written: Path = self._find("image")(self, path)
        return written
