"""Snapshots of a session: counts of the labels so far, and the posterior, computed once per set of labels."""

from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.active.acquisition import AcquisitionView
from fewlabels.active.goals.goal import count_sought
from fewlabels.active.policies import choose_groups
from fewlabels.active.pricing import get_pricing
from fewlabels.analyses.overall_check import Sample
from fewlabels.data.counts import NONE, CountTable
from fewlabels.distributions.randomness import Rng
from fewlabels.models.annotators.imputation import ImputedCounts
from fewlabels.models.inference import infer, infer_imputed
from fewlabels.models.posterior import Posterior
from fewlabels.sessions.annotations import (
    PoolVotes,
    build_vote_matrix,
    describe_votes,
    impute_counts,
    label_probabilities,
)
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.state import SessionState
from fewlabels.sessions.votes import ItemVotes

LACKS_VOTES = "most answered items have fewer votes than required: let other annotators answer them too"


def tally_labels(spec: SessionSpec, state: SessionState) -> CountTable:
    """Return the counts of the pool with the labels so far, from which the posterior is computed and cached."""
    counted = [(entry, name, n) for (entry, name), n in state.counted.items() if n]
    entry = np.array([entry for entry, _, _ in counted], dtype=np.int64)
    n = np.array([n for _, _, n in counted], dtype=np.int64)
    if spec.graded:
        grade = np.array([spec.read_grade(name) for _, name, _ in counted])
        return spec.tally.add_labels(entry, np.full(len(entry), NONE), n, grade * n)
    classes = spec.list_classes(state)
    counts = spec.tally.add_classes(classes[len(spec.tally.classes) :])
    at = {name: i for i, name in enumerate(classes)}
    label = np.array([at[name] for _, name, _ in counted], dtype=np.int64)
    return counts.add_labels(entry, label, n, n * (label == counts.predicted[entry]).astype(np.float64))


def take_random_sample(spec: SessionSpec, state: SessionState) -> Sample:
    """Take the cached posterior's labelled items that were drawn at random over the whole pool, to check it by."""
    voted = state.labelled_at_random
    entry = np.array([one.item.entry for one in voted], dtype=np.int64)
    if spec.graded:
        right = np.array([spec.read_grade(str(one.label)) for one in voted])
    else:
        classes = spec.tally.classes
        said = [classes[k] if k != NONE else None for k in spec.tally.predicted[entry]]
        right = np.array([float(one.label == name) for one, name in zip(voted, said, strict=True)])
    return Sample(
        entry, right, np.ones(len(entry)), np.ones(len(entry)), len(entry), "drawn at random over the whole pool"
    )


@dataclass(frozen=True)
class Snapshot:
    """Immutable counts and votes of a session, to be used while its state changes."""

    labels: tuple[Any, ...]  # identifies the labels: the cache key
    counts: CountTable
    pending: list[int]  # entries of the pending items
    left: Int[np.ndarray, " group"]
    start: CountTable  # with the initial labels only
    voted_items: tuple[ItemVotes, ...] = ()  # if answers are votes
    n_short: int = 0  # items that need more votes
    n_disputed: int = 0

    @property
    def lacks_votes(self) -> bool:
        """Whether most answered items of the snapshot need more votes: error rates are uncertain, and no goal is settled."""
        return bool(self.voted_items) and 2 * self.n_short > len(self.voted_items)


def take_snapshot(spec: SessionSpec, state: SessionState) -> Snapshot:
    """Take a snapshot of a session's state, from which its posterior is computed and cached."""
    classes, are_votes = spec.list_classes(state), state.wanted > 1
    return Snapshot(
        (classes, state.n_answer_events if are_votes else 0, *sorted(state.counted.items())), tally_labels(spec, state),
        [one.item.entry for name, one in state.pending.items() if name not in state.voted_items], spec.count_left(state),
        spec.tally.add_classes(classes[len(spec.tally.classes) :]), tuple(state.answered) if are_votes else (),
        len(state.short_of_votes), len(state.disputed) if are_votes else 0,
    )  # fmt: skip


