"""Schemas of the JSON of assess, compare, fairness and surface."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from fewlabels.reporting.schemas.common import (
    Count,
    CurvePoint,
    Estimate,
    Level,
    NonNegative,
    OptionalProbability,
    Probability,
    Provenance,
    Rank,
    Warnings,
    forbid_extra_keys,
)

GroupName = Annotated[str, Field(description="the group, as the table names it")]


@forbid_extra_keys
class Group(Estimate):
    """The metric of one group."""

    group: GroupName
    share: Annotated[Probability, Field(description="of all items")]
    n_items: Count
    n_labels: Count
    score: Annotated[Probability | None, Field(description="mean score of the items; null without scores")]
    p_worst: Annotated[
        OptionalProbability, Field(description="posterior probability of being among the m worst groups")
    ]
    p_best: Annotated[OptionalProbability, Field(description="posterior probability of being the best group")]
    rank_low: Rank | None
    rank_high: Rank | None


@forbid_extra_keys
class MatrixEntry(TypedDict):
    """P(label | predicted), within a group unless groups are predicted classes."""

    predicted: str
    label: str
    mean: OptionalProbability
    low: OptionalProbability
    high: OptionalProbability
    group: NotRequired[GroupName]


@forbid_extra_keys
class Belief(TypedDict):
    """Pseudo-counts of the posterior, which can be the prior of a later assessment (--prior FILE)."""

    reads: Literal["right", "label"]
    outcomes: list[str]
    cells: list[str]
    counts: Annotated[list[list[NonNegative]], Field(description="(cell, outcome)")]


@forbid_extra_keys
class Evidence(TypedDict):
    """Labels of the items of one group, predicted class and range of scores."""

    group: GroupName
    predicted: str | None
    score: Annotated[Probability | None, Field(description="mean score of these items")]
    n_labels: Annotated[
        NonNegative, Field(description="fewer than were given where an earlier assessment is discounted")
    ]
    right: NonNegative
    labels: Annotated[dict[str, NonNegative], Field(description="labels by class")]


@forbid_extra_keys
class Predictions(TypedDict):
    """What the predictions look like, by which a later assessment (--prior FILE) sees whether its own are alike."""

    predicted: Annotated[dict[str, Count], Field(description="items by predicted class")]
    groups: Annotated[dict[str, Count], Field(description="items by group")]
    ranges: Annotated[list[str], Field(description="ranges of scores; none without scores")]
    scores: Annotated[list[list[Count]], Field(description="items (group, range of scores)")]


@forbid_extra_keys
class Scale(TypedDict):
    """Standard deviation of an effect on the logit of being right."""

    attributes: list[str]
    scale: NonNegative


@forbid_extra_keys
class Trust(TypedDict):
    """A prior that was fitted to the labels: its strength and calibration curve."""

    strength: Annotated[NonNegative, Field(description="of the prior in a typical group, in labels")]
    departure: NotRequired[
        Annotated[
            NonNegative, Field(description="scale of the random effects of groups around the common curve, in logits")
        ]
    ]
    scales: NotRequired[list[Scale]]
    curve: list[CurvePoint]
    sentence: str


@forbid_extra_keys
class Person(TypedDict):
    """The accuracy of an annotator."""

    who: str
    n_votes: Count
    mean: Probability
    low: Probability
    high: Probability


@forbid_extra_keys
class VoteChains(TypedDict):
    """Convergence of the chains that estimate true labels from votes, the worst over annotators and classifier."""

    rhat: Annotated[float, Field(description="R-hat: 1 where chains agree")]
    ess: Annotated[NonNegative, Field(description="effective number of draws")]
    chains: Count


@forbid_extra_keys
class Annotators(TypedDict):
    """Accuracy of the annotators, estimated from their votes."""

    n_shared: Annotated[Count, Field(description="items with votes of several annotators")]
    errs: Annotated[
        bool, Field(description="whether the votes show that an annotator is right less than 99 % of the time")
    ]
    sentence: str
    people: list[Person]
    health: VoteChains


@forbid_extra_keys
class Assessment(TypedDict):
    """The metric overall and per group, with credible intervals."""

    metric: str
    by: str
    prior: str
    level: Level
    finite_pool: bool
    n_items: Count
    n_labels: Count
    overall: Estimate
    groups: list[Group]
    positive: NotRequired[Annotated[str, Field(description="the positive class, for metrics that have one")]]
    matrix: NotRequired[Annotated[list[MatrixEntry], Field(description="for the metric confusion")]]
    belief: Belief
    evidence: NotRequired[
        Annotated[list[Evidence], Field(description="the labels that a later assessment continues from (--prior FILE)")]
    ]
    predictions: Predictions
    trust: NotRequired[Trust]
    annotators: NotRequired[Annotators]
    warnings: Warnings
    provenance: Provenance


@forbid_extra_keys
class Comparison(Estimate):
    """The difference between two groups, first minus second."""

    groups: Annotated[list[GroupName], Field(min_length=2, max_length=2)]
    metric: str
    rope: Annotated[NonNegative, Field(description="half-width of the region of practical equivalence")]
    p_below: OptionalProbability
    p_equivalent: OptionalProbability
    p_above: OptionalProbability
    verdict: Literal["below", "equivalent", "above", "not settled"]
    confidence: Annotated[OptionalProbability, Field(description="largest of the three probabilities")]
    level: Level
    required: Annotated[OptionalProbability, Field(description="least confidence at which a verdict is stated")]
    rows: list[Group]
    warnings: Warnings
    provenance: Provenance


@forbid_extra_keys
class Ratio(TypedDict):
    """A group's value divided by the reference's value."""

    median: NonNegative | None
    low: NonNegative | None
    high: NonNegative | None
    p_below_four_fifths: OptionalProbability


@forbid_extra_keys
class Gap(Estimate):
    """A group's value minus the reference's value."""

    metric: str
    group: GroupName
    p_greater: Annotated[OptionalProbability, Field(description="probability that the gap is above 0")]
    p_practically_fair: Annotated[
        OptionalProbability, Field(description="probability that the gap is within the margin")
    ]
    more_labels: Annotated[
        Count | None,
        Field(description="roughly how many more labels would settle it; 0 if it is settled, null if labels would not"),
    ]
    median: Annotated[float | None, Field(description="median, which suits the largest of several gaps: it is skewed")]
    ratio: Ratio | None


@forbid_extra_keys
class GroupFigure(Estimate):
    """A metric in one group."""

    group: GroupName
    metric: str
    n_items: Count
    n_labels: Count


@forbid_extra_keys
class Health(TypedDict):
    """Convergence diagnostics of the sampler."""

    rhat: NonNegative | None
    ess: NonNegative | None
    divergences: Count


@forbid_extra_keys
class Fairness(TypedDict):
    """Gaps in metrics between groups of people, with credible intervals."""

    by: str
    reference: str
    positive: str
    rope: NonNegative
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


@forbid_extra_keys
class Arm(Estimate):
    """Accuracy for one combination of attribute values."""

    arm: Annotated[dict[str, str], Field(description="attribute -> value")]
    n_items: Count
    n_labels: Count
    p_worst: Annotated[OptionalProbability, Field(description="posterior probability of being the least accurate arm")]


@forbid_extra_keys
class Answer(Estimate):
    """Accuracy where attributes have these values, or on the mix of --mix."""

    question: str
    values: dict[str, str]
    n_items: Count
    n_labels: Count


@forbid_extra_keys
class Fit(TypedDict):
    """Diagnostics of the fit of a surface."""

    converged: bool
    slope: NotRequired[float]
    looks: NotRequired[Count]
    terms: NotRequired[Count]
    together: NotRequired[
        Annotated[Probability | None, Field(description="posterior probability that pairs of attributes interact")]
    ]
    left_out: NotRequired[list[list[str]]]


@forbid_extra_keys
class Surface(TypedDict):
    """Accuracy for every combination of attribute values, with credible intervals."""

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
