"""Snapshots of a session: counts of the labels so far, and the posterior, computed once per set of labels."""

from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.active.acquisition import AcquisitionView
from fewlabels.active.goals.goal import count_sought
from fewlabels.active.policies import choose_groups
from fewlabels.data.counts import NONE, CountTable
from fewlabels.data.label_join import note_cannot_tell
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError, choose_words
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


def count_left(spec: SessionSpec, state: SessionState) -> Int[np.ndarray, " group"]:
    """Count the unlabelled items of each group that were not drawn yet; 0 once its queue is empty.

    The file holds only a sample of a large pool, which represents all items of the group.
    """
    drawn = np.zeros_like(spec.n_askable)
    for group, n in state.n_drawn.items():
        drawn[group] = n
    n_unlabelled = spec.tally.count("n_items") - spec.tally.count("n_labels")
    return np.where(drawn < spec.n_askable, n_unlabelled - drawn, 0)


def tally_labels(spec: SessionSpec, state: SessionState) -> CountTable:
    """Return the counts of the pool with the labels so far."""
    counted = [(entry, name, n) for (entry, name), n in state.counted.items() if n]
    entry = np.array([entry for entry, _, _ in counted], dtype=np.int64)
    n = np.array([n for _, _, n in counted], dtype=np.int64)
    if spec.graded:
        grade = np.array([_read_grade(name) for _, name, _ in counted])
        return spec.tally.add_labels(entry, np.full(len(entry), NONE), n, grade * n)
    classes = spec.list_classes(state)
    counts = spec.tally.add_classes(classes[len(spec.tally.classes) :])
    at = {name: i for i, name in enumerate(classes)}
    label = np.array([at[name] for _, name, _ in counted], dtype=np.int64)
    return counts.add_labels(entry, label, n, n * (label == counts.predicted[entry]).astype(np.float64))


def _read_grade(name: str) -> float:
    """Read a grade from a file that may be damaged."""
    try:
        grade = float(name)
    except ValueError:
        grade = -1.0
    if not 0 <= grade <= 1:
        raise InputError(f"damaged: {name[:40]!r} is no grade between 0 and 1; go back to an earlier copy")
    return grade


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
        """Whether most answered items need more votes: error rates are then poorly known, and no goal is settled."""
        return bool(self.voted_items) and 2 * self.n_short > len(self.voted_items)


def take_snapshot(spec: SessionSpec, state: SessionState) -> Snapshot:
    """Take a snapshot of the state."""
    classes, are_votes = spec.list_classes(state), state.wanted > 1
    return Snapshot(
        (classes, state.n_answer_events if are_votes else 0, *sorted(state.counted.items())), tally_labels(spec, state),
        [one.item.entry for name, one in state.pending.items() if name not in state.voted_items], count_left(spec, state),
        spec.tally.add_classes(classes[len(spec.tally.classes) :]), tuple(state.answered) if are_votes else (),
        len(state.short_of_votes), len(state.disputed) if are_votes else 0,
    )  # fmt: skip


class PosteriorCache:
    """The posterior of the goal's metric and the imputed labels, recomputed only when labels change."""

    def __init__(self, spec: SessionSpec) -> None:
        self._spec = spec
        self._last: tuple[Snapshot, Posterior] | None = None
        self._votes_fit: tuple[Any, PoolVotes, ImputedCounts | None] | None = None
        self._lock = RLock()  # one thread computes, the others wait for its result

    def get_posterior(self, snapshot: Snapshot) -> Posterior:
        """Return the posterior for a snapshot, with its pending and remaining items."""
        with self._lock:
            if self._last is None or self._last[0].labels != snapshot.labels:
                self._last = snapshot, self._infer(snapshot)
            return _with_pending(*self._last, snapshot)

    def latest_posterior(self, snapshot: Snapshot) -> Posterior:
        """Return the last computed posterior without waiting for a new one."""
        return self.get_posterior(snapshot) if self._last is None else _with_pending(*self._last, snapshot)

    def choose_next_groups(self, posterior: Posterior, rng: Rng) -> list[int]:
        """Return the groups that the policy chooses next; empty once no useful item is left or the policy stops."""
        goal = self._spec.design.goal
        return choose_groups(self._spec.design.policy, rng, AcquisitionView(posterior, goal.gain, count_sought(goal)))

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
        with self._lock:
            if self._votes_fit is None or self._votes_fit[0] != snapshot.labels:
                pool_votes = build_vote_matrix(snapshot.start, snapshot.voted_items)
                rng = np.random.default_rng([self._spec.design.seed, 2, len(snapshot.voted_items)])
                self._votes_fit = snapshot.labels, pool_votes, impute_counts(rng, pool_votes)
            return self._votes_fit[1:]

    def _infer(self, snapshot: Snapshot) -> Posterior:
        design, imputed = self._spec.design, self.impute_labels(snapshot)
        terms: dict[str, Any] = {"finite_pool": design.finite_pool, "level": design.level, "seed": design.seed}
        if imputed is None:
            return infer(snapshot.counts, design.goal.metric, design.prior, **terms)
        return infer_imputed(snapshot.counts, imputed.imputations, design.goal.metric, design.prior, **terms)


def _with_pending(fitted_snapshot: Snapshot, posterior: Posterior, snapshot: Snapshot) -> Posterior:
    """Set the pending and remaining items of a posterior to the current ones."""
    pending = np.zeros_like(posterior.pending)
    if snapshot.pending:
        pending = np.bincount(
            fitted_snapshot.counts.assign_cells(posterior.metric.splits)[1][snapshot.pending], minlength=len(pending)
        )
    return replace(posterior, pending=pending, left=snapshot.left)


def count_events(spec: SessionSpec, state: SessionState) -> dict[str, Any]:
    """Count items, labels, pending and skipped items, by the names that `status` writes."""
    return {
        "n_items": int(spec.tally.n_items.sum()), "n_labels": int(spec.tally.n_labels.sum()) + state.n_labels,
        "n_pending": len(state.pending), "n_skipped": len(state.skipped), "n_not_asked": len(state.waiting),
        "n_left": int(count_left(spec, state).sum()), "warnings": list(list_label_warnings(spec, state)),
    }  # fmt: skip


def list_label_warnings(spec: SessionSpec, state: SessionState) -> tuple[str, ...]:
    """List warnings about these labels."""
    notes = list(spec.notes)
    if spec.tally.n_labels.any():
        notes.append(
            f"labels that were there from the start: {spec.tally.n_labels.sum():,}; they count as drawn at random "
            f"within their groups; if they were not, start anew without them ({choose_words('--hide-labels', 'pool.hide_labels()')})"
        )
    if state.waiting:
        notes.append(
            f"labels that were not asked for: {len(state.waiting):,}; they are kept, but left out of every figure until "
            "their turn comes, because only items drawn at random represent their group"
        )
    if state.skipped:
        notes.append(note_cannot_tell(len(state.skipped)))
    return tuple(notes)
