"""Convert engine errors to `InputError`: a damaged file may open, and fail only when a query reads the damaged part."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from fewlabels.errors import InputError
from fewlabels.text import redact_passwords


def name_source(source: Any) -> str:
    """Return the name of a source in messages on engine errors."""
    return redact_passwords(str(source)) if isinstance(source, str | Path) else "the table"


@contextmanager
def explain_engine_errors(source: str) -> Iterator[None]:
    """Convert engine errors about a source to a one-line message."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(f"{source}: the engine could not read it: {reason[:300]}") from None
