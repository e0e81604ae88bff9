"""Open files as DuckDB tables: Parquet is scanned in place; text and Arrow files are loaded once and validated.

File names are literal: an existing file is opened even if its name looks like a glob pattern, and folders called
`name=value` add no columns (no hive partitioning).
"""

import glob
import gzip
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import ibis
import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.parquet as pq
from ibis.backends import BaseBackend

from fewlabels.data.arrow_files import read_batches
from fewlabels.data.column_names import (
    name_unnamed,
    note_unnamed,
    refuse_renamed,
    require_distinct,
)
from fewlabels.data.compression import check_stream
from fewlabels.data.csv_headers import DELIMITERS, holds_header, list_skipped, note_skipped
from fewlabels.data.frames import arrow_of_arrays, cast_half_floats
from fewlabels.data.json_columns import read_json_columns
from fewlabels.data.nan_values import clear_nan
from fewlabels.data.parquet_files import check_footer
from fewlabels.data.query_results import fetch_arrow
from fewlabels.data.ragged_lines import refuse_ragged
from fewlabels.errors import InputError, join_names

HEAD_BYTES = 1 << 20  # first bytes of a text file, searched for column names
SUFFIXES = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".csv.zst"),
    "json": (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".json", ".json.gz"),
    "arrow": (".arrow", ".feather", ".ipc"),
}
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
EXACT = 2**53  # from which floats do not distinguish integers
FILE_NAME = "filename"  # column that says from which of several files a row comes


class Opened(NamedTuple):
    """A table, and notes on how it was read."""

    table: ir.Table
    notes: tuple[str, ...] = ()


def open_files(pattern: str, engine: BaseBackend) -> Opened:
    """Open a file, or all files that match a glob pattern, to scan as a DuckDB table."""
    paths = find_files(pattern)
    kinds = {_file_kind(path) for path in paths}
    if len(kinds) > 1:
        raise InputError(f"{pattern}: files of different kinds ({join_names(sorted(kinds))}); name one kind")
    kind = kinds.pop()
    try:
        opened = _scan_files(kind, paths, engine)
        if kind == "parquet":
            fetch_arrow(engine, opened.table.aggregate(n=opened.table.count()))  # detects a truncated file now
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{pattern}: cannot be read as {kind}: {_explain_duckdb_error(str(error))}") from None
    return opened


def _explain_duckdb_error(error: str) -> str:
    """Extract why a file cannot be scanned: DuckDB wraps errors of our Arrow reader in its own text and a traceback."""
    if "unicode" in error.lower() or "utf-8" in error.lower():
        return "the text is not UTF-8; save it as UTF-8"
    reason = error.strip().splitlines()[0].partition(" Detail: Python exception")[0]
    return reason.rpartition("cannot be read as arrow: ")[2][:300]


def find_files(pattern: str) -> list[str]:
    """Return the files to scan: the one of that name, else those that match the glob pattern."""
    if Path(pattern).is_file():
        return [pattern]
    if Path(pattern).is_dir():
        raise InputError(f"{pattern} is a folder; name the files, for instance '{pattern.rstrip('/')}/*.parquet'")
    paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (a pattern may be absolute)
    if not paths:
        raise InputError(f"{pattern}: no such file")
    return paths


def _file_kind(path: str) -> str:
    """Return the format of a file to scan, by its ending."""
    for kind, endings in SUFFIXES.items():
        if path.lower().endswith(endings):
            return kind
    if path.lower().endswith(SPREADSHEETS):
        raise InputError(
            f"{path} is a spreadsheet; save the sheet as CSV (in Excel: File, Save As, CSV UTF-8) and give that file"
        )
    known = join_names([e for endings in SUFFIXES.values() for e in endings], most=20)
    raise InputError(f"{path}: unknown file extension, which determines the format; known are {known}")


def _scan_files(kind: str, paths: list[str], engine: BaseBackend) -> Opened:
    """Open files of one format as a table."""
    for path in paths:
        if Path(path).stat().st_size == 0:
            raise InputError(f"{path} is empty")
        check_stream(path)
    return {"parquet": _scan_parquet, "csv": _load_csv, "json": _load_json, "arrow": _load_arrow}[kind](paths, engine)


def _scan_parquet(paths: list[str], engine: BaseBackend) -> Opened:
    """Scan Parquet files in place."""
    for path in paths:
        check_footer(path)
    names = pq.read_schema(paths[0]).names
    require_distinct(names, paths[0])
    table = _add_file_names(
        paths, lambda **more: engine.read_parquet(_escape_glob(paths), hive_partitioning=False, **more)
    )
    if "" in names:
        table = table.rename(dict(zip(name_unnamed(names), table.columns, strict=True)))
    return Opened(clear_nan(table), note_unnamed(names))


