"""Open any source of predictions as an Ibis table with its engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import ibis
import ibis.expr.types as ir
import pyarrow as pa
from ibis.backends import BaseBackend

from fewlabels.data.addresses import download, is_address, is_database, name_in_messages, open_table_at
from fewlabels.data.column_names import note_unnamed, refuse_reserved
from fewlabels.data.frames import Frame, cast_half_floats, to_arrow
from fewlabels.data.nan_values import clear_nan
from fewlabels.data.query_results import fetch_arrow
from fewlabels.data.scan import open_files
from fewlabels.errors import InputError
from fewlabels.text import redact_passwords

__all__ = ["Frame", "Source", "open_source", "open_table"]


class Source(NamedTuple):
    """A table, its engine, the user's kind of data frame, and notes on how it was opened."""

    table: ir.Table
    engine: BaseBackend
    frame: Frame
    notes: tuple[str, ...] = ()


def open_source(source: Any, engine: BaseBackend | None = None) -> Source:
    """Open any source (a path, a frame, a mapping of arrays or an Ibis table) as a table with its engine."""
    found = _open_any(source, engine)
    refuse_reserved(found.table.columns)
    return found


def _open_any(source: Any, engine: BaseBackend | None) -> Source:
    """Open a source of any kind as a table with its engine."""
    if isinstance(source, ir.Table) and source.get_backend().name != "polars":
        given = source.get_backend()
        return Source(clear_nan(source) if given.name == "duckdb" else source, given, "pandas")
    engine = engine or ibis.duckdb.connect()
    if isinstance(source, ir.Table):  # Ibis has no window functions there; DuckDB scans the data in place
        return Source(register_arrow(source.to_pyarrow(), engine), engine, "polars")
    if is_address(source):
        return _open_address(source, engine)
    if isinstance(source, str | Path):
        opened = open_files(str(source), engine)
        return Source(opened.table, engine, "pandas", opened.notes)
    arrow, frame = to_arrow(source)
    return Source(register_arrow(arrow, engine), engine, frame, note_unnamed(_list_names(source)))


def _open_address(address: str, engine: BaseBackend) -> Source:
    """Open a source at an address: a file, or a table of a database, which is copied to the engine."""
    if is_database(address):
        table = open_table_at(address)
        return Source(register_arrow(fetch_arrow(table.get_backend(), table), engine), engine, "pandas")
    path = download(address)
    with name_in_messages(path, redact_passwords(address)):
        opened = open_files(str(path), engine)
    return Source(opened.table, engine, "pandas", opened.notes)


def _list_names(source: Any) -> list[object]:
    """List the column names of a source as the user wrote them."""
    if isinstance(source, Mapping):
        return list(source)
    if hasattr(source, "collect_schema"):  # Polars
        return list(source.collect_schema().names())
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return list(source.schema.names)
    return list(getattr(source, "columns", ()))


def register_arrow(arrow: pa.Table, engine: BaseBackend) -> ir.Table:
    """Let DuckDB scan a source of Arrow data in place; upload it with the query for other engines."""
    if engine.name != "duckdb":
        return ibis.memtable(arrow)
    name = ibis.util.gen_name("fewlabels")
    try:
        engine.con.register(name, cast_half_floats(arrow))
        return engine.table(name)
    except duckdb.Error as error:
        raise InputError(f"the table cannot be read: {str(error).strip().splitlines()[0]}") from None


def open_table(source: Any, engine: BaseBackend) -> ir.Table:
    """Open a second source in the engine of the first; if that cannot read files, upload it with the query."""
    if engine.name == "duckdb" or isinstance(source, ir.Table):
        return open_source(source, engine).table
    opened = open_source(source)
    return ibis.memtable(fetch_arrow(opened.engine, opened.table))
