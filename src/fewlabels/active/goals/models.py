"""Goals about several models on the same items: `compare-models` and `best-model`.

A label tells about a difference only where the models disagree, so only such items are asked for: where a further label
reduces the variance of the difference most, as in Neyman's allocation to strata.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from fewlabels.active.goals.goal import (
    DEFAULT_METRIC,
    Gains,
    GoalStatus,
    MetricChoice,
    require_confidence,
    resolve_own_metric,
)
from fewlabels.active.pricing import Pricing
from fewlabels.analyses.models.estimates import (
    compare_scope,
    describe_best,
    describe_estimated_difference,
    forecast_best_model,
    forecast_pair,
    list_figures,
)
from fewlabels.analyses.models.pair_counts import PairCounts
from fewlabels.analyses.models.sample_size import MIN_LABELS, LabelForecast
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.difference import NOT_SETTLED, require_rope
from fewlabels.distributions.draws import Draws
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError, did_you_mean
from fewlabels.metrics.evaluate import Theta
from fewlabels.metrics.metric import accuracy
from fewlabels.models.joint_outcomes.posterior import JointPosterior
from fewlabels.models.posterior import Posterior

MIN_INTEREST = 0.02  # weight of a pair of models that is nearly decided
REMEDY = "choose another rope, or ask for less confidence"


@dataclass(frozen=True)
class CompareModels:
    """Decide whether model a is better than model b by more than `rope`, with posterior probability `confidence`.

    Of two models they need not be named: the later one is compared with the earlier one.
    """

    a: str | None = None
    b: str | None = None
    metric: MetricChoice = DEFAULT_METRIC
    rope: float = 0.01
    confidence: float = 0.95
    name: str = "compare-models"
    remedy: ClassVar[str] = REMEDY
    pricing: ClassVar[Pricing] = "divide"
    random_share: ClassVar[float] = 0.0  # items on which models agree tell nothing of their difference

    def __post_init__(self) -> None:
        _require_choices(self)
        if (self.a is None) != (self.b is None) or (self.a is not None and self.a == self.b):
            raise InputError("goal compare-models: name two different models, or none of two")

    @property
    def aim(self) -> str:
        """What enough labels will do for a goal that compares models."""
        which = f"{self.a} and {self.b}" if self.a else "the two models"
        return f"tell whether {which} differ by more than {self.rope:g}, with probability {self.confidence:g}"

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the expected fall of the variance of two models' difference by a label in each group."""
        joint = find_joint(self.name, belief)
        return np.tile(reduce_variance(belief, joint, {self.find_pair(joint): 1.0}), (len(truth), 1))

    def answer(self, belief: Posterior, rng: Rng) -> Belief:  # noqa: ARG002
        """Return what the goal asks of two models: the posterior of the difference a − b."""
        joint = find_joint(self.name, belief)
        a, b = self.find_pair(joint)
        return Draws((f"{joint.models[a]} − {joint.models[b]}",), joint.overall[:, [a]] - joint.overall[:, [b]])

    def settled(self, belief: Posterior, rng: Rng) -> bool:
        """Does the verdict on two models have the probability that the goal requires?"""
        joint = find_joint(self.name, belief)
        return is_informed(joint, self.find_pair(joint)) and self.describe(belief, rng).settled

    def describe(self, belief: Posterior, rng: Rng) -> GoalStatus:  # noqa: ARG002
        """Describe the goal's verdict on two models, its probability and every model's figure."""
        joint = find_joint(self.name, belief)
        row = compare_scope(
            joint, self.find_pair(joint), rope=self.rope, confidence=self.confidence, level=belief.level
        )
        is_settled = row.verdict != NOT_SETTLED and is_informed(joint, self.find_pair(joint))
        said = describe_estimated_difference(row, self.rope, self.confidence)
        return GoalStatus(
            is_settled,
            said,
            {"models": list_figures(joint, belief.level), "rope": self.rope, "difference": row.to_dict()},
        )

    def forecast(self, belief: Posterior) -> LabelForecast:
        """Forecast how many more labels settle the goal, as a comparison of these models does."""
        joint = find_joint(self.name, belief)
        return forecast_pair(joint, self.find_pair(joint), rope=self.rope, confidence=self.confidence)

    def find_pair(self, joint: JointPosterior) -> tuple[int, int]:
        """Return the places of the two models that the goal compares."""
        if self.a is None or self.b is None:
            if len(joint.models) != 2:
                raise InputError(f"goal compare-models: there are {len(joint.models)} models; name the two to compare")
            return 1, 0
        for name in (self.a, self.b):
            if name not in joint.models:
                raise InputError(f"goal compare-models: there is no model {name!r}; {did_you_mean(name, joint.models)}")
        return joint.models.index(self.a), joint.models.index(self.b)


