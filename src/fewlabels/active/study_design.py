"""The design of a study: what labels are collected for, and all choices that determine how.

A session stores one, a plan simulates one, and a simulation compares several that differ in policy and prior.
"""

from dataclasses import dataclass

from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.goal import Goal, count_sought, refine_groups
from fewlabels.active.pricing import get_pricing, require_pricing
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.data.groups import Bins, Groups
from fewlabels.errors import InputError, choose_words
from fewlabels.metrics.metric import Metric
from fewlabels.models.priors import Prior


@dataclass(frozen=True)
class StudyDesign:
    """Goal, groups, policy, prior and options of a study, as objects."""

    goal: Goal
    by: Groups
    policy: Policy
    prior: Prior
    level: float = 0.95
    finite_pool: bool = False
    bins: Bins | None = None  # of the scores; None is the default, and what files of earlier versions hold
    seed: int = 0
    votes: int = 1  # annotators per item
    price: str | None = None  # column with what the label of each item costs
    random_share: float = 0.0  # of the items, drawn at random over the whole pool instead of by the policy

    def __post_init__(self) -> None:
        require_random_share(self.random_share)
        require_pricing(self.goal.name, get_pricing(self.goal), self.price)
        refine_groups(self.goal, self.by)  # validates the groups
        self.specify_assessment(self.goal.metric)  # validates level, m and seed

    @property
    def arms(self) -> Groups:
        """The groups that items are chosen from: those of the study, or finer ones where the goal needs them."""
        return refine_groups(self.goal, self.by)

    def specify_assessment(self, metric: Metric) -> AssessmentSpec:
        """Return the spec of an assessment of a metric, with the options of the study."""
        return AssessmentSpec(metric, self.prior, self.level, self.finite_pool, count_sought(self.goal), self.seed)


def require_random_share(share: float) -> None:
    """Refuse a study design whose share of random items is none, or leaves nothing to the policy."""
    if not 0 <= share < 1:
        everything = choose_words("--policy random", "policy='random'")
        name = choose_words("--random-share", "random_share")
        raise InputError(
            f"{name}: must be at least 0 and less than 1, got {share:g}; to draw every item at random, use {everything}"
        )
