"""Open any source of predictions as an Ibis table with its engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import ibis
import ibis.expr.types as ir
import pyarrow as pa
from ibis.backends import BaseBackend

from fewlabels.data.column_names import note_unnamed, refuse_reserved
from fewlabels.data.frames import Frame, cast_half_floats, to_arrow
from fewlabels.data.scan import open_files
from fewlabels.errors import InputError

__all__ = ["Frame", "Source", "open_source", "open_table"]


class Source(NamedTuple):
    """A table, its engine, the user's kind of data frame, and notes on how it was opened."""

    table: ir.Table
    engine: BaseBackend
    frame: Frame
    notes: tuple[str, ...] = ()


def open_source(source: Any, engine: BaseBackend | None = None) -> Source:
    """Open a path, a frame, a mapping of arrays or an Ibis table."""
    found = _open(source, engine)
    refuse_reserved(found.table.columns)
    return found


def _open(source: Any, engine: BaseBackend | None) -> Source:
    if isinstance(source, ir.Table) and source.get_backend().name != "polars":
        return Source(source, source.get_backend(), "pandas")
    engine = engine or ibis.duckdb.connect()
    if isinstance(source, ir.Table):  # Ibis has no window functions there; DuckDB scans the data in place
        return Source(_register_arrow(source.to_pyarrow(), engine), engine, "polars")
    if isinstance(source, str | Path):
        opened = open_files(str(source), engine)
        return Source(opened.table, engine, "pandas", opened.notes)
    arrow, frame = to_arrow(source)
    return Source(_register_arrow(arrow, engine), engine, frame, note_unnamed(_list_names(source)))


def _list_names(source: Any) -> list[object]:
    """List the column names as the user wrote them."""
    if isinstance(source, Mapping):
        return list(source)
    if hasattr(source, "collect_schema"):  # Polars
        return list(source.collect_schema().names())
    if isinstance(source, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return list(source.schema.names)
    return list(getattr(source, "columns", ()))


def _register_arrow(arrow: pa.Table, engine: BaseBackend) -> ir.Table:
    """Let DuckDB scan Arrow data in place; upload it with the query for other engines."""
    if engine.name != "duckdb":
        return ibis.memtable(arrow)
    name = ibis.util.gen_name("fewlabels")
    try:
        engine.con.register(name, cast_half_floats(arrow))
        return engine.table(name)
    except duckdb.Error as error:
        raise InputError(f"the table cannot be read: {str(error).strip().splitlines()[0]}") from None


def open_table(source: Any, engine: BaseBackend) -> ir.Table:
    """Open a second table in the engine of the first; if that cannot read files, upload it with the query."""
    if engine.name == "duckdb" or isinstance(source, ir.Table):
        return open_source(source, engine).table
    opened = open_source(source)
    return ibis.memtable(opened.engine.to_pyarrow(opened.table))
