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
from fewlabels.active.goals.variance import expect_variance_reduction, gain_by_variance, measure_variance
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError
from fewlabels.metrics.evaluate import Theta
from fewlabels.models.posterior import Posterior

FULL_WEIGHT_SIZE = (
    5  # items from which a group has full weight; below, weight is proportional to size: one outcome says little
)


@dataclass(frozen=True)
class Estimate:
    """Estimate the metric in every group, until every credible interval has at most this width."""

    metric: MetricChoice = DEFAULT_METRIC
    width: float = 0.1
    name: str = "estimate"
    remedy: ClassVar[str] = "take a wider target, merge small groups, or ask about exactly these items (finite pool)"

    def __post_init__(self) -> None:
        resolve_own_metric(self)
        if not self.width > 0:
            raise InputError(f"goal estimate: a width of {self.width} cannot be reached; intervals have some width")
        if self.metric.is_share and self.width >= 1:
            raise InputError(f"goal estimate: a width of {self.width} says nothing; {self.metric.name} lies in [0, 1]")

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return p_g times the expected variance reduction; for correlated groups, summed over all groups."""
        if belief.covariance is None:
            return gain_by_variance(belief, truth) * belief.share
        return np.tile(expect_variance_reduction(belief, belief.share), (len(truth), 1))

    def answer(self, belief: Posterior, rng: Rng) -> Belief:  # noqa: ARG002
        """Return the posterior of the metric in every group."""
        return belief

    def settled(self, belief: Posterior, rng: Rng) -> bool:  # noqa: ARG002
        """Is every interval narrow enough? Groups with an undefined metric are ignored."""
        return not self._is_wide(belief).any() and not belief.undefined.all()

    def describe(self, belief: Posterior, rng: Rng) -> GoalStatus:
        """Report the widest interval and the number of groups that are still too wide."""
        is_wide, width, (low, high) = self._is_wide(belief), belief.width(), belief.interval()
        order = np.where(is_wide, 1.0, 0.0) + width / (1 + width)
        widest = int(np.argmax(np.where(belief.undefined, -1.0, order)))
        details = {
            "width": self.width, "n_groups_open": int(is_wide.sum()),
            "widest": {"group": belief.groups[widest], "low": float(low[widest]), "high": float(high[widest])},
        }  # fmt: skip
        said = f"{belief.metric.name} of every group is known to within ±{self.width / 2:.3g}"
        if is_wide.any():
            at = f"the widest interval is {width[widest]:.3g} ({belief.groups[widest]})"
            said = f"groups not known to within ±{self.width / 2:.3g} yet: {is_wide.sum():,} of {len(width):,}; {at}"
        undefined_groups = name_undefined(belief)
        if undefined_groups:
            said = undefined_groups if belief.undefined.all() else f"{said}; {undefined_groups}"
        return GoalStatus(self.settled(belief, rng), said, details)

    def _is_wide(self, belief: Posterior) -> Bool[np.ndarray, " group"]:
        return ((belief.width() > self.width + ROUNDING) | ~belief.is_informed) & ~belief.undefined


@dataclass(frozen=True)
class Explore(Estimate):
    """Estimate all groups of five or more items with equal weight; labels also inform correlated groups."""

    metric: MetricChoice = DEFAULT_METRIC
    name: str = "explore"

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the expected variance reduction, summed over all groups; it does not depend on the draw."""
        group_weight = np.minimum(belief.n_items / FULL_WEIGHT_SIZE, 1.0)
        return np.tile(expect_variance_reduction(belief, group_weight), (len(truth), 1))


@dataclass(frozen=True)
class LeastCertain(Estimate):
    """Estimate all groups with equal weight: label the group with the largest variance (004, Eq. 12)."""

    metric: MetricChoice = DEFAULT_METRIC
    name: str = "least-certain"

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the current variance (of the population, or of the finite pool); it does not depend on the draw."""
        return np.tile(measure_variance(belief), (len(truth), 1))
