"""Parse words for goals, policies and designs, as on the command line and in Python; objects are returned unchanged."""

from collections.abc import Sequence
from typing import TypeAlias

from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate, Explore, LeastCertain
from fewlabels.active.goals.fairness_gap import FairnessGap
from fewlabels.active.goals.goal import Goal, count_sought, get_random_share
from fewlabels.active.goals.identification import FindBest, FindWorst
from fewlabels.active.goals.models import BestModel, CompareModels
from fewlabels.active.policies import POLICIES, choose_policy
from fewlabels.active.study_design import StudyDesign
from fewlabels.data.groups import Bins, Groups
from fewlabels.data.parsing import resolve_bins, resolve_groups, split_names
from fewlabels.errors import InputError, did_you_mean, require_instance
from fewlabels.models.parsing import resolve_prior
from fewlabels.models.priors import Prior

MODEL_GOALS = ("compare-models", "best-model")  # about several models
GoalKind: TypeAlias = (
    type[Estimate] | type[FindWorst] | type[Compare] | type[FairnessGap] | type[CompareModels] | type[BestModel]
)
GOALS: dict[str, GoalKind] = {
    "estimate": Estimate, "explore": Explore, "least-certain": LeastCertain, "find-worst": FindWorst, "find-best": FindBest,
    "compare": Compare, "fairness": FairnessGap, "compare-models": CompareModels, "best-model": BestModel,
}  # fmt: skip


def resolve_design(
    goal: Goal | str,
    *,
    by: Groups | str | Sequence[Groups | str],
    policy: Policy | str | None = None,
    prior: Prior | str | None = None,
    bins: Bins | str | int | None = None,
    level: float,
    finite_pool: bool = False,
    seed: int,
    votes: int = 1,
    random_share: float | None = 0.0,
    price: str | None = None,
) -> StudyDesign:
    """Parse the words in a design: every choice may be given as a word or as an object."""
    goal = resolve_goal(goal)
    return StudyDesign(
        goal, resolve_groups(by), resolve_policy(policy, goal), resolve_prior(prior), bins=resolve_bins(bins),
        level=float(level), finite_pool=bool(finite_pool), seed=int(seed), votes=int(votes), price=price,
        random_share=get_random_share(goal) if random_share is None else float(random_share),
    )  # fmt: skip


def resolve_goal(goal: Goal | str) -> Goal:
    """Parse a goal given as a word (with its default settings); an object is returned unchanged.

    >>> resolve_goal("find-worst")  # doctest: +ELLIPSIS
    FindWorst(metric=Accuracy(...), m=1, confidence=0.95, rope=0.0, name='find-worst')
    """
    if not isinstance(goal, str):
        return require_instance("goal", goal, "gain", "fl.FindWorst('recall')")
    kind = find_goal(goal)
    if issubclass(kind, Compare):
        raise InputError("goal compare: name the two groups, for instance goal=fl.Compare('human', 'trees')")
    return kind()


def find_goal(name: str) -> GoalKind:
    """Parse the name of a goal: return its class."""
    if name not in GOALS:
        raise InputError(f"goal: unknown goal {name!r}; {did_you_mean(name, GOALS)}")
    return GOALS[name]


def resolve_policy(policy: Policy | str | None, goal: Goal) -> Policy:
    """Parse a policy given as a word; an object is returned unchanged, and None is the default for the goal."""
    if policy is None:
        return choose_policy(count_sought(goal))
    return parse_policy(policy) if isinstance(policy, str) else _require_policy(policy)


def resolve_policies(policies: Policy | str | Sequence[Policy | str]) -> tuple[Policy, ...]:
    """Parse one or several policies; words may be separated by commas.

    >>> [policy.name for policy in resolve_policies("random,top-two")]
    ['random', 'top-two']
    """
    several = split_names(policies) if isinstance(policies, str) else policies
    chosen = several if isinstance(several, Sequence) else (several,)
    return tuple(parse_policy(one) if isinstance(one, str) else _require_policy(one) for one in chosen)


def parse_policy(text: str) -> Policy:
    """Parse the name of a policy."""
    if text not in POLICIES:
        raise InputError(f"policy: unknown policy {text!r}; {did_you_mean(text, POLICIES)}")
    return POLICIES[text]


def _require_policy(policy: Policy) -> Policy:
    """Raise unless a parsed policy can be called."""
    return require_instance("policy", policy, "__call__", "fl.thompson")
