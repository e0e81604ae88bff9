"""The result of `plan`: how many more labels a goal is expected to need."""

from dataclasses import asdict, dataclass, field
from typing import Any

from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.result import Result
from fewlabels.data.sources import Frame

Row = dict[str, Any]
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
