"""Write items and answers as CSV or JSON lines, such that ids are unchanged when the file is read back."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fewlabels.errors import InputError
from fewlabels.text import as_text, dump_json, escape_formula, to_json_value

LABEL_STUDIO = "studio"
FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": LABEL_STUDIO}
Record = dict[str, Any]


def file_format(path: str) -> str:
    """Return the format of a sheet, by its file's suffix; standard output is CSV."""
    kind = "csv" if path == "-" else FORMATS.get(Path(path).suffix.lower())
    if kind is None:
        raise InputError(
            f"{path}: unknown format; the suffix must be .csv, .jsonl (JSON lines) or .json (Label Studio)"
        )
    return kind


def render_sheet(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], kind: str) -> str:
    """Return rows as the text of a sheet."""
    if kind == "jsonl":
        lines = (dump_json({c: to_json_value(row[c]) for c in columns}) for row in rows)
        return "".join(f"{line}\n" for line in lines)
    cells = [[_as_cell(row[c]) for c in columns] for row in rows]
    # Python before 3.13 leaves a lone carriage return unquoted, and then cannot read it; a spreadsheet may read a
    # semicolon or a tab as a delimiter.
    every = any(mark in cell for row in cells for cell in row for mark in "\r;\t")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL)
    writer.writerows([[escape_formula(cell) for cell in row] for row in (columns, *cells)])
    return out.getvalue()


def make_form_rows(shown: Mapping[Any, Mapping[str, Any]]) -> tuple[list[Record], list[str]]:
    """Return rows and columns of a sheet to fill in: the id, the columns to show, and an empty label."""
    names = list(dict.fromkeys(name for row in shown.values() for name in row))
    headers = {name: f"{name} (shown)" if name in ("id", "label", "who") else name for name in names}
    rows = [{"id": i, **{headers[c]: row.get(c) for c in names}, "label": ""} for i, row in shown.items()]
    return rows, ["id", *headers.values(), "label"]


def _as_cell(value: Any) -> str:
    """Return a value as the text of a sheet's cell."""
    return str(value).lower() if isinstance(value, bool) else as_text(value)
