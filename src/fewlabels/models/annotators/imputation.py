"""Counts from votes are uncertain: several imputed count tables, over which analyses average (multiple imputation)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fewlabels.data.counts import Tally
from fewlabels.models.annotators.result import Verdict


@dataclass(frozen=True)
class Testimony:
    """Equally probable imputed counts, and the annotator fit that they come from."""

    truths: tuple[Tally, ...]
    verdict: Verdict

    def regroup(self, change: Callable[[Tally], Tally]) -> "Testimony":
        """Return the same imputations for other groups."""
        return replace(self, truths=tuple(change(truth) for truth in self.truths))

    def caution(self, level: float) -> tuple[str, ...]:
        """Warn where annotators err."""
        return (self.verdict.say(level),) if self.verdict.errs else ()

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return the annotator fit as plain data."""
        return self.verdict.to_dict(level)
