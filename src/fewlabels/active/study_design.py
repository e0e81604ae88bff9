"""The design of a study: what labels are collected for, and all choices that determine how.

A session stores one, a plan simulates one, and a simulation compares several that differ in policy and prior.
"""

from dataclasses import dataclass

from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.goal import Goal, count_sought
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.data.groups import Bins, Groups
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

    def __post_init__(self) -> None:
        self.specify_assessment(self.goal.metric)  # validates level, m and seed

    def specify_assessment(self, metric: Metric) -> AssessmentSpec:
        """Return the spec of an assessment of a metric, with the options of the study."""
        return AssessmentSpec(metric, self.prior, self.level, self.finite_pool, count_sought(self.goal), self.seed)
