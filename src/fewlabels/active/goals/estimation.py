"""Goals that estimate the metric in every group: `estimate`, `explore`, `least-certain`."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from fewlabels.active.goals.goal import (
    DEFAULT_METRIC,
    ROUNDING,
    Gains,
    GoalStatus,
    MetricChoice,
    name_undefined,
    resolve_own_metric,
)
from fewlabels.active.goals.inspection import Inspection, inspect
from fewlabels.active.goals.variance import expect_variance_reduction, gain_by_variance, measure_variance
from fewlabels.active.pricing import Pricing
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError, count, join_names
from fewlabels.metrics.evaluate import Theta
from fewlabels.models.grades.mean_grades import MeanGrades, doubt_mean_grades
from fewlabels.models.posterior import PerGroup, Posterior

KNOWN_WORTH = 0.1  # of a group that is known well enough, against 1 of one that is not
DOUBT, MIDDLE = (
    2.0,
    0.5,
)  # labels against the estimate that must leave the interval narrow; mean from which wrong ones are
WIDTH_IN_SD = 3.92  # of a normal 95 % interval
FULL_WEIGHT_SIZE = (
    5  # items from which a group has full weight; below, weight is proportional to size: one outcome says little
)


@dataclass(frozen=True)
class Estimate:
    """Estimate the metric in every group, until every credible interval has at most this width.

    Every group must have been looked at, too: its own labels must have shown that it is not broken.
    """

    metric: MetricChoice = DEFAULT_METRIC
    width: float = 0.1
    name: str = "estimate"
    pricing: ClassVar[Pricing] = "divide"
    remedy: ClassVar[str] = "take a wider target, merge small groups, or ask about exactly these items (finite pool)"

    def __post_init__(self) -> None:
        resolve_own_metric(self)
        if not self.width > 0:
            raise InputError(f"goal estimate: a width of {self.width} cannot be reached; intervals have some width")
        if self.metric.is_share and self.width >= 1:
            raise InputError(f"goal estimate: a width of {self.width} says nothing; {self.metric.name} lies in [0, 1]")

    @property
    def aim(self) -> str:
        """What enough labels will do for the goal of estimation."""
        half = f"{50 * self.width:.3g} points" if self.metric.is_share else f"{self.width / 2:.3g}"
        return f"get {self.metric.name} of every group within ±{half}"

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the gain for estimation: p_g times the expected variance reduction; for correlated groups, of all groups.

        Groups that are known well enough count less, so that labels go where they settle the goal.
        """
        if belief.learned_covariance is None:
            return gain_by_variance(belief, truth) * belief.share
        worth = belief.share * np.where(self._may_be_open(belief), 1.0, KNOWN_WORTH)
        return np.tile(expect_variance_reduction(belief, worth) + worth * _expect_inspection(belief), (len(truth), 1))

    def _may_be_open(self, belief: Posterior) -> Bool[np.ndarray, " group"]:
        """Would the interval of the estimate be too wide, or the group not be looked at, after the pending answers?"""
        deviation = np.sqrt(measure_variance(belief))
        low = belief.values(belief.expect())[0] - WIDTH_IN_SD / 2 * deviation
        is_inspected = Inspection(belief, with_pending=True, low=low, narrow=self.width).is_inspected
        return (WIDTH_IN_SD * deviation > self.width) | ~is_inspected

    def answer(self, belief: Posterior, rng: Rng) -> Belief:  # noqa: ARG002
        """Return what the goal of estimation asks for: the posterior of the metric in every group."""
        return belief

    def settled(self, belief: Posterior, rng: Rng) -> bool:  # noqa: ARG002
        """Is the estimation settled: is every interval narrow enough, of a group that was looked at?

        Groups with an undefined metric are ignored.
        """
        return _is_settled(belief, self._is_open(belief))

    def describe(self, belief: Posterior, rng: Rng) -> GoalStatus:  # noqa: ARG002
        """Describe how far the goal of estimation is: the widest interval, and how many groups are still too wide."""
        inspection, width, (low, high) = inspect(belief, self.width), belief.width(), belief.interval()
        is_open = self._is_open(belief)
        order = np.where(is_open, 1.0, 0.0) + width / (1 + width)
        widest = int(np.argmax(np.where(belief.undefined, -1.0, order)))
        details = {
            "width": self.width, "n_groups_open": int(is_open.sum()), "unseen": inspection.unseen,
            "widest": {"group": belief.groups[widest], "low": float(low[widest]), "high": float(high[widest])},
        }  # fmt: skip
        said = f"{self.metric.name} of every group is known to within ±{self.width / 2:.3g}{_describe_seen(inspection)}"
        if is_open.any():
            at = f"the widest interval is {width[widest]:.3g} ({belief.groups[widest]})"
            said = f"groups not known to within ±{self.width / 2:.3g} yet: {is_open.sum():,} of {len(width):,}; {at}"
            said += _describe_unseen(inspection, ~self._is_wide(belief))
        undefined_groups = name_undefined(belief)
        if undefined_groups:
            said = undefined_groups if belief.undefined.all() else f"{said}; {undefined_groups}"
        return GoalStatus(_is_settled(belief, is_open), said, details)

    def _is_wide(self, belief: Posterior) -> Bool[np.ndarray, " group"]:
        """Is the interval of the estimate too wide?"""
        return ((belief.width() > self.width + ROUNDING) | ~belief.is_informed) & ~belief.undefined

    def _is_open(self, belief: Posterior) -> Bool[np.ndarray, " group"]:
        """Is the interval of the estimate too wide, or would two labels against it make it so, or is the group not looked at?

        Sessions that stop at the first narrow interval stop where mistakes happen to be few; two more of them is what
        a careful interval adds for that (Agresti and Coull 1998).
        """
        is_open = self._is_wide(belief) | ~self._inspect(belief)
        has_outcomes = belief.metric.reads == "right" and belief.metric.is_cell_accuracy
        if not is_open.all() and has_outcomes and belief.cells.n == len(belief.groups):
            is_open |= (measure_doubt(belief) > self.width + ROUNDING) & ~belief.undefined
        return is_open

    def _inspect(self, belief: Posterior) -> Bool[np.ndarray, " group"]:
        """Has the group been looked at, so that its estimate can be trusted?"""
        return inspect(belief, self.width).is_inspected | belief.undefined


