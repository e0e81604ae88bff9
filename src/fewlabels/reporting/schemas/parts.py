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
    shape.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    return shape


def extensible(shape: Shape) -> Shape:
    """Allow other keys beside those of the shape."""
    shape.__pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[attr-defined]
    return shape


@closed
class Estimate(TypedDict):
    """A figure with its credible interval."""

    mean: Figure
    low: Figure
    high: Figure


@closed
class Provenance(TypedDict):
    """Where a result comes from."""

    version: Annotated[str, Field(description="of fewlabels")]
    date: Annotated[str, Field(description="ISO 8601, UTC", pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    command: Annotated[str | None, Field(description="as typed; null where the library was called")]
    seed: Annotated[int, Field(ge=0)] | None
    source: str
    fingerprint: Annotated[
        str | None, Field(description="of the predicted classes and scores", pattern="^[0-9a-f]{64}$")
    ]
    n_draws: Count | None
    labels: Annotated[str, Field(description="how they were chosen")]


@closed
class CurvePoint(TypedDict):
    """How often predictions with this score are right."""

    score: Probability
    mean: Probability
    low: Probability
    high: Probability