class PosteriorCache:
    """The posterior of the goal's metric and the imputed labels, recomputed only when labels change."""

    def __init__(self, spec: SessionSpec) -> None:
        self._spec = spec
        self._last: tuple[Snapshot, Posterior] | None = None
        self._votes_fit: tuple[Any, PoolVotes, ImputedCounts | None] | None = None
        self._remembered: dict[str, tuple[Any, Any]] = {}  # by what it is: the labels it belongs to, and the result
        self._lock = RLock()  # one thread computes, the others wait for its result

    def get_posterior(self, snapshot: Snapshot) -> Posterior:
        """Return the posterior for a snapshot, with its pending and remaining items."""
        with self._lock:
            if self._last is None or self._last[0].labels != snapshot.labels:
                self._last = snapshot, self._infer(snapshot)
            return self._set_queue(snapshot)

    def latest_posterior(self, snapshot: Snapshot) -> Posterior:
        """Return the last computed posterior without waiting for a new one."""
        return self.get_posterior(snapshot) if self._last is None else self._set_queue(snapshot)

    def remember(self, what: str, snapshot: Snapshot, compute: Callable[[], Any]) -> Any:
        """Return a result of labels, pending items and items left from the cache, computed once for the same."""
        now = snapshot.labels, tuple(sorted(snapshot.pending)), tuple(snapshot.left.tolist())
        with self._lock:
            found = self._remembered.get(what)
            if found is None or found[0] != now:
                found = self._remembered[what] = now, compute()
            return found[1]

    def choose_next_groups(self, posterior: Posterior, rng: Rng) -> list[int]:
        """Return the groups that the policy chooses next; empty once no useful item is left or the policy stops."""
        return choose_groups(self._spec.design.policy, rng, self._view(posterior))

    def is_open_everywhere(self, posterior: Posterior) -> bool:
        """May the policy choose any item that is left? Goals about some of the groups leave others out."""
        return bool(np.array_equal(self._view(posterior).left, posterior.left))

    def _view(self, posterior: Posterior) -> AcquisitionView:
        """Return what the policy needs to know of the posterior: gains, targets and prices."""
        goal, prices = self._spec.design.goal, self._spec.prices
        if not prices:
            return AcquisitionView(posterior, goal.gain, count_sought(goal))
        return AcquisitionView(posterior, goal.gain, count_sought(goal), np.array(prices), get_pricing(goal))

    def impute_labels(self, snapshot: Snapshot) -> ImputedCounts | None:
        """Return the counts of imputed labels; None without votes to compare."""
        return self._fit_votes(snapshot)[1] if snapshot.voted_items else None

    def describe_votes(self, snapshot: Snapshot) -> dict[str, Any] | None:
        """Return agreement and accuracies of annotators, as plain data; None with one vote per item."""
        spec = self._spec
        if spec.design.votes == 1:
            return None
        counts = {"wanted": spec.design.votes, "n_short": snapshot.n_short, "n_disputed": snapshot.n_disputed}
        return counts | describe_votes(*self._fit_votes(snapshot), spec.design.level)

    def class_probabilities(self, snapshot: Snapshot, item_votes: ItemVotes, *, fresh: bool = True) -> dict[str, float]:
        """Return the posterior probability of each class of an item given all votes, largest first."""
        pool_votes, imputed = self._fit_votes(snapshot) if fresh or self._votes_fit is None else self._votes_fit[1:]
        return {} if imputed is None else label_probabilities(pool_votes, imputed, item_votes)

    def _fit_votes(self, snapshot: Snapshot) -> tuple[PoolVotes, ImputedCounts | None]:
        """Fit the model of the votes, once for the same labels."""
        with self._lock:
            if self._votes_fit is None or self._votes_fit[0] != snapshot.labels:
                pool_votes = build_vote_matrix(snapshot.start, snapshot.voted_items)
                rng = np.random.default_rng([self._spec.design.seed, 2, len(snapshot.voted_items)])
                self._votes_fit = snapshot.labels, pool_votes, impute_counts(rng, pool_votes)
            return self._votes_fit[1:]

    def _set_queue(self, snapshot: Snapshot) -> Posterior:
        """Set the pending and remaining items of the last posterior; it is kept, with what is computed from it."""
        assert self._last is not None
        fitted_snapshot, posterior = self._last
        moved = _with_pending(fitted_snapshot, posterior, snapshot)
        if self._last[1] is posterior:  # no other thread has replaced it
            self._last = fitted_snapshot, moved
        return moved

    def _infer(self, snapshot: Snapshot) -> Posterior:
        """Compute the posterior of a snapshot, from imputed labels if there are votes."""
        design, imputed = self._spec.design, self.impute_labels(snapshot)
        terms: dict[str, Any] = {"finite_pool": design.finite_pool, "level": design.level, "seed": design.seed}
        if imputed is None:
            return infer(snapshot.counts, design.goal.metric, design.prior, **terms)
        return infer_imputed(snapshot.counts, imputed.imputations, design.goal.metric, design.prior, **terms)


def _with_pending(fitted_snapshot: Snapshot, posterior: Posterior, snapshot: Snapshot) -> Posterior:
    """Set the pending and remaining items of a cached posterior to the current ones."""
    pending = np.zeros_like(posterior.pending)
    if snapshot.pending:
        pending = np.bincount(
            fitted_snapshot.counts.assign_cells(posterior.metric.splits)[1][snapshot.pending], minlength=len(pending)
        )
    if np.array_equal(pending, posterior.pending) and np.array_equal(snapshot.left, posterior.left):
        return posterior
    return posterior.set_queue(pending, snapshot.left)
