"""Sheets of items and answers, to be written: CSV or JSON lines, where every id comes back as it went out."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fewlabels.errors import InputError
from fewlabels.text import as_plain, as_text, dump_json, escape_formula

STUDIO = "studio"
ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": STUDIO}
Record = dict[str, Any]


def kind_of(path: str) -> str:
    """Tell the kind of a sheet by its ending; standard output is CSV."""
    kind = "csv" if path == "-" else ENDINGS.get(Path(path).suffix.lower())
    if kind is None:
        raise InputError(
            f"{path}: the kind of sheet is told by its ending: .csv, .jsonl for JSON lines, .json for Label Studio"
        )
    return kind


def render_sheet(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], kind: str) -> str:
    """Return rows as text."""
    if kind == "jsonl":
        lines = (dump_json({c: as_plain(row[c]) for c in columns}) for row in rows)
        return "".join(f"{line}\n" for line in lines)
    cells = [[_as_cell(row[c]) for c in columns] for row in rows]
    # Python before 3.13 leaves a lone carriage return unquoted, and then cannot read it; a spreadsheet may take a
    # semicolon or a tab for the end of a cell.
    every = any(mark in cell for row in cells for cell in row for mark in "\r;\t")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL if every else csv.QUOTE_MINIMAL)
    writer.writerows([[escape_formula(cell) for cell in row] for row in (columns, *cells)])
    return out.getvalue()


def lay_out(shown: Mapping[Any, Mapping[str, Any]]) -> tuple[list[Record], list[str]]:
    """Return a sheet to fill in: the id, what a person should see, and an empty label."""
    names = list(dict.fromkeys(name for row in shown.values() for name in row))
    heads = {name: f"{name} (shown)" if name in ("id", "label", "who") else name for name in names}
    rows = [{"id": i, **{heads[c]: row.get(c) for c in names}, "label": ""} for i, row in shown.items()]
    return rows, ["id", *heads.values(), "label"]


def _as_cell(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else as_text(value)
