"""Fetch the result of a query as an Arrow table."""

import ibis.expr.operations as ops
import ibis.expr.types as ir
import pyarrow as pa
from ibis.backends import BaseBackend


def fetch_arrow(engine: BaseBackend, expression: ir.Table) -> pa.Table:
    """Fetch the result of a query, evaluated in its engine, as an Arrow table.

    DuckDB is asked directly: Ibis would import pandas first, which takes longer than most queries. The cast gives sums
    the type that Ibis states, because DuckDB adds integers as 128-bit integers. Tables uploaded with the query are left
    to Ibis.
    """
    if engine.name != "duckdb" or expression.op().find(ops.InMemoryTable):
        return engine.to_pyarrow(expression)
    found = engine.con.sql(engine.compile(expression)).to_arrow_table()
    return found.cast(expression.schema().to_pyarrow())
