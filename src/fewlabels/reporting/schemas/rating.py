"""Schema of the JSON of rate."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from fewlabels.reporting.schemas.common import (
    Count,
    Estimate,
    Level,
    OptionalProbability,
    Probability,
    Provenance,
    Rank,
    Warnings,
    forbid_extra_keys,
)

Figure = Literal["pass-rate", "mean", "win-rate"]
GroupOrAll = Annotated[str | None, Field(description="the group; null for all items")]


@forbid_extra_keys
class Scale(TypedDict):
    """The scale of people's grades."""

    low: float
    high: float
    levels: Annotated[list[str], Field(description="lowest first; empty if all numbers of the range are possible")]
    words: str


@forbid_extra_keys
class GradedGroup(Estimate):
    """The figure of one group."""

    group: str
    share: Annotated[Probability, Field(description="of all items")]
    n_items: Count
    n_grades: Annotated[Count, Field(description="items graded by people")]
    p_worst: OptionalProbability
    p_best: OptionalProbability
    rank_low: Rank | None
    rank_high: Rank | None
    judge: Annotated[float | None, Field(description="the same figure by the first judge's own grades")]


@forbid_extra_keys
class GroupFigure(Estimate):
    """Pass rate or mean grade, overall or of one group."""

    figure: Figure
    group: GroupOrAll


@forbid_extra_keys
class GradeShare(TypedDict):
    """The share of items with one grade, by people's standard."""

    group: GroupOrAll
    grade: str
    mean: Probability
    low: Probability
    high: Probability


@forbid_extra_keys
class Agreement(TypedDict):
    """How well a judge agrees with people, in one group."""

    group: GroupOrAll
    n_items: Annotated[Count, Field(description="graded by the judge")]
    n_grades: Count
    tpr: Annotated[Estimate, Field(description="of what people pass, the share the judge passes")]
    tnr: Annotated[Estimate, Field(description="of what people fail, the share the judge fails")]
    kappa: Annotated[Estimate, Field(description="Cohen's kappa of passing")]
    bias: Annotated[Estimate, Field(description="the judge's figure minus people's")]


@forbid_extra_keys
class Judge(TypedDict):
    """A judge, and how well it agrees with people."""

    judge: str
    scale: str
    bar: float
    n_items: Count
    n_grades: Count
    tpr: Estimate
    tnr: Estimate
    kappa: Estimate
    bias: Estimate
    bias_of: Figure
    groups: Annotated[list[Agreement], Field(description="groups with enough grades of people")]


@forbid_extra_keys
class RankedSystem(Estimate):
    """How often people prefer a system to all others alike; a tie counts half."""

    system: str
    n_items: Annotated[Count, Field(description="comparisons")]
    n_grades: Annotated[Count, Field(description="of people")]
    strength: Annotated[
        Estimate, Field(description="of Bradley and Terry, logistic scale; the mean of all systems is 0")
    ]
    p_best: Probability
    rank_low: Rank
    rank_high: Rank


@forbid_extra_keys
class Ranking(TypedDict):
    """All systems, best first."""

    systems: list[RankedSystem]
    position: Annotated[Estimate, Field(description="how often people prefer what stands first, of equal systems")]


@forbid_extra_keys
class LabelOfSet(TypedDict):
    """How well a label is predicted, or all of them."""

    label: str
    n_predicted: Count
    precision: Estimate
    recall: Estimate
    f1: Estimate


@forbid_extra_keys
class Sets(TypedDict):
    """How well sets of labels are predicted."""

    labels: list[LabelOfSet]
    micro: Annotated[LabelOfSet, Field(description="all questions together")]
    macro: Annotated[LabelOfSet, Field(description="mean over labels")]
    subset_accuracy: Annotated[Estimate, Field(description="share of items whose whole set is right")]
    hamming_loss: Annotated[Estimate, Field(description="share of wrong answers among all questions")]


@forbid_extra_keys
class GradePlan(TypedDict):
    """How many more grades of people bring every interval to a width."""

    target_width: float
    settled: Annotated[bool, Field(description="is every interval this narrow?")]
    n_more: Annotated[Count | None, Field(description="grades of the answers that are proposed; null: not even all")]
    n_more_at_random: Annotated[Count | None, Field(description="grades of answers drawn at random")]
    n_more_overall: Annotated[Count | None, Field(description="for the overall figure alone")]
    sentence: str


@forbid_extra_keys
class NextAnswer(TypedDict):
    """An answer that people should grade next."""

    id: str | int
    group: str
    judged: Annotated[list[float | None], Field(description="the grade of every judge")]


@forbid_extra_keys
class Rating(TypedDict):
    """How good outputs are by people's standard, with credible intervals."""

    figure: Figure
    by: str
    level: Level
    finite_pool: bool
    scale: Scale
    bar: Annotated[float, Field(description="an output passes from this grade on")]
    n_items: Count
    n_grades: Count
    overall: Estimate
    groups: list[GradedGroup]
    figures: Annotated[list[GroupFigure], Field(description="pass rate and mean grade, overall and per group")]
    distribution: list[GradeShare]
    judge: Annotated[Judge | None, Field(description="the first judge; null without judges")]
    judges: list[Judge]
    cluster: str | None
    ranking: Annotated[Ranking | None, Field(description="null unless items compare two systems")]
    sets: Annotated[Sets | None, Field(description="null unless grades are sets of labels")]
    plan: Annotated[GradePlan | None, Field(description="null without a target width")]
    next: Annotated[list[NextAnswer], Field(description="most useful first")]
    warnings: Warnings
    provenance: Provenance
