"""From draws of groups to gaps between them: against a reference, against everybody else, and the largest of all."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.gaps.methods import Sample
from fewlabels.gaps.people import People
from fewlabels.gaps.rates import QUANTITIES

REST, LARGEST = "rest", "largest"
ODDS = "equalised-odds"
ODDS_PARTS = ("tpr", "fpr")
FOUR_FIFTHS = 0.8
Draws = Float[np.ndarray, " draw"]


@dataclass(frozen=True)
class Ratio:
    """One group's value as a multiple of the reference's."""

    median: float
    low: float
    high: float
    p_below_four_fifths: float


@dataclass(frozen=True, eq=False)
class Gap:
    """How far a group is from its reference: value of the group minus value of the reference."""

    metric: str
    group: str
    mean: float
    low: float
    high: float
    p_greater: float  # than nothing
    p_practically_fair: float  # within the margin
    ratio: Ratio | None
    draws: Draws

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's row."""
        plain = {name: value for name, value in vars(self).items() if name != "draws"}
        return plain | {"ratio": None if self.ratio is None else asdict(self.ratio)}

    def is_settled(self, rope: float) -> bool:
        """Is the interval all within the margin, or all outside of it? Of several uncertain gaps, the largest always seems to be."""
        within = self.low >= -rope and self.high <= rope
        return within or (self.group != LARGEST and (self.low > rope or self.high < -rope))


@dataclass(frozen=True)
class Contrast:
    """Which groups are compared, with whom, and what margin is as good as nothing."""

    people: People
    sample: Sample
    reference: str
    rope: float
    level: float

    def measure(self, name: str) -> Float[np.ndarray, "draw group"]:
        """Draws of a quantity in every group."""
        return self.sample.value(QUANTITIES[name])

    def compare(self, name: str) -> Iterator[Gap]:
        """Yield the gap of every group but the reference; of more than two, also the largest between any two."""
        parts = ODDS_PARTS if name == ODDS else (name,)
        measured = [self.measure(part) for part in parts]
        faced = [self._face(part, values) for part, values in zip(parts, measured, strict=True)]
        for i, group in enumerate(self.people.groups):
            if group != self.reference:
                yield self._tell(name, group, [v[:, i] for v in measured], [v[:, i] for v in faced])
        if len(self.people.groups) > 2:
            spans = [np.ptp(values, axis=1) for values in measured]
            yield self._tell(name, LARGEST, spans, [np.zeros_like(span) for span in spans], ratio=False)

    def _face(self, name: str, values: Float[np.ndarray, "draw group"]) -> Float[np.ndarray, "draw group"]:
        """Draws of whom each group is compared with."""
        if self.reference == REST:
            return self.sample.value(QUANTITIES[name], rest=True)
        which = self.people.groups.index(self.reference)
        return np.broadcast_to(values[:, which : which + 1], values.shape)

    def _tell(
        self, name: str, group: str, values: Sequence[Draws], others: Sequence[Draws], *, ratio: bool = True
    ) -> Gap:
        gaps = np.stack([value - other for value, other in zip(values, others, strict=True)])
        gap = np.abs(gaps).max(axis=0) if name == ODDS else gaps[0]
        defined = gap[~np.isnan(gap)]
        if not len(defined):
            return Gap(name, group, *(float("nan"),) * 5, None, gap)
        low, high = self.interval(defined)
        greater, fair = (defined > 0).mean(), (np.abs(defined) <= self.rope).mean()
        compared = self._divide(values[0], others[0]) if ratio and name != ODDS else None
        return Gap(name, group, float(defined.mean()), low, high, float(greater), float(fair), compared, gap)

    def _divide(self, value: Draws, other: Draws) -> Ratio | None:
        multiple = np.divide(value, other, out=np.full_like(value, np.nan), where=other > 0)
        multiple = multiple[~np.isnan(multiple)]
        if not len(multiple):
            return None
        return Ratio(float(np.median(multiple)), *self.interval(multiple), float((multiple < FOUR_FIFTHS).mean()))

    def interval(self, draws: Draws) -> tuple[float, float]:
        """Quantiles."""
        low, high = np.quantile(draws, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(low), float(high)
