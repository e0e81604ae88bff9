"""The labelling service behind the HTTP API: a Session shared by several annotators and programs.

Estimates are recomputed in the background as answers arrive, so that no request waits for them (see `background`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel
from starlette.exceptions import HTTPException

from fewlabels.errors import listing
from fewlabels.models.posterior import Posterior
from fewlabels.sessions.annotations import say_agreement
from fewlabels.sessions.session import ItemId, Session, check_lease
from fewlabels.text import tame_line
from fewlabels.web.background import Background, Figures
from fewlabels.web.error_log import Log
from fewlabels.web.item_view import Card, show_item
from fewlabels.web.media import Folder
from fewlabels.web.row_cache import Shelf

MOST_GROUPS = 60  # groups and annotators in a board
N_DRAWS = 2000
PATIENCE = 3.0  # seconds that a request waits for other writers


@dataclass(frozen=True)
class Rules:
    """Rules of labelling on this page."""

    lease: float = 600.0  # seconds for which an item is reserved for one annotator
    new_classes: bool = False
    reveals: bool = False  # show the predicted class after an item is answered
    origins: tuple[str, ...] = ()  # allowed for images and audio

    def __post_init__(self) -> None:
        """Refuse an invalid lease."""
        check_lease(self.lease)


class Row(BaseModel):
    """The estimate of the metric in a group."""

    group: str
    mean: float
    low: float
    high: float
    n_labels: int
    p_sought: float  # P(worst), or P(best) if that is the goal


class Person(BaseModel):
    """An annotator's estimated accuracy, from the votes of all annotators."""

    who: str
    n_votes: int
    mean: float
    low: float
    high: float


class Team(BaseModel):
    """Votes and agreement of the annotators, if each item gets several votes."""

    wanted: int
    n_votes: int
    n_short: int  # items that need more votes
    n_disputed: int
    agreement: str  # as a sentence; empty if no item has two votes yet
    sentence: str
    errs: bool
    people: list[Person]


class Board(BaseModel):
    """The progress of a session: counts, the answer so far and the estimates of the groups."""

    n_labels: int
    settled: bool
    sentence: str
    obstacle: str | None
    metric: str
    goal: str
    groups: list[Row]
    n_groups: int
    team: Team | None = None
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

    item: Card
    votes: list[Vote]


