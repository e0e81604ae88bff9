"""Open files as DuckDB tables: Parquet is scanned in place; text and Arrow files are loaded once and validated.

File names are literal: an existing file is opened even if its name looks like a glob pattern, and folders called
`name=value` add no columns (no hive partitioning).
"""

import glob
import gzip
import os
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
    HEAD_BYTES,
    name_unnamed,
    note_unnamed,
    read_head,
    refuse_renamed,
    require_distinct,
)
from fewlabels.data.compression import check_stream
from fewlabels.data.csv_headers import holds_header, list_skipped, note_skipped
from fewlabels.data.frames import arrow_of_arrays, cast_half_floats
from fewlabels.data.json_columns import read_json_columns
from fewlabels.data.parquet_files import check_footer
from fewlabels.errors import InputError, join_names

SUFFIXES = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".csv.zst"),
    "json": (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".json", ".json.gz"),
    "arrow": (".arrow", ".feather", ".ipc"),
}


class Opened(NamedTuple):
    """A table, and notes on how it was read."""

    table: ir.Table
    notes: tuple[str, ...] = ()


def open_files(pattern: str, engine: BaseBackend) -> Opened:
    """Open a file, or all files that match a glob pattern."""
    paths = find_files(pattern)
    kinds = {_kind_of(path) for path in paths}
    if len(kinds) > 1:
        raise InputError(f"{pattern}: files of different kinds ({join_names(sorted(kinds))}); name one kind")
    kind = kinds.pop()
    try:
        opened = _scan_files(kind, paths, engine)
        if kind == "parquet":
            opened.table.count().to_pyarrow()  # detects a truncated file now, not in a later query
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{pattern}: cannot be read as {kind}: {_explain_duckdb_error(str(error))}") from None
    return opened


def _explain_duckdb_error(error: str) -> str:
    """Extract the reason: DuckDB wraps errors of our Arrow reader in its own text and a traceback."""
    if "unicode" in error.lower() or "utf-8" in error.lower():
        return "the text is not UTF-8; save it as UTF-8"
    reason = error.strip().splitlines()[0].partition(" Detail: Python exception")[0]
    return reason.rpartition("cannot be read as arrow: ")[2][:300]


def find_files(pattern: str) -> list[str]:
    """Return the file of that name, else the files that match the glob pattern."""
    if Path(pattern).is_file():
        return [pattern]
    if Path(pattern).is_dir():
        raise InputError(f"{pattern} is a folder; name the files, for instance '{pattern.rstrip('/')}/*.parquet'")
    paths = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 (a pattern may be absolute)
    if not paths:
        raise InputError(f"{pattern}: no such file")
    return paths


def _kind_of(path: str) -> str:
    for kind, endings in SUFFIXES.items():
        if path.lower().endswith(endings):
            return kind
    known = join_names([e for endings in SUFFIXES.values() for e in endings], most=20)
    raise InputError(f"{path}: unknown file extension, which determines the format; known are {known}")


def _scan_files(kind: str, paths: list[str], engine: BaseBackend) -> Opened:
    for path in paths:
        if Path(path).stat().st_size == 0:
            raise InputError(f"{path} is empty")
        check_stream(path)
    return {"parquet": _scan_parquet, "csv": _load_csv, "json": _load_json, "arrow": _load_arrow}[kind](paths, engine)


def _scan_parquet(paths: list[str], engine: BaseBackend) -> Opened:
    for path in paths:
        check_footer(path)
    names = pq.read_schema(paths[0]).names
    require_distinct(names, paths[0])
    table = engine.read_parquet(_escape_glob(paths), hive_partitioning=False)
    if "" in names:
        table = table.rename(dict(zip(name_unnamed(names), table.columns, strict=True)))
    return Opened(table, note_unnamed(names))


def _load_csv(paths: list[str], engine: BaseBackend) -> Opened:
    # Types are inferred from all rows, because an id may turn out to be text only in row 50,000.
    # Booleans are not inferred: a class called yes stays yes.
    kinds = ["BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]
    words = {"sample_size": -1, "header": True, "auto_type_candidates": kinds, "hive_partitioning": False}
    table, head = engine.read_csv(_escape_glob(paths), **words), _unpack_head(paths[0])
    skipped = list_skipped(head, table.columns)
    if holds_header(skipped, table.columns):
        table, skipped = engine.read_csv(_escape_glob(paths), skip=0, **words), []
    refuse_renamed(table.columns, paths[0], head)
    return Opened(_load_into_engine(table, engine), note_skipped(skipped, paths[0]))


def _load_json(paths: list[str], engine: BaseBackend) -> Opened:
    found = [read_json_columns(path) for path in paths]
    columns = [one for one in found if one is not None]
    if columns and len(columns) < len(paths):
        raise InputError(f"{paths[found.index(None)]}: one object per row, unlike other files; name one kind")
    if columns:
        table = pa.concat_tables([arrow_of_arrays(one.columns) for one in columns])
        return Opened(_load_arrow_table(table, engine), tuple(note for one in columns for note in one.notes))
    table = engine.read_json(_escape_glob(paths), hive_partitioning=False)
    refuse_renamed(table.columns, paths[0], _unpack_head(paths[0]))
    return Opened(_load_into_engine(table, engine))


def _load_arrow(paths: list[str], engine: BaseBackend) -> Opened:
    reader = read_batches(paths)
    names = reader.schema.names
    require_distinct(names, paths[0])
    table = _load_arrow_table(cast_half_floats(reader), engine)
    if "" in names:
        table = table.rename(dict(zip(name_unnamed(names), table.columns, strict=True)))
    return Opened(table, note_unnamed(names))


def _load_arrow_table(source: pa.Table | pa.RecordBatchReader, engine: BaseBackend) -> ir.Table:
    """Copy Arrow data into the engine, batch by batch."""
    name, view = ibis.util.gen_name("fewlabels"), ibis.util.gen_name("fewlabels")
    engine.con.register(view, source)
    engine.con.execute(f'CREATE TEMP TABLE "{name}" AS SELECT * FROM "{view}"')
    engine.con.unregister(view)
    return engine.table(name)


def _load_into_engine(table: ir.Table, engine: BaseBackend) -> ir.Table:
    return engine.create_table(ibis.util.gen_name("fewlabels"), table, temp=True)


def _escape_glob(paths: list[str]) -> list[str]:
    """Escape file names so that DuckDB does not read them as glob patterns."""
    marks = {ord(mark): f"[{mark}]" for mark in "[*?"}
    return [os.path.abspath(path).translate(marks) for path in paths]  # noqa: PTH100 (links stay links)


def _unpack_head(path: str) -> bytes:
    """Return the first bytes of a text file, decompressed if it is .gz or .zst."""
    if path.lower().endswith(".gz"):
        with gzip.open(path, "rb") as file:
            return file.read(HEAD_BYTES)
    if path.lower().endswith(".zst"):
        return bytes(pa.CompressedInputStream(path, "zstd").read(HEAD_BYTES))
    return read_head(path)
