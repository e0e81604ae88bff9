"""The result of `diagnose`: columns and roles of a table, findings, and suggestions."""

from dataclasses import asdict, dataclass, field
from typing import Any

from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.result import Result
from fewlabels.data.conflicts import Finding
from fewlabels.data.sources import Frame


@dataclass(frozen=True)
class GroupSize:
    """Number of items and labels of one predicted class, or of all items."""

    group: str
    n_items: int
    n_labels: int


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """Columns, roles, findings and suggestions for a table."""

    source: str
    columns: dict[str, str]
    roles: dict[str, str]
    n_items: int
    n_labels: int
    classes: tuple[str, ...]
    attributes: dict[str, int]  # column -> number of values
    findings: tuple[Finding, ...]
    can: tuple[str, ...]
    next: tuple[str, ...]
    provenance: Provenance = field(default_factory=record, repr=False)
    frame: Frame = "pandas"
    role_of: dict[str, str] = field(default_factory=dict, repr=False)  # column -> role
    sizes: tuple[GroupSize, ...] = field(default=(), repr=False)  # empty if there is an error

    @property
    def is_sound(self) -> bool:
        """Whether there is no error among the findings."""
        return all(finding.severity != "error" for finding in self.findings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The findings, errors first and marked as such."""
        errors = (f"error: {finding.message}" for finding in self.findings if finding.severity == "error")
        return (*errors, *(finding.message for finding in self.findings if finding.severity != "error"))

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as plain data."""
        plain = {name: value for name, value in asdict(self).items() if name not in ("frame", "role_of", "sizes")}
        return plain | {"provenance": self.provenance.to_dict()}

    def list_rows(self) -> list[dict[str, Any]]:
        """Return one row per column: its name, type and role, and its number of values if it can be grouped by."""
        return [
            {"column": name, "type": kind, "role": self.role_of.get(name), "n_values": self.attributes.get(name)}
            for name, kind in self.columns.items()
        ]
