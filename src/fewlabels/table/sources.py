"""Whatever holds predictions -> an Ibis table and the engine that will answer.

Parquet and Arrow files are scanned where they lie; CSV and JSON lines are parsed once into the engine, since
every question would parse them again.
"""

import glob
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import duckdb
import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from ibis.backends import BaseBackend

from fewlabels.errors import InputError, listing

Frame = Literal["pandas", "polars", "arrow"]
SUFFIXES = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".csv.zst"),
    "json": (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".json", ".json.gz"),
    "arrow": (".arrow", ".feather", ".ipc"),
}


def open_source(source: Any, engine: BaseBackend | None = None) -> tuple[ir.Table, BaseBackend, Frame]:
    """Return the table, its engine, and the kind of frame its owner works with."""
    if isinstance(source, ir.Table) and source.get_backend().name != "polars":
        return source, source.get_backend(), "pandas"
    engine = engine or ibis.duckdb.connect()
    if isinstance(source, ir.Table):  # Ibis has no windows there; the data lie in this process, and are read in place
        return _register(source.to_pyarrow(), engine), engine, "polars"
    if isinstance(source, str | Path):
        return _open_files(str(source), engine), engine, "pandas"
    arrow, frame = _to_arrow(source)
    return _register(arrow, engine), engine, frame


def _open_files(pattern: str, engine: BaseBackend) -> ir.Table:
    paths = _find(pattern)
    kinds = {_kind_of(path) for path in paths}
    if len(kinds) > 1:
        raise InputError(f"{pattern}: files of different kinds ({listing(sorted(kinds))}); name one kind")
    kind = kinds.pop()
    try:
        table = _scan(kind, paths, engine)
        if kind == "parquet":
            table.count().to_pyarrow()  # a truncated file shows itself here, not midway
    except (duckdb.Error, pa.ArrowInvalid, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{pattern}: cannot be read as {kind}: {reason}") from None
    return table


def _find(pattern: str) -> list[str]:
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
    known = listing([e for endings in SUFFIXES.values() for e in endings], most=20)
    raise InputError(f"{path}: the kind of file is told by its ending, and this one is not known; known are {known}")


def _scan(kind: str, paths: list[str], engine: BaseBackend) -> ir.Table:
    if Path(paths[0]).stat().st_size == 0:
        raise InputError(f"{paths[0]} is empty")
    if kind == "parquet":
        return engine.read_parquet(paths)
    if kind == "csv":
        # All rows are read to settle types: an id that turns into text in row 50,000 is no surprise later.
        # Flags are not guessed: a class called yes stays yes.
        kinds = ["BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]
        return _load(engine.read_csv(paths, sample_size=-1, header=True, auto_type_candidates=kinds), engine)
    if kind == "json":
        return _load(engine.read_json(paths), engine)
    return _register(pa.concat_tables([_map_arrow(path) for path in paths]), engine)


def _map_arrow(path: str) -> pa.Table:
    """Map an Arrow file into memory: pages are read when the engine scans them."""
    try:
        return pa.ipc.open_file(pa.memory_map(path)).read_all()
    except pa.ArrowInvalid:  # not the file format, so perhaps the stream format
        return pa.ipc.open_stream(pa.memory_map(path)).read_all()


def _load(table: ir.Table, engine: BaseBackend) -> ir.Table:
    return engine.create_table(ibis.util.gen_name("fewlabels"), table, temp=True)


def _register(arrow: pa.Table, engine: BaseBackend) -> ir.Table:
    """Let the engine scan Arrow data in place (DuckDB), or carry it along with the query (any other)."""
    if engine.name != "duckdb":
        return ibis.memtable(arrow)
    name = ibis.util.gen_name("fewlabels")
    engine.con.register(name, arrow)
    return engine.table(name)


def _to_arrow(source: Any) -> tuple[pa.Table, Frame]:
    home = type(source).__module__.split(".")[0]
    if home == "pandas":
        return _arrow_of_pandas(source), "pandas"
    if home == "polars":
        frame = source.collect() if hasattr(source, "collect") else source
        return frame.to_arrow(), "polars"
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all(), "arrow"
    if isinstance(source, pa.Table | pa.RecordBatch):
        return pa.table(source), "arrow"
    if isinstance(source, duckdb.DuckDBPyRelation):
        return source.to_arrow_table(), "pandas"
    if isinstance(source, Mapping):
        return _arrow_of_arrays(source), "pandas"
    raise InputError(
        f"predictions of type {type(source).__name__} cannot be read; give a path, a pandas, Polars or Arrow table, "
        "a DuckDB relation, a dict of arrays or an Ibis table"
    )


def _arrow_of_pandas(frame: Any) -> pa.Table:
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise InputError(f"column {repeated[0]!r} stands twice in the frame; rename one")
    columns = {str(name): _arrow_of_series(str(name), frame[name]) for name in frame.columns}
    return pa.table(columns)


def _arrow_of_series(name: str, series: Any) -> pa.Array:
    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError(_describe_mix(name, list(series))) from None


def _describe_mix(name: str, values: list[Any]) -> str:
    first = next(value for value in values if value is not None)
    row, other = next((i, v) for i, v in enumerate(values) if v is not None and type(v) is not type(first))
    return (
        f"column {name!r} mixes types: {type(first).__name__} ({first!r}) in row 1, {type(other).__name__} ({other!r}) in row {row + 1}; "
        "make them one type, for instance with .astype(str)"
    )


def _arrow_of_arrays(arrays: Mapping[str, Any]) -> pa.Table:
    columns = {name: _arrow_of_values(name, values) for name, values in arrays.items()}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"arrays differ in length: {', '.join(f'{k} {v}' for k, v in lengths.items())}")
    return pa.table(columns)


def _arrow_of_values(name: str, values: Any) -> pa.Array:
    if isinstance(values, np.ndarray) and values.ndim == 2:  # (item, class): a list column
        return pa.array(list(values.astype(np.float64)))
    # Lists are not made arrays first: NumPy would turn a missing value among words into the word 'nan'.
    plain = values.tolist() if isinstance(values, np.ndarray) and values.dtype == object else values
    try:
        return pa.array(plain if isinstance(plain, np.ndarray) else list(plain), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError(_describe_mix(name, list(plain))) from None
