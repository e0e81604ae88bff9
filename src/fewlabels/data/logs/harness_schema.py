"""A line of lm-evaluation-harness's samples: a question, what was answered, and what the metrics say of it."""

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, field_validator

from fewlabels.data.documents.parsing import Name, Schema

# Fields that are no metric, where a log does not list its metrics.
OTHERS = {"doc_hash", "prompt_hash", "target_hash", "input", "schema_version", "resps"}


class HarnessSample(Schema):
    """One sample. Metrics stand beside the fields that every sample has, under their own names."""

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
        """A log that lists no metrics has them all the same."""
        return tuple(metrics) if isinstance(metrics, list) else None

    @property
    def figures(self) -> Mapping[str, Any]:
        """What each metric says."""
        extra = self.model_extra or {}
        names = [name for name in extra if name not in OTHERS] if self.metrics is None else self.metrics
        return {name: extra[name] for name in names if name in extra}

    def find(self, name: str | None) -> Any:
        """Return a field that not every sample has."""
        return (self.model_extra or {}).get(name or "")
