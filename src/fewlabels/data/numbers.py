"""Numbers in an engine: any column of numbers or flags as floats."""

import ibis.expr.types as ir


def as_float(value: ir.Value) -> ir.Value:
    """Return a number or a flag as float; PostgreSQL casts flags to integers only."""
    return (value.cast("int32") if value.type().is_boolean() else value).cast("float64")
