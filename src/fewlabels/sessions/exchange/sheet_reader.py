"""Read answers from CSV or JSON lines as exact text, without type inference; every error names the line."""

import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewlabels.data.documents.parsing import parse_any
from fewlabels.data.names import to_name
from fewlabels.errors import InputError, join_names, quote_name
from fewlabels.sessions.exchange.label_studio_tasks import ID
from fewlabels.sessions.exchange.sheets import Record, file_format
from fewlabels.text import unescape_formula

DELIMITERS = ",;\t"  # of columns: spreadsheets choose one by locale
ANSWER_COLUMNS = ("label", "agreement")  # names of the column with the answer
REQUIRED_COLUMNS = ("id", *ANSWER_COLUMNS)


@dataclass(frozen=True)
class AnswerRow:
    """One row: an item and its answer."""

    number: int
    id: str
    label: Any  # None: not answered yet
    who: str = ""  # if the file has it
    is_skipped: bool = False  # an annotator looked at it and could not label it
    at: float = 0.0  # time, if the file has it

    @property
    def is_answer(self) -> bool:
        """Whether the row of a sheet has an answer of an annotator, a label or a skip."""
        return self.label is not None or self.is_skipped


def read_sheet(path: str, *, by_annotator: bool = False) -> list[AnswerRow]:
    """Read a sheet of ids and labels, one row per item, or one per item and annotator (column who)."""
    found: dict[tuple[str, str], AnswerRow] = {}
    for number, record in _read_sheet_csv(path) if file_format(path) == "csv" else _read_jsonl(path):
        line = AnswerRow(
            number,
            to_name(record["id"]),
            _read_sheet_label(record[_find_answer_column(record)]),
            _read_annotator_name(record) if by_annotator else "",
        )
        earlier = found.get((line.id, line.who))
        if earlier and None not in (earlier.label, line.label) and earlier.label != line.label:
            raise InputError(
                f"{path}, lines {earlier.number} and {number}, column {_find_answer_column(record)}: item {line.id!r} has two "
                f"answers, {quote_name(earlier.label)} and {quote_name(line.label)}; keep one"
            )
        if earlier is None or earlier.label is None:
            found[line.id, line.who] = line
    return list(found.values())


def _read_annotator_name(record: Record) -> str:
    """Read the name of the annotator from a row of a sheet."""
    who = record.get("who")
    return "" if who is None else to_name(who).strip()


def _read_sheet_label(label: Any) -> Any:
    """Read the label in a row of a sheet; None if it is empty."""
    is_missing = not label.strip() if isinstance(label, str) else label != label  # NaN, which some JSON has
    return None if is_missing else label


def _find_answer_column(record: Record) -> str:
    """Return the name of the sheet's column with the answers."""
    return next(name for name in ANSWER_COLUMNS if name in record)


def read_text(path: str) -> str:
    """Read the whole file of a sheet as UTF-8."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {number}: this is not UTF-8; save the file as CSV UTF-8") from None


def _read_sheet_csv(path: str) -> Iterator[tuple[int, Record]]:
    """Yield the numbered rows of a CSV sheet."""
    csv.field_size_limit(sys.maxsize)  # an item's text may be long
    text = read_text(path)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=_find_delimiter(text), strict=True)
    header: list[str] = []
    number = 1
    try:
        for row in rows:
            if any(row) and not header:
                header = _check_header(path, row)
            elif any(row):
                yield number, _match_sheet_row(path, number, header, row)
            number = rows.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: not CSV: {error}") from None
    if not header:
        raise InputError(f"{path} is empty")


def _find_delimiter(text: str) -> str:
    """Find by which mark the columns of a CSV sheet are separated."""
    header = next((line for line in text.splitlines() if line.strip()), "")
    return max(
        DELIMITERS, key=lambda mark: (len(set(header.lower().split(mark)) & set(REQUIRED_COLUMNS)), header.count(mark))
    )


def _check_header(path: str, row: list[str]) -> list[str]:
    """Check that a CSV sheet has the columns id and label (or agreement) once each."""
    plain = [name.strip().lower() for name in row]
    if ID in plain:  # its column id is Label Studio's
        raise InputError(f"{path} is Label Studio's CSV, which leaves out who skipped what; export as JSON instead")
    header = [name if name in REQUIRED_COLUMNS else given for name, given in zip(plain, row, strict=True)]
    wanted = ("id", "agreement" if "agreement" in header and "label" not in header else "label")
    for name in wanted:
        if header.count(name) != 1:
            how = "no column" if name not in header else "more than one column"
            raise InputError(
                f"{path}, line 1: {how} called {name}; the file needs id and label, and has {join_names(row)}"
            )
    return header


def _match_sheet_row(path: str, number: int, header: list[str], row: list[str]) -> Record:
    """Match the values in a row of a CSV sheet with its columns."""
    if len(row) > len(header) and any(row[len(header) :]):
        raise InputError(
            f"{path}, line {number}: {len(row)} values for {len(header)} columns; a value with a comma goes in double quotes"
        )
    record = {**dict.fromkeys(header, ""), **dict(zip(header, map(unescape_formula, row), strict=False))}
    if not record["id"]:
        raise InputError(f"{path}, line {number}, column id: it is empty; every row needs the id it was asked with")
    return record


def _read_jsonl(path: str) -> Iterator[tuple[int, Record]]:
    """Yield the numbered rows of a sheet of JSON lines."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        record = parse_any(line, f"{path}, line {number}")
        if not isinstance(record, dict) or record.get("id") in (None, "") or not _is_scalar(record["id"]):
            raise InputError(
                f'{path}, line {number}, column id: every line is an object like {{"id": 12, "label": "cat"}}'
            )
        if not record.keys() & set(ANSWER_COLUMNS) or not _is_scalar(record[_find_answer_column(record)]):
            raise InputError(
                f"{path}, line {number}, column label: there is none; write null where there is no answer yet"
            )
        yield number, record


def _is_scalar(value: Any) -> bool:
    """Is a value in a sheet neither a list nor an object?"""
    return not isinstance(value, list | dict)
