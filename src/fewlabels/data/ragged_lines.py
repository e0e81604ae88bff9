"""Find the first line of a CSV file that has more or fewer fields than its header: engines then read one column of text."""

import csv
from collections.abc import Iterable, Sequence

from fewlabels.errors import InputError


def refuse_ragged(path: str, lines: Iterable[str], columns: Sequence[str], marks: str) -> None:
    """Refuse a file with ragged lines: read as one column although its header has several fields, by these marks."""
    mark = max(marks, key=columns[0].count)
    if len(columns) > 1 or mark not in columns[0]:
        return
    reader = csv.reader(lines, delimiter=mark)
    n_header = len(next(reader, []))
    for fields in reader:
        if fields and len(fields) != n_header:
            raise InputError(
                f"{path}: line {reader.line_num:,} has {_count_fields(len(fields))}, the header has {n_header:,}; "
                f"correct the line, or put quotes around text that contains {mark!r}"
            )


def _count_fields(n: int) -> str:
    """Say how many fields a ragged line has."""
    return "1 field" if n == 1 else f"{n:,} fields"