@dataclass(frozen=True)
class BestModel:
    """Find a model that is within `rope` of the best one, with posterior probability `confidence`."""

    metric: MetricChoice = DEFAULT_METRIC
    rope: float = 0.01
    confidence: float = 0.95
    name: str = "best-model"
    remedy: ClassVar[str] = REMEDY
    pricing: ClassVar[Pricing] = "divide"
    random_share: ClassVar[float] = 0.0  # items on which models agree tell nothing of their difference

    def __post_init__(self) -> None:
        _require_choices(self)

    @property
    def aim(self) -> str:
        """What enough labels will do for a goal that seeks the best of several models."""
        return f"find a model within {self.rope:g} of the best, with probability {self.confidence:g}"

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the expected reduction of the variances of the differences from the likeliest model, contested ones first."""
        joint = find_joint(self.name, belief)
        return np.tile(reduce_variance(belief, joint, _weigh_pairs(joint)), (len(truth), 1))

    def answer(self, belief: Posterior, rng: Rng) -> Belief:  # noqa: ARG002
        """Return what the goal asks of several models: the posterior of every model's metric."""
        joint = find_joint(self.name, belief)
        return Draws(joint.models, joint.overall)

    def settled(self, belief: Posterior, rng: Rng) -> bool:
        """Is the goal reached: is a model within the rope of the best with the required probability?"""
        return self.describe(belief, rng).settled

    def describe(self, belief: Posterior, rng: Rng) -> GoalStatus:  # noqa: ARG002
        """Return the model of least expected regret, and the probability that it is within the rope of the best."""
        joint = find_joint(self.name, belief)
        chosen = int(joint.regret().argmin())
        p = float(joint.weigh_near_best(self.rope)[chosen])
        others = [(chosen, j) for j in range(len(joint.models)) if j != chosen]
        is_settled = p >= self.confidence and all(is_informed(joint, pair) for pair in others)
        figures = list_figures(joint, belief.level)
        said = describe_best(figures, joint.models[chosen], self.rope, p, is_settled=is_settled)
        return GoalStatus(
            is_settled, said, {"models": figures, "rope": self.rope, "best": joint.models[chosen], "p_within_rope": p}
        )

    def forecast(self, belief: Posterior) -> LabelForecast:
        """Forecast how many more labels settle which of the goal's models is the best."""
        joint = find_joint(self.name, belief)
        return forecast_best_model(joint, rope=self.rope, confidence=self.confidence)


def _require_choices(goal: Any) -> None:
    """Refuse settings of a goal about models that are out of range, or of a metric but accuracy."""
    resolve_own_metric(goal)
    require_confidence(goal.name, goal.confidence)
    require_rope(goal.rope, is_share=goal.metric.is_share, where=f"goal {goal.name}: ")
    if goal.metric is not accuracy:
        raise InputError(
            f"goal {goal.name}: models are told apart by accuracy; for {goal.metric.name}, label with it and compare with compare_models"
        )


def find_joint(name: str, belief: Posterior) -> JointPosterior:
    """Return the joint posterior of the models that a goal compares, or say that the goal needs several."""
    if not isinstance(belief.models, JointPosterior):
        raise InputError(
            f"goal {name}: it needs the predictions of several models: several files, or in Python a dict of name to predictions"
        )
    return belief.models


def is_informed(joint: JointPosterior, pair: tuple[int, int]) -> bool:
    """Whether a goal about two models has enough labels where they disagree, or they do not disagree."""
    n_told, n_telling = PairCounts(joint.tally).count(*pair, None).telling
    return n_told >= min(MIN_LABELS, n_telling)


def _weigh_pairs(joint: JointPosterior) -> dict[tuple[int, int], float]:
    """Weigh, for a goal on models, each one's difference from that of least regret by how open it is which is better."""
    drawn = joint.overall
    chosen = int(joint.regret().argmin())
    better = (drawn > drawn[:, [chosen]]).mean(axis=0)
    return {(chosen, j): max(float(p), MIN_INTEREST) for j, p in enumerate(better) if j != chosen}


def reduce_variance(
    belief: Posterior, joint: JointPosterior, pairs: dict[tuple[int, int], float]
) -> Float[np.ndarray, " group"]:
    """Return, for a goal about models, the expected reduction of variances of differences by one label in each group.

    Where two models agree nothing is learned about their difference: minus infinity where none of the pairs differ.
    """
    variance = sum(weight * joint.outcome_variance(*pair) for pair, weight in pairs.items())
    strata, n_groups = joint.strata, len(belief.groups)
    rest = strata.n_unlabelled.astype(np.float64)
    share = np.bincount(strata.group, weights=rest, minlength=n_groups)
    within = np.bincount(strata.group, weights=rest * variance, minlength=n_groups) / np.maximum(share, 1.0)
    labels = belief.n_labels
    worth = (share / max(rest.sum(), 1.0)) ** 2 * within / ((labels + 1) * (labels + 2))
    return np.where(within > 0, worth, -np.inf)
