"""Snapshots of a session: counts of the labels so far, and the posterior, computed once per set of labels."""

from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.active.acquisition import AcquisitionView
from fewlabels.active.goals.goal import count_sought
from fewlabels.active.policies import choose_groups
from fewlabels.data.counts import NONE, Tally
from fewlabels.data.names import natural_order
from fewlabels.distributions.belief import Rng
from fewlabels.errors import InputError
from fewlabels.models.annotators.imputation import Testimony
from fewlabels.models.inference import infer, infer_imputed
from fewlabels.models.posterior import Posterior
from fewlabels.sessions.annotations import Posed, describe_votes, guess_truth, pose, weigh_ballots
from fewlabels.sessions.spec import Ground
from fewlabels.sessions.state import Ledger
from fewlabels.sessions.votes import Ballot

LACKS_VOTES = "most answered items have fewer votes than required: let other annotators answer them too"


def list_classes(ground: Ground, ledger: Ledger) -> tuple[str, ...]:
    """Return the classes of the labels, new ones last; empty where labels are grades."""
    known = ground.tally.classes
    new = () if ground.graded else set(ledger.seen).difference(known)
    return (*known, *sorted(new, key=natural_order))


def count_left(ground: Ground, ledger: Ledger) -> Int[np.ndarray, " group"]:
    """Count the unlabelled items of each group that were not drawn yet; 0 once its queue is empty.

    The file holds only a sample of a large pool, which represents all items of the group.
    """
    drawn = np.zeros_like(ground.n_askable)
    for group, n in ledger.place.items():
        drawn[group] = n
    n_unlabelled = ground.tally.count("n_items") - ground.tally.count("n_labels")
    return np.where(drawn < ground.n_askable, n_unlabelled - drawn, 0)


def count_labels(ground: Ground, ledger: Ledger) -> Tally:
    """Return the counts of the pool with the labels so far."""
    counted = [(entry, name, n) for (entry, name), n in ledger.counted.items() if n]
    entry = np.array([entry for entry, _, _ in counted], dtype=np.int64)
    n = np.array([n for _, _, n in counted], dtype=np.int64)
    if ground.graded:
        grade = np.array([_read_grade(name) for _, name, _ in counted])
        return ground.tally.stick(entry, np.full(len(entry), NONE), n, grade * n)
    classes = list_classes(ground, ledger)
    counts = ground.tally.widen(classes[len(ground.tally.classes) :])
    at = {name: i for i, name in enumerate(classes)}
    label = np.array([at[name] for _, name, _ in counted], dtype=np.int64)
    return counts.stick(entry, label, n, n * (label == counts.predicted[entry]).astype(np.float64))


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
class Sum:
    """Immutable counts and votes of a session, to be used while its state changes."""

    labels: tuple[Any, ...]  # identifies the labels: the cache key
    counts: Tally
    pending: list[int]  # entries of the pending items
    left: Int[np.ndarray, " group"]
    start: Tally  # with the initial labels only
    ballots: tuple[Ballot, ...] = ()  # if answers are votes
    n_short: int = 0  # items that need more votes
    n_disputed: int = 0

    @property
    def lacks_votes(self) -> bool:
        """Whether most answered items need more votes: error rates are then poorly known, and no goal is settled."""
        return bool(self.ballots) and 2 * self.n_short > len(self.ballots)


def add_up(ground: Ground, ledger: Ledger) -> Sum:
    """Take a snapshot of the state."""
    classes, are_votes = list_classes(ground, ledger), ledger.wanted > 1
    return Sum(
        (classes, ledger.n_heard if are_votes else 0, *sorted(ledger.counted.items())), count_labels(ground, ledger),
        [one.item.entry for name, one in ledger.pending.items() if name not in ledger.ballots], count_left(ground, ledger),
        ground.tally.widen(classes[len(ground.tally.classes) :]), tuple(ledger.heard) if are_votes else (),
        len(ledger.short), len(ledger.disputed) if are_votes else 0,
    )  # fmt: skip