@dataclass(frozen=True)
class Explore(Estimate):
    """Estimate all groups of five or more items with equal weight; labels also inform correlated groups."""

    metric: MetricChoice = DEFAULT_METRIC
    name: str = "explore"

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the expected variance reduction by which Explore estimates, summed over all groups; no draw matters."""
        group_weight = np.minimum(belief.n_items / FULL_WEIGHT_SIZE, 1.0)
        fall = expect_variance_reduction(belief, group_weight) + group_weight * _expect_inspection(belief)
        return np.tile(fall, (len(truth), 1))


@dataclass(frozen=True)
class LeastCertain(Estimate):
    """Estimate all groups with equal weight: label the group with the largest variance (004, Eq. 12)."""

    metric: MetricChoice = DEFAULT_METRIC
    name: str = "least-certain"

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the current variance of the estimate (of the population, or of the finite pool); it does not depend on the draw."""
        return np.tile(measure_variance(belief), (len(truth), 1))


def _is_settled(belief: Posterior, is_open: Bool[np.ndarray, " group"]) -> bool:
    """Is the estimate of every group that is defined settled?"""
    return not is_open.any() and not belief.undefined.all()


def measure_doubt(belief: Posterior) -> PerGroup:
    """Return the width of every estimate's interval after two more labels against it."""
    if not isinstance(belief.joint, MeanGrades):
        return _doubt(belief).width()
    tally, splits, n = belief.evaluation.tally, belief.metric.splits, int(DOUBT)
    low, high = doubt_mean_grades(tally, splits, finite_pool=belief.finite_pool, n=n).interval(belief.level)
    return high - low


def _doubt(belief: Posterior) -> Posterior:
    """Return the posterior of the estimates after two more labels of each group, as far as it has items, of its rarer outcome."""
    rest = np.maximum(belief.n_items - belief.n_labelled, 0.0)
    is_mostly_right = belief.mean() >= MIDDLE
    outcomes = np.stack([~is_mostly_right, is_mostly_right], axis=1)
    return belief.label(outcomes * np.minimum(DOUBT, rest)[:, None])


def _expect_inspection(belief: Posterior) -> PerGroup:
    """Return the expected fall of an estimate's variance that is due to the chance that a group is broken.

    Where groups are independent, the variance of a group without labels is large already.
    """
    if belief.learned_covariance is None:
        return np.zeros(len(belief.groups))
    return Inspection(belief, with_pending=True, low=np.ones(len(belief.groups))).expected_fall


def _describe_seen(inspection: Inspection) -> str:
    """Say how many labels the estimated groups have at least."""
    seen = inspection.n_labels[~inspection.posterior.undefined]
    return f" ({count(round(float(seen.min())), 'label')} in each, or more)" if len(seen) > 1 else ""


def _describe_unseen(inspection: Inspection, is_narrow: Bool[np.ndarray, " group"]) -> str:
    """Name estimated groups that are not known only because their own labels do not show yet that they are not broken."""
    posterior = inspection.posterior
    unseen = [name for name in inspection.unseen if is_narrow[posterior.position(name)]]
    if not unseen or not posterior.n_told.any():
        return ""
    whose = "its own labels are" if len(unseen) == 1 else "their own labels are"
    return f"; {whose} too few to show whether scores mislead there: {join_names(unseen, most=5)}"
