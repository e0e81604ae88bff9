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

from fewlabels.active.goals.goal import Goal, Standing, count_sought, describe, find_obstacle
from fewlabels.active.policies import Policy, choose_policy, name_policy
from fewlabels.analyses.assess import require_objects, require_roles
from fewlabels.analyses.assessment import Assessment, Question, judge
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.data.groups import Bins, Groups, predicted
from fewlabels.data.names import spell
from fewlabels.data.predictions import Predictions
from fewlabels.distributions.belief import Rng
from fewlabels.errors import InputError
from fewlabels.metrics.metric import Metric
from fewlabels.models.calibrated.prior import calibrated
from fewlabels.models.posterior import Posterior
from fewlabels.models.priors import Prior
from fewlabels.sessions.answers import check_answers, find_last_answers, list_answers, list_votes
from fewlabels.sessions.journal.events import Act, Item, Journal
from fewlabels.sessions.journal.memory import MemoryJournal
from fewlabels.sessions.journal.sqlite import SqliteJournal
from fewlabels.sessions.posterior_cache import (
    LACKS_VOTES,
    Reckoner,
    Sum,
    add_up,
    count_events,
    list_classes,
    take_note,
)
from fewlabels.sessions.serialize import recall
from fewlabels.sessions.spec import Ground, lay_ground, read_ground
from fewlabels.sessions.state import Deed
from fewlabels.sessions.store import Fold

ItemId = str | int
LONGEST_LEASE = 366 * 24 * 3600  # seconds


