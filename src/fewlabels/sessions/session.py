"""The labelling loop: ask for items, record their labels, assess, until the goal is settled.

A Session is a journal of events and the state replayed from it (`store`). The file holds everything: after a kill the
session resumes from its last saved event, and several processes may share one file.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fewlabels.active.goals.goal import Goal, GoalStatus, count_sought, describe, explain_unreachable
from fewlabels.active.policies import Policy, choose_policy, name_policy
from fewlabels.analyses.assess import require_objects, require_roles
from fewlabels.analyses.assessment import Assessment, AssessmentSpec, assess_counts
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.names import to_name
from fewlabels.data.predictions import Predictions
from fewlabels.distributions.belief import Rng
from fewlabels.errors import InputError
from fewlabels.metrics.metric import Metric
from fewlabels.models.calibrated.prior import calibrated
from fewlabels.models.posterior import Posterior
from fewlabels.models.priors import Prior
from fewlabels.sessions.answers import check_answers, find_last_answers, list_answers, list_votes
from fewlabels.sessions.journal.events import Item, Journal, NewEvent
from fewlabels.sessions.journal.memory import MemoryJournal
from fewlabels.sessions.journal.sqlite import SqliteJournal
from fewlabels.sessions.posterior_cache import (
    LACKS_VOTES,
    PosteriorCache,
    Snapshot,
    count_events,
    list_classes,
    list_warnings,
    take_snapshot,
)
from fewlabels.sessions.serialize import restore_choice
from fewlabels.sessions.spec import SessionSpec, create_spec, read_spec
from fewlabels.sessions.state import Action
from fewlabels.sessions.store import EventStore

ItemId = str | int
MAX_LEASE = 366 * 24 * 3600  # seconds


class Session:
    """A pool of predictions that is labelled for a goal.

    >>> from fewlabels.active.goals.estimation import Estimate
    >>> s = Session.create(None, {"id": [1, 2, 3, 4], "predicted": ["a", "a", "b", "b"]}, goal=Estimate())
    >>> asked = s.ask(2)
    >>> s.tell({asked[0]: "a", asked[1]: None})
    >>> s.status()["n_labels"], s.status()["n_skipped"]
    (1, 1)
    """

    def __init__(self, spec: SessionSpec, journal: Journal, pool: Predictions | None = None) -> None:
        self._spec, self._pool = spec, pool
        self._store, self._posterior_cache = EventStore(journal, spec.votes), PosteriorCache(spec)

    @classmethod
    def create(
        cls,
        path: str | Path | None,
        pool: Any,
        *,
        goal: Goal,
        by: Groups = predicted,
        policy: Policy | None = None,
        prior: Prior | None = None,
        level: float = 0.95,
        finite_pool: bool = False,
        bins: Bins | None = None,
        classes: Sequence[str] = (),
        votes: int = 1,
        seed: int = 0,
    ) -> "Session":
        """Start a session in a new file (or in memory, without a path).

        `classes` adds true classes that are neither predicted nor among the labels yet. With `votes` above 1, that many
        annotators answer each item: answers are votes, and estimates account for annotator errors inferred from them.
        """
        pool = pool if isinstance(pool, Predictions) else Predictions.read(pool)
        prior, policy = prior or calibrated(), policy or choose_policy(count_sought(goal))
        require_objects(by=by, goal=goal, prior=prior, policy=policy, metric=getattr(goal, "metric", None))
        require_roles(pool, goal.metric, prior)
        AssessmentSpec(goal.metric, prior, level, finite_pool, count_sought(goal), seed)  # validates its arguments
        spec, items = create_spec(
            pool, goal=goal, by=by, policy=policy, prior=prior, level=level, finite=finite_pool, seed=seed, bins=bins,
            classes=classes, votes=votes,
        )  # fmt: skip
        about, blobs = spec.write()
        if path is None:
            return cls(spec, MemoryJournal(about, items, blobs), pool)
        restore_choice(about["prior"], None, "prior")  # refuse a custom prior: it cannot be restored from the file
        return cls(spec, SqliteJournal.create(path, about, items, blobs), pool)

    @classmethod
    def open(
        cls,
        path: str | Path,
        pool: Any = None,
        *,
        goal: Goal | None = None,
        policy: Policy | None = None,
        read_only: bool = False,
        accept_missing: bool = False,
    ) -> "Session":
        """Open an existing session; predictions, if given, must be those it was created from.

        Pass a custom goal or policy again: the file stores only its name. A copy of a file in use that was made without
        its write-ahead log may lack answers and is refused; `accept_missing` opens it anyway.
        """
        journal = SqliteJournal.open(path, read_only=read_only, accept_missing=accept_missing)
        try:
            spec = read_spec(journal.about, journal.blobs, goal=goal, policy=policy, where=path)
            spec.require_items(journal.count_items(), path)
            if pool is not None:
                pool = pool if isinstance(pool, Predictions) else Predictions.read(pool)
                spec.require_same_predictions(pool, path)
            return cls(spec, journal, pool)
        except BaseException:
            journal.close()
            raise

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def set_patience(self, seconds: float) -> None:
        """Set how long to wait for other threads and processes that use the session before raising StorageError."""
        self._store.lock_timeout = seconds
        self._store.journal.set_patience(seconds)

    def close(self) -> None:
        """Close the file."""
        self._store.journal.close()

    def backup(self, path: str | Path) -> None:
        """Write a complete copy of the session to a new file, also while others label; on failure nothing is written.

        Parameters
        ----------
        path: str or Path
            The new file, readable by its owner only. It must not exist yet.

        Do not copy the file itself while it is in use: the latest answers are in its write-ahead log (`-wal`).
        """
        self._store.journal.backup(path)

    # -- the loop ------------------------------------------------------------------------------------------

    def ask(self, n: int = 1, *, who: str = "", lease: float | None = None, fresh: bool = True) -> list[ItemId]:
        """Return n items to label, the same ones until they are answered.

        Once no new item is left, return items that are pending with other annotators; fewer than n if there are none.
        With a `lease`, an item belongs to one annotator for that many seconds after it was last asked for. Unless
        `fresh`, the policy uses the last computed posterior instead of waiting for a new one. With several votes per
        item, items that need another vote come first.
        """
        self._require_name(who)
        if n < 1:
            raise InputError(f"ask: n must be at least 1, got {n}")
        if lease is not None:
            check_lease(lease)
        store = self._store
        with store.writing(skip_sync=True):  # a lost request is asked again, so only answers are synced to disk
            if lease is not None:
                store.renew_and_reassign(n, who, lease)
            store.record_asked(
                store.state.short_of_vote_from(who)[: max(n - len(store.state.pending_with(who)), 0)], who
            )
            while len(store.state.pending_with(who)) < n:
                chosen = self._choose(n - len(store.state.pending_with(who)), fresh=fresh)
                if not chosen:
                    break
                store.record_asked(chosen, who)
            mine = store.state.pending_for(who) if lease is None else store.state.pending_with(who)
            return [self._as_id(item.id) for item in mine[:n]]

    def tell(self, labels: Mapping[Any, Any], *, who: str = "", note: str = "", new_classes: bool = False) -> None:
        """Record answers: a class for each item (a grade, for graded outputs), or None if it cannot be labelled.

        All are saved or none. A later answer to an item replaces the earlier one; with votes, only that of the same
        annotator. Answers to items that were not asked for are saved, and counted once their turn comes.
        """
        self._require_name(who)
        with self._store.writing():
            self._store.append(
                NewEvent("skipped" if label is None else "told", name, label, who, note)
                for name, label in self._check(labels, new_classes).items()
            )

    def decide(self, labels: Mapping[Any, Any], *, who: str, note: str = "", new_classes: bool = False) -> None:
        """Settle items on which annotators disagree: the decided label is taken as true. All are saved or none."""
        if self._spec.votes == 1:
            raise InputError("decide: this session has one vote per item, and the last answer counts; use tell instead")
        self._require_name(who)
        with self._store.writing():
            self._store.append(
                NewEvent("decided", name, label, who, note) for name, label in self._check(labels, new_classes).items()
            )

    def undo(self, *, who: str = "", only: tuple[ItemId, bool] | None = None, decisions: bool = True) -> ItemId | None:
        """Withdraw an annotator's last answer or decision; the item is open again. Return None if there is neither.

        Parameters
        ----------
        who: str
            The annotator.
        only: tuple
            An item, and whether it was decided (see `find_last`): withdraw only this. The call may be repeated: it
            returns the item as long as it has not been answered again.
        decisions: bool
            Whether decisions may be withdrawn too.
        """
        with self._store.writing():
            state = self._store.state
            last = state.last_action(who, decisions=decisions)
            wanted = last if only is None else Action(to_name(only[0]), who, only[1])
            if wanted is None:
                return None
            if wanted != last:
                is_open = wanted.item in state.drawn and state.is_undone(wanted)
                return self._as_id(wanted.item) if is_open else None
            taken = self._as_id(wanted.item)
            self._store.append([NewEvent("withdrawn", wanted.item, who=who)])
        return taken

    def find_last(self, *, who: str = "", decisions: bool = True) -> tuple[ItemId, bool] | None:
        """Return the item that `undo` would withdraw, and whether it was decided rather than answered."""
        with self._store.reading() as state:
            last = state.last_action(who, decisions=decisions)
        return None if last is None else (self._as_id(last.item), last.decided)

    def list_taken(self, items: Iterable[ItemId], *, who: str) -> list[ItemId]:
        """List the items whose answer by another annotator a new answer would replace (with one vote per item)."""
        with self._store.reading() as state:
            return [self._as_id(name) for name in state.list_taken(map(to_name, items), who)]

    def list_names(self) -> list[str]:
        """List all annotators who were asked or answered, in the order of their last event."""
        with self._store.reading():
            names = [event.who for event in self._store.journal.read()]
        return list(dict.fromkeys(reversed(names)))[::-1]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Save all answers, decisions and withdrawals of the block in one transaction, or none of them."""
        with self._store.writing():
            yield

    # -- results --------------------------------------------------------------------------------------------

    def assess(self, metric: Metric | None = None) -> Assessment:
        """Estimate the metric from the labels so far, with credible intervals."""
        spec, metric = self._spec, metric or self._spec.goal.metric
        spec.require_roles(metric)
        with self._store.reading() as state:
            snapshot, notes = take_snapshot(spec, state), list_warnings(spec, state)
        posterior, imputed = (
            self._posterior_cache.get_posterior(snapshot),
            self._posterior_cache.impute_labels(snapshot),
        )
        return assess_counts(
            posterior.evaluation.tally, spec.ask(metric), warnings=notes, frame=spec.frame, imputed=imputed,
            provenance=self.provenance, posterior=posterior if metric == spec.goal.metric else None,
        )  # fmt: skip

    @property
    def progress(self) -> tuple[int, int]:
        """The number of the last event in the file, by any process, and how many answers were given or changed."""
        with self._store.reading() as state:
            return state.seq, state.n_answer_events

    @property
    def is_settled(self) -> bool:
        """Whether the goal is reached, so that labelling may stop."""
        return self.standing().settled

    def standing(self) -> GoalStatus:
        """Return the current answer to the goal, and whether it is settled."""
        with self._store.reading() as state:
            snapshot = take_snapshot(self._spec, state)
        return self._describe_standing(snapshot, self._posterior_cache.get_posterior(snapshot))

    def _describe_standing(self, snapshot: Snapshot, posterior: Posterior) -> GoalStatus:
        standing = describe(self._spec.goal, posterior, self._rng(0))
        return replace(standing, settled=False) if snapshot.lacks_votes else standing

    def status(self) -> dict[str, Any]:
        """Return counts, settings and the current answer as a dict, as `fewlabels status --json` writes it."""
        with self._store.reading() as state:
            snapshot, counts = take_snapshot(self._spec, state), count_events(self._spec, state)
        posterior = self._posterior_cache.get_posterior(snapshot)
        goal, standing = self._spec.goal, self._describe_standing(snapshot, posterior)
        return {
            **counts, "goal": goal.name, "metric": goal.metric.name, "by": self._spec.tally.by,
            "policy": name_policy(self._spec.policy), "prior": self._spec.prior.name,
            "settled": standing.settled, "answer": {"sentence": standing.sentence, **standing.details},
            "obstacle": None if standing.settled else LACKS_VOTES if snapshot.lacks_votes else explain_unreachable(goal, posterior, self._rng(0)),
            "votes": self._posterior_cache.describe_votes(snapshot), "provenance": self.provenance.to_dict(),
        }  # fmt: skip

    def knowledge(self) -> Posterior:
        """Return the posterior of the goal's metric, given the labels so far."""
        with self._store.reading() as state:
            snapshot = take_snapshot(self._spec, state)
        return self._posterior_cache.get_posterior(snapshot)  # outside the lock, since it may take seconds

    @property
    def provenance(self) -> Provenance:
        """The provenance of its results, as of now; without the folder of the predictions, since pages show it."""
        spec = self._spec
        labels = f"asked for by the policy {name_policy(spec.policy)}, for the goal {spec.goal.name}"
        inputs = (spec.source,) if self._pool is None else self._pool.inputs
        return record(Path(spec.source).name, inputs=inputs, counts=spec.tally, seed=spec.seed, labels=labels)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the table that the session was created from."""
        return self._spec.notes

    @property
    def goal(self) -> Goal:
        """The goal of the labelling."""
        return self._spec.goal

    @property
    def files(self) -> dict[str, str]:
        """Files that messages may name, and replacements for their paths where these must not be shown."""
        path, pool = getattr(self._store.journal, "path", None), self._pool
        found = {} if path is None else {str(path): "the session"}
        return found if pool is None else found | {pool.source: "the predictions"}

    @property
    def wanted(self) -> int:
        """How many annotators answer each item; from two on, answers are votes."""
        return self._spec.votes

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the labels; empty where labels are grades."""
        with self._store.reading() as state:
            return list_classes(self._spec, state)

    def has_item(self, id: ItemId) -> bool:
        """Whether this is an item of the session's queue."""
        return bool(self._store.journal.find([to_name(id)]))

    def group(self, id: ItemId) -> str:
        """Return the group of an item of the session's queue."""
        found = self._store.journal.find([str(id)])
        if str(id) not in found:
            raise InputError(f"there is no item {id!r} in this session")
        return self._spec.tally.groups[found[str(id)].group]

    @property
    def pending(self) -> list[ItemId]:
        """Items that were asked for and have no answer yet."""
        with self._store.reading() as state:
            return [self._as_id(name) for name in state.pending]

    def foresee(self, n: int) -> list[ItemId]:
        """Return up to n items that may be asked for next, an equal number per group."""
        groups = range(min(n, len(self._spec.tally.groups)))
        with self._store.reading() as state:
            items = [
                i for g in groups for i in self._store.journal.next_items(g, state.n_drawn.get(g, 0), n // len(groups))
            ]
        return [self._as_id(item.id) for item in items]

    def answers(self) -> list[dict[str, Any]]:
        """Return the counted answer of every item: id, label (None if skipped), asked, who gave it last, note, at."""
        with self._store.reading() as state:
            rows = list_answers(self._store.journal.read(), state)
        return [{**row, "id": self._as_id(row["id"])} for row in rows]

    def votes(self) -> list[dict[str, Any]]:
        """Return every annotator's current vote or decision on every item: id, label, who, decided, note, at."""
        with self._store.reading() as state:
            rows = list_votes(self._store.journal.read(), state)
        return [{**row, "id": self._as_id(row["id"])} for row in rows]

    def last_answers(self) -> dict[tuple[str, str], str | None]:
        """Return the last label that each annotator gave each item, by (item, annotator), without withdrawn ones."""
        with self._store.reading():
            return find_last_answers(self._store.journal.read())

    def disputes(self, *, fresh: bool = True) -> list[dict[str, Any]]:
        """Return the undecided items on which annotators disagree: id, votes, notes, class probabilities.

        Unless `fresh`, the probabilities are the last computed ones, without waiting for new ones.
        """
        with self._store.reading() as state:
            snapshot, voted_items, found = take_snapshot(self._spec, state), [state.voted_items[name] for name in state.disputed], self.list_disputes()  # fmt: skip
        likely = [
            self._posterior_cache.class_probabilities(snapshot, item_votes, fresh=fresh) for item_votes in voted_items
        ]
        return [{**row, "likely": chances} for row, chances in zip(found, likely, strict=True)]

    def list_disputes(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return at most `most` undecided items on which annotators disagree: id, votes, notes."""
        with self._store.reading() as state:
            voted_items = [state.voted_items[name] for name in state.disputed[:most]]
            notes = [state.notes_on(item_votes) for item_votes in voted_items]
        return [
            {"id": self._as_id(item_votes.item.id), "votes": dict(item_votes.votes), "notes": noted}
            for item_votes, noted in zip(voted_items, notes, strict=True)
        ]

    def show(self, ids: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        """Fetch the columns to show for these items; empty dicts if the session was opened without its predictions."""
        rows = self._pool.show([str(i) for i in ids]) if self._pool is not None else {}
        return {i: rows.get(str(i), {}) for i in ids}

    # -- internals -----------------------------------------------------------------------------------------

    def _require_name(self, who: str) -> None:
        if self._spec.votes > 1 and not who.strip():
            raise InputError(
                f"this session has {self._spec.votes} annotators per item: say who you are (--as NAME; Python: who=)"
            )

    def _check(self, labels: Mapping[Any, Any], new_classes: bool) -> dict[str, str | None]:
        classes = None if self._spec.graded else self.classes
        answers = check_answers(labels, self._store.journal, classes, new_classes=new_classes)
        self._spec.require_costs(self.classes, answers.values())
        return answers

    def _choose(self, n: int, *, fresh: bool) -> list[Item]:
        """Let the policy choose groups, and take the next items in the queue of each."""
        state, journal = self._store.state, self._store.journal
        snapshot = take_snapshot(self._spec, state)
        posterior = (
            self._posterior_cache.get_posterior(snapshot) if fresh else self._posterior_cache.latest_posterior(snapshot)
        )
        groups = self._posterior_cache.choose_next_groups(posterior, self._rng(1 + state.n_asked))[:n]
        return [item for g, k in Counter(groups).items() for item in journal.next_items(g, state.n_drawn[g], k)]

    def _rng(self, step: int) -> Rng:
        """Derive the generator from seed and step, so that no random state has to be stored."""
        return np.random.default_rng([self._spec.seed, 0, step])

    def _as_id(self, name: str) -> ItemId:
        if not self._spec.whole_ids:
            return name
        try:
            return int(name)
        except ValueError:
            raise InputError(f"damaged: item {name!r} should be a whole number; go back to an earlier copy") from None


def check_lease(seconds: float) -> float:
    """Refuse a lease that is not positive, or longer than a year."""
    if not 0 < seconds <= MAX_LEASE:
        raise InputError(f"lease: must be more than 0 and at most {MAX_LEASE:,} seconds (a year), got {seconds:g}")
    return seconds
