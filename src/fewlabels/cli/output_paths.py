"""Checks of output paths: never overwrite a session, predictions, or answers that are not imported yet."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from fewlabels.errors import InputError, count
from fewlabels.files import check_outputs
from fewlabels.sessions.exchange.label_studio_export import read_export
from fewlabels.sessions.exchange.sheet_reader import AnswerRow, read_sheet
from fewlabels.sessions.exchange.sheets import LABEL_STUDIO, file_format
from fewlabels.sessions.session import Session

SESSION_SUFFIXES = ("", "-wal", "-shm", "-journal", ".keys", ".read")  # suffixes of the files of a session


def check_output_paths(session: str, outputs: Mapping[str, str | None], *inputs: str | None) -> None:
    """Refuse outputs (by option name) that are an input or a file of the session."""
    check_outputs(outputs, (*inputs, *(session + ending for ending in SESSION_SUFFIXES)))


def check_replaces_export(out: str, columns: Sequence[str]) -> None:
    """Refuse an output path that holds anything but an earlier export."""
    if out == "-" or not Path(out).is_file():
        return
    if _read_header(out) not in ([], list(columns)):
        raise InputError(f"{out} exists and is not an export of answers; name another file")


def check_replaces_same_text(out: str, text: str) -> None:
    """Refuse an output path that holds different content, such as manual edits."""
    if Path(out).is_file() and Path(out).read_bytes() != text.encode():
        raise InputError(f"{out} exists with different content; remove it, or name another file")


def read_existing_sheet(out: str | None) -> list[AnswerRow]:
    """Return the lines of the file at an output path, which would be overwritten."""
    if out is None or out == "-" or not Path(out).is_file():
        return []
    try:
        return _read_existing_answers(out)
    except InputError:
        raise InputError(f"{out} exists and was not written by fewlabels; name another file") from None


def check_no_unread_answers(out: str | None, existing: list[AnswerRow], session: Session | None) -> None:
    """Refuse an output path that holds another session's file, or answers not in this session yet."""
    pending = {str(i) for i in session.pending} if session else set()
    known = pending | {str(row["id"]) for row in session.answers()} if session and existing else pending
    if any(line.id not in known for line in existing):
        raise InputError(f"{out} exists and contains items that this session never asked for; name another file")
    unread = len({line.id for line in existing if line.id in pending and line.is_answer})
    if unread:
        raise InputError(
            f"{out} has {count(unread, 'answer')} not in the session yet; import it first, or name another file"
        )


def _read_existing_answers(out: str) -> list[AnswerRow]:
    """Read the answers in the file at an output path."""
    if file_format(out) != LABEL_STUDIO:
        return read_sheet(out)
    export = read_export(out)
    if export.n_foreign:
        raise InputError(f"{out} has tasks of other projects")
    return list(export.rows)


def _read_header(path: str) -> list[str]:
    """Return the column names of the file at an output path, a CSV file or JSON lines."""
    line = _read_line(path).decode("utf-8", errors="replace").strip()
    if file_format(path) == "csv":
        return next(csv.reader([line]), [])
    try:
        return list(json.loads(line or "{}"))
    except (ValueError, TypeError, RecursionError):
        return [line]


def _read_line(path: str) -> bytes:
    """Return the first line of the file at an output path."""
    with Path(path).open("rb") as file:
        return file.readline()
