"""The header of a CSV file: engines skip lines before what they take for it, and take the wrong line if rows are ragged."""

import csv
import re
from collections.abc import Sequence
from io import StringIO

from fewlabels.data.roles import RECOGNISED

DELIMITERS = ",;\t|"
LINES = 100  # at the beginning of a file, in which its header stands
KNOWN = {name for names in RECOGNISED.values() for name in names}


def list_skipped(head: bytes, columns: Sequence[str]) -> list[str]:
    """Return the lines before the header that was found; none where it stands in none of the first lines."""
    lines = head.decode("utf-8-sig", errors="replace").splitlines()[:LINES]
    for i, line in enumerate(lines):
        if any(_is_header(_split(line, mark), columns) for mark in DELIMITERS):
            return lines[:i]
    return []


def holds_header(skipped: Sequence[str], columns: Sequence[str]) -> bool:
    """Does a skipped line look like the true header? It has about as many names, or one that we know."""
    for fields in (_split(line, mark) for line in skipped for mark in DELIMITERS):
        is_long = len(fields) >= 3 and len(fields) >= len(columns) - 1 and all(fields)
        if is_long or (len(fields) > 1 and KNOWN & {field.lower() for field in fields}):
            return True
    return False


def note_skipped(skipped: Sequence[str], path: str) -> tuple[str, ...]:
    """Say which lines were left out."""
    text = next((line for line in skipped if line.strip()), None)
    if text is None:
        return ()
    lines = "line" if len(skipped) == 1 else "lines"
    return (f"{path}: {len(skipped):,} {lines} before the header left out, among them {text[:40]!r}",)


def _split(line: str, mark: str) -> list[str]:
    rows = list(csv.reader(StringIO(line), delimiter=mark))
    return [field.strip() for field in rows[0]] if rows else []


def _is_header(fields: Sequence[str], columns: Sequence[str]) -> bool:
    """Are these the columns' names? An engine renames what is empty or repeated."""
    return len(fields) == len(columns) and all(
        not field or field == name.strip() or re.fullmatch(re.escape(field) + r"_\d+", name)
        for field, name in zip(fields, columns, strict=True)
    )
