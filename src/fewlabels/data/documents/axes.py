"""Schema of the axes along which groups differ, as stored in sessions and surfaces."""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fewlabels.data.documents.parsing import Schema

FrameName = Literal["pandas", "polars", "arrow"]
Level = Annotated[float, Field(gt=0, lt=1)]
Edge = Annotated[float, Field(allow_inf_nan=True)]


class AxisDocument(Schema):
    """An attribute and its levels."""

    name: str
    levels: tuple[str, ...]
    ordered: bool
    edges: tuple[Edge, ...] = ()

    @model_validator(mode="after")
    def _require_order(self) -> "AxisDocument":
        """Raise unless the edges of an axis increase."""
        if not all(a < b for a, b in pairwise(self.edges)) or len(self.edges) == 1:
            raise ValueError("edges should be increasing")
        return self
