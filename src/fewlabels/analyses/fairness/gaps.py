"""Gaps between groups from posterior draws: against a reference group, against the rest, and the largest gap."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.group_metrics import GROUP_METRICS, GroupMetric
from fewlabels.analyses.fairness.methods import MethodDraws
from fewlabels.analyses.fairness.sample_size import count_labels
from fewlabels.analyses.fairness.strata import Strata

REST, LARGEST = "rest", "largest"
ODDS = "equalised-odds"
ODDS_PARTS = ("tpr", "fpr")
FOUR_FIFTHS = 0.8
UNDEFINED = float("nan")
Draws = Float[np.ndarray, " draw"]


@dataclass(frozen=True)
class Ratio:
    """Ratio of the group's metric to the reference's; without a direction, of the lower to the higher."""

    median: float
    low: float
    high: float
    p_below_four_fifths: float


@dataclass(frozen=True, eq=False)
class Gap:
    """The gap of a group: its metric minus the reference's."""

    metric: str
    group: str
    mean: float
    low: float
    high: float
    p_greater: float  # P(gap > 0)
    p_practically_fair: float  # P(|gap| <= rope)
    more_labels: (
        int | None
    )  # estimated labels until settled; 0 if settled, None if all remaining labels would not suffice
    ratio: Ratio | None
    draws: Draws

    def to_dict(self) -> dict[str, Any]:
        """Return the gap as plain data, as in the JSON."""
        plain = {name: value for name, value in vars(self).items() if name != "draws"}
        return plain | {"median": self.median, "ratio": None if self.ratio is None else asdict(self.ratio)}

    @property
    def median(self) -> float:
        """Median of the gap's draws: the largest of several gaps is skewed, and its mean is pulled up by its tail."""
        defined = self.draws[~np.isnan(self.draws)]
        return float(np.median(defined)) if len(defined) else UNDEFINED

    @property
    def has_sign(self) -> bool:
        """Can the gap be negative? The largest gap and equalised odds are distances, and greater than 0 in any case."""
        return self.group != LARGEST and self.metric != ODDS

    @property
    def is_settled(self) -> bool:
        """Does the gap's interval lie entirely within the rope, or entirely outside it?"""
        return self.more_labels == 0


