"""What the schemas of several verbs share: probabilities, counts, figures and intervals."""

from typing import Annotated, TypeVar

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

Probability = Annotated[float, Field(ge=0, le=1)]
Level = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=0)]
Rank = Annotated[int, Field(ge=1, description="1 is the best group; null where the metric is undefined")]
Positive = Annotated[float, Field(ge=0)]
Figure = Annotated[float | None, Field(description="null where the metric is undefined (0/0)")]
Chance = Annotated[float | None, Field(ge=0, le=1, description="a probability; null where it is undefined")]
Warnings = Annotated[list[str], Field(description="what to keep in mind about the table and the figures")]

Shape = TypeVar("Shape", bound=type)


def closed(shape: Shape) -> Shape:
    """Allow no keys but those of the shape."""
    shape.__pydantic_config__ = ConfigDict(extra="forbid")
    return shape


def extensible(shape: Shape) -> Shape:
    """Allow other keys beside those of the shape."""
    shape.__pydantic_config__ = ConfigDict(extra="allow")
    return shape


@closed
class Estimate(TypedDict):
    """A figure with its credible interval."""

    mean: Figure
    low: Figure
    high: Figure


@closed
class CurvePoint(TypedDict):
    """How often predictions with this score are right."""

    score: Probability
    mean: Probability
    low: Probability
    high: Probability
