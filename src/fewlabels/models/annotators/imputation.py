"""Counts from votes are uncertain: several imputed count tables, over which analyses average (multiple imputation)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fewlabels.data.counts import CountTable
from fewlabels.models.annotators.annotator_fit import AnnotatorFit


@dataclass(frozen=True)
class ImputedCounts:
    """Equally probable imputed counts, and the annotator fit that they come from."""

    imputations: tuple[CountTable, ...]
    annotator_fit: AnnotatorFit

    def regroup(self, change: Callable[[CountTable], CountTable]) -> "ImputedCounts":
        """Return the same imputed counts for other groups."""
        return replace(self, imputations=tuple(change(truth) for truth in self.imputations))

    def collect_warnings(self, level: float) -> tuple[str, ...]:
        """Warn where annotators err, so that imputed labels are uncertain, and where the chains disagree."""
        warning = self.annotator_fit.warning
        said = (self.annotator_fit.say(level),) if self.annotator_fit.errs else ()
        return said if warning is None else (*said, warning)

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return the annotator fit behind the imputed counts as plain data."""
        return self.annotator_fit.to_dict(level)
