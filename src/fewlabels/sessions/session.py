"""The labelling loop: ask for items, record their labels, assess, until the goal is settled.

A Session is a journal of events and the state replayed from it (`store`). The file holds everything: after a kill the
session resumes from its last saved event, and several processes may share one file. Items are chosen by `selection`,
answers recorded by `recording`, and estimates made by `results`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fewlabels.active.goals.goal import Goal, GoalStatus
from fewlabels.active.policies import Policy
from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.provenance import Provenance
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.names import to_name
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, quote_name
from fewlabels.metrics.metric import Metric
from fewlabels.metrics.parsing import resolve_metric
from fewlabels.models.posterior import Posterior
from fewlabels.models.priors import Prior
from fewlabels.sessions.answers import find_last_answers, list_answers, list_disputes, list_votes
from fewlabels.sessions.journal.events import Journal
from fewlabels.sessions.opening import create_journal, open_journal
from fewlabels.sessions.posterior_cache import PosteriorCache, list_classes
from fewlabels.sessions.recording import record_answers, record_decisions, require_name, require_votes, withdraw_last
from fewlabels.sessions.results import (
    assess_labels,
    describe_disputes,
    describe_goal,
    describe_session,
    infer_posterior,
    record_provenance,
)
from fewlabels.sessions.selection import check_lease, list_next_items, select_items
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.state import Action
from fewlabels.sessions.store import EventStore

ItemId = str | int


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
        goal: Goal | str,
        by: Groups | str | Sequence[Groups | str] = predicted,
        policy: Policy | str | None = None,
        prior: Prior | str | None = None,
        level: float = 0.95,
        finite_pool: bool = False,
        bins: Bins | str | int | None = None,
        classes: Sequence[str] = (),
        votes: int = 1,
        seed: int = 0,
    ) -> "Session":
        """Start a session in a new file.

        Parameters
        ----------
        path: str, Path or None
            The new file; None keeps the session in memory.
        pool: Predictions, path, frame, dict of arrays or Ibis table
            The predictions; anything but `Predictions` is read by `Predictions.read`.
        goal: Goal or str
            What labels are for: an object like `fl.FindWorst("recall", m=2)`, or the word of a goal with its default
            settings: `"estimate"`, `"explore"`, `"least-certain"`, `"find-worst"`, `"find-best"`.
        by: Groups, str or sequence of them
            The groups: an object like `fl.predicted` or a word of the command line: `"all"`, `"predicted"`, `"bins:20"`,
            `"ranges:age"`, a column, or several separated by commas (every combination).
        policy: Policy or str
            How to choose the group of the next item: an object like `fl.thompson` or a word such as `"top-two"`. By default
            Thompson sampling, multi-play if the goal seeks several groups.
        prior: Prior or str
            An object like `fl.flat()` or a word: `"calibrated"` (default), `"smooth"`, `"scores"`, `"flat"`, or the path of
            the JSON of an earlier assessment.
        level: float
            Probability that a credible interval contains the true value.
        finite_pool: bool
            Estimate the metric on exactly these items instead of the population they came from.
        bins: Bins, str or int
            Score bins inside calibration error: a number (equal width), `"equal-mass:10"` or `fl.bins(10)`.
        classes: sequence of str
            True classes that are neither predicted nor among the labels yet.
        votes: int
            Number of annotators who answer each item. From 2 on answers are votes, and estimates account for annotator
            errors inferred from them.
        seed: int
            Seed of the random draws.
        """
        parts = create_journal(
            path, pool, goal=goal, by=by, policy=policy, prior=prior, level=level, finite_pool=finite_pool, bins=bins,
            classes=classes, votes=votes, seed=seed,
        )  # fmt: skip
        return cls(*parts)

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

        Parameters
        ----------
        path: str or Path
            The file.
        pool: Predictions, path, frame, dict of arrays or Ibis table
            The predictions, to check that they are the same.
        goal: Goal
            A custom goal again: the file stores only its name.
        policy: Policy
            A custom policy again.
        read_only: bool
            Refuse to write.
        accept_missing: bool
            Open a copy of a file in use that was made without its write-ahead log; it may lack answers.
        """
        with open_journal(
            path, pool, goal=goal, policy=policy, read_only=read_only, accept_missing=accept_missing
        ) as parts:
            return cls(*parts)

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
        With several votes per item, items that need another vote come first.

        Parameters
        ----------
        n: int
            Number of items.
        who: str
            The annotator.
        lease: float
            Seconds for which an item belongs to one annotator after it was last asked for.
        fresh: bool
            Wait for the posterior of all answers; otherwise the policy uses the last computed one.
        """
        require_name(self._spec, who)
        if n < 1:
            raise InputError(f"ask: n must be at least 1, got {n}")
        if lease is not None:
            check_lease(lease)
        with self._store.writing(skip_sync=True):  # a lost request is asked again, so only answers are synced to disk
            items = select_items(*self._parts, n, who=who, lease=lease, fresh=fresh)
            return [self._as_id(item.id) for item in items]

    def tell(self, labels: Mapping[Any, Any], *, who: str = "", note: str = "", new_classes: bool = False) -> None:
        """Record answers; all are saved or none.

        A later answer to an item replaces the earlier one; with votes, only that of the same annotator. Answers to items
        that were not asked for are saved, and counted once their turn comes.

        Parameters
        ----------
        labels: mapping
            Item id to class (to a grade, for graded outputs), or to None if the item cannot be labelled.
        who: str
            The annotator.
        note: str
            A remark, stored with every answer.
        new_classes: bool
            Accept classes that are not known yet.
        """
        require_name(self._spec, who)
        with self._store.writing():
            record_answers(self._spec, self._store, labels, who=who, note=note, new_classes=new_classes)

    def decide(self, labels: Mapping[Any, Any], *, who: str, note: str = "", new_classes: bool = False) -> None:
        """Settle items on which annotators disagree: the decided label is taken as true. All are saved or none."""
        require_votes(self._spec)
        require_name(self._spec, who)
        with self._store.writing():
            record_decisions(self._spec, self._store, labels, who=who, note=note, new_classes=new_classes)

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
            wanted = None if only is None else Action(to_name(only[0]), who, only[1])
            item = withdraw_last(self._store, who, wanted, decisions=decisions)
            return None if item is None else self._as_id(item)

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

    def assess(self, metric: Metric | str | None = None) -> Assessment:
        """Estimate a metric from the labels so far, with credible intervals.

        Parameters
        ----------
        metric: Metric or str
            An object like `fl.recall` or its word [default: the metric of the goal].
        """
        metric = self._spec.goal.metric if metric is None else resolve_metric(metric)
        self._spec.require_roles(metric)
        return assess_labels(*self._parts, metric, self._pool)

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
        return describe_goal(self._spec, *infer_posterior(*self._parts))

    def status(self) -> dict[str, Any]:
        """Return counts, settings and the current answer as a dict, as `fewlabels status --json` writes it."""
        return describe_session(*self._parts, self._pool)

    def knowledge(self) -> Posterior:
        """Return the posterior of the goal's metric, given the labels so far."""
        return infer_posterior(*self._parts)[1]

    @property
    def provenance(self) -> Provenance:
        """The provenance of its results, as of now; without the folder of the predictions, since pages show it."""
        return record_provenance(self._spec, self._pool)

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
            raise InputError(f"there is no item {quote_name(id)} in this session")
        return self._spec.tally.groups[found[str(id)].group]

    @property
    def pending(self) -> list[ItemId]:
        """Items that were asked for and have no answer yet."""
        with self._store.reading() as state:
            return [self._as_id(name) for name in state.pending]

    def foresee(self, n: int) -> list[ItemId]:
        """Return up to n items that may be asked for next, an equal number per group."""
        with self._store.reading():
            return [self._as_id(item.id) for item in list_next_items(self._spec, self._store, n)]

    def answers(self) -> list[dict[str, Any]]:
        """Return the counted answer of every item: id, label (None if skipped), asked, who gave it last, note, at."""
        with self._store.reading() as state:
            rows = list_answers(self._store.journal.read(), state)
        return self._with_ids(rows)

    def votes(self) -> list[dict[str, Any]]:
        """Return every annotator's current vote or decision on every item: id, label, who, decided, note, at."""
        with self._store.reading() as state:
            rows = list_votes(self._store.journal.read(), state)
        return self._with_ids(rows)

    def last_answers(self) -> dict[tuple[str, str], str | None]:
        """Return the last label that each annotator gave each item, by (item, annotator), without withdrawn ones."""
        with self._store.reading():
            return find_last_answers(self._store.journal.read())

    def disputes(self, *, fresh: bool = True) -> list[dict[str, Any]]:
        """Return the undecided items on which annotators disagree: id, votes, notes, class probabilities.

        Unless `fresh`, the probabilities are the last computed ones, without waiting for new ones.
        """
        return self._with_ids(describe_disputes(*self._parts, fresh=fresh))

    def list_disputes(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return at most `most` undecided items on which annotators disagree: id, votes, notes."""
        with self._store.reading() as state:
            rows = list_disputes(state, most)
        return self._with_ids(rows)

    def show(self, ids: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        """Fetch the columns to show for these items; empty dicts if the session was opened without its predictions."""
        rows = self._pool.show([str(i) for i in ids]) if self._pool is not None else {}
        return {i: rows.get(str(i), {}) for i in ids}

    # -- internals -----------------------------------------------------------------------------------------

    @property
    def _parts(self) -> tuple[SessionSpec, EventStore, PosteriorCache]:
        return self._spec, self._store, self._posterior_cache

    def _with_ids(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "id": self._as_id(row["id"])} for row in rows]

    def _as_id(self, name: str) -> ItemId:
        if not self._spec.whole_ids:
            return name
        try:
            return int(name)
        except ValueError:
            raise InputError(f"damaged: item {name!r} should be a whole number; go back to an earlier copy") from None
