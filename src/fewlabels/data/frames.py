"""Convert data frames, arrays and relations in this process to Arrow tables."""

from collections.abc import Mapping
from typing import Any, Literal

import duckdb
import numpy as np
import pyarrow as pa

from fewlabels.data.column_names import name_unnamed, require_distinct
from fewlabels.errors import InputError

Frame = Literal["pandas", "polars", "arrow"]


def to_arrow(source: Any) -> tuple[pa.Table, Frame]:
    """Convert a data frame to Arrow, and return the kind of frame it was."""
    home = type(source).__module__.split(".")[0]
    if home == "pandas":
        return _arrow_of_pandas(source), "pandas"
    if home == "polars":
        frame = source.collect() if hasattr(source, "collect") else source
        return _check_frame_names(frame.to_arrow()), "polars"
    if isinstance(source, pa.RecordBatchReader):
        return _check_frame_names(source.read_all()), "arrow"
    if isinstance(source, pa.Table | pa.RecordBatch):
        return _check_frame_names(pa.table(source)), "arrow"
    if isinstance(source, duckdb.DuckDBPyRelation):
        return source.to_arrow_table(), "pandas"
    if isinstance(source, Mapping):
        return arrow_of_arrays(source), "pandas"
    raise InputError(
        f"predictions of type {type(source).__name__} cannot be read; give a path, a pandas, Polars or Arrow table, "
        "a DuckDB relation, a dict of arrays or an Ibis table"
    )


def cast_half_floats(source: pa.Table | pa.RecordBatchReader) -> Any:
    """Cast a frame's half-precision columns to single precision, because DuckDB has no half precision."""
    fields = [f.with_type(pa.float32()) if pa.types.is_float16(f.type) else f for f in source.schema]
    schema = pa.schema(fields)
    return source if schema == source.schema else source.cast(schema)


def _check_frame_names(table: pa.Table) -> pa.Table:
    """Refuse a frame with two columns of the same name, and name those without one."""
    require_distinct(table.column_names, "the table")
    return table.rename_columns(name_unnamed(table.column_names))


def _arrow_of_pandas(frame: Any) -> pa.Table:
    """Convert a pandas data frame to Arrow."""
    if not hasattr(frame, "columns"):
        raise InputError(f"predictions of type {type(frame).__name__} cannot be read; give a DataFrame")
    require_distinct(frame.columns, "the frame")
    names = zip(name_unnamed(frame.columns), frame.columns, strict=True)
    columns = {name: _arrow_of_series(name, frame[old]) for name, old in names}
    return pa.table(columns)


def _arrow_of_series(name: str, series: Any) -> pa.Array:
    """Convert a column of a pandas data frame to Arrow."""
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowException, OverflowError):
        raise InputError(_describe_mix(name, list(series))) from None


def _describe_mix(name: str, values: list[Any]) -> str:
    """Explain that a data frame's column mixes types, which Arrow cannot store."""
    first = next((value for value in values if value is not None), None)
    other = next(((i, v) for i, v in enumerate(values) if v is not None and type(v) is not type(first)), None)
    if other is None:
        return f"column {name!r} holds {type(first).__name__} ({str(first)[:50]!r}), which a table cannot store; convert it to text, for instance with .astype(str)"  # fmt: skip
    row, value = other
    return (
        f"column {name!r} mixes types: {type(first).__name__} ({first!r}) in row 1, {type(value).__name__} ({value!r}) in row {row + 1}; "
        "make them one type, for instance with .astype(str)"
    )


def arrow_of_arrays(arrays: Mapping[str, Any]) -> pa.Table:
    """Convert a dict of arrays, lists or Series, like a frame, to an Arrow table."""
    require_distinct(arrays, "the table")
    aligned = align_series(arrays)
    columns = {
        name: _arrow_of_values(name, values)
        for name, values in zip(name_unnamed(aligned), aligned.values(), strict=True)
    }
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"arrays differ in length: {', '.join(f'{k} {v}' for k, v in lengths.items())}")
    return pa.table(columns)


def align_series(arrays: Mapping[str, Any]) -> Mapping[str, Any]:
    """Align pandas Series (and frames, of scores) by index; refuse if some columns have none or their rows differ."""
    series = {name: values for name, values in arrays.items() if _is_series(values)}
    if not series:
        return arrays
    (first, leader), *others = series.items()
    for name, values in others:
        if values.index.equals(leader.index):
            continue
        if len(series) < len(arrays):
            plain = next(name for name in arrays if name not in series)
            raise InputError(f"the indexes of {first!r} and {name!r} differ, and {plain!r} has none to be matched by; give one DataFrame, or plain arrays in the same order")  # fmt: skip
        if not _has_same_rows(leader.index, values.index):
            raise InputError(f"the indexes of {first!r} and {name!r} name different rows; give one DataFrame, or plain arrays in the same order")  # fmt: skip
    return {name: values.reindex(leader.index) if name in series else values for name, values in arrays.items()}


def _is_series(values: Any) -> bool:
    """Is this a pandas Series or data frame?"""
    return type(values).__module__.split(".")[0] == "pandas" and hasattr(values, "index") and values.ndim in (1, 2)


def _has_same_rows(one: Any, other: Any) -> bool:
    """Do two frames have the same index, in any order?"""
    return bool(one.is_unique and other.is_unique and len(one) == len(other) and one.isin(other).all())


def fill_masked(values: np.ma.MaskedArray[Any, Any]) -> Any:
    """Return the values of a masked array, None where masked: plain arrays would hold what is under the mask."""
    if values.ndim == 1:
        return values.tolist()
    if values.mask.any():
        raise InputError(
            f"an array of shape {values.shape} is masked in some places; fill them in, or drop these items"
        )
    return values.data


def _arrow_of_values(name: str, values: Any) -> pa.Array:
    """Convert an array or a list, as a frame's column, to an Arrow column."""
    if isinstance(values, str | int | float) or values is None:
        raise InputError(f"column {name!r} is one value ({values!r}), not an array with one per item")
    if isinstance(values, np.ma.MaskedArray):
        values = fill_masked(values)
    if isinstance(values, np.ndarray) and values.ndim == 2:  # (item, class): a list column
        return pa.array(list(values.astype(np.float64)))
    # Lists are not converted to NumPy first: it would turn a missing value among strings into 'nan'.
    plain = values.tolist() if isinstance(values, np.ndarray) and values.dtype == object else values
    try:
        return pa.array(plain if isinstance(plain, np.ndarray) else list(plain), from_pandas=True)
    except (pa.ArrowException, OverflowError):
        raise InputError(_describe_mix(name, list(plain))) from None
