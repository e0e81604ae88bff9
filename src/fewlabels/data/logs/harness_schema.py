"""Schema of a sample of lm-evaluation-harness: a question, the response and its metrics."""

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, field_validator

from fewlabels.data.documents.parsing import Name, Schema

# Fields that are not metrics, for logs that do not list their metrics.
NOT_METRICS = {"doc_hash", "prompt_hash", "target_hash", "input", "schema_version", "resps"}


class HarnessSample(Schema):
    """One sample; metrics are extra fields under their own names."""

    model_config = ConfigDict(extra="allow")

    doc_id: Name
    doc: Any
    target: Any
    filtered_resps: Any
    arguments: Any = None
    filter: Name | None = "none"
    metrics: tuple[str, ...] | None = None

    @field_validator("metrics", mode="before")
    @classmethod
    def _keep_lists(cls, metrics: Any) -> Any:
        """Ignore a field `metrics` that is not a list; the metrics are then found among the extra fields."""
        return tuple(metrics) if isinstance(metrics, list) else None

    @property
    def metric_values(self) -> Mapping[str, Any]:
        """The value of each metric."""
        extra = self.model_extra or {}
        names = [name for name in extra if name not in NOT_METRICS] if self.metrics is None else self.metrics
        return {name: extra[name] for name in names if name in extra}

    def find(self, name: str | None) -> Any:
        """Return an extra field, or None."""
        return (self.model_extra or {}).get(name or "")
