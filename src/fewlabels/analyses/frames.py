"""Convert rows to pandas, Polars or Arrow, and draws to ArviZ."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.data.sources import Frame
from fewlabels.errors import InputError


def to_frame(rows: Sequence[Mapping[str, Any]], kind: Frame) -> Any:
    """Return the rows of a result as a data frame: pandas, Polars or Arrow."""
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    if kind == "polars":
        return _import_extra("polars", "polars").DataFrame(columns)
    if kind == "arrow":
        return import_module("pyarrow").table(columns)
    return import_module("pandas").DataFrame(columns)


def to_inference_data(metric: str, groups: Sequence[str], draws: Float[np.ndarray, "draw group"]) -> Any:
    """Convert the draws of a result, like rows to frames, to one chain of ArviZ InferenceData, by groups."""
    arviz = _import_extra("arviz", "arviz")
    name = metric.replace("-", "_")
    return arviz.from_dict(posterior={name: draws[None]}, coords={"group": list(groups)}, dims={name: ["group"]})


def _import_extra(module: str, extra: str) -> Any:
    """Import the library that frames or draws are converted with; an extra that is missing is named."""
    try:
        return import_module(module)
    except ImportError:
        raise InputError(f"this needs {module}: pip install 'fewlabels[{extra}]'") from None
