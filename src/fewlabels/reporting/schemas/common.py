"""Types that several schemas share: probabilities, counts, estimates with intervals, provenance."""

from typing import Annotated, TypeVar

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

Probability = Annotated[float, Field(ge=0, le=1)]
Level = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=0)]
Rank = Annotated[int, Field(ge=1, description="1 is the best group; null if the metric is undefined")]
NonNegative = Annotated[float, Field(ge=0)]
MetricValue = Annotated[float | None, Field(description="null if the metric is undefined (0/0)")]
OptionalProbability = Annotated[float | None, Field(ge=0, le=1, description="a probability; null if it is undefined")]
Warnings = Annotated[list[str], Field(description="warnings about the table and the estimates")]

Shape = TypeVar("Shape", bound=type)


def forbid_extra_keys(shape: Shape) -> Shape:
    """Forbid keys that a JSON schema does not name, for the types that schemas share."""
    shape.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    return shape


def allow_extra_keys(shape: Shape) -> Shape:
    """Allow keys that a JSON schema does not name, for the types that schemas share."""
    shape.__pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[attr-defined]
    return shape


@forbid_extra_keys
class Estimate(TypedDict):
    """A posterior mean with its credible interval."""

    mean: MetricValue
    low: MetricValue
    high: MetricValue


@forbid_extra_keys
class Provenance(TypedDict):
    """How and from what a result was made."""

    version: Annotated[str, Field(description="of fewlabels")]
    date: Annotated[str, Field(description="ISO 8601, UTC", pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    command: Annotated[str | None, Field(description="as typed; null if the library was called")]
    seed: Annotated[int, Field(ge=0)] | None
    source: str
    fingerprint: Annotated[
        str | None, Field(description="of the predicted classes and scores", pattern="^[0-9a-f]{64}$")
    ]
    n_draws: Count | None
    labels: Annotated[str, Field(description="how the labelled items were chosen")]


@forbid_extra_keys
class CurvePoint(TypedDict):
    """A point of the calibration curve: accuracy of predictions with this score."""

    score: Probability
    mean: Probability
    low: Probability
    high: Probability
