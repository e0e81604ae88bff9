"""One way to label: a goal, a policy and a prior on a stage. Playing it yields the items in the order of their labels.

This is the plain definition, with the same objects a Session uses; `compiled` plays the known ones faster, and exactly
alike in distribution.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.beliefs import Rng
from fewlabels.goals import Goal
from fewlabels.knowledge import Knowledge, Prospect, know
from fewlabels.policies import Policy
from fewlabels.priors import Prior
from fewlabels.replay.stage import Stage


@dataclass(frozen=True, eq=False)
class Trial:
    """What is tried, and on what."""

    stage: Stage
    goal: Goal
    policy: Policy
    prior: Prior
    level: float = 0.95
    finite: bool = True

    @cached_property
    def start(self) -> Knowledge:
        """What is known before the first label of the replay."""
        return know(self.stage.tally, self.goal.metric, self.prior, finite=self.finite, level=self.level)

    @cached_property
    def truth(self) -> Float[np.ndarray, " group"]:
        """The metric in every group, were everything labelled."""
        return self.stage.truth(self.start)

    @property
    def plays(self) -> int:
        """How many groups the goal seeks."""
        return int(getattr(self.goal, "m", 1))

    def know(self, order: Int[np.ndarray, " step"]) -> Knowledge:
        """Return what these labels tell."""
        drawn = np.bincount(self.stage.group[order], minlength=len(self.start.groups))
        counts = self.start.counts + self.stage.count(self.start, order)
        return replace(self.start, counts=counts, left=self.start.left - drawn)

    def play(self, rng: Rng, budget: int) -> Int[np.ndarray, " step"]:
        """Label up to a budget, one draw of the policy at a time."""
        start, deck = self.stage.start, _shuffle_within(rng, self.stage.start)
        order: list[int] = []
        known = self.start
        while len(order) < budget:
            prospect = Prospect(known, self.goal.gain, self.plays)
            if not prospect.is_open.any():
                break
            groups = self.policy(rng, prospect)[: budget - len(order)]
            drawn = self.start.left - known.left
            new = deck[[start[g] + drawn[g] for g in groups]]
            order.extend(new.tolist())
            left = known.left - np.bincount(groups, minlength=len(drawn))
            known = replace(known, counts=known.counts + self.stage.count(known, new), left=left)
        return np.array(order, dtype=np.int64)


def _shuffle_within(rng: Rng, start: Int[np.ndarray, " border"]) -> Int[np.ndarray, " item"]:
    """Put the items of every group in random order."""
    items = np.arange(start[-1])
    group = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return items[np.lexsort((rng.random(len(items)), group))]


def mark_checkpoints(budget: int, n: int = 200) -> Int[np.ndarray, " checkpoint"]:
    """Return label counts to look at: dense at first, where most happens, then even.

    >>> mark_checkpoints(10).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    """
    early = np.geomspace(1, max(budget, 1), num=n // 4)
    even = np.linspace(0, budget, num=n + 1)
    return np.unique(np.concatenate([early, even]).round().astype(np.int64).clip(0, budget))


def watch(trial: Trial, order: Int[np.ndarray, " step"], checkpoints: Sequence[int]) -> Iterator[tuple[int, Knowledge]]:
    """Yield what is known at every checkpoint."""
    for n in checkpoints:
        yield int(n), trial.know(order[: int(n)])
