"""Policies choose the groups to label next from acquisition values, independently of goal and metric.

A policy is any callable (rng, prospect) -> groups: one item of each is labelled next. Most policies return a single
group; a plain function is enough. Closed groups have gain minus infinity and are never chosen.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from fewlabels.active.acquisition import AcquisitionView, BatchPolicy, Policy
from fewlabels.distributions.budgets import N_DRAWS_QUANTILE
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError

MAX_DRAWS, DRAWS_AT_ONCE = 100, 10
TINY = 1e-300


@dataclass(frozen=True)
class Random:
    """Choose uniformly among all unlabelled items: the baseline."""

    name: str = "random"

    def __call__(self, rng: Rng, prospect: AcquisitionView) -> Sequence[int]:
        """Draw a group in proportion to its unlabelled items."""
        return [int(rng.choice(len(prospect.left), p=prospect.left / prospect.left.sum()))]

    def choose_batch(self, rng: Rng, prospect: AcquisitionView, n: int) -> Sequence[int]:
        """Draw the groups of `n` unlabelled items, as the random policy chooses them."""
        return rng.permutation(np.repeat(np.arange(len(prospect.left)), prospect.left))[:n].tolist()


@dataclass(frozen=True)
class Stratified:
    """Allocate labels in proportion to group size, equally, or to size times standard deviation (Neyman)."""

    allocation: Literal["proportional", "equal", "neyman"] = "proportional"

    @property
    def name(self) -> str:
        """Name of the policy on the command line."""
        return "stratified" if self.allocation == "proportional" else f"stratified:{self.allocation}"

    def __call__(self, rng: Rng, prospect: AcquisitionView) -> Sequence[int]:
        """Choose the open group furthest below its quota."""
        return self.choose_batch(rng, prospect, 1)

    def choose_batch(self, rng: Rng, prospect: AcquisitionView, n: int) -> Sequence[int]:
        """Choose `n` times the open group furthest below its quota in the policy, counting those chosen before."""
        quota = np.where(prospect.is_open, self._quota_weights(prospect), 0.0)
        n_labels = np.where(prospect.is_open, prospect.n_labels, 0.0)
        chosen: list[int] = []
        for _ in range(n):
            deficit = quota / max(quota.sum(), TINY) * (n_labels.sum() + 1) - n_labels
            chosen.append(_argmax(rng, np.where(prospect.is_open, deficit, -np.inf)))
            n_labels[chosen[-1]] += 1
        return chosen

    def _quota_weights(self, prospect: AcquisitionView) -> Float[np.ndarray, " group"]:
        """Return the shares of labels that the policy gives each group."""
        if self.allocation == "equal":
            return np.ones(len(prospect.n_items))
        return prospect.n_items * (prospect.outcome_standard_deviation() if self.allocation == "neyman" else 1.0)


@dataclass(frozen=True)
class Thompson:
    """Thompson sampling: choose the best group of one posterior draw (002, Algorithm 1)."""

    name: str = "thompson"

    def __call__(self, rng: Rng, prospect: AcquisitionView) -> Sequence[int]:
        """Return the group with the largest gain in one draw."""
        return self.choose_batch(rng, prospect, 1)

    def choose_batch(self, rng: Rng, prospect: AcquisitionView, n: int) -> Sequence[int]:
        """Return, by Thompson's policy, the group with the largest gain in each of `n` draws."""
        return [_argmax(rng, row) for row in prospect.draw(rng, n)]


