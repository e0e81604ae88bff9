"""Sessions from the command line: start one or go on with it, and say what to type next."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fewlabels.cli.fixed import refuse_changes
from fewlabels.cli.options import Columns
from fewlabels.cli.starting import Start
from fewlabels.errors import InputError
from fewlabels.session import ItemId, Session
from fewlabels.table import Predictions

Who = Annotated[str, Parameter(name="--as", show_default=False)]
CANNOT_TELL = "?"


@dataclass(frozen=True)
class Opened:
    """A session, and the predictions it is shown with, if they were named."""

    session: Session
    pool: Predictions | None = None

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
        pool = columns.read(file)
        return Opened(Session.open(path, pool), pool)
    return _start(path, file, start, columns)


def _start(path: str, file: str, start: Start, columns: Columns) -> Opened:
    choices = start.choices()
    pool = columns.read(file)
    pool = pool.hide_labels() if start.hide_labels else pool
    return Opened(Session.create(path, pool, **choices), pool)
