"""The JSON of assess, compare, fairness and surface."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from fewlabels.reporting.schemas.parts import (
    Chance,
    Count,
    CurvePoint,
    Estimate,
    Level,
    Positive,
    Probability,
    Provenance,
    Rank,
    Warnings,
    closed,
)

GroupName = Annotated[str, Field(description="the group, as the table names it")]


@closed
class Group(Estimate):
    """The figure of one group."""

    group: GroupName
    share: Annotated[Probability, Field(description="of all items")]
    n_items: Count
    n_labels: Count
    score: Annotated[Probability | None, Field(description="the model's own mean confidence; null without scores")]
    p_worst: Annotated[Chance, Field(description="probability to be among the m worst groups")]
    p_best: Annotated[Chance, Field(description="probability to be the best group")]
    rank_low: Rank | None
    rank_high: Rank | None


@closed
class MatrixEntry(TypedDict):
    """P(label | predicted); in one group, where groups are not predicted classes."""

    predicted: str
    label: str
    mean: Chance
    low: Chance
    high: Chance
    group: NotRequired[GroupName]


@closed
class Belief(TypedDict):
    """Pseudo-counts of the posterior, from which a later assessment may start (--prior FILE)."""

    reads: Literal["right", "label"]
    outcomes: list[str]
    cells: list[str]
    counts: Annotated[list[list[Positive]], Field(description="(cell, outcome)")]


@closed
class Scale(TypedDict):
    """How far something moves the logit of being right, as a standard deviation over its values."""

    attributes: list[str]
    scale: Positive


@closed
class Trust(TypedDict):
    """How far scores and other groups were trusted, by priors that learn that."""

    strength: Annotated[Positive, Field(description="what they are worth in a typical group, in labels")]
    departure: NotRequired[Annotated[Positive, Field(description="of groups from the common curve, in logits")]]
    scales: NotRequired[list[Scale]]
    curve: list[CurvePoint]
    sentence: str


@closed
class Person(TypedDict):
    """How often an annotator is right."""

    who: str
    n_votes: Count
    mean: Probability
    low: Probability
    high: Probability


@closed
class Annotators(TypedDict):
    """What votes tell of the people who gave them."""

    n_shared: Annotated[Count, Field(description="items with votes of several people")]
    errs: Annotated[bool, Field(description="whether somebody errs, surely")]
    sentence: str
    people: list[Person]


@closed
class Assessment(TypedDict):
    """How good the model is, per group and overall, and how sure that is."""

    metric: str
    by: str
    prior: str
    level: Level
    finite_pool: bool
    n_items: Count
    n_labels: Count
    overall: Estimate
    groups: list[Group]
    positive: NotRequired[Annotated[str, Field(description="the class the metric is about, where it is about one")]]
    matrix: NotRequired[Annotated[list[MatrixEntry], Field(description="for the metric confusion")]]
    belief: Belief
    trust: NotRequired[Trust]
    annotators: NotRequired[Annotators]
    warnings: Warnings
    provenance: Provenance


@closed
class Comparison(Estimate):
    """The difference of two groups, the first minus the second."""

    groups: Annotated[list[GroupName], Field(min_length=2, max_length=2)]
    metric: str
    rope: Annotated[Positive, Field(description="half-width of the region of practical equivalence")]
    p_below: Chance
    p_equivalent: Chance
    p_above: Chance
    verdict: Literal["below", "equivalent", "above", "not settled"]
    confidence: Annotated[Chance, Field(description="probability of the likeliest of the three")]
    level: Level
    required: Annotated[Chance, Field(description="confidence from which on a verdict is stated")]
    rows: list[Group]
    warnings: Warnings
    provenance: Provenance


@closed
class Ratio(TypedDict):
    """A group's value as a multiple of the reference's."""

    median: Positive | None
    low: Positive | None
    high: Positive | None
    p_below_four_fifths: Chance


@closed
class Gap(Estimate):
    """The value of a group minus that of the reference."""

    metric: str
    group: GroupName
    p_greater: Annotated[Chance, Field(description="probability that the gap is above 0")]
    p_practically_fair: Annotated[Chance, Field(description="probability that the gap is within the margin")]
    more_labels: Annotated[
        Count | None, Field(description="until it is settled; 0 where it is, null where none would do")
    ]
    ratio: Ratio | None


@closed
class GroupFigure(Estimate):
    """A metric in one group."""

    group: GroupName
    metric: str
    n_items: Count
    n_labels: Count


@closed
class Health(TypedDict):
    """How well the chains of the sampler agree."""

    rhat: Positive | None
    ess: Positive | None
    divergences: Count


@closed
class Fairness(TypedDict):
    """How differently groups of people are treated, and how sure that is."""

    by: str
    reference: str
    positive: str
    rope: Positive
    level: Level
    finite_pool: bool
    method: str
    n_items: Count
    n_labels: Count
    health: Health
    gaps: list[Gap]
    groups: list[GroupFigure]
    warnings: Warnings
    provenance: Provenance


@closed
class Arm(Estimate):
    """Accuracy for one combination of attributes."""

    arm: Annotated[dict[str, str], Field(description="attribute -> value")]
    n_items: Count
    n_labels: Count
    p_worst: Annotated[Chance, Field(description="probability to be the least accurate of all")]


@closed
class Answer(Estimate):
    """Accuracy where attributes have these values, or on the traffic of --mix."""

    question: str
    values: dict[str, str]
    n_items: Count
    n_labels: Count


@closed
class Fit(TypedDict):
    """How the fit of a surface went."""

    converged: bool
    slope: NotRequired[float]
    looks: NotRequired[Count]
    terms: NotRequired[Count]
    together: NotRequired[Annotated[Probability | None, Field(description="that pairs of attributes interact")]]
    left_out: NotRequired[list[list[str]]]


@closed
class Surface(TypedDict):
    """Accuracy for every combination of attributes, and how sure that is."""

    attributes: list[str]
    model: str
    level: Level
    finite_pool: bool
    n_items: Count
    n_labels: Count
    overall: Estimate
    arms: list[Arm]
    scales: list[Scale]
    health: Fit
    answers: NotRequired[Annotated[list[Answer], Field(description="to --ask and --mix")]]
    warnings: Warnings
    provenance: Provenance
