"""Metrics of groups of people, computed from draws of the number of items and of positives in every stratum.

Rates such as tpr are those of the metric registry: a rate is a part of a whole, both sums of the four outcomes (tn, fn,
fp, tp), and which these are follows from the registered metric itself. Other metrics, users' own included, are evaluated
as they are. The properties of scores (calibration and balance) are defined here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.outcomes import OUTCOMES, Outcomes, evaluate_outcomes, find_rate
from fewlabels.analyses.fairness.strata import Strata, sum_strata
from fewlabels.metrics.metric import METRICS, Metric

BINS = 10  # score bins of the calibration error within groups
Values = Float[np.ndarray, "draw group"]
Parts = Float[np.ndarray, "draw group part"]


@dataclass(frozen=True)
class Masses:
    """Draws of the number of items and of positives in every stratum, from which metrics of groups are computed."""

    strata: Strata
    items: Float[np.ndarray, "#draw stratum"]
    positive: Float[np.ndarray, "draw stratum"]

    @cached_property
    def outcomes(self) -> Outcomes:
        """Sums of the four outcomes in every group, for its metrics."""
        n = 2 * len(self.strata.groups)
        positive, items = (sum_strata(values, self.strata.cell, n) for values in (self.positive, self.items))
        negative = items - positive
        return np.stack([negative[:, 0::2], positive[:, 0::2], negative[:, 1::2], positive[:, 1::2]], axis=2)


@runtime_checkable
class GroupMetric(Protocol):
    """A metric of groups, computed from parts that are additive over groups."""

    @property
    def name(self) -> str:
        """The metric's name on the command line and in results."""
        ...

    def gather(self, masses: Masses) -> Parts:
        """The parts of the metric in each group."""
        ...

    def evaluate(self, parts: Parts) -> Values:
        """The metric's value; NaN where it is undefined."""
        ...


@dataclass(frozen=True)
class GroupRate:
    """A metric of groups that is the ratio of a part to a whole, both sums of outcomes.

    >>> RATES["tpr"].whole
    ('fn', 'tp')
    """

    name: str
    part: tuple[str, ...]
    whole: tuple[str, ...]

    def gather(self, masses: Masses) -> Parts:
        """Sum part and whole of the rate in each group."""
        return self.select(masses.outcomes)

    def select(self, outcomes: Outcomes) -> Parts:
        """Sum the outcomes of part and whole of the rate."""
        chosen = ([OUTCOMES.index(name) for name in names] for names in (self.part, self.whole))
        return np.stack([outcomes[:, :, which].sum(axis=2) for which in chosen], axis=2)

    def evaluate(self, parts: Parts) -> Values:
        """Divide the parts of the rate by the wholes."""
        return _divide(parts[:, :, 0], parts[:, :, 1])


@dataclass(frozen=True)
class GroupOutcomeMetric:
    """Any other metric of the registry or of the user, evaluated on the four outcomes."""

    metric: Metric

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.metric.name

    def gather(self, masses: Masses) -> Parts:
        """Sum the outcomes of each group."""
        return masses.outcomes

    def evaluate(self, parts: Parts) -> Values:
        """Evaluate the metric on the outcomes of each group."""
        return evaluate_outcomes(self.metric, parts)


@dataclass(frozen=True)
class BalanceOfScores:
    """The mean score of the items of one true class (Kleinberg, Mullainathan and Raghavan)."""

    name: str
    truth: bool

    def gather(self, masses: Masses) -> Parts:
        """Sum the scores of the positive or negative items of each group, and their number."""
        chosen, strata = masses.positive if self.truth else masses.items - masses.positive, masses.strata
        return np.stack([sum_strata(values, strata.group, len(strata.groups)) for values in (chosen * strata.score, chosen)], axis=2)  # fmt: skip

    def evaluate(self, parts: Parts) -> Values:
        """Divide the sums of scores of each group by the items."""
        return _divide(parts[:, :, 0], parts[:, :, 1])


@dataclass(frozen=True)
class GroupCalibrationError:
    """Calibration error within a group, over ten equal-width score bins."""

    name: str = "calibration"

    def gather(self, masses: Masses) -> Parts:
        """Sum, in every bin of each group, positives minus scores; and all items."""
        strata, n = masses.strata, len(masses.strata.groups)
        place = BINS * strata.group + np.minimum((BINS * strata.score).astype(np.int64), BINS - 1)
        excess = sum_strata(masses.positive - masses.items * strata.score, place, BINS * n).reshape(-1, n, BINS)
        items = np.broadcast_to(sum_strata(masses.items, strata.group, n), excess.shape[:2])
        return np.concatenate([excess, items[:, :, None]], axis=2)

    def evaluate(self, parts: Parts) -> Values:
        """Evaluate the calibration error of each group: Σ_b p_b |share of positives − mean score|."""
        return _divide(np.abs(parts[:, :, :BINS]).sum(axis=2), parts[:, :, BINS])


def to_group_metric(metric: Metric) -> GroupMetric:
    """Return a metric of outcomes as a quantity of groups of people: a rate where it is one.

    >>> to_group_metric(METRICS["ppv"]), to_group_metric(METRICS["mcc"]).name
    (GroupRate(name='ppv', part=('tp',), whole=('fp', 'tp')), 'mcc')
    """
    found = find_rate(metric)
    return GroupOutcomeMetric(metric) if found is None else GroupRate(metric.name, *found)


def _divide(part: Values, whole: Values) -> Values:
    """Divide the parts of a metric of groups; 0/0 is NaN."""
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)


REFUSED = {
    "ece": "it compares scores with accuracies in bins of the confidence; choose 'calibration'",
    **dict.fromkeys(
        ("brier", "log-loss"), "it compares scores with outcomes; choose 'calibration' or the balance of scores"
    ),
    "confusion": "it is the accuracy by another name; choose 'accuracy'",
}
OUTCOME_METRICS: Mapping[str, GroupMetric] = {
    name: to_group_metric(metric) for name, metric in METRICS.items() if name not in REFUSED
}
RATES: Mapping[str, GroupRate] = {name: rate for name, rate in OUTCOME_METRICS.items() if isinstance(rate, GroupRate)}
GROUP_METRICS: Mapping[str, GroupMetric] = {
    **OUTCOME_METRICS,
    "balance-positive": BalanceOfScores("balance-positive", truth=True),
    "balance-negative": BalanceOfScores("balance-negative", truth=False),
    "calibration": GroupCalibrationError(),
}


def group_or_rest(parts: Parts, *, rest: bool) -> Parts:
    """Parts of a metric in each group, or in the rest of the pool outside it."""
    return parts.sum(axis=1, keepdims=True) - parts if rest else parts
