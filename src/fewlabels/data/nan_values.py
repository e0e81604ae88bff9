"""Turn NaN into null in tables that DuckDB scans: it may not find NaN in a Parquet file by itself.

The statistics of a Parquet file leave NaN out. DuckDB concludes from them that a column holds none, so that `isnan` is false
everywhere, and comparisons with NaN are simplified away. `isfinite` is evaluated on the values themselves.
"""

import ibis
import ibis.expr.types as ir


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def isfinite(value: float) -> bool:  # type: ignore[empty-body]
    """Is a number neither NaN nor infinite? (DuckDB's function.)"""


def clear_nan(table: ir.Table) -> ir.Table:
    """Return the table with null in place of NaN; infinite numbers stay."""
    floats = [name for name, kind in table.schema().items() if kind.is_floating()]
    numbers = {name: (isfinite(table[name]) | table[name].isinf()).ifelse(table[name], ibis.null(table[name].type())) for name in floats}  # fmt: skip
    return table.mutate(**numbers) if numbers else table