@dataclass(frozen=True)
class TopTwo:
    """Top-two Thompson sampling: with this probability, choose the best other group of further draws (Russo 2016)."""

    chance: float = 0.5
    name: str = "top-two"

    def __post_init__(self) -> None:
        _require_probability(self.name, self.chance)

    def __call__(self, rng: Rng, prospect: AcquisitionView) -> Sequence[int]:
        """Draw until another group is best; if none is within the limit, return the second best of the last draw."""
        best = _argmax(rng, prospect.draw(rng)[0])
        if rng.random() >= self.chance or prospect.is_open.sum() == 1:
            return [best]
        for _ in range(MAX_DRAWS // DRAWS_AT_ONCE):
            drawn = prospect.draw(rng, DRAWS_AT_ONCE)
            challengers = [challenger for challenger in (_argmax(rng, row) for row in drawn) if challenger != best]
            if challengers:
                return challengers[:1]
        return [_argmax(rng, np.where(np.arange(drawn.shape[1]) == best, -np.inf, drawn[-1]))]


@dataclass(frozen=True)
class MultiPlay:
    """Label one item in each of the m best groups of a draw, m as sought by the goal (Komiyama et al. 2015)."""

    name: str = "multi-play"

    def __call__(self, rng: Rng, prospect: AcquisitionView) -> Sequence[int]:
        """Return the m best groups in random order, so that a truncated list favours none of them."""
        n, gain = min(prospect.plays, int(prospect.is_open.sum())), prospect.draw(rng)[0]
        order = np.lexsort((rng.random(len(gain)), -gain))
        return [int(g) for g in rng.permutation(order[:n])]


@dataclass(frozen=True)
class EpsilonGreedy:
    """Choose the group with the largest expected gain, or with this probability any open group."""

    chance: float = 0.1
    name: str = "epsilon-greedy"

    def __post_init__(self) -> None:
        _require_probability(self.name, self.chance)

    def __call__(self, rng: Rng, prospect: AcquisitionView) -> Sequence[int]:
        """Explore with probability `chance`, else exploit."""
        if rng.random() < self.chance:
            return [int(rng.choice(np.nonzero(prospect.is_open)[0]))]
        return [_argmax(rng, prospect.expect())]


@dataclass(frozen=True)
class UpperBound:
    """Bayesian UCB: choose the group with the largest upper quantile of its gain."""

    quantile: float = 0.975
    name: str = "upper-bound"

    def __post_init__(self) -> None:
        _require_probability(self.name, self.quantile)

    def __call__(self, rng: Rng, prospect: AcquisitionView) -> Sequence[int]:
        """Return the group with the largest upper quantile."""
        drawn = prospect.draw(rng, N_DRAWS_QUANTILE)
        bound = np.full(drawn.shape[1], -np.inf)
        bound[prospect.is_open] = np.quantile(drawn[:, prospect.is_open], self.quantile, axis=0)
        return [_argmax(rng, bound)]


def _require_probability(name: str, chance: float) -> None:
    """Refuse a policy's setting that is no probability."""
    if not 0 <= chance <= 1:
        raise InputError(f"policy {name}: {chance} is no probability; it must lie between 0 and 1")


def _argmax(rng: Rng, gain: Float[np.ndarray, " group"]) -> int:
    """Return the index of the maximum, for a policy, ties broken at random."""
    best: Bool[np.ndarray, " group"] = gain == gain.max()
    return int(rng.choice(np.nonzero(best)[0]))


def choose_groups(policy: Policy, rng: Rng, prospect: AcquisitionView) -> list[int]:
    """Call a policy and check that it returns valid groups; a custom policy may return anything.

    The list is empty if no group is open.
    """
    if not prospect.is_open.any():
        return []
    returned, n = policy(rng, prospect), len(prospect.left)
    try:
        named = [operator.index(g) for g in returned]
    except TypeError:
        raise InputError(
            f"policy {name_policy(policy)} returned {returned!r}; it must return a list of groups"
        ) from None
    for g in named:
        if not 0 <= g < n:
            raise InputError(f"policy {name_policy(policy)} named group {g}; groups go from 0 to {n - 1}")
    return named


def choose_batch(policy: Policy, rng: Rng, prospect: AcquisitionView, n: int) -> list[int]:
    """Let the policy choose the groups of the next `n` labels, all from one posterior.

    A policy that has no `choose_batch` is called until it has named enough groups.
    """
    if not prospect.is_open.any():
        return []
    if isinstance(policy, BatchPolicy):
        return list(policy.choose_batch(rng, prospect, n))[:n]
    named: list[int] = []
    while len(named) < n:
        more = choose_groups(policy, rng, prospect)
        if not more:
            break
        named.extend(more)
    return named[:n]


def name_policy(policy: Policy) -> str:
    """Return the name of a policy object or function."""
    return str(getattr(policy, "name", None) or getattr(policy, "__name__", type(policy).__name__))


def choose_policy(plays: int) -> Policy:
    """Return the default policy: Thompson sampling, multi-play if several groups are sought."""
    return multi_play if plays > 1 else thompson


random = Random()
stratified = Stratified()
thompson = Thompson()
top_two = TopTwo()
multi_play = MultiPlay()
epsilon_greedy = EpsilonGreedy()
upper_bound = UpperBound()

POLICIES: dict[str, Policy] = {
    "random": random, "stratified": stratified, "stratified:equal": Stratified("equal"),
    "stratified:neyman": Stratified("neyman"), "thompson": thompson, "top-two": top_two, "multi-play": multi_play,
    "epsilon-greedy": epsilon_greedy, "upper-bound": upper_bound,
}  # fmt: skip