class Session:
    """A pool of predictions that is labelled for a goal.

    >>> from fewlabels.active.goals.estimation import Estimate
    >>> s = Session.create(None, {"id": [1, 2, 3, 4], "predicted": ["a", "a", "b", "b"]}, goal=Estimate())
    >>> asked = s.ask(2)
    >>> s.tell({asked[0]: "a", asked[1]: None})
    >>> s.status()["n_labels"], s.status()["n_skipped"]
    (1, 1)
    """

    def __init__(self, ground: Ground, journal: Journal, pool: Predictions | None = None) -> None:
        self._ground, self._pool = ground, pool
        self._fold, self._reckoner = Fold(journal, ground.votes), Reckoner(ground)

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
        Question(goal.metric, prior, level, finite_pool, count_sought(goal), seed)  # validates its arguments
        ground, items = lay_ground(
            pool, goal=goal, by=by, policy=policy, prior=prior, level=level, finite=finite_pool, seed=seed, bins=bins,
            classes=classes, votes=votes,
        )  # fmt: skip
        about, blobs = ground.write()
        if path is None:
            return cls(ground, MemoryJournal(about, items, blobs), pool)
        recall(about["prior"], None, "prior")  # refuse a custom prior: it cannot be restored from the file
        return cls(ground, SqliteJournal.create(path, about, items, blobs), pool)

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
            ground = read_ground(journal.about, journal.blobs, goal=goal, policy=policy, where=path)
            ground.require_items(journal.count_items(), path)
            if pool is not None:
                pool = pool if isinstance(pool, Predictions) else Predictions.read(pool)
                ground.require_same(pool, path)
            return cls(ground, journal, pool)
        except BaseException:
            journal.close()
            raise

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def set_patience(self, seconds: float) -> None:
        """Set how long to wait for other threads and processes that use the session before raising StorageError."""
        self._fold.patience = seconds
        self._fold.journal.set_patience(seconds)

    def close(self) -> None:
        """Close the file."""
        self._fold.journal.close()

    def backup(self, path: str | Path) -> None:
        """Write a complete copy of the session to a new file, also while others label; on failure nothing is written.

        Parameters
        ----------
        path: str or Path
            The new file, readable by its owner only. It must not exist yet.

        Do not copy the file itself while it is in use: the latest answers are in its write-ahead log (`-wal`).
        """
        self._fold.journal.backup(path)

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
        fold = self._fold
        with fold.writing(hurried=True):  # a lost request is asked again, so only answers are synced to disk
            if lease is not None:
                fold.hand_on(n, who, lease)
            fold.ask_about(fold.ledger.short_for(who)[: max(n - len(fold.ledger.pending_with(who)), 0)], who)
            while len(fold.ledger.pending_with(who)) < n:
                chosen = self._choose(n - len(fold.ledger.pending_with(who)), fresh=fresh)
                if not chosen:
                    break
                fold.ask_about(chosen, who)
            mine = fold.ledger.pending_for(who) if lease is None else fold.ledger.pending_with(who)
            return [self._as_id(item.id) for item in mine[:n]]

    def tell(self, labels: Mapping[Any, Any], *, who: str = "", note: str = "", new_classes: bool = False) -> None:
        """Record answers: a class for each item (a grade, for graded outputs), or None if it cannot be labelled.

        All are saved or none. A later answer to an item replaces the earlier one; with votes, only that of the same
        annotator. Answers to items that were not asked for are saved, and counted once their turn comes.
        """
        self._require_name(who)
        with self._fold.writing():
            self._fold.append(
                Act("skipped" if label is None else "told", name, label, who, note)
                for name, label in self._check(labels, new_classes).items()
            )

    def decide(self, labels: Mapping[Any, Any], *, who: str, note: str = "", new_classes: bool = False) -> None:
        """Settle items on which annotators disagree: the decided label is taken as true. All are saved or none."""
        if self._ground.votes == 1:
            raise InputError("decide: this session has one vote per item, and the last answer counts; use tell instead")
        self._require_name(who)
        with self._fold.writing():
            self._fold.append(
                Act("decided", name, label, who, note) for name, label in self._check(labels, new_classes).items()
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
        with self._fold.writing():
            ledger = self._fold.ledger
            last = ledger.last_deed(who, decisions=decisions)
            wanted = last if only is None else Deed(spell(only[0]), who, only[1])
            if wanted is None:
                return None
            if wanted != last:
                is_open = wanted.item in ledger.drawn and ledger.is_taken_back(wanted)
                return self._as_id(wanted.item) if is_open else None
            taken = self._as_id(wanted.item)
            self._fold.append([Act("withdrawn", wanted.item, who=who)])
        return taken

    def find_last(self, *, who: str = "", decisions: bool = True) -> tuple[ItemId, bool] | None:
        """Return the item that `undo` would withdraw, and whether it was decided rather than answered."""
        with self._fold.reading() as ledger:
            last = ledger.last_deed(who, decisions=decisions)
        return None if last is None else (self._as_id(last.item), last.decided)

    def list_taken(self, items: Iterable[ItemId], *, who: str) -> list[ItemId]:
        """List the items whose answer by another annotator a new answer would replace (with one vote per item)."""
        with self._fold.reading() as ledger:
            return [self._as_id(name) for name in ledger.list_taken(map(spell, items), who)]

    def list_names(self) -> list[str]:
        """List all annotators who were asked or answered, in the order of their last event."""
        with self._fold.reading():
            names = [event.who for event in self._fold.journal.read()]
        return list(dict.fromkeys(reversed(names)))[::-1]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Save all answers, decisions and withdrawals of the block in one transaction, or none of them."""
        with self._fold.writing():
            yield

    # -- results --------------------------------------------------------------------------------------------

    def assess(self, metric: Metric | None = None) -> Assessment:
        """Estimate the metric from the labels so far, with credible intervals."""
        ground, metric = self._ground, metric or self._ground.goal.metric
        ground.require_roles(metric)
        with self._fold.reading() as ledger:
            now, notes = add_up(ground, ledger), take_note(ground, ledger)
        known, said = self._reckoner.know(now), self._reckoner.weigh(now)
        return judge(
            known.scheme.tally, ground.ask(metric), notes=notes, frame=ground.frame, testimony=said,
            provenance=self.provenance, posterior=known if metric == ground.goal.metric else None,
        )  # fmt: skip

    @property
    def progress(self) -> tuple[int, int]:
        """The number of the last event in the file, by any process, and how many answers were given or changed."""
        with self._fold.reading() as ledger:
            return ledger.seq, ledger.n_heard

    @property
    def is_settled(self) -> bool:
        """Whether the goal is reached, so that labelling may stop."""
        return self.standing().settled

    def standing(self) -> Standing:
        """Return the current answer to the goal, and whether it is settled."""
        with self._fold.reading() as ledger:
            now = add_up(self._ground, ledger)
        return self._stand(now, self._reckoner.know(now))

    def _stand(self, now: Sum, known: Posterior) -> Standing:
        standing = describe(self._ground.goal, known, self._rng(0))
        return replace(standing, settled=False) if now.lacks_votes else standing

    def status(self) -> dict[str, Any]:
        """Return counts, settings and the current answer as a dict, as `fewlabels status --json` writes it."""
        with self._fold.reading() as ledger:
            now, counts = add_up(self._ground, ledger), count_events(self._ground, ledger)
        known = self._reckoner.know(now)
        goal, standing = self._ground.goal, self._stand(now, known)
        return {
            **counts, "goal": goal.name, "metric": goal.metric.name, "by": self._ground.tally.by,
            "policy": name_policy(self._ground.policy), "prior": self._ground.prior.name,
            "settled": standing.settled, "answer": {"sentence": standing.sentence, **standing.details},
            "obstacle": None if standing.settled else LACKS_VOTES if now.lacks_votes else find_obstacle(goal, known, self._rng(0)),
            "votes": self._reckoner.describe_votes(now), "provenance": self.provenance.to_dict(),
        }  # fmt: skip

    def knowledge(self) -> Posterior:
        """Return the posterior of the goal's metric, given the labels so far."""
        with self._fold.reading() as ledger:
            now = add_up(self._ground, ledger)
        return self._reckoner.know(now)  # outside the lock, since it may take seconds

    @property
    def provenance(self) -> Provenance:
        """The provenance of its results, as of now; without the folder of the predictions, since pages show it."""
        ground = self._ground
        labels = f"asked for by the policy {name_policy(ground.policy)}, for the goal {ground.goal.name}"
        inputs = (ground.source,) if self._pool is None else self._pool.inputs
        return record(Path(ground.source).name, inputs=inputs, counts=ground.tally, seed=ground.seed, labels=labels)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the table that the session was created from."""
        return self._ground.notes

    @property
    def goal(self) -> Goal:
        """The goal of the labelling."""
        return self._ground.goal

    @property
    def files(self) -> dict[str, str]:
        """Files that messages may name, and replacements for their paths where these must not be shown."""
        path, pool = getattr(self._fold.journal, "path", None), self._pool
        found = {} if path is None else {str(path): "the session"}
        return found if pool is None else found | {pool.source: "the predictions"}

    @property
    def wanted(self) -> int:
        """How many annotators answer each item; from two on, answers are votes."""
        return self._ground.votes

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the labels; empty where labels are grades."""
        with self._fold.reading() as ledger:
            return list_classes(self._ground, ledger)

    def has_item(self, id: ItemId) -> bool:
        """Whether this is an item of the session's queue."""
        return bool(self._fold.journal.find([spell(id)]))

    def group(self, id: ItemId) -> str:
        """Return the group of an item of the session's queue."""
        found = self._fold.journal.find([str(id)])
        if str(id) not in found:
            raise InputError(f"there is no item {id!r} in this session")
        return self._ground.tally.groups[found[str(id)].group]

    @property
    def pending(self) -> list[ItemId]:
        """Items that were asked for and have no answer yet."""
        with self._fold.reading() as ledger:
            return [self._as_id(name) for name in ledger.pending]

    def foresee(self, n: int) -> list[ItemId]:
        """Return up to n items that may be asked for next, an equal number per group."""
        groups = range(min(n, len(self._ground.tally.groups)))
        with self._fold.reading() as ledger:
            items = [i for g in groups for i in self._fold.journal.line_up(g, ledger.place.get(g, 0), n // len(groups))]
        return [self._as_id(item.id) for item in items]

    def answers(self) -> list[dict[str, Any]]:
        """Return the counted answer of every item: id, label (None if skipped), asked, who gave it last, note, at."""
        with self._fold.reading() as ledger:
            rows = list_answers(self._fold.journal.read(), ledger)
        return [{**row, "id": self._as_id(row["id"])} for row in rows]

    def votes(self) -> list[dict[str, Any]]:
        """Return every annotator's current vote or decision on every item: id, label, who, decided, note, at."""
        with self._fold.reading() as ledger:
            rows = list_votes(self._fold.journal.read(), ledger)
        return [{**row, "id": self._as_id(row["id"])} for row in rows]

    def last_answers(self) -> dict[tuple[str, str], str | None]:
        """Return the last label that each annotator gave each item, by (item, annotator), without withdrawn ones."""
        with self._fold.reading():
            return find_last_answers(self._fold.journal.read())

    def disputes(self, *, fresh: bool = True) -> list[dict[str, Any]]:
        """Return the undecided items on which annotators disagree: id, votes, notes, class probabilities.

        Unless `fresh`, the probabilities are the last computed ones, without waiting for new ones.
        """
        with self._fold.reading() as ledger:
            now, ballots, found = add_up(self._ground, ledger), [ledger.ballots[name] for name in ledger.disputed], self.list_disputes()  # fmt: skip
        likely = [self._reckoner.guess(now, ballot, fresh=fresh) for ballot in ballots]
        return [{**row, "likely": chances} for row, chances in zip(found, likely, strict=True)]

    def list_disputes(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return at most `most` undecided items on which annotators disagree: id, votes, notes."""
        with self._fold.reading() as ledger:
            ballots = [ledger.ballots[name] for name in ledger.disputed[:most]]
            notes = [ledger.notes_on(ballot) for ballot in ballots]
        return [
            {"id": self._as_id(ballot.item.id), "votes": dict(ballot.votes), "notes": noted}
            for ballot, noted in zip(ballots, notes, strict=True)
        ]

    def show(self, ids: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        """Fetch the columns to show for these items; empty dicts if the session was opened without its predictions."""
        rows = self._pool.show([str(i) for i in ids]) if self._pool is not None else {}
        return {i: rows.get(str(i), {}) for i in ids}

    # -- internals -----------------------------------------------------------------------------------------

    def _require_name(self, who: str) -> None:
        if self._ground.votes > 1 and not who.strip():
            raise InputError(
                f"this session has {self._ground.votes} annotators per item: say who you are (--as NAME; Python: who=)"
            )

    def _check(self, labels: Mapping[Any, Any], new_classes: bool) -> dict[str, str | None]:
        classes = None if self._ground.graded else self.classes
        answers = check_answers(labels, self._fold.journal, classes, new_classes=new_classes)
        self._ground.require_priced(self.classes, answers.values())
        return answers

    def _choose(self, n: int, *, fresh: bool) -> list[Item]:
        """Let the policy choose groups, and take the next items in the queue of each."""
        ledger, journal = self._fold.ledger, self._fold.journal
        now = add_up(self._ground, ledger)
        known = self._reckoner.know(now) if fresh else self._reckoner.recall(now)
        groups = self._reckoner.name_groups(known, self._rng(1 + ledger.n_asked))[:n]
        return [item for g, k in Counter(groups).items() for item in journal.line_up(g, ledger.place[g], k)]

    def _rng(self, step: int) -> Rng:
        """Derive the generator from seed and step, so that no random state has to be stored."""
        return np.random.default_rng([self._ground.seed, 0, step])

    def _as_id(self, name: str) -> ItemId:
        if not self._ground.whole_ids:
            return name
        try:
            return int(name)
        except ValueError:
            raise InputError(f"damaged: item {name!r} should be a whole number; go back to an earlier copy") from None


def check_lease(seconds: float) -> float:
    """Refuse a lease that is not positive, or longer than a year."""
    if not 0 < seconds <= LONGEST_LEASE:
        raise InputError(f"lease: must be more than 0 and at most {LONGEST_LEASE:,} seconds (a year), got {seconds:g}")
    return seconds
