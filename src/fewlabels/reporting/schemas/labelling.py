"""The JSON of doctor, plan and simulate, and of sessions: ask, status and the lines that export writes."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from fewlabels.reporting.schemas.parts import (
    Chance,
    Count,
    Figure,
    Positive,
    Probability,
    Provenance,
    Warnings,
    closed,
    extensible,
)
from fewlabels.reporting.schemas.results import Person


@closed
class Finding(TypedDict):
    """One thing worth saying about a table."""

    severity: Literal["error", "warning"]
    message: str
    options: Annotated[dict[str, str], Field(description="roles to try instead, by option")]


@closed
class Diagnosis(TypedDict):
    """What is in a table, what is wrong with it, what can be assessed, what to type next."""

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


@closed
class Plan(TypedDict):
    """How many more labels a goal is likely to take."""

    goal: str
    metric: str
    by: str
    policy: str
    prior: str
    n_items: Count
    n_labels: Count
    n_more: Annotated[Count | None, Field(description="median over imagined futures; null where most never settle")]
    low: Annotated[Count | None, Field(description="10 % quantile")]
    high: Annotated[Count | None, Field(description="90 % quantile; null where these futures never settle")]
    p_settled: Probability
    runs: Annotated[int, Field(ge=2)]
    sentence: str
    remedy: str | None
    warnings: list[str]
    provenance: Provenance


@closed
class Played(TypedDict):
    """One way of labelling."""

    goal: str
    metric: str
    policy: str
    prior: str
    measure: Annotated[str, Field(description="rmse, coverage, width, mrr, found, correct or relative_error")]


@closed
class Measured(Played):
    """A measure at a number of labels: mean and standard error over the runs."""

    n_labels: Count
    mean: Figure
    se: Annotated[Positive | None, Field(description="null where the measure is undefined")]
    runs: Annotated[int, Field(ge=2)]


@closed
class Reached(Played):
    """The first number of labels from which the mean stays past its target."""

    target: float
    n_labels: Annotated[Count | None, Field(description="null where it never does")]
    share: Annotated[Probability | None, Field(description="of all items")]


@closed
class Simulation(TypedDict):
    """What each way of labelling would have cost."""

    rows: list[Measured]
    labels_to_target: list[Reached]
    n_items: Count
    warnings: list[str]
    provenance: Provenance


@closed
class Item(TypedDict):
    """An item to label, and what there is to see of it."""

    id: str | int
    show: dict[str, Any]


@closed
class Asked(TypedDict):
    """Which items to label next."""

    items: list[Item]
    classes: Annotated[list[str], Field(description="labels one may give; empty where labels are grades")]
    provenance: Provenance


@closed
class Agreement(TypedDict):
    """How far annotators agree."""

    method: Literal["cohen", "fleiss"]
    kappa: Annotated[float | None, Field(ge=-1, le=1)]
    low: Annotated[float | None, Field(ge=-1, le=1)]
    high: Annotated[float | None, Field(ge=-1, le=1)]
    share: Annotated[Probability, Field(description="of pairs of votes that agree")]
    n_items: Count
    n_people: Count


@closed
class Votes(TypedDict):
    """What is known of the annotators, where several answer each item."""

    wanted: Annotated[int, Field(ge=2)]
    n_short: Annotated[Count, Field(description="items that want more votes")]
    n_disputed: Count
    n_votes: Count
    agreement: Agreement | None
    annotators: list[Person]
    errs: bool
    claim: str
    sentence: str


@extensible
class GoalAnswer(TypedDict):
    """What the labels answer so far. Further keys depend on the goal."""

    sentence: str
    p: NotRequired[Chance]
    confidence: NotRequired[Chance]
    mean: NotRequired[Figure]
    low: NotRequired[Figure]
    high: NotRequired[Figure]
    verdict: NotRequired[str]


@closed
class Status(TypedDict):
    """How far a session is, and whether one may stop."""

    n_items: Count
    n_labels: Count
    n_pending: Annotated[Count, Field(description="asked, and not answered yet")]
    n_skipped: Annotated[Count, Field(description="no annotator could tell")]
    n_not_asked: Annotated[Count, Field(description="labelled without being asked for, and left out of the figures")]
    n_left: Annotated[Count, Field(description="left to ask")]
    goal: str
    metric: str
    by: str
    policy: str
    prior: str
    settled: bool
    answer: GoalAnswer
    obstacle: Annotated[str | None, Field(description="why labels alone will hardly settle it")]
    votes: Votes | None
    warnings: Warnings
    provenance: Provenance


@closed
class ExportedLine(TypedDict):
    """One line of `export --out FILE.jsonl`."""

    id: str | int
    label: NotRequired[Annotated[str | None, Field(description='"?" where no annotator could tell')]]
    agreement: NotRequired[str | float | None]
    asked: NotRequired[bool]
    decided: NotRequired[bool]
    who: NotRequired[str]
    note: NotRequired[str]
    at: NotRequired[str | float]
    votes: NotRequired[str]
    notes: NotRequired[str]
