"""Labels that are votes: the counts are themselves in doubt, and an answer allows for every way they may truly be."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fewlabels.data.counts import Tally
from fewlabels.models.annotators.result import Verdict


@dataclass(frozen=True)
class Testimony:
    """The ways the counts may truly be, each as likely as another, and how good those are whose votes they rest on."""

    truths: tuple[Tally, ...]
    verdict: Verdict

    def regroup(self, change: Callable[[Tally], Tally]) -> "Testimony":
        """Return the same about other groups."""
        return replace(self, truths=tuple(change(truth) for truth in self.truths))

    def caution(self, level: float) -> tuple[str, ...]:
        """Say so where people err."""
        return (self.verdict.say(level),) if self.verdict.errs else ()

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return what is known of people as plain data."""
        return self.verdict.to_dict(level)
