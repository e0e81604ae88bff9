"""Sessions from the command line: start one or go on with it, and say what to type next."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from fewlabels.cli.fixed import refuse_changes
from fewlabels.cli.options import Columns
from fewlabels.cli.starting import Start
from fewlabels.errors import InputError
from fewlabels.session import ItemId, Session
from fewlabels.summary import Question, judge
from fewlabels.table import Predictions

Who = Annotated[str, Parameter(name="--as", show_default=False)]
CANNOT_TELL = "?"
ROUGHLY = 100  # draws that are enough to see whether a metric can be asked for at all
# Columns that tell what some model said, or the truth: whoever sees them first labels differently.
TELLING = re.compile(
    r"(pred|predicted|predictions?|scores?|proba?|probability|p|conf|confidence|logits?|labels?|y|true|truth|ground|gold)([_\W\d]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Opened:
    """A session, and the predictions it is shown with, if they were named."""

    session: Session
    pool: Predictions | None = None
    hidden: frozenset[str] = frozenset()  # columns not shown unless asked for

    def show(self, ids: Sequence[ItemId]) -> dict[ItemId, dict[str, Any]]:
        """Fetch what a person should see of items."""
        rows = self.session.show(ids)
        return {i: {name: value for name, value in row.items() if name not in self.hidden} for i, row in rows.items()}

    def predicted(self, id: ItemId) -> str | None:
        """Look up what the model says of an item."""
        if self.pool is None or not self.pool.has("predicted"):
            return None
        found = self.pool.fetch([str(id)], {"predicted": self.pool.predicted})
        return found[str(id)]["predicted"] if str(id) in found else None


def open_session(path: str, *, read_only: bool = False) -> Session:
    """Go on with a session."""
    if not Path(path).exists():
        raise InputError(
            f"{path}: there is no such session; start one with: fewlabels ask PREDICTIONS --session {shlex.quote(path)} --goal find-worst"
        )
    return Session.open(path, read_only=read_only)


def start_or_open(path: str, file: str | None, start: Start, columns: Columns) -> Opened:
    """Go on with a session, or start it where there is none yet and the predictions are named."""
    if file is None and columns != Columns():
        raise InputError("options about columns go with a file of predictions; name it before them")
    if Path(path).exists():
        refuse_changes(path, start)
    if file is None:
        return Opened(open_session(path))
    if Path(path).exists():
        pool = _choose_shown(columns.read(file))
        return Opened(Session.open(path, pool), pool, _list_hidden(pool))
    return _start(path, file, start, columns)


def _start(path: str, file: str, start: Start, columns: Columns) -> Opened:
    choices = start.choices()
    pool = _choose_shown(columns.read(file))
    pool = pool.hide_labels() if start.hide_labels else pool
    if pool.n_items and pool.n_labels == pool.n_items:
        raise InputError(
            f"every item of {file} is labelled: there is nothing to ask; assess it, or play with --hide-labels"
        )
    return Opened(_create(path, pool, choices), pool, _list_hidden(pool))


def _create(path: str, pool: Predictions, choices: dict[str, Any]) -> Session:
    """Create a session, and take it away again if its goal turns out to make no sense on this pool."""
    session = Session.create(path, pool, **choices)
    try:
        known = session.knowledge()
        judge(known.scheme.tally, Question(session.goal.metric, choices["prior"], n_draws=ROUGHLY))
        session.goal.gain(known, known.expect())
    except BaseException:
        session.close()
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
        raise
    return session


def _choose_shown(pool: Predictions) -> Predictions:
    """Whoever grades an output has to see it."""
    predicted = pool.roles.predicted
    if not pool.has("agreement") or pool.roles.show or predicted is None:
        return pool
    return replace(pool, roles=replace(pool.roles, show=(predicted, *pool.attributes)))


def _list_hidden(pool: Predictions) -> frozenset[str]:
    if pool.roles.show:
        return frozenset()
    return frozenset(name for name in pool.attributes if TELLING.match(name))
