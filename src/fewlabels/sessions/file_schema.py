"""The schema of the JSON document in a session's file: its settings, and the names of groups, classes and bins."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from fewlabels.data.documents.axes import AxisDocument, FrameName, Level
from fewlabels.data.documents.parsing import Count, Schema

MAX_VOTES = 20
RoleText = Annotated[str, Field(max_length=100_000)]
RoleTexts = Annotated[tuple[RoleText, ...], Field(max_length=100_000)]


class FingerprintDocument(Schema):
    """The fingerprint of the predictions; its fields depend on the kind of table."""

    model_config = ConfigDict(extra="allow")

    every: Annotated[int, Field(ge=1)] | None = None
    seed: Count | None = None
    predicted: dict[str, Count] | None = None


class GivenRolesDocument(Schema):
    """The column roles that the predictions were read with: names of columns and classes."""

    id: RoleText | None = None
    predicted: RoleText | None = None
    score: RoleText | None = None
    scores: RoleText | None = None
    positive_score: RoleText | None = None
    positive: RoleText | None = None
    threshold: Annotated[float, Field(gt=0, lt=1)] | None = None
    label: RoleText | None = None
    grade: RoleText | None = None
    judge: RoleText | None = None
    scale: RoleText | RoleTexts | None = None
    agreement: RoleText | None = None
    propensity: RoleText | None = None
    show: RoleTexts | None = None
    models: RoleTexts | None = None
    model: RoleText | None = None


class SessionDocument(Schema):
    """The fixed part of a session. Fields of type Any are choices, which `serialize` restores."""

    goal: Any
    policy: Any
    prior: Any
    by: Any
    ranges: Any = None
    level: Level
    finite: bool
    seed: Count
    fingerprint: FingerprintDocument
    source: str
    notes: tuple[str, ...]
    graded: bool
    whole_ids: bool
    frame: FrameName
    by_name: str
    groups: Annotated[tuple[str, ...], Field(min_length=1)]
    classes: tuple[str, ...]
    bins: tuple[str, ...]
    positive: str | None
    n_askable: tuple[Count, ...]
    axes: tuple[AxisDocument, ...] = ()
    models: tuple[str, ...] = ()  # whose predictions are compared
    single_grades: bool = (
        False  # does every entry of the counts hold items of one grade? absent in files of earlier versions
    )
    grades: tuple[tuple[str, Annotated[float, Field(ge=0, le=1)]], ...] = ()  # absent in files of earlier versions
    votes: Annotated[int, Field(ge=1, le=MAX_VOTES)] = 1  # absent in files of earlier versions
    random_share: Annotated[float, Field(ge=0, lt=1)] = 0.0  # absent in files of earlier versions
    given_roles: GivenRolesDocument | None = None  # absent in files of earlier versions
    price: str | None = None  # column
    prices: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = ()  # of a label in each group
