"""The labelling loop: ask for items, record their labels, assess, until the goal is settled.

A Session is a journal of events and the state replayed from it (`store`). The file holds everything: after a kill the
session resumes from its last saved event, and several processes may share one file. What needs no estimate is in
`records`; items are chosen by `selection`, answers recorded by `recording`, and estimates made by `results`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.goal import Goal, GoalStatus
from fewlabels.active.parsing import resolve_design
from fewlabels.analyses.provenance import Provenance
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.names import ItemId, to_name
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError
from fewlabels.metrics.metric import Metric
from fewlabels.metrics.parsing import resolve_metric
from fewlabels.models.posterior import Posterior
from fewlabels.models.priors import Prior
from fewlabels.sessions.journal.events import Journal
from fewlabels.sessions.leases import check_lease
from fewlabels.sessions.opening import create_journal, open_journal
from fewlabels.sessions.posterior_cache import PosteriorCache
from fewlabels.sessions.recording import (
    record_answers,
    record_decisions,
    require_name,
    require_several_votes,
    withdraw_last,
)
from fewlabels.sessions.records import SessionRecords
from fewlabels.sessions.results import (
    assess_labels,
    describe_disputes,
    describe_goal,
    describe_session,
    infer_goal_posterior,
    record_provenance,
)
from fewlabels.sessions.selection import list_selectable_items, select_items
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.state import Action
from fewlabels.sessions.store import EventStore


class Session(SessionRecords):
    """A pool of predictions that is labelled for a goal.

    >>> from fewlabels.active.goals.estimation import Estimate
    >>> s = Session.create(None, {"id": [1, 2, 3, 4], "predicted": ["a", "a", "b", "b"]}, goal=Estimate())
    >>> asked = s.ask(2)
    >>> s.tell({asked[0]: "a", asked[1]: None})
    >>> s.status()["n_labels"], s.status()["n_skipped"]
    (1, 1)
    """

    def __init__(self, spec: SessionSpec, journal: Journal, pool: Predictions | None = None) -> None:
        super().__init__(spec, journal, pool)
        self._posterior_cache = PosteriorCache(spec)

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
        random_share: float | None = None,
        price: str | None = None,
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
        random_share: float
            Share of the items that are drawn at random over the whole pool instead of by the policy, so that the overall
            figure can be checked without the model. At least 0, less than 1 [default: 0.1; 0 to compare models].
        price: str
            Column with what the label of each item costs (money or minutes). Groups are then chosen by gain per price: the
            mean price of their items. Not for the goal `compare`.
        seed: int
            Seed of the random draws.
        """
        design = resolve_design(
            goal, by=by, policy=policy, prior=prior, level=level, finite_pool=finite_pool, bins=bins, seed=seed, votes=votes,
            random_share=random_share, price=price,
        )  # fmt: skip
        return cls(*create_journal(path, pool, design, classes))

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
            The predictions, to check that they are the same. Anything but `Predictions` is read with the column roles of those
            that the session was created from.
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

    # -- the loop ------------------------------------------------------------------------------------------

    def ask(self, n: int = 1, *, who: str = "", lease: float | None = None, fresh: bool = True) -> list[ItemId]:
        """Return n items of the session to label, the same ones until they are answered.

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
        """Record answers in the session; all are saved or none.

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
        """Settle items of the session on which annotators disagree: the decided label is taken as true.

        All are saved or none.
        """
        require_several_votes(self._spec)
        require_name(self._spec, who)
        with self._store.writing():
            record_decisions(self._spec, self._store, labels, who=who, note=note, new_classes=new_classes)

    def undo(self, *, who: str = "", only: tuple[ItemId, bool] | None = None, decisions: bool = True) -> ItemId | None:
        """Withdraw an annotator's last answer or decision in the session; the item is open again.

        Return None if there is neither.

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

    # -- results --------------------------------------------------------------------------------------------

    def assess(self, metric: Metric | str | None = None) -> Any:
        """Estimate a metric from the session's labels so far, with credible intervals; of several models, compare them.

        Parameters
        ----------
        metric: Metric or str
            An object like `fl.recall` or its word [default: the metric of the goal].
        """
        metric = self._spec.design.goal.metric if metric is None else resolve_metric(metric)
        self._spec.require_roles(metric)
        return assess_labels(*self._parts, metric, self._pool)

    @property
    def is_settled(self) -> bool:
        """Whether the session's goal is reached, so that labelling may stop."""
        return self.standing().settled

    def standing(self) -> GoalStatus:
        """Return the session's current answer to its goal, and whether it is settled."""
        return describe_goal(self._spec, *infer_goal_posterior(*self._parts))

    def status(self) -> dict[str, Any]:
        """Return the session's counts, settings and current answer as a dict, as `fewlabels status --json` has it."""
        return describe_session(*self._parts, self._pool)

    def knowledge(self) -> Posterior:
        """Return the posterior of the metric of the session's goal, given the labels so far."""
        return infer_goal_posterior(*self._parts)[1]

    @property
    def provenance(self) -> Provenance:
        """The provenance of the session's results, as of now; without the folder of the predictions: pages show it."""
        return record_provenance(self._spec, self._pool)

    def foresee(self, n: int) -> list[ItemId]:
        """Return up to n items that the session may ask for next, an equal number per group."""
        with self._store.reading():
            return [self._as_id(item.id) for item in list_selectable_items(self._spec, self._store, n)]

    def disputes(self, *, fresh: bool = True) -> list[dict[str, Any]]:
        """Return the session's undecided items on which annotators disagree: id, votes, notes, class probabilities.

        Unless `fresh`, the probabilities are the last computed ones, without waiting for new ones.
        """
        return self._with_ids(describe_disputes(*self._parts, fresh=fresh))

    @property
    def _parts(self) -> tuple[SessionSpec, EventStore, PosteriorCache]:
        """The session's spec, store and cached posterior, from which its results are computed."""
        return self._spec, self._store, self._posterior_cache
