"""What the page shows beside the items: the progress of a session, its estimates, and items with conflicting votes."""

from pydantic import BaseModel

from fewlabels.web.item_view import ItemView


class GroupEstimate(BaseModel):
    """The estimate of the metric in a group."""

    group: str
    mean: float
    low: float
    high: float
    n_labels: int
    p_sought: float  # P(worst), or P(best) if that is the goal


class AnnotatorAccuracy(BaseModel):
    """An annotator's estimated accuracy, from the votes of all annotators."""

    who: str
    n_votes: int
    mean: float
    low: float
    high: float


class TeamSummary(BaseModel):
    """Votes and agreement of the annotators, if each item gets several votes."""

    wanted: int
    n_votes: int
    n_short: int  # items that need more votes
    n_disputed: int
    agreement: str  # as a sentence; empty if no item has two votes yet
    sentence: str
    errs: bool
    people: list[AnnotatorAccuracy]


class Board(BaseModel):
    """The progress of a session: counts, the answer so far and the estimates of the groups."""

    n_labels: int
    settled: bool
    sentence: str
    obstacle: str | None
    metric: str
    goal: str
    groups: list[GroupEstimate]
    n_groups: int
    team: TeamSummary | None = None
    stale: bool = False  # computing it failed: it leaves out the latest answers


class Vote(BaseModel):
    """An annotator's vote on an item; null for "cannot tell"."""

    who: str
    label: str | None
    note: str = ""


class Dispute(BaseModel):
    """An item with conflicting votes.

    It has no class probabilities: they depend on the prediction and could bias the decision.
    """

    item: ItemView
    votes: list[Vote]
