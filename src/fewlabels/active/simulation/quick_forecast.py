"""A quick look ahead: labels drawn from a posterior, until a goal is settled, several items at a time.

For posteriors of correlated groups, which compiled replays do not follow. A group that is chosen gets a quarter more
labels than it has, and several groups are chosen at once where they are many. The labels that follow are drawn from one
completion of all labels.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

from fewlabels.active.acquisition import AcquisitionView, Policy
from fewlabels.active.goals.goal import Goal, count_sought
from fewlabels.active.policies import Random, Stratified, choose_groups
from fewlabels.distributions.budgets import N_DRAWS_ROUGH
from fewlabels.distributions.randomness import Rng
from fewlabels.models.posterior import Posterior

GROWTH = 4  # a chosen group gets 1/4 of its labels more
AT_ONCE = 10  # 1/10 of the groups are chosen at once
CHECK_RESOLUTION = 20  # the goal is checked whenever there are 1/20 more labels
MAX_LABELS = 100_000


@dataclass
class QuickForecast:
    """One simulated future: the posterior, and the outcomes that its unlabelled items will have."""

    posterior: Posterior
    rest: Int[np.ndarray, "cell outcome"]
    goal: Goal
    policy: Policy
    n: int = field(default=0)  # labels so far

    @classmethod
    def draw(cls, rng: Rng, posterior: Posterior, goal: Goal, policy: Policy) -> "QuickForecast":
        """Draw the outcomes of all items that can be asked, for a forecast; pending ones count as not asked yet."""
        rest = (posterior.simulate_completion(rng).counts - posterior.counts).round().astype(np.int64)
        left = posterior.left + posterior.sum_by_group(posterior.pending.astype(np.float64)).astype(np.int64)
        start = replace(posterior.set_queue(np.zeros_like(posterior.pending), left), n_draws=N_DRAWS_ROUGH)
        return cls(start, np.maximum(rest, 0), goal, policy)

    def count_until_settled(self, rng: Rng) -> int | None:
        """Return after how many labels the goal is settled; None if all labels do not settle it."""
        while not self.goal.settled(self.posterior, rng):
            target = self.n + max(1, self.n // CHECK_RESOLUTION)
            while self.n < target:
                if self.n > MAX_LABELS or not self._label_some(rng):
                    return None
        return self.n

    def _label_some(self, rng: Rng) -> bool:
        """Label items of the groups that are chosen next; False once none is open."""
        groups = self._choose_groups(rng)
        counts = np.zeros(self.rest.shape)
        for group in groups:
            self._draw_labels(rng, group, counts)
        n_new = self.posterior.sum_by_group(counts.sum(axis=1)).round().astype(np.int64)
        self.n += int(n_new.sum())
        labelled = self.posterior.label(counts)
        self.posterior = replace(labelled, left=self.posterior.left - n_new)
        return bool(n_new.any())

    def _choose_groups(self, rng: Rng) -> list[int]:
        """Choose the groups that a quick forecast labels next: several, by one draw."""
        view = AcquisitionView(self.posterior, self.goal.gain, count_sought(self.goal))
        if not view.is_open.any():
            return []
        n = max(1, int(view.is_open.sum()) // AT_ONCE)
        if isinstance(self.policy, Random | Stratified):
            return list(dict.fromkeys(group for _ in range(n) for group in choose_groups(self.policy, rng, view)))
        gain = view.draw(rng)[0]
        return [int(g) for g in np.argsort(-gain)[:n] if view.is_open[g]]

    def _draw_labels(self, rng: Rng, group: int, counts: Float[np.ndarray, "cell outcome"]) -> None:
        """Move labels of items of a group, drawn at random, from the rest to the counts."""
        (cells,) = np.nonzero(self.posterior.cells.group == group)
        rest = self.rest[cells]
        own = int(self.posterior.counts[cells].sum())
        most = max(1, min(own // GROWTH, self.n // CHECK_RESOLUTION))
        n = min(most, int(rest.sum()), int(self.posterior.left[group]))
        drawn = rng.multivariate_hypergeometric(rest.reshape(-1), n).reshape(rest.shape) if n else np.zeros_like(rest)
        counts[cells] += drawn
        self.rest[cells] -= drawn


def count_roughly(rng: Rng, posterior: Posterior, goal: Goal, policy: Policy) -> int | None:
    """Forecast quickly how many labels settle the goal, by simulating one future; None if all labels do not."""
    return QuickForecast.draw(rng, posterior, goal, policy).count_until_settled(rng)