@dataclass(frozen=True)
class GapEstimator:
    """Computes the gaps of all groups, given draws, reference, rope and level."""

    strata: Strata
    sample: MethodDraws
    reference: str
    rope: float
    level: float
    quantities: Mapping[str, GroupMetric] = field(default_factory=lambda: GROUP_METRICS)
    seed: int = 0

    def measure(self, name: str) -> Float[np.ndarray, "draw group"]:
        """Draws of a metric in every group."""
        return self.sample.value(self.quantities[name])

    def compare(self, name: str) -> Iterator[Gap]:
        """Yield the gap of every group but the reference; with more than two groups, also the largest pairwise gap."""
        parts = ODDS_PARTS if name == ODDS else (name,)
        measured = [self.measure(part) for part in parts]
        references = [self._reference_draws(part, values) for part, values in zip(parts, measured, strict=True)]
        for i, group in enumerate(self.strata.groups):
            if group != self.reference:
                sides = [(value[:, i], other[:, i]) for value, other in zip(measured, references, strict=True)]
                yield self._summarize(name, group, sides)
        if len(self.strata.groups) > 2:
            rng = np.random.default_rng([self.seed, *name.encode()])  # the same draws on every call
            pooled = [self.sample.value_pooled(rng, self.quantities[part]) for part in parts]
            extremes = [(np.fmax.reduce(values, axis=1), np.fmin.reduce(values, axis=1)) for values in pooled]
            yield self._summarize(name, LARGEST, extremes)

    def _reference_draws(self, name: str, values: Float[np.ndarray, "draw group"]) -> Float[np.ndarray, "draw group"]:
        """Draws of the metric that each group is compared with."""
        if self.reference == REST:
            return self.sample.value(self.quantities[name], rest=True)
        which = self.strata.groups.index(self.reference)
        return np.broadcast_to(values[:, which : which + 1], values.shape)

    def _summarize(self, name: str, group: str, sides: Sequence[tuple[Draws, Draws]]) -> Gap:
        """Return a gap from its draws: interval, verdicts, ratio and labels to settle it."""
        gaps = np.stack([value - other for value, other in sides])
        gap = np.abs(gaps).max(axis=0) if name == ODDS else gaps[0]
        defined = gap[~np.isnan(gap)]
        if not len(defined):
            return Gap(name, group, *(UNDEFINED,) * 5, None, None, gap)
        mean, (low, high) = float(defined.mean()), self.interval(defined)
        greater, fair = (defined > 0).mean(), (np.abs(defined) <= self.rope).mean()
        more = self._labels_to_settle(name, group, gaps, high)
        ratio = self._divide(sides, directed=name != ODDS and group != LARGEST)
        return Gap(name, group, mean, low, high, float(greater), float(fair), more, ratio, gap)

    def _labels_to_settle(self, name: str, group: str, gaps: Float[np.ndarray, "part draw"], high: float) -> int | None:
        """Estimate how many more labels would settle a gap: one part outside the rope, or all parts within.

        A maximum of several gaps is biased upwards while they are uncertain, so each part is settled by itself.
        """
        if group == LARGEST:
            return 0 if high <= self.rope else None
        parts = ODDS_PARTS if name == ODDS else (name,)
        needs = [self._settle(part, group, gap) for part, gap in zip(parts, gaps, strict=True)]
        beyond = [more for is_beyond, more in needs if is_beyond and more is not None]
        if any(is_beyond for is_beyond, _ in needs):
            return min(beyond, default=None)
        known = [more for _, more in needs if more is not None]
        return max(known) if len(known) == len(needs) else None

    def _settle(self, name: str, group: str, gap: Draws) -> tuple[bool, int | None]:
        """Return whether the gap's mean is outside the rope, and the labels until the whole interval is on that side."""
        defined = gap[~np.isnan(gap)]
        mean, (low, high) = float(defined.mean()), self.interval(defined)
        wanted = _required_shrinkage(mean, low, high, self.rope)
        compared = [self.strata.groups.index(one) for one in (group, self.reference) if one != REST]
        if wanted >= 1:
            return abs(mean) > self.rope, self.sample.count_missing_labels(self.quantities[name], compared)
        more = count_labels(self.sample.forecast(gap, compared), wanted, int(self.strata.n_rest.sum()))
        return abs(mean) > self.rope, more

    def _divide(self, sides: Sequence[tuple[Draws, Draws]], *, directed: bool) -> Ratio | None:
        """Ratio of the two sides of a gap; of several parts, the smallest."""
        if not directed:
            sides = [(np.minimum(*side), np.maximum(*side)) for side in sides]
        multiples = [np.divide(a, b, out=np.full_like(a, np.nan), where=b > 0) for a, b in sides]
        multiple = np.minimum.reduce(multiples)
        multiple = multiple[~np.isnan(multiple)]
        if not len(multiple):
            return None
        low, high = np.quantile(multiple, self._tails)
        return Ratio(float(np.median(multiple)), float(low), float(high), float((multiple < FOUR_FIFTHS).mean()))

    def interval(self, draws: Draws) -> tuple[float, float]:
        """Quantiles of a gap's draws, widened to contain the mean."""
        mean, (low, high) = float(draws.mean()), np.quantile(draws, self._tails)
        return min(float(low), mean), max(float(high), mean)

    @property
    def _tails(self) -> list[float]:
        """The probabilities between which a gap's interval lies."""
        return [(1 - self.level) / 2, (1 + self.level) / 2]


def _required_shrinkage(mean: float, low: float, high: float, rope: float) -> float:
    """Return the factor by which a gap's interval must shrink to lie entirely within the rope or entirely outside it.

    >>> _required_shrinkage(0.05, 0.0, 0.1, 0.02), _required_shrinkage(0.05, 0.03, 0.1, 0.02)
    (0.6, 1.5)
    """
    if abs(mean) > rope:
        reach = mean - low if mean > 0 else high - mean
        return _share(abs(mean) - rope, reach)
    return min(_share(rope - mean, high - mean), _share(rope + mean, mean - low))


def _share(room: float, reach: float) -> float:
    """Return the room in a gap's rope as a share of the reach; infinite without reach."""
    return round(room / reach, 12) if reach > 0 else np.inf
