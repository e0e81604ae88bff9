"""What the file of a session holds: its settings, items, answers and votes, without estimates from them."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fewlabels.active.goals.goal import Goal
from fewlabels.data.given_roles import GivenRoles
from fewlabels.data.names import ItemId, to_name
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, quote_name
from fewlabels.sessions.answers import find_last_answers, list_answers, list_disputes, list_every_answer
from fewlabels.sessions.journal.events import Journal
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.store import EventStore


class SessionRecords:
    """The records of a session; `Session` adds asking, telling and estimates."""

    def __init__(self, spec: SessionSpec, journal: Journal, pool: Predictions | None = None) -> None:
        self._spec, self._pool, self._store = spec, pool, EventStore(journal, spec.design.votes)

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

    @contextmanager
    def together(self) -> Iterator[None]:
        """Save all answers, decisions and withdrawals of the block in one transaction, or none of them."""
        with self._store.writing():
            yield

    @property
    def goal(self) -> Goal:
        """The goal of the labelling."""
        return self._spec.design.goal

    @property
    def wanted(self) -> int:
        """How many annotators answer each item; from two on, answers are votes."""
        return self._spec.design.votes

    @property
    def classes(self) -> tuple[str, ...]:
        """What people can answer: classes, or grades; empty where any number from 0 to 1 is a grade."""
        with self._store.reading() as state:
            return self._spec.list_choices(state)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about the table that the session was created from."""
        return self._spec.notes

    @property
    def source(self) -> str:
        """The predictions that the session was created from, as they were named then."""
        return self._spec.source

    @property
    def given_roles(self) -> GivenRoles | None:
        """The column roles that the predictions were read with, as given; None in files of earlier versions."""
        return self._spec.given_roles

    @property
    def files(self) -> dict[str, str]:
        """Files that messages may name, and replacements for their paths where these must not be shown."""
        path, pool = getattr(self._store.journal, "path", None), self._pool
        found = {} if path is None else {str(path): "the session"}
        return found if pool is None else found | {pool.source: "the predictions"}

    @property
    def progress(self) -> tuple[int, int]:
        """The number of the last event in the file, by any process, and how many answers were given or changed."""
        with self._store.reading() as state:
            return state.seq, state.n_answer_events

    @property
    def pending(self) -> list[ItemId]:
        """Items that were asked for and have no answer yet."""
        with self._store.reading() as state:
            return [self._as_id(name) for name in state.pending]

    def count_answers(self, who: str) -> int:
        """Count the current answers of an annotator, without decisions."""
        with self._store.reading() as state:
            return state.count_answers(who)

    def has_item(self, id: ItemId) -> bool:
        """Whether this is an item of the session's queue."""
        return bool(self._store.journal.find([to_name(id)]))

    def group(self, id: ItemId) -> str:
        """Return the group of an item of the session's queue."""
        found = self._store.journal.find([str(id)])
        if str(id) not in found:
            raise InputError(f"there is no item {quote_name(id)} in this session")
        return self._spec.tally.groups[found[str(id)].group]

    def show(self, ids: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        """Fetch the columns to show for these items; empty dicts if the session was opened without its predictions."""
        if self._pool is None:
            return {i: {} for i in ids}
        rows = self._pool.show([str(i) for i in ids])
        price = None if self._pool.roles.show else self._spec.design.price  # it has a role, unless it is to be shown
        return {i: {name: value for name, value in rows.get(str(i), {}).items() if name != price} for i in ids}

    def answers(self) -> list[dict[str, Any]]:
        """Return the counted answer of every item: id, label (None if skipped), asked, who gave it last, note, at."""
        with self._store.reading() as state:
            rows = list_answers(self._store.journal.read(), state)
        return self._with_ids(rows)

    def votes(self) -> list[dict[str, Any]]:
        """Return every annotator's current vote or decision on every item: id, label, who, decided, note, at."""
        with self._store.reading() as state:
            rows = list_every_answer(self._store.journal.read(), state)
        return self._with_ids(rows)

    def last_answers(self) -> dict[tuple[str, str], str | None]:
        """Return the last label that each annotator gave each item, by (item, annotator), without withdrawn ones."""
        with self._store.reading():
            return find_last_answers(self._store.journal.read())

    def list_disputes(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return at most `most` undecided items on which annotators disagree: id, votes, notes."""
        with self._store.reading() as state:
            rows = list_disputes(state, most)
        return self._with_ids(rows)

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

    def _with_ids(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows of records with the items' ids in the type of the table."""
        return [{**row, "id": self._as_id(row["id"])} for row in rows]

    def _as_id(self, name: str) -> ItemId:
        """Return the id of a recorded item in the type of the table, text or integer."""
        if not self._spec.whole_ids:
            return name
        try:
            return int(name)
        except ValueError:
            raise InputError(f"damaged: item {name!r} should be a whole number; go back to an earlier copy") from None
