"""The result of `fairness`: metrics of groups of people, and the gaps between groups."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from fewlabels.analyses.fairness.definitions import describe_gap, say_four_fifths
from fewlabels.analyses.fairness.gaps import REST, Gap
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.result import Result
from fewlabels.data.sources import Frame
from fewlabels.models.diagnostics import ChainDiagnostics


@dataclass(frozen=True)
class GroupRow:
    """The estimate of a metric in one group."""

    group: str
    metric: str
    mean: float
    low: float
    high: float
    n_items: int
    n_labels: int


@dataclass(frozen=True)
class CurvePoint:
    """One stratum (items of a group with nearly the same score): score, labels, and posterior of the positive rate."""

    group: str
    score: float
    n_items: int
    n_labels: int
    n_positive: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Fairness(Result):
    """Metrics of groups, and the gaps between groups."""

    by: str
    reference: str
    gaps: tuple[Gap, ...]
    groups: tuple[GroupRow, ...]
    method: str
    health: ChainDiagnostics
    rope: float
    level: float
    n_items: int
    n_labels: int
    finite_pool: bool
    positive: str
    source: str
    warnings: tuple[str, ...] = ()
    curve: tuple[CurvePoint, ...] = field(default=(), repr=False)  # where scores were calibrated
    frame: Frame = "pandas"
    provenance: Provenance = field(default_factory=record, repr=False)

    def gap(self, metric: str, group: str) -> Gap:
        """Return one gap of the result."""
        return next(gap for gap in self.gaps if (gap.metric, gap.group) == (metric, group))

    def pick(self, most: int) -> tuple[Gap, ...]:
        """Return all gaps of the result; of more than `most`, those least likely to be within the rope, in that order."""
        if len(self.gaps) <= most:
            return self.gaps
        return tuple(sorted(self.gaps, key=lambda gap: np.nan_to_num(gap.p_practically_fair, nan=1.0))[:most])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, as in the JSON."""
        return {
            "by": self.by, "reference": self.reference, "positive": self.positive, "rope": self.rope, "level": self.level,
            "finite_pool": self.finite_pool, "method": self.method, "n_items": self.n_items, "n_labels": self.n_labels,
            "health": self.health.to_dict(), "gaps": [_plain(gap.to_dict()) for gap in self.gaps],
            "groups": [_plain(asdict(row)) for row in self.groups], "warnings": list(self.warnings),
            "provenance": self.provenance.to_dict(),
        }  # fmt: skip

    def list_rows(self) -> list[dict[str, Any]]:
        """Return one row per gap of the result."""
        return [{name: value for name, value in gap.to_dict().items() if name != "ratio"} for gap in self.gaps]

    @property
    def whom(self) -> str:
        """The reference group of the result, in words."""
        return "everybody else" if self.reference == REST else self.reference

    def say(self, gap: Gap) -> str:
        """Describe a gap of the result in a sentence."""
        return describe_gap(gap, self.whom, rope=self.rope, level=self.level, finite_pool=self.finite_pool)

    def say_four_fifths(self, gap: Gap) -> str | None:
        """Describe a ratio of selection rates in the result by the four-fifths rule; None for other metrics."""
        return say_four_fifths(gap, self.whom, level=self.level)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Replace NaN in a row of the result by None, which is null in JSON."""
    return {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in row.items()}