class Desk:
    """A session with its item rows, its media folder and its background computations."""

    def __init__(
        self,
        session: Session,
        rules: Rules | None = None,
        *,
        folder: Folder | None = None,
        predicted: Callable[[ItemId], str | None] = lambda _: None,
        log: Log | None = None,
    ) -> None:
        self.session, self.rules, self.folder, self.log = session, rules or Rules(), folder, log or Log()
        self._predicted, self._shelf = predicted, Shelf(session)
        session.set_patience(PATIENCE)
        kinds = {"status": session.status, "assessment": lambda: session.assess().to_dict()}
        self._background = Background(session, self.log, self._refresh, kinds)
        self._refresh()
        self._background.start()

    def close(self) -> None:
        """Stop the background thread."""
        self._background.close()

    @property
    def board(self) -> Board:
        """The board as last computed."""
        return self._board.model_copy(update={"stale": self._background.is_stale})

    async def fetch(self, kind: Literal["status", "assessment"]) -> Figures:
        """Return a result that is slow to compute, from the background thread."""
        return await self._background.fetch(kind)

    def ask(self, who: str, n: int = 1) -> list[Card]:
        """Return items for this annotator, reserved until the lease expires."""
        ids = self.session.ask(n, who=who, lease=self.rules.lease, fresh=False)
        rows = self._shelf.show(ids)
        return [show_item(i, rows[i], self.folder, self.rules.origins) for i in ids]

    def tell(
        self, who: str, answers: Sequence[tuple[ItemId, str | None, str]], *, replaces: bool = True
    ) -> dict[str, str]:
        """Record answers: item, class or None, and a note; return the predicted classes if they are revealed.

        Without `replaces`, refuse items that another annotator has answered.
        """
        with self.session.together():
            if not replaces:
                _refuse_taken(self.session.list_taken([item for item, _, _ in answers], who=who))
            self._keep(self.session.tell, who, answers)
        return self._reveal(answers)

    def decide(self, who: str, answers: Sequence[tuple[ItemId, str | None, str]]) -> dict[str, str]:
        """Record decisions on disputed items."""
        self._keep(self.session.decide, who, answers)
        return self._reveal(answers)

    def list_disputes(self, n: int) -> list[Dispute]:
        """Return items on which annotators disagree."""
        found = self.session.list_disputes(n)
        rows = self._shelf.show([row["id"] for row in found])
        return [
            Dispute(
                item=show_item(row["id"], rows[row["id"]], self.folder, self.rules.origins),
                votes=[Vote(who=tame_line(who), label=label, note=tame_line(row["notes"].get(who, ""))) for who, label in row["votes"].items()],
            )
            for row in found
        ]  # fmt: skip

    def _keep(self, tell: Callable[..., None], who: str, answers: Sequence[tuple[ItemId, str | None, str]]) -> None:
        with self.session.together():
            for note in dict.fromkeys(note for _, _, note in answers):
                labels = {item: label for item, label, said in answers if said == note}
                tell(labels, who=who, note=note, new_classes=self.rules.new_classes)
        self._background.wake()

    def _reveal(self, answers: Sequence[tuple[ItemId, str | None, str]]) -> dict[str, str]:
        """Return the predicted classes; log a failure only, because the answers are saved by now."""
        if not self.rules.reveals:
            return {}
        try:
            found = {str(item): self._predicted(item) for item, _, _ in answers}
        except Exception as error:
            self.log.note("reading predictions", error)
            return {}
        return {item: tame_line(said) for item, said in found.items() if said is not None}

    def undo(self, who: str, only: tuple[ItemId, bool] | None = None, *, decisions: bool = True) -> ItemId | None:
        """Undo this annotator's last answer; with `only`, just this answer or decision."""
        taken = self.session.undo(who=who, only=only, decisions=decisions)
        self._background.wake()
        return taken

    def needs_engine(self, item: str) -> bool:
        """Return whether showing an item needs a query: its row is not cached."""
        return not self._shelf.holds(item) and self.session.has_item(item)

    def find_media(self, item: str, column: str) -> str | None:
        """Return the text of an item's column, which may name a file."""
        if not self.session.has_item(item):  # an unknown id would scan the whole file
            return None
        row = self._shelf.show([item]).get(item, {})
        value = row.get(column)
        return value if isinstance(value, str) else None

    def _refresh(self) -> None:
        self._board = reckon(self.session)


def _refuse_taken(items: Sequence[ItemId]) -> None:
    if items:
        names = listing(tame_line(str(item)) for item in items)
        raise HTTPException(
            409, f"another annotator has answered {names} in the meantime; nothing was saved; ask for another item"
        )


def reckon(session: Session) -> Board:
    """Compute the board from the labels so far."""
    found = session.status()
    known = session.knowledge()
    sign = getattr(session.goal, "sign", 1 if known.metric.worst == "highest" else -1)
    rows = _list_groups(known, sign)
    return Board(
        n_labels=found["n_labels"], settled=found["settled"], sentence=found["answer"]["sentence"], obstacle=found["obstacle"],
        metric=found["metric"], goal=found["goal"], groups=rows[:MOST_GROUPS], n_groups=len(rows), team=_describe_team(found["votes"]),
    )  # fmt: skip


def _describe_team(found: dict[str, Any] | None) -> Team | None:
    if found is None:
        return None
    agreed = found["agreement"]
    return Team(
        **{name: found[name] for name in ("wanted", "n_votes", "n_short", "n_disputed", "errs")}, sentence=found["claim"],
        agreement="" if agreed is None else say_agreement(agreed),
        people=[Person(**{**row, "who": tame_line(row["who"])}) for row in found["annotators"][:MOST_GROUPS]],
    )  # fmt: skip


def _list_groups(known: Posterior, sign: int) -> list[Row]:
    """Estimate every group; sort by the probability of being the one that the goal seeks."""
    (low, high), mean = known.interval(), known.mean()
    sought = known.weigh_places(worst=sign == (1 if known.metric.worst == "highest" else -1))
    rows = [
        Row(group=tame_line(name), mean=m, low=a, high=b, n_labels=n, p_sought=p)
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
