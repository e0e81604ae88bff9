"""One replay: a goal, a policy and a prior on a labelled pool. It returns the items in the order they are labelled.

This is the reference definition, with the objects that a Session uses. `dispatch` runs built-in ones in compiled
kernels, equal in distribution (upper bounds use a closed form where one exists, instead of a quantile of draws).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.active.acquisition import AcquisitionView, Policy
from fewlabels.active.goals.goal import Goal, count_sought
from fewlabels.active.policies import choose_batch, choose_groups
from fewlabels.active.simulation.labelled_pool import LabelledPool
from fewlabels.active.study_design import StudyDesign
from fewlabels.data.counts import CountTable
from fewlabels.distributions.budgets import N_DRAWS_SIMULATED
from fewlabels.distributions.randomness import Rng
from fewlabels.models.inference import infer
from fewlabels.models.posterior import Posterior
from fewlabels.models.priors import LearningPrior, Prior


@dataclass(frozen=True, eq=False)
class ReplayRun:
    """Labelled pool, goal, policy and prior of a replay."""

    labelled: LabelledPool
    goal: Goal
    policy: Policy
    prior: Prior
    level: float = 0.95
    finite_pool: bool = True
    given: Posterior | None = None  # posterior at the start, if not the prior

    @classmethod
    def from_design(cls, labelled: LabelledPool, design: StudyDesign, given: Posterior | None = None) -> "ReplayRun":
        """Return the replay of a design on a labelled pool."""
        return cls(labelled, design.goal, design.policy, design.prior, design.level, design.finite_pool, given)

    @cached_property
    def start(self) -> Posterior:
        """Posterior before the first label of the replay."""
        if self.given is not None:
            return self.given
        return self._infer(self.labelled.tally)

    @cached_property
    def truth(self) -> Float[np.ndarray, " group"]:
        """The replay's true metric in every group, from all labels."""
        return self.labelled.truth(self.start)

    @property
    def plays(self) -> int:
        """Number of groups that the replay's goal seeks."""
        return count_sought(self.goal)

    @property
    def n_askable(self) -> int:
        """Number of items of the replay whose label has value for the goal: for a comparison, of the two groups."""
        return count_askable(self.goal, self.start)

    @property
    def learns(self) -> bool:
        """Is the replay's prior fitted to the labels?"""
        return isinstance(self.prior, LearningPrior)

    def infer_posterior(self, order: Int[np.ndarray, " step"]) -> Posterior:
        """Return the replay's posterior given these labels."""
        if not self.learns:
            return self.update_posterior(self.start, order)
        return self._infer(self.labelled.add_labels(order))

    def _infer(self, counts: CountTable) -> Posterior:
        """Infer the replay's posterior from counts."""
        return infer(
            counts,
            self.goal.metric,
            self.prior,
            finite_pool=self.finite_pool,
            level=self.level,
            n_draws=N_DRAWS_SIMULATED,
        )

    def continue_with(self, order: Int[np.ndarray, " step"], left: Int[np.ndarray, " item"]) -> "ReplayRun":
        """Return the replay of the remaining items, with the prior refitted to these labels (population)."""
        posterior = replace(self, finite_pool=False).infer_posterior(order)
        return replace(self, labelled=self.labelled.select(left), given=posterior)

    def update_posterior(self, posterior: Posterior, items: Int[np.ndarray, " step"]) -> Posterior:
        """Update a replay's posterior with the labels of these items, without a refit of the prior."""
        drawn = np.bincount(self.labelled.group[items], minlength=len(posterior.groups))
        return replace(posterior.label(self.labelled.count(posterior, items)), left=posterior.left - drawn)

    def run_policy(self, rng: Rng, budget: int) -> Int[np.ndarray, " step"]:
        """Replay one policy call at a time up to a budget; stop when the policy returns no open group."""
        shuffled = _shuffle_within(rng, self.labelled.start)
        order: list[int] = []
        posterior = self.start
        refit_at = next_refit(0)
        while len(order) < budget:
            if self.learns and len(order) >= refit_at:
                posterior, refit_at = self.infer_posterior(np.array(order)), next_refit(len(order))
            new = shuffled[self._choose(rng, posterior, budget - len(order))]
            if not len(new):
                break
            order.extend(new.tolist())
            posterior = self.update_posterior(posterior, new)
        return np.array(order, dtype=np.int64)

    def _choose(self, rng: Rng, posterior: Posterior, most: int) -> Int[np.ndarray, " named"]:
        """Return the positions, in shuffled order, of the items of open groups that the replay's policy chooses."""
        prospect = AcquisitionView(posterior, self.goal.gain, self.plays)
        named = [g for g in choose_groups(self.policy, rng, prospect) if prospect.is_open[g]]
        return self._find_places(prospect, named[:most])

    def label_in_batches(self, rng: Rng, resolution: int) -> Iterator[tuple[Int[np.ndarray, " named"], Posterior]]:
        """Yield each batch of a replay and the posterior after it: one item at first, then a `resolution`-th more.

        The items of a batch are chosen from one posterior, as when people label several at a time.
        """
        shuffled, posterior, n_labels = _shuffle_within(rng, self.labelled.start), self.start, 0
        while True:
            prospect = AcquisitionView(posterior, self.goal.gain, self.plays)
            named = choose_batch(self.policy, rng, prospect, max(1, n_labels // resolution))
            items = shuffled[self._find_places(prospect, named)]
            if not len(items):
                return
            posterior, n_labels = self.update_posterior(posterior, items), n_labels + len(items)
            yield items, posterior

    def _find_places(self, prospect: AcquisitionView, named: Sequence[int]) -> Int[np.ndarray, " named"]:
        """Return the positions of the replay's next items of the named groups that are open."""
        upcoming = self.labelled.start[:-1] + self.start.left - prospect.posterior.left
        counted = Counter(g for g in named if prospect.is_open[g])
        places = [upcoming[g] + np.arange(min(n, prospect.left[g])) for g, n in counted.items()]
        return np.concatenate([np.zeros(0, dtype=np.int64), *places])


def next_refit(n_labels: int) -> int:
    """Return the label count of a replay's next refit: after every label at first, then every 10 % more.

    Between refits, a label updates its own cell only.

    >>> [next_refit(n) for n in (0, 5, 20, 1000)]
    [1, 6, 22, 1100]
    """
    return n_labels + max(1, n_labels // 10)


def count_askable(goal: Goal, posterior: Posterior) -> int:
    """Count the items that a replay of a goal may label, as their label has value for it."""
    return int(AcquisitionView(posterior, goal.gain, count_sought(goal)).left.sum())


def _shuffle_within(rng: Rng, start: Int[np.ndarray, " border"]) -> Int[np.ndarray, " item"]:
    """Shuffle the items of a replay within each group."""
    items = np.arange(start[-1])
    group = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return items[np.lexsort((rng.random(len(items)), group))]


def schedule_replay(budget: int, n: int = 200) -> Int[np.ndarray, " checkpoint"]:
    """Return the numbers of labels after which a replay is looked at: dense at first, then evenly spaced.

    >>> schedule_replay(10).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    """
    early = np.geomspace(1, max(budget, 1), num=n // 4)
    even = np.linspace(0, budget, num=n + 1)
    return np.unique(np.concatenate([early, even]).round().astype(np.int64).clip(0, budget))


def follow_posterior(
    run: ReplayRun, order: Int[np.ndarray, " step"], checkpoints: Sequence[int]
) -> Iterator[tuple[int, Posterior]]:
    """Yield the posterior of a replay at every checkpoint."""
    for n in checkpoints:
        yield int(n), run.infer_posterior(order[: int(n)])