def _load_csv(paths: list[str], engine: BaseBackend) -> Opened:
    """Scan CSV files into a DuckDB table."""
    # Types are inferred from all rows, because an id may turn out to be text only in row 50,000.
    # Booleans are not inferred: a class called yes stays yes.
    kinds = ["BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]
    words = {"sample_size": -1, "header": True, "auto_type_candidates": kinds, "hive_partitioning": False}
    table, head = engine.read_csv(_escape_glob(paths), **words), _read_head(paths[0])
    skipped = list_skipped(head, table.columns)
    if holds_header(skipped, table.columns):
        words["skip"] = 0
        table, skipped = engine.read_csv(_escape_glob(paths), **words), []
    rounded = _list_rounded(table, engine)
    if rounded:
        words["types"] = dict.fromkeys(rounded, "VARCHAR")
        table = engine.read_csv(_escape_glob(paths), **words)
    refuse_renamed(table.columns, paths[0], head)
    for path in paths if len(table.columns) == 1 else ():
        refuse_ragged(path, read_lines(path), table.columns, DELIMITERS)
    table = _add_file_names(paths, lambda **more: engine.read_csv(_escape_glob(paths), **words, **more), table)
    return Opened(_load_into_engine(_unquote_first(table, head), engine), note_skipped(skipped, paths[0]))


def _unquote_first(table: ir.Table, head: bytes) -> ir.Table:
    """Remove the quotes that the scan keeps around a first name after a byte order mark, as Excel writes it."""
    first = table.columns[0]
    name = first.removeprefix('"').removesuffix('"')
    is_kept = head.startswith(BOM_UTF8) and len(first) == len(name) + 2 and name and name not in table.columns
    return table.rename({name: first}) if is_kept else table


def _list_rounded(table: ir.Table, engine: BaseBackend) -> list[str]:
    """Return the scanned columns of integers beyond 64 bits: read as floats, they would be rounded, and ids wrong."""
    floats = [name for name, kind in table.schema().items() if kind.is_floating()]
    large = {f"large{i}": (table[name].abs() >= EXACT).any() for i, name in enumerate(floats)}
    broken = {f"broken{i}": (table[name] % 1 != 0).any() for i, name in enumerate(floats)}
    found = fetch_arrow(engine, table.aggregate(**large, **broken)).to_pylist()[0] if floats else {}
    return [name for i, name in enumerate(floats) if found[f"large{i}"] and not found[f"broken{i}"]]


def _load_json(paths: list[str], engine: BaseBackend) -> Opened:
    """Scan JSON files into a DuckDB table."""
    found = [read_json_columns(path) for path in paths]
    columns = [one for one in found if one is not None]
    if columns and len(columns) < len(paths):
        raise InputError(f"{paths[found.index(None)]}: one object per row, unlike other files; name one kind")
    if columns:
        table = pa.concat_tables([arrow_of_arrays(one.columns) for one in columns])
        return Opened(_load_arrow_table(table, engine), tuple(note for one in columns for note in one.notes))
    table = _add_file_names(
        paths, lambda **more: engine.read_json(_escape_glob(paths), hive_partitioning=False, **more)
    )
    refuse_renamed(table.columns, paths[0], _read_head(paths[0]))
    return Opened(_load_into_engine(table, engine))


def _add_file_names(paths: list[str], read: Callable[..., ir.Table], table: ir.Table | None = None) -> ir.Table:
    """Add the column `filename` to the rows of several scanned files, unless they have it; short where names differ."""
    table = read() if table is None else table
    if len(paths) == 1 or FILE_NAME in table.columns:
        return table
    named = read(filename=True)
    common = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])  # noqa: PTH100, PTH120
    return named.mutate(**{FILE_NAME: named[FILE_NAME].substr(len(common.rstrip("/")) + 1)})


def _load_arrow(paths: list[str], engine: BaseBackend) -> Opened:
    """Scan Arrow files into a DuckDB table."""
    reader = read_batches(paths)
    names = reader.schema.names
    require_distinct(names, paths[0])
    table = _load_arrow_table(cast_half_floats(reader), engine)
    if "" in names:
        table = table.rename(dict(zip(name_unnamed(names), table.columns, strict=True)))
    return Opened(table, note_unnamed(names))


def _load_arrow_table(source: pa.Table | pa.RecordBatchReader, engine: BaseBackend) -> ir.Table:
    """Scan Arrow data into a DuckDB table, batch by batch."""
    name, view = ibis.util.gen_name("fewlabels"), ibis.util.gen_name("fewlabels")
    engine.con.register(view, source)
    engine.con.execute(f'CREATE TEMP TABLE "{name}" AS SELECT * FROM "{view}"')
    engine.con.unregister(view)
    return engine.table(name)


def _load_into_engine(table: ir.Table, engine: BaseBackend) -> ir.Table:
    """Store a scanned table in DuckDB, which owns it from then on."""
    return engine.create_table(ibis.util.gen_name("fewlabels"), table, temp=True)


def _escape_glob(paths: list[str]) -> list[str]:
    """Escape file names so that DuckDB does not scan them as glob patterns."""
    marks = {ord(mark): f"[{mark}]" for mark in "[*?"}
    return [os.path.abspath(path).translate(marks) for path in paths]  # noqa: PTH100 (links stay links)


def _read_head(path: str) -> bytes:
    """Return the first bytes of a text file to scan, decompressed if it is .gz or .zst."""
    if path.lower().endswith(".gz"):
        with gzip.open(path, "rb") as file:
            return file.read(HEAD_BYTES)
    if path.lower().endswith(".zst"):
        return bytes(pa.CompressedInputStream(path, "zstd").read(HEAD_BYTES))
    with Path(path).open("rb") as file:
        return file.read(HEAD_BYTES)


def read_lines(path: str) -> Iterator[str]:
    """Yield the lines of a text file to scan, decompressed if it is .gz; of a .zst file the first ones."""
    if path.lower().endswith(".zst"):
        yield from _read_head(path).decode("utf-8-sig", errors="replace").splitlines(keepends=True)[:-1]
        return
    open_text = gzip.open if path.lower().endswith(".gz") else open
    with open_text(path, "rt", encoding="utf-8-sig", newline="") as file:
        yield from file
