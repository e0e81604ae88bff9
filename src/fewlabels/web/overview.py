"""The owner's overview of a session: settings, who labelled what at which pace, agreement, and the latest answers.

Pace is the median time between two answers of one annotator, without pauses.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from pydantic import BaseModel

from fewlabels.data.names import ItemId
from fewlabels.text import as_text, sanitize_line
from fewlabels.web.board import Board, TeamSummary

PAUSE = 300.0  # seconds: a longer time between two answers is not work
LATEST = 100  # answers in the list
SETTINGS = ("goal", "metric", "by", "policy", "prior")
Vote = Mapping[str, Any]


class AnnotatorActivity(BaseModel):
    """How much an annotator did, how fast, and when."""

    who: str
    n_answers: int
    n_skipped: int  # answered "cannot tell"
    seconds: float | None  # median per answer; null before the second one
    first: str
    last: str


class LatestAnswer(BaseModel):
    """An answer that counts; null for "cannot tell"."""

    id: ItemId
    label: str | None
    who: str
    decided: bool
    note: str
    at: str


class Overview(BaseModel):
    """What the owner of a session sees besides the items."""

    settings: dict[str, str]
    n_labels: int
    settled: bool
    annotators: list[AnnotatorActivity]
    team: TeamSummary | None
    latest: list[LatestAnswer]


def make_overview(votes: Iterable[Vote], board: Board, settings: Mapping[str, Any]) -> Overview:
    """Collect the overview from the answers; `board` has the progress as last computed."""
    votes = sorted(votes, key=lambda vote: vote["at"])
    names = {vote["who"]: None for vote in votes}
    return Overview(
        settings={name: sanitize_line(as_text(value)) for name, value in settings.items() if value is not None},
        n_labels=board.n_labels,
        settled=board.settled,
        annotators=[summarize_activity(who, [vote for vote in votes if vote["who"] == who]) for who in names],
        team=board.team,
        latest=[_show_latest_answer(vote) for vote in reversed(votes[-LATEST:])],
    )


def summarize_activity(who: str, votes: Sequence[Vote]) -> AnnotatorActivity:
    """Summarize the answers of one annotator for the overview, in the order they were given."""
    return AnnotatorActivity(
        who=sanitize_line(who) or "(no name)",
        n_answers=len(votes),
        n_skipped=sum(vote["label"] is None for vote in votes),
        seconds=find_pace(vote["at"] for vote in votes),
        first=votes[0]["at"],
        last=votes[-1]["at"],
    )


def find_pace(times: Iterable[str]) -> float | None:
    """Return an annotator's pace for the overview: median seconds between answers, without pauses; None without any.

    >>> day = "2026-01-01T10:"
    >>> find_pace([day + "00:00", day + "00:10", day + "00:14", day + "40:00"])
    7.0
    """
    moments = [datetime.fromisoformat(at) for at in times]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    worked = [gap for gap in gaps if 0 < gap <= PAUSE]  # answers sent together have the same time
    return median(worked) if worked else None


def _show_latest_answer(vote: Vote) -> LatestAnswer:
    """Return an answer as the overview shows it."""
    label = vote["label"]
    return LatestAnswer(
        id=vote["id"],
        label=None if label is None else sanitize_line(label),
        who=sanitize_line(vote["who"]),
        decided=vote["decided"],
        note=sanitize_line(vote["note"]),
        at=vote["at"],
    )
