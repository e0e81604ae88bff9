"""The Goal protocol, the status of a goal, and checks that apply to every goal.

A custom goal is an object with a name, a metric and three methods.
"""

from dataclasses import dataclass, field, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.data.counts import CountTable
from fewlabels.data.groups import Groups
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError, join_names
from fewlabels.metrics.evaluate import Theta
from fewlabels.metrics.metric import Metric, accuracy
from fewlabels.metrics.parsing import resolve_metric
from fewlabels.models.posterior import Posterior

RANDOM_SHARE = 0.1  # of the items of a session, drawn at random over the whole pool, unless a goal says otherwise
Gains = Float[np.ndarray, "draw group"]
ROUNDING = 1e-9


if TYPE_CHECKING:

    class MetricChoice:
        """Type of the metric of a goal: set by a word or an object, read as an object.

        Subclasses of a goal declare the field again: mypy does not inherit how it is read.
        """

        def __get__(self, goal: object, kind: type | None = None) -> Metric: ...
        def __set__(self, goal: object, metric: Metric | str) -> None: ...

else:
    MetricChoice = Metric | str
DEFAULT_METRIC = cast("MetricChoice", accuracy)


@runtime_checkable
class Goal(Protocol):
    """What labels are collected for: the value of a label, an answer, and a stopping criterion."""

    @property
    def name(self) -> str:
        """Name of the goal in results."""
        ...

    @property
    def metric(self) -> Metric:
        """Metric the goal is about."""
        ...

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Return the value of one label in each group if a draw were true; minus infinity where a label cannot help."""
        ...

    def answer(self, belief: Posterior, rng: Rng) -> Belief:
        """Return the posterior of the quantity the goal asks about."""
        ...

    def settled(self, belief: Posterior, rng: Rng) -> bool:
        """Is the goal's stopping criterion met?"""
        ...


@dataclass(frozen=True)
class GoalStatus:
    """Current status of a goal, as a sentence and as details for JSON."""

    settled: bool
    sentence: str
    details: dict[str, Any] = field(default_factory=dict)


def count_sought(goal: Goal) -> int:
    """Return the number m of groups a goal seeks; 1 by default."""
    return int(getattr(goal, "m", 1))


def get_random_share(goal: Goal) -> float:
    """Return the share of items that a goal draws at random by default; those without an overall figure need none."""
    return float(getattr(goal, "random_share", RANDOM_SHARE))


def refine_groups(goal: Goal, by: Groups) -> Groups:
    """Return the groups that items are chosen from: a goal may need finer ones than those it is about."""
    refine = getattr(goal, "refine", None)
    return by if refine is None else cast("Groups", refine(by))


def get_stated_metric(goal: Goal) -> Metric:
    """Return the metric that a goal is stated in; posteriors are of its `metric`, from which this one may follow."""
    return cast("Metric", getattr(goal, "rate", goal.metric))


def require_enough_groups(goal: Goal, n_groups: int) -> None:
    """Raise unless a goal seeks fewer groups than there are."""
    if count_sought(goal) >= max(n_groups, 2):
        raise InputError(
            f"goal {goal.name}: m is {count_sought(goal)}, but there are only {n_groups} groups; seek fewer"
        )


def require_confidence(name: str, confidence: float) -> None:
    """Raise unless the confidence of a goal is a probability."""
    if not 0 < confidence < 1:
        raise InputError(f"goal {name}: confidence is {confidence}; it must lie between 0 and 1, for instance 0.95")


def resolve_own_metric(goal: Goal) -> None:
    """Replace the metric of a new goal, if it was given as a word, by the object of that name."""
    object.__setattr__(goal, "metric", resolve_metric(goal.metric))  # goals are frozen


def name_undefined(belief: Posterior) -> str | None:
    """Return a sentence for a goal's status on the groups in which its metric is undefined (0/0)."""
    empty = [group for group, missing in zip(belief.groups, belief.undefined, strict=True) if missing]
    return f"{belief.metric.name} is not defined in {join_names(empty, most=10)}" if empty else None


def describe(goal: Goal, belief: Posterior, rng: Rng) -> GoalStatus:
    """Return the status of a goal; without a `describe` method, build it from the answer."""
    if hasattr(goal, "describe"):
        said: GoalStatus = word_for_grades(goal, belief.evaluation.tally).describe(belief, rng)  # type: ignore[attr-defined]
        return said
    answer, settled = goal.answer(belief, rng), goal.settled(belief, rng)
    mean, (low, high) = answer.mean(), answer.interval(belief.level)
    rows = [
        {"group": name, "mean": float(m), "low": float(lo), "high": float(hi)}
        for name, m, lo, hi in zip(answer.groups, mean, low, high, strict=True)
    ]
    return GoalStatus(settled, f"{goal.name} is {'settled' if settled else 'not settled yet'}", {"groups": rows})


def explain_exhausted_goal(goal: Goal, belief: Posterior) -> str | None:
    """Explain how to change a goal that is not settled though all items are labelled; None while some are left."""
    if belief.left.any() or belief.pending.any():
        return None
    return f"nothing is left to ask, and the goal is not settled: {get_remedy(goal)}"


def word_for_grades(goal: Goal, tally: CountTable) -> Goal:
    """Return the goal as it is described: of grades, `accuracy` is called what it is, their mean."""
    if not tally.graded or goal.metric is not accuracy or not is_dataclass(goal):
        return goal
    return cast("Goal", replace(goal, metric=replace(accuracy, name="mean grade")))


def get_aim(goal: Goal) -> str:
    """Return the aim of a goal: what enough labels will do."""
    return str(getattr(goal, "aim", f"settle {goal.name}"))


def get_remedy(goal: Goal) -> str:
    """Return the remedy for a goal that is out of reach: what to change about it."""
    return str(getattr(goal, "remedy", "aim for less"))
