"""Columns and row counts of any table, without roles."""

from collections.abc import Sequence
from typing import Any

import ibis.expr.types as ir

from fewlabels.data.column_names import RESERVED_PREFIX
from fewlabels.data.engine_errors import explain_engine_errors, name_source
from fewlabels.data.names import MISSING, as_name
from fewlabels.data.query_results import fetch_arrow
from fewlabels.data.relation import Columns
from fewlabels.data.sources import open_source
from fewlabels.errors import InputError, did_you_mean


def read_columns(source: Any) -> dict[str, str]:
    """Return names and types of a table's columns, whatever kind of table, roles or not."""
    table = source if isinstance(source, ir.Table) else open_source(source).table
    return {name: str(kind) for name, kind in table.schema().items() if not name.startswith(RESERVED_PREFIX)}


def count_rows(source: Any, columns: Sequence[str], weight: str | None = None) -> Columns:
    """Count the rows of any table by some columns (`n`), or sum a column of weights instead."""
    table, engine, *_ = open_source(source)
    for column in (*columns, *([weight] if weight else [])):
        if column not in table.columns:
            raise InputError(f"there is no column {column!r}; {did_you_mean(column, table.columns)}")
    if weight and not table[weight].type().is_numeric():
        raise InputError(
            f"weight: column {weight!r} of {source} holds more than numbers; a weight says how often a row occurs"
        )
    n = table.count() if weight is None else table[weight].cast("float64").sum()
    keys = {column: as_name(table[column]).fill_null(MISSING) for column in columns}
    with explain_engine_errors(name_source(source)):
        return fetch_arrow(engine, table.group_by(**keys).aggregate(n=n)).to_pydict()
