"""Schemas of the JSON of doctor, plan, simulate, ask and status, and of the lines that export writes."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from fewlabels.reporting.schemas.common import (
    Count,
    MetricValue,
    NonNegative,
    OptionalProbability,
    Probability,
    Provenance,
    Warnings,
    allow_extra_keys,
    forbid_extra_keys,
)
from fewlabels.reporting.schemas.results import Person, VoteChains


@forbid_extra_keys
class Finding(TypedDict):
    """An error or warning about a table."""

    severity: Literal["error", "warning"]
    message: str
    options: Annotated[dict[str, str], Field(description="roles to try instead, by option")]


@forbid_extra_keys
class Diagnosis(TypedDict):
    """The columns and roles of a table, its problems, what can be assessed, and what to type next."""

    source: str
    columns: Annotated[dict[str, str], Field(description="column -> type")]
    roles: Annotated[dict[str, str], Field(description="role -> column")]
    n_items: Count
    n_labels: Count
    classes: list[str]
    attributes: Annotated[dict[str, Count], Field(description="column to group by -> number of values")]
    findings: list[Finding]
    can: Annotated[list[str], Field(description="what can be assessed")]
    next: Annotated[list[str], Field(description="commands to type next")]
    provenance: Provenance


@forbid_extra_keys
class Plan(TypedDict):
    """How many more labels a goal is expected to need."""

    goal: str
    metric: str
    by: str
    policy: str
    prior: str
    n_items: Count
    n_labels: Count
    n_more: Annotated[Count | None, Field(description="median over simulated futures; null if most never settle")]
    low: Annotated[Count | None, Field(description="10 % quantile")]
    high: Annotated[Count | None, Field(description="90 % quantile; null if these futures never settle")]
    p_settled: Probability
    runs: Annotated[int, Field(ge=2)]
    sentence: str
    remedy: str | None
    warnings: list[str]
    provenance: Provenance


@forbid_extra_keys
class Played(TypedDict):
    """A configuration that was simulated, and what was measured."""

    goal: str
    metric: str
    policy: str
    prior: str
    measure: Annotated[str, Field(description="rmse, coverage, width, mrr, found, correct or relative_error")]


@forbid_extra_keys
class Measured(Played):
    """Mean and standard error of a measure over runs, at a number of labels."""

    n_labels: Count
    mean: MetricValue
    se: Annotated[NonNegative | None, Field(description="null if the measure is undefined")]
    runs: Annotated[int, Field(ge=2)]


@forbid_extra_keys
class Reached(Played):
    """The first number of labels from which the mean measure stays past its target."""

    target: float
    n_labels: Annotated[Count | None, Field(description="null if it never does")]
    share: Annotated[Probability | None, Field(description="of all items")]


@forbid_extra_keys
class Simulation(TypedDict):
    """Measures of each simulated configuration, and the labels it needs to reach its target."""

    rows: list[Measured]
    labels_to_target: list[Reached]
    n_items: Count
    warnings: list[str]
    provenance: Provenance


@forbid_extra_keys
class Item(TypedDict):
    """An item to label, and the columns shown with it."""

    id: str | int
    show: dict[str, Any]


@forbid_extra_keys
class Asked(TypedDict):
    """The items to label next."""

    items: list[Item]
    classes: Annotated[list[str], Field(description="allowed labels; empty if labels are grades")]
    provenance: Provenance


@forbid_extra_keys
class Agreement(TypedDict):
    """Agreement between annotators."""

    method: Literal["cohen", "fleiss"]
    kappa: Annotated[float | None, Field(ge=-1, le=1)]
    low: Annotated[float | None, Field(ge=-1, le=1)]
    high: Annotated[float | None, Field(ge=-1, le=1)]
    share: Annotated[Probability, Field(description="of pairs of votes that agree")]
    n_items: Count
    n_people: Count


@forbid_extra_keys
class Votes(TypedDict):
    """Votes, agreement and accuracy of the annotators, in sessions with several votes per item."""

    wanted: Annotated[int, Field(ge=2)]
    n_short: Annotated[Count, Field(description="items that need more votes")]
    n_disputed: Count
    n_votes: Count
    agreement: Agreement | None
    annotators: list[Person]
    errs: bool
    claim: str
    sentence: str
    health: Annotated[VoteChains | None, Field(description="null where no item has votes of two annotators")]


@allow_extra_keys
class GoalAnswer(TypedDict):
    """The answer to the goal from the labels so far. Further keys depend on the goal."""

    sentence: str
    p: NotRequired[OptionalProbability]
    confidence: NotRequired[OptionalProbability]
    mean: NotRequired[MetricValue]
    low: NotRequired[MetricValue]
    high: NotRequired[MetricValue]
    verdict: NotRequired[str]


@forbid_extra_keys
class LabelsLeft(TypedDict):
    """About how many more labels settle a goal, from simulated futures; null where most do not settle it, or none is simulated."""

    n_more: Count | None
    low: Count | None
    high: Count | None
    p_settled: OptionalProbability
    runs: Count
    sentence: str


@forbid_extra_keys
class Status(TypedDict):
    """The progress of a session, its answer so far, and whether the goal is settled."""

    n_items: Count
    n_labels: Count
    n_pending: Annotated[Count, Field(description="asked and not answered yet by anybody")]
    n_skipped: Annotated[Count, Field(description="answered with cannot tell")]
    n_not_asked: Annotated[Count, Field(description="labelled without being asked for, and left out of the estimates")]
    n_left: Annotated[Count, Field(description="items left to ask")]
    goal: str
    metric: str
    by: str
    policy: str
    prior: str
    settled: bool
    answer: GoalAnswer
    obstacle: Annotated[str | None, Field(description="why more labels cannot settle the goal")]
    labels_left: Annotated[
        LabelsLeft | None, Field(description="how many more labels settle the goal; null once it is settled")
    ]
    votes: Votes | None
    warnings: Warnings
    provenance: Provenance


@forbid_extra_keys
class ExportedLine(TypedDict):
    """One line of `export --out FILE.jsonl`."""

    id: str | int
    label: NotRequired[Annotated[str | None, Field(description='"?" for cannot tell')]]
    agreement: NotRequired[str | float | None]
    asked: NotRequired[bool]
    decided: NotRequired[bool]
    who: NotRequired[str]
    note: NotRequired[str]
    at: NotRequired[str | float]
    votes: NotRequired[str]
    notes: NotRequired[str]
