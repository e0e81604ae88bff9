"""Whatever holds predictions -> an Ibis table and the engine that will answer."""

from pathlib import Path
from typing import Any

import duckdb
import ibis
import ibis.expr.types as ir
import pyarrow as pa
from ibis.backends import BaseBackend

from fewlabels.errors import InputError
from fewlabels.table.column_names import refuse_ours
from fewlabels.table.frames import Frame, suit_engine, to_arrow
from fewlabels.table.scanning import open_files

__all__ = ["Frame", "open_source"]


def open_source(source: Any, engine: BaseBackend | None = None) -> tuple[ir.Table, BaseBackend, Frame]:
    """Return the table, its engine, and the kind of frame its owner works with."""
    table, engine, frame = _open(source, engine)
    refuse_ours(table.columns)
    return table, engine, frame


def _open(source: Any, engine: BaseBackend | None) -> tuple[ir.Table, BaseBackend, Frame]:
    if isinstance(source, ir.Table) and source.get_backend().name != "polars":
        return source, source.get_backend(), "pandas"
    engine = engine or ibis.duckdb.connect()
    if isinstance(source, ir.Table):  # Ibis has no windows there; the data lie in this process, and are read in place
        return _register(source.to_pyarrow(), engine), engine, "polars"
    if isinstance(source, str | Path):
        return open_files(str(source), engine), engine, "pandas"
    arrow, frame = to_arrow(source)
    return _register(arrow, engine), engine, frame


def _register(arrow: pa.Table, engine: BaseBackend) -> ir.Table:
    """Let the engine scan Arrow data in place (DuckDB), or carry it along with the query (any other)."""
    if engine.name != "duckdb":
        return ibis.memtable(arrow)
    name = ibis.util.gen_name("fewlabels")
    try:
        engine.con.register(name, suit_engine(arrow))
        return engine.table(name)
    except duckdb.Error as error:
        raise InputError(f"the table cannot be read: {str(error).strip().splitlines()[0]}") from None
