"""Start or open a session from the command line."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from fewlabels.cli.console import print_warnings, stderr_console
from fewlabels.cli.fixed_options import refuse_changes
from fewlabels.cli.model_files import ModelOptions
from fewlabels.cli.options import STDIN, Columns
from fewlabels.cli.session_options import SessionOptions
from fewlabels.data.given_roles import naming_given_roles
from fewlabels.data.names import ItemId, to_name
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError
from fewlabels.sessions.exchange.label_studio_tasks import ModelPrediction
from fewlabels.sessions.journal.storage import exists
from fewlabels.sessions.opening import read_given_roles
from fewlabels.sessions.session import Session

Who = Annotated[str, Parameter(name="--as", show_default=False)]


@dataclass(frozen=True)
class OpenedSession:
    """An open session, with its predictions if their file was given."""

    session: Session
    pool: Predictions | None = None
    is_new: bool = False  # created by this command

    def predicted(self, id: ItemId) -> str | None:
        """Look up the predicted class of an item."""
        if self.pool is None or not self.pool.has("predicted"):
            return None
        found = self.pool.fetch([str(id)], {"predicted": self.pool.predicted})
        return found[str(id)]["predicted"] if str(id) in found else None

    def get_predictions(self, ids: Sequence[ItemId]) -> dict[ItemId, ModelPrediction]:
        """Look up the predicted classes and scores of items; refused for graded outputs."""
        if self.pool is None or not self.pool.has("predicted") or not self.session.classes:
            raise InputError("--show-prediction: there are no predicted classes to show")
        columns = {"predicted": self.pool.predicted}
        columns |= {"score": self.pool.score} if self.pool.has("score") else {}
        found = self.pool.fetch([str(i) for i in ids], columns)
        model = Path(self.pool.source).stem
        return {
            i: ModelPrediction(
                to_name(row["predicted"]), None if row.get("score") is None else float(row["score"]), model
            )
            for i in ids
            if (row := found.get(str(i))) is not None
        }


def open_session(path: str, *, read_only: bool = False, accept_missing: bool = False) -> Session:
    """Open the file of an existing session."""
    if not exists(path):
        raise InputError(
            f"{path}: no such session; start one with: fewlabels ask PREDICTIONS --session {shlex.quote(path)} --goal find-worst"
        )
    return Session.open(path, read_only=read_only, accept_missing=accept_missing)


def require_annotator_name(start: SessionOptions, who: str) -> None:
    """Refuse to start a session file with several votes per item without an annotator name."""
    if start.votes is not None and start.votes > 1 and not who.strip():
        raise InputError(f"votes: {start.votes} annotators answer each item: give your name with --as NAME")


def start_or_open(
    path: str,
    file: str | None,
    start: SessionOptions,
    columns: Columns,
    more: Sequence[str] = (),
    models: ModelOptions = ModelOptions(),
) -> OpenedSession:
    """Open the file of a session, or start it if it does not exist and the predictions are given."""
    if file is None and (columns != Columns() or models != ModelOptions()):
        raise InputError("column options need a file of predictions; name it before the options")
    is_there = exists(path)
    if is_there:
        refuse_changes(path, start)
    if file is None:
        return OpenedSession(open_session(path))
    choices = {} if is_there else start.choices()  # parse options before reading a large file
    if STDIN in (file, *more):
        raise InputError(
            "a session opens its predictions again later, and standard input can be read once: save it to a file"
        )
    if is_there:
        pool = _read_again(path, (file, *more), columns, models)
        return OpenedSession(Session.open(path, pool), pool)
    pool = models.read((file, *more), columns)
    return _start_session(path, pool.hide_labels() if start.hide_labels else pool, start, choices)


def _read_again(path: str, files: Sequence[str], columns: Columns, models: ModelOptions) -> Predictions:
    """Read the predictions of an existing session, with the column options that it was created with unless others are typed."""
    kept = read_given_roles(path)
    with naming_given_roles(path, kept):
        models = models.fill(kept or {}) if len(files) == 1 else models
        return models.read(files, columns.fill(kept or {}))


def _start_session(path: str, pool: Predictions, start: SessionOptions, choices: dict[str, Any]) -> OpenedSession:
    """Start a session in a new file, and print what it notes about the predictions."""
    try:
        session = Session.create(path, pool, **choices)
        print_warnings(stderr_console(), session.notes)  # before labelling starts
        return OpenedSession(session, pool, is_new=True)
    except InputError:
        if not exists(path):
            raise
    # Another process created the session at the same time: open that one.
    refuse_changes(path, start)
    return OpenedSession(Session.open(path, pool), pool)
