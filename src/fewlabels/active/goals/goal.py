"""The shape of a goal, and what can be said of any of them.

A goal of one's own is an object with a name, a metric and three methods; everything else here works with it.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.distributions.belief import Belief, Rng
from fewlabels.errors import InputError, listing
from fewlabels.metrics.evaluate import Theta
from fewlabels.metrics.metric import Metric
from fewlabels.models.posterior import Posterior

Gains = Float[np.ndarray, "draw group"]
ROUNDING = 1e-9
FUTURES = 10  # in none of so many possible ones settled: then labels alone will hardly settle it


@runtime_checkable
class Goal(Protocol):
    """What the labels are for."""

    @property
    def name(self) -> str:
        """What it is called in results."""
        ...

    @property
    def metric(self) -> Metric:
        """The metric it is about."""
        ...

    def gain(self, belief: Posterior, truth: Theta) -> Gains:
        """Worth of one label per group, were the cells truly like this; minus infinity where it cannot help."""
        ...

    def answer(self, belief: Posterior, rng: Rng) -> Belief:
        """What we believe of what was asked."""
        ...

    def settled(self, belief: Posterior, rng: Rng) -> bool:
        """May we stop?"""
        ...


@dataclass(frozen=True)
class Standing:
    """Where a goal stands, for people."""

    settled: bool
    sentence: str
    details: dict[str, Any] = field(default_factory=dict)


def count_sought(goal: Goal) -> int:
    """How many groups a goal seeks; one, for those that do not say."""
    return int(getattr(goal, "m", 1))


def require_enough(goal: Goal, n_groups: int) -> None:
    """Refuse to seek as many groups as there are, or more: there would be nothing to find out."""
    if count_sought(goal) >= max(n_groups, 2):
        raise InputError(
            f"goal {goal.name}: m is {count_sought(goal)}, but there are only {n_groups} groups; seek fewer"
        )


def require_confidence(name: str, confidence: float) -> None:
    """Refuse what is no probability."""
    if not 0 < confidence < 1:
        raise InputError(f"goal {name}: confidence is {confidence}; it must lie between 0 and 1, for instance 0.95")


def name_undefined(belief: Posterior) -> str | None:
    """Name the groups in which the metric is undefined (0/0)."""
    empty = [group for group, missing in zip(belief.groups, belief.undefined, strict=True) if missing]
    return f"{belief.metric.name} is not defined in {listing(empty, most=10)}" if empty else None


def say_chance(p: float) -> str:
    """A probability for a sentence; never rounded up to certainty."""
    return "more than 0.99" if p > 0.99 else f"{p:.2f}"


def describe(goal: Goal, belief: Posterior, rng: Rng) -> Standing:
    """Say what a goal can say so far; one that does not describe itself is described by its answer."""
    if hasattr(goal, "describe"):
        said: Standing = goal.describe(belief, rng)
        return said
    answer, settled = goal.answer(belief, rng), goal.settled(belief, rng)
    mean, (low, high) = answer.mean(), answer.interval(belief.level)
    rows = [
        {"group": name, "mean": float(m), "low": float(lo), "high": float(hi)}
        for name, m, lo, hi in zip(answer.groups, mean, low, high, strict=True)
    ]
    return Standing(settled, f"{goal.name} is {'settled' if settled else 'not settled yet'}", {"groups": rows})


def find_obstacle(goal: Goal, belief: Posterior, rng: Rng) -> str | None:
    """Say so where labelling everything would still not settle a goal, and what would."""
    remedy = getattr(goal, "remedy", "aim for less")
    if not belief.left.any() and not belief.pending.any():
        return f"nothing is left to ask, and it is not settled: {remedy}"
    if any(goal.settled(belief.finish(rng), rng) for _ in range(FUTURES)):
        return None
    return f"even with every item labelled this would hardly be settled (in none of {FUTURES} possible futures it was): {remedy}"
