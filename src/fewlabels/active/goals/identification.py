"""Goals `find-worst` and `find-best`: identify the m groups with the most extreme metric."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from fewlabels.active.goals.goal import (
    DEFAULT_METRIC,
    ROUNDING,
    Gains,
    GoalStatus,
    MetricChoice,
    name_undefined,
    require_confidence,
    resolve_own_metric,
)
from fewlabels.active.goals.inspection import FEWEST, count_own_labels, describe_unlabelled
from fewlabels.active.pricing import Pricing
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.difference import require_rope
from fewlabels.distributions.draws import Draws
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError, join_names
from fewlabels.metrics.evaluate import Theta
from fewlabels.models.posterior import Posterior
from fewlabels.text import format_probability


@dataclass(frozen=True)
class FindWorst:
    """Identify the m worst groups with posterior probability `confidence`.

    Groups within `rope` of the m-th count as equally bad; without a rope, two equal groups never settle the goal. The
    groups that are named need labels of their own.
    """

    metric: MetricChoice = DEFAULT_METRIC
    m: int = 1
    confidence: float = 0.95
    rope: float = 0.0
    name: str = "find-worst"
    pricing: ClassVar[Pricing] = "resample"
    remedy: ClassVar[str] = (
        "say from which difference on it matters (rope), ask for less confidence or fewer groups, "
        "or about exactly these items (finite pool)"
    )

    def __post_init__(self) -> None:
        resolve_own_metric(self)
        if self.m < 1:
            raise InputError(f"goal {self.name}: m is {self.m}; at least one group is sought")
        require_rope(self.rope, is_share=self.metric.is_share, where=f"goal {self.name}: ")
        require_confidence(self.name, self.confidence)

    @property
    def aim(self) -> str:
        """What enough labels will do for the goal of identification."""
        which = self.name.removeprefix("find-")
        named = f"the {which} group" if self.m == 1 else f"the {self.m} {which} groups"
        return f"name {named} by {self.metric.name} with probability {self.confidence:g}"

    @property
    def sign(self) -> int:
        """1 if the groups to identify have the largest values, −1 if the smallest."""
        return 1 if self.metric.worst == "highest" else -1

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the signed metric as the gain of identification: label where the extreme may be."""
        return self.sign * belief.values(truth)

    def answer(self, belief: Posterior, rng: Rng) -> Belief:  # noqa: ARG002
        """Return the probability of each group to be identified as among the m; 0 where the metric is undefined."""
        return Draws(belief.groups, self._is_among_m(self._signed_draws(belief)).astype(np.float64))

    def settled(self, belief: Posterior, rng: Rng) -> bool:  # noqa: ARG002
        """Are the m groups identified with the required probability?"""
        return self._is_confident(belief, *self._find_likeliest_set(self._signed_draws(belief)))

    def describe(self, belief: Posterior, rng: Rng) -> GoalStatus:  # noqa: ARG002
        """Return the identified groups and their probability."""
        values = self._signed_draws(belief)
        named, p = self._find_likeliest_set(values)
        p_each = self._inclusion_probabilities(belief, values)
        groups = [belief.groups[g] for g in named]
        if self._seeks_too_many(belief):
            return GoalStatus(False, self._describe_too_many(belief), {"groups": [], "p": 0.0, "p_each": {}})
        details = {"groups": groups, "p": p, "p_each": {belief.groups[g]: float(p_each[g]) for g in named}}
        which = self.name.removeprefix("find-")
        said = f"the {which} by {self.metric.name} {'is' if len(groups) == 1 else 'are'} {join_names(groups, most=10)}"
        said += f" (or as good as, within {self.rope:g})" if self.rope else ""
        said += f", with probability {format_probability(p)}"
        undefined_groups = name_undefined(belief)
        said += f"; {undefined_groups}" if undefined_groups else ""
        said += describe_unlabelled(belief)
        return GoalStatus(self._is_confident(belief, named, p), said, details)

    def _inclusion_probabilities(self, belief: Posterior, values: Gains) -> Float[np.ndarray, " group"]:
        """Return each group's probability to be identified as one of the m; without a rope, from the ranks of an assessment."""
        if self.rope:
            return self._is_among_m(values).mean(axis=0)
        return belief.weigh_places(self.m, worst=self.sign == (1 if self.metric.worst == "highest" else -1))

    def _is_confident(self, belief: Posterior, named: list[int], p: float) -> bool:
        """Are the identified groups probable enough, with enough labels of their own?"""
        has_labels = count_own_labels(belief)[named] >= np.minimum(FEWEST, belief.n_items[named])
        return p >= self.confidence and bool(has_labels.all()) and not self._seeks_too_many(belief)

    def _seeks_too_many(self, belief: Posterior) -> bool:
        """Is there nothing to identify, because the metric is defined in at most m groups, while others are undefined?"""
        return bool(belief.undefined.any()) and self.m >= int((~belief.undefined).sum())

    def _describe_too_many(self, belief: Posterior) -> str:
        """Say that there is nothing to identify: more groups are sought than have a metric."""
        n, whole = int((~belief.undefined).sum()), len(belief.groups)
        return (
            f"nothing to find: {self.m} of the groups are sought, but {self.metric.name} is defined in only {n:,} of "
            f"{whole:,}; seek fewer, or choose another metric"
        )

    def _signed_draws(self, belief: Posterior) -> Gains:
        """Return signed draws of the metric, so that the groups to identify are larger; −∞ where it is undefined."""
        return np.where(belief.undefined, -np.inf, self.sign * belief.draws)

    def _is_among_m(self, values: Gains) -> Bool[np.ndarray, "draw group"]:
        """Identify the groups among the m of each draw, including groups within `rope` of the m-th."""
        m = min(self.m, values.shape[1])
        last = -np.partition(-values, m - 1, axis=1)[:, [m - 1]]
        return (values >= last - self.rope - ROUNDING) & np.isfinite(values)

    def _find_likeliest_set(self, values: Gains) -> tuple[list[int], float]:
        """Identify the m groups most often among the m, and return how often all of them are."""
        among = self._is_among_m(values)
        order = np.lexsort((-values.mean(axis=0), -among.mean(axis=0)))[: self.m]
        return [int(g) for g in order], float(among[:, order].all(axis=1).mean())


@dataclass(frozen=True)
class FindBest(FindWorst):
    """Identify the m best groups with posterior probability `confidence`."""

    metric: MetricChoice = DEFAULT_METRIC
    name: str = "find-best"

    @property
    def sign(self) -> int:
        """The opposite sign of find-worst: the groups to identify have the largest values."""
        return -1 if self.metric.worst == "highest" else 1
