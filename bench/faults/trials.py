"""What came of a fault, and the sum of many."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.harness.rows import Row

FAULTS, WRONG = "faults", "wrong"  # tables of rows
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
class ScenarioResult:
    """A scenario's faults, added up."""

    scenario: str
    faults: int
    total: Trial

    def list_rows(self) -> list[Row]:
        """Return a row of counts, and one for everything that was wrong."""
        counts = {name: getattr(self.total, name) for name in (*COUNTS, "recovery")}
        about = {"scenario": self.scenario}
        wrong = [{"table": WRONG, **about, "text": note} for note in dict.fromkeys(self.total.notes)]
        return [{"table": FAULTS, **about, "faults": self.faults, **counts}, *wrong]


def add_up(scenario: str, trials: Iterable[Trial]) -> ScenarioResult:
    """Add the trials of a scenario, one for each fault."""
    found = list(trials)
    return ScenarioResult(scenario, len(found), sum(found, Trial()))
