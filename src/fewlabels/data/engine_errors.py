"""Errors of the engine, in one line: a damaged file may open, and fail only where a query reads the damaged part."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from fewlabels.errors import InputError


def name_source(source: Any) -> str:
    """Return what a source is called in messages."""
    return str(source) if isinstance(source, str | Path) else "the table"


@contextmanager
def explain_engine_errors(source: str) -> Iterator[None]:
    """Turn what the engine says against a source into one message."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(f"{source}: the engine could not read it: {reason[:300]}") from None
