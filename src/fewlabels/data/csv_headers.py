"""Find the header of a CSV file: engines skip lines before the header they detect, and ragged rows mislead them."""

import csv
import re
from collections.abc import Sequence
from io import StringIO

from fewlabels.data.roles import RECOGNISED

DELIMITERS = ",;\t|"
LINES = 100  # first lines of a file, searched for its header
KNOWN = {name for names in RECOGNISED.values() for name in names}


def list_skipped(head: bytes, columns: Sequence[str]) -> list[str]:
    """Return the lines before the detected header of a CSV file; none if it is not among the first lines."""
    lines = head.decode("utf-8-sig", errors="replace").splitlines()[:LINES]
    for i, line in enumerate(lines):
        if any(_is_header(_split_csv_line(line, mark), columns) for mark in DELIMITERS):
            return lines[:i]
    return []


def holds_header(skipped: Sequence[str], columns: Sequence[str]) -> bool:
    """Return whether a skipped line looks like the true header of a CSV file: as many fields, or a known name."""
    for fields in (_split_csv_line(line, mark) for line in skipped for mark in DELIMITERS):
        is_long = len(fields) >= 3 and len(fields) >= len(columns) - 1 and all(fields)
        if is_long or (len(fields) > 1 and KNOWN & {field.lower() for field in fields}):
            return True
    return False


def note_skipped(skipped: Sequence[str], path: str) -> tuple[str, ...]:
    """Note how many lines were skipped before the header of a CSV file."""
    text = next((line for line in skipped if line.strip()), None)
    if text is None:
        return ()
    lines = "line" if len(skipped) == 1 else "lines"
    return (f"{path}: {len(skipped):,} {lines} before the header left out, among them {text[:40]!r}",)


def _split_csv_line(line: str, mark: str) -> list[str]:
    """Split a line of a CSV file, perhaps its header, into fields."""
    rows = list(csv.reader(StringIO(line), delimiter=mark))
    return [field.strip() for field in rows[0]] if rows else []


def _is_header(fields: Sequence[str], columns: Sequence[str]) -> bool:
    """Return whether fields match the column names; engines rename empty and duplicate ones."""
    return len(fields) == len(columns) and all(
        not field or field == name.strip() or re.fullmatch(re.escape(field) + r"_\d+", name)
        for field, name in zip(fields, columns, strict=True)
    )
