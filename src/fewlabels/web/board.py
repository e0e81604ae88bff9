"""What the page shows beside the items: the progress of a session, its estimates, and items with conflicting votes."""

from typing import Any, Literal

from pydantic import BaseModel

from fewlabels.active.goals.goal import Goal
from fewlabels.analyses.models.estimates import list_figures
from fewlabels.models.posterior import Posterior
from fewlabels.sessions.annotations import describe_agreement
from fewlabels.text import sanitize_line
from fewlabels.web.item_view import ItemView

MAX_GROUPS = 60  # groups and annotators in a board


class GroupEstimate(BaseModel):
    """The estimate of the metric in a group."""

    group: str
    mean: float
    low: float
    high: float
    n_labels: int
    p_sought: float  # P(worst), or P(best) if that is the goal; shown only where the goal seeks a group


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
    labels_left: str | None  # about how many, in a sentence
    metric: str  # that the goal is stated in
    goal: str
    shown_metric: str  # of the estimates of the groups; the goal's metric may follow from it
    sought: Literal["worst", "best"] | None  # what the goal seeks, so that its probability means something
    groups: list[GroupEstimate]
    n_groups: int
    team: TeamSummary | None = None
    stale: bool = False  # computing it failed: it leaves out the latest answers
    blind: bool = False  # estimates are hidden from the owner, too

    def hide_estimates(self) -> "Board":
        """Remove the estimates, because they could bias answers; counts and settled stay."""
        return self.model_copy(
            update={"sentence": "", "obstacle": None, "labels_left": None, "groups": [], "n_groups": 0}
        )


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


def compute_board(found: dict[str, Any], known: Posterior, goal: Goal) -> Board:
    """Compute the board of a session from its status, its posterior and its goal."""
    sign = getattr(goal, "sign", 1 if known.metric.worst == "highest" else -1)
    rows = _summarize_groups(known, sign) if known.models is None else _summarize_models(known)
    return Board(
        n_labels=found["n_labels"], settled=found["settled"], sentence=found["answer"]["sentence"], obstacle=found["obstacle"],
        labels_left=found["labels_left"] and found["labels_left"]["sentence"],
        metric=found["metric"], goal=found["goal"], shown_metric=known.metric.name, sought=_find_sought(known, goal), groups=rows[:MAX_GROUPS], n_groups=len(rows), team=_describe_team(found["votes"]),
    )  # fmt: skip


def _find_sought(known: Posterior, goal: Goal) -> Literal["worst", "best"] | None:
    """Return which place of a group or model, for the board's order, the goal seeks; None for goals that seek none."""
    if known.models is not None:
        return "best"
    if not hasattr(goal, "sign"):
        return None
    return "worst" if goal.sign == (1 if known.metric.worst == "highest" else -1) else "best"


def _describe_team(found: dict[str, Any] | None) -> TeamSummary | None:
    """Return what the board says of several annotators: their agreement and accuracies."""
    if found is None:
        return None
    agreed = found["agreement"]
    return TeamSummary(
        **{name: found[name] for name in ("wanted", "n_votes", "n_short", "n_disputed", "errs")}, sentence=found["claim"],
        agreement="" if agreed is None else describe_agreement(agreed),
        people=[AnnotatorAccuracy(**{**row, "who": sanitize_line(row["who"])}) for row in found["annotators"][:MAX_GROUPS]],
    )  # fmt: skip


def _summarize_models(known: Posterior) -> list[GroupEstimate]:
    """Return the board's row of every model, the likeliest best first; their predictions stay hidden."""
    assert known.models is not None
    n = int(known.n_told.sum())
    rows = [
        GroupEstimate(
            group=sanitize_line(row["model"]),
            n_labels=n,
            p_sought=row["p_best"],
            **{name: row[name] for name in ("mean", "low", "high")},
        )
        for row in list_figures(known.models, known.level)
    ]
    return sorted(rows, key=lambda row: -row.p_sought)


def _summarize_groups(known: Posterior, sign: int) -> list[GroupEstimate]:
    """Return the board's row of every group, sorted by the probability of being the one that the goal seeks."""
    (low, high), mean = known.interval(), known.mean()
    sought = known.weigh_places(worst=sign == (1 if known.metric.worst == "highest" else -1))
    rows = [
        GroupEstimate(group=sanitize_line(name), mean=m, low=a, high=b, n_labels=n, p_sought=p)
        for name, m, a, b, n, p in zip(
            known.groups,
            mean.tolist(),
            low.tolist(),
            high.tolist(),
            known.n_told.tolist(),
            sought.tolist(),
            strict=True,
        )
    ]
    return sorted(rows, key=lambda row: -row.p_sought)