class Reckoner:
    """The posterior of the goal's metric and the imputed labels, recomputed only when labels change."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._last: tuple[Sum, Posterior] | None = None
        self._heard: tuple[Any, Posed, Testimony | None] | None = None
        self._working = RLock()  # one thread computes, the others wait for its result

    def know(self, now: Sum) -> Posterior:
        """Return the posterior for a snapshot, with its pending and remaining items."""
        with self._working:
            if self._last is None or self._last[0].labels != now.labels:
                self._last = now, self._learn(now)
            return _look_ahead(*self._last, now)

    def recall(self, now: Sum) -> Posterior:
        """Return the last computed posterior without waiting for a new one."""
        return self.know(now) if self._last is None else _look_ahead(*self._last, now)

    def name_groups(self, known: Posterior, rng: Rng) -> list[int]:
        """Return the groups that the policy chooses next; empty once no useful item is left or the policy stops."""
        goal = self._ground.goal
        return choose_groups(self._ground.policy, rng, AcquisitionView(known, goal.gain, count_sought(goal)))

    def weigh(self, now: Sum) -> Testimony | None:
        """Return the counts of imputed labels; None without votes to compare."""
        return self._hear(now)[1] if now.ballots else None

    def describe_votes(self, now: Sum) -> dict[str, Any] | None:
        """Return agreement and accuracies of annotators, as plain data; None with one vote per item."""
        ground = self._ground
        if ground.votes == 1:
            return None
        counts = {"wanted": ground.votes, "n_short": now.n_short, "n_disputed": now.n_disputed}
        return counts | describe_votes(*self._hear(now), ground.level)

    def guess(self, now: Sum, ballot: Ballot, *, fresh: bool = True) -> dict[str, float]:
        """Return the posterior probability of each class of an item given all votes, largest first."""
        posed, testimony = self._hear(now) if fresh or self._heard is None else self._heard[1:]
        return {} if testimony is None else guess_truth(posed, testimony, ballot)

    def _hear(self, now: Sum) -> tuple[Posed, Testimony | None]:
        with self._working:
            if self._heard is None or self._heard[0] != now.labels:
                posed = pose(now.start, now.ballots)
                rng = np.random.default_rng([self._ground.seed, 2, len(now.ballots)])
                self._heard = now.labels, posed, weigh_ballots(rng, posed)
            return self._heard[1:]

    def _learn(self, now: Sum) -> Posterior:
        ground, testimony = self._ground, self.weigh(now)
        terms: dict[str, Any] = {"finite_pool": ground.finite, "level": ground.level, "seed": ground.seed}
        if testimony is None:
            return infer(now.counts, ground.goal.metric, ground.prior, **terms)
        return infer_imputed(now.counts, testimony.truths, ground.goal.metric, ground.prior, **terms)


def _look_ahead(then: Sum, known: Posterior, now: Sum) -> Posterior:
    """Set the pending and remaining items of a posterior to the current ones."""
    pending = np.zeros_like(known.pending)
    if now.pending:
        pending = np.bincount(then.counts.place(known.metric.splits)[1][now.pending], minlength=len(pending))
    return replace(known, pending=pending, left=now.left)


def count_events(ground: Ground, ledger: Ledger) -> dict[str, Any]:
    """Count items, labels, pending and skipped items, by the names that `status` writes."""
    return {
        "n_items": int(ground.tally.n_items.sum()), "n_labels": int(ground.tally.n_labels.sum()) + ledger.n_labels,
        "n_pending": len(ledger.pending), "n_skipped": len(ledger.skipped), "n_not_asked": len(ledger.waiting),
        "n_left": int(count_left(ground, ledger).sum()), "warnings": list(take_note(ground, ledger)),
    }  # fmt: skip


def take_note(ground: Ground, ledger: Ledger) -> tuple[str, ...]:
    """List warnings about these labels."""
    notes = list(ground.notes)
    if ground.tally.n_labels.any():
        notes.append(
            f"labels that were there from the start: {ground.tally.n_labels.sum():,}; they count as drawn at random "
            "within their groups; if they were not, start anew without them (--hide-labels)"
        )
    if ledger.waiting:
        notes.append(
            f"labels that were not asked for: {len(ledger.waiting):,}; they are kept, but left out of every figure until "
            "their turn comes, because only items drawn at random represent their group"
        )
    if ledger.skipped:
        notes.append(
            f"items that could not be labelled: {len(ledger.skipped):,}; if they are harder than the rest, the estimates "
            "are too optimistic"
        )
    return tuple(notes)
