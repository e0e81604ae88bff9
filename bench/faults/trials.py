"""What came of a fault, and the sum of many."""

from collections.abc import Iterable
from dataclasses import dataclass, field

COUNTS = ("before", "after", "acknowledged", "lost", "twice", "half", "litter", "broken")


@dataclass(frozen=True)
class Trial:
    """Counts after a fault: all from `lost` to `broken` should be 0."""

    acknowledged: int = 0  # answers, sessions or files that were there or said to be kept before the fault
    lost: int = 0  # acknowledged, and not there or changed
    twice: int = 0  # there more than once, or an item handed to two people at a time
    half: int = 0  # what belongs together and is there in part; files that are not whole
    litter: int = 0  # files that should not be there once the command was repeated
    broken: int = 0  # anything else: a session that does not open, an unclear error, a hang
    recovery: float = 0.0  # seconds until all was well again
    notes: tuple[str, ...] = field(default=(), compare=False)
    before: int = 0  # faults before the work at hand was acknowledged
    after: int = 0  # faults after that

    def __add__(self, other: "Trial") -> "Trial":
        """Add counts; the slower recovery stands for both."""
        counts = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        return Trial(**counts, recovery=max(self.recovery, other.recovery), notes=(*self.notes, *other.notes))

    @property
    def is_clean(self) -> bool:
        """Did the fault do no harm?"""
        return not (self.lost or self.twice or self.half or self.litter or self.broken)


@dataclass(frozen=True)
class Row:
    """A scenario's faults, added up."""

    scenario: str
    faults: int
    total: Trial

    def write(self) -> str:
        """Write a row of a Markdown table."""
        t = self.total
        counts = (self.faults, t.before, t.after, t.acknowledged, t.lost, t.twice, t.half, t.litter, t.broken)
        return f"| {self.scenario} | {' | '.join(f'{n:,}' for n in counts)} | {t.recovery:.2f} |"


HEAD = (
    "| scenario | faults | before | after | acknowledged | lost | twice | half-kept | litter | other | slowest recovery, s |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
)


def add_up(scenario: str, trials: Iterable[Trial]) -> Row:
    """Add the trials of a scenario, one for each fault."""
    found = list(trials)
    return Row(scenario, len(found), sum(found, Trial()))
