"""Schema of the JSON document in a saved surface, beside its arrays."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fewlabels.data.documents.axes import AxisDocument, FrameName, Level
from fewlabels.data.documents.parsing import Count, Schema, UnitFloat

TOLERANCE = 1e-6
Place = Annotated[int, Field(ge=0)]


class IntervalDocument(Schema):
    """An estimate with its interval."""

    mean: UnitFloat
    low: UnitFloat
    high: UnitFloat

    @model_validator(mode="after")
    def _require_order(self) -> "IntervalDocument":
        """Refuse a saved interval that does not contain its mean."""
        if not self.low - TOLERANCE <= self.mean <= self.high + TOLERANCE:
            raise ValueError(f"the mean {self.mean:g} is not in the interval from {self.low:g} to {self.high:g}")
        return self


class ArmDocument(IntervalDocument):
    """Estimate of an arm."""

    arm: dict[str, str]
    n_items: Count
    n_labels: Count
    p_worst: UnitFloat


class ScaleDocument(Schema):
    """Scale of an effect."""

    attributes: tuple[str, ...]
    scale: Annotated[float, Field(ge=0)]


class HealthDocument(Schema):
    """Diagnostics of the fit of a saved surface."""

    converged: bool
    slope: float = 0.0
    looks: Count = 0
    terms: Count = 0
    together: UnitFloat | None = None
    left_out: list[list[str]] = Field(default_factory=list)


class SurfaceDocument(Schema):
    """Everything except the arrays."""

    format: Literal["fewlabels surface"]
    version: Literal[1]
    attributes: tuple[str, ...]
    model: str
    health: HealthDocument
    warnings: tuple[str, ...]
    level: Level
    finite_pool: bool
    source: str
    frame: FrameName
    overall: IntervalDocument
    arms: Annotated[tuple[ArmDocument, ...], Field(min_length=1)]
    scales: tuple[ScaleDocument, ...]
    axes: Annotated[tuple[AxisDocument, ...], Field(min_length=1)]
    pairs: tuple[tuple[Place, Place], ...]
    left_out: tuple[tuple[Place, ...], ...]
    knots: tuple[float, ...] | None
    slopes: tuple[Place, ...] = ()
    slope_centre: float = 0.0
    slope_scale: Annotated[float, Field(gt=0)] = 1.0
    n_classes: Annotated[int, Field(ge=0, le=10_000)] = 0
    n_factors: Annotated[int, Field(ge=0, le=1_000)] = 0
    by_class: tuple[Place, ...] = ()
    classifiers: tuple[Annotated[int, Field(ge=1)], ...] = ()
    kinds: tuple[Literal["slope", "class", "classifier", "main", "pair"], ...]
    weights: Annotated[tuple[UnitFloat, ...], Field(min_length=2)]
    n_looks: Count
    slope: float
    together: UnitFloat = 1.0
