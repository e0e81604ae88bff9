"""Read JSON that is one object with a list per column, as written by `DataFrame.to_json` or from a dict of lists.

The engine reads JSON lines and lists of records. Other objects are refused: the engine would read them as one item.
"""

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fewlabels.data.roles import RECOGNISED
from fewlabels.errors import InputError, join_names

HEAD_CHARACTERS = 65_536  # first characters, enough to detect the format
MAX_CHARACTERS = 1 << 28  # maximum number of characters of one object
OBJECT = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:')
ADVICE = "write one object per row instead (JSON lines; in pandas: to_json(path, orient='records', lines=True))"


class Document(NamedTuple):
    """The columns of an object, and notes on the fields that were ignored."""

    columns: dict[str, list[Any]]
    notes: tuple[str, ...] = ()


def read_json_columns(path: str) -> Document | None:
    """Return the columns of a file that is one object of columns; None for other formats."""
    document = _read_object(path)
    if document is None:
        return None
    if {"columns", "data"} <= document.keys() or {"schema", "data"} <= document.keys():
        raise InputError(f"{path}: one object that holds its rows in 'data'; {ADVICE}")
    if not _are_columns(document):
        return _pick_columns(path, document)
    rows = [list(value) for value in document.values() if isinstance(value, Mapping)]
    if any(keys != rows[0] for keys in rows):
        raise InputError(f"{path}: one object of columns whose rows have different names; {ADVICE}")
    columns = {name: list(v.values()) if isinstance(v, Mapping) else v for name, v in document.items()}
    _require_one_length(path, columns)
    return Document(columns)


def _pick_columns(path: str, document: Mapping[str, Any]) -> Document | None:
    """Return the lists of equal length among other fields, if there are several; None for a single item."""
    lists = {name: value for name, value in document.items() if isinstance(value, list)}
    lengths = [len(value) for value in lists.values()]
    n = max((length for length in lengths if lengths.count(length) > 1), default=0)
    columns = {name: value for name, value in lists.items() if len(value) == n}
    others = [name for name in document if name not in columns]
    if not n or any(name.lower() in RECOGNISED["predicted"] for name in others):
        return None
    return Document(
        columns, (f"{path}: one object of columns of length {n:,}; left out is {join_names(map(repr, others))}",)
    )


def _read_object(path: str) -> dict[str, Any] | None:
    """Read the one JSON object of a file; None if it is not an object, or if more lines follow."""
    with _open_json(path) as file:
        head = file.read(HEAD_CHARACTERS)
        if not OBJECT.match(head) or _are_lines(head):
            return None
        text = head + file.read(MAX_CHARACTERS)
    try:
        found = json.loads(text)
    except ValueError:  # JSON lines, or invalid: the engine reports it
        return None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply to be a table; {ADVICE}") from None
    return found if isinstance(found, dict) else None


def _open_json(path: str) -> Any:
    """Open a JSON file, decompressed if it ends in .gz."""
    if path.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="replace")
    return Path(path).open(encoding="utf-8-sig", errors="replace")


def _are_lines(head: str) -> bool:
    """Is this file JSON lines: is the first line a complete object, and do more lines follow?"""
    first, _, rest = head.partition("\n")
    try:
        return bool(rest.strip()) and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _are_columns(document: Mapping[str, Any]) -> bool:
    """Return whether all values are lists, or all objects; a single list of numbers may be the scores of one item."""
    values = list(document.values())
    if len(values) == 1 and isinstance(values[0], list) and all(isinstance(v, int | float) for v in values[0]):
        return False
    return bool(values) and (
        all(isinstance(value, list) for value in values) or all(isinstance(value, dict) for value in values)
    )


def _require_one_length(path: str, columns: Mapping[str, list[Any]]) -> None:
    """Raise if the columns in a JSON object differ in length."""
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        said = join_names(f"{name} {n:,}" for name, n in lengths.items())
        raise InputError(f"{path}: one object of columns that differ in length: {said}; {ADVICE}")
