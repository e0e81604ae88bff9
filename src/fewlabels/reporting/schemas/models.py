"""Schema of the JSON of compare, where it compares several models."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from fewlabels.reporting.schemas.common import (
    Count,
    Estimate,
    Level,
    NonNegative,
    Probability,
    Provenance,
    Warnings,
    forbid_extra_keys,
)

ModelName = Annotated[str, Field(description="the model, as the user or the file names it")]
Group = Annotated[str, Field(description="the group; overall for all items where there are several groups")]


@forbid_extra_keys
class ModelFigure(Estimate):
    """The metric of one model in one group."""

    model: ModelName
    group: Group
    p_best: Annotated[Probability, Field(description="posterior probability of being the best of the models")]
    regret: Annotated[NonNegative, Field(description="expected loss of choosing this model instead of the best one")]


@forbid_extra_keys
class ModelDifference(Estimate):
    """The difference a − b of two models in one group."""

    a: ModelName
    b: ModelName
    group: Group
    p_below: Probability
    p_equivalent: Probability
    p_above: Probability
    p_no_worse: Annotated[Probability, Field(description="that a is no worse than b by more than the rope")]
    verdict: Literal["below", "equivalent", "above", "not settled"]
    confidence: Annotated[Probability, Field(description="largest of the three probabilities")]
    n_items: Count
    n_disagree: Annotated[
        Count | None,
        Field(description="items on which the two models predict different classes; null of different items"),
    ]
    n_labels: Count
    n_labels_disagree: Annotated[
        Count | None, Field(description="labelled items on which the two models disagree; null of different items")
    ]
    n_more: Annotated[Count | None, Field(description="about how many more labels where they disagree settle it; null if it is settled, or all that are left are unlikely to")]  # fmt: skip
    n_more_low: Annotated[Count | None, Field(description="the least that eight in ten simulated futures take")]
    n_more_high: Annotated[Count | None, Field(description="the most that eight in ten simulated futures take; null: more than there are")]  # fmt: skip


@forbid_extra_keys
class DisagreedItem(TypedDict):
    """A labelled item on which the models disagree."""

    id: str
    group: Group
    label: str
    predicted: Annotated[list[str], Field(description="by every model, in the order of models")]


@forbid_extra_keys
class ModelComparison(TypedDict):
    """Several models on one set of labels."""

    models: Annotated[list[ModelName], Field(min_length=2)]
    metric: str
    by: str
    rope: Annotated[NonNegative, Field(description="half-width of the region of practical equivalence")]
    n_items: Count
    n_labels: Count
    n_disagree: Annotated[Count, Field(description="items on which not all models predict the same class")]
    level: Level
    required: Annotated[Probability, Field(description="least probability at which a verdict is stated")]
    prior: str
    paired: Annotated[bool, Field(description="whether the models are compared on the same items")]
    finite_pool: bool
    sentence: Annotated[str, Field(description="the answer in words")]
    figures: list[ModelFigure]
    differences: list[ModelDifference]
    disagreements: Annotated[
        list[DisagreedItem], Field(description="the first labelled items on which the models disagree")
    ]
    warnings: Warnings
    provenance: Provenance
