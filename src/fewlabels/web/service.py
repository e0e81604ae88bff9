"""The labelling service behind the HTTP API: a Session shared by several annotators and programs.

Estimates are recomputed in the background as answers arrive, so that no request waits for them (see `background`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from starlette.exceptions import HTTPException

from fewlabels.data.names import ItemId
from fewlabels.errors import join_names
from fewlabels.models.posterior import Posterior
from fewlabels.sessions.annotations import describe_agreement
from fewlabels.sessions.selection import check_lease
from fewlabels.sessions.session import Session
from fewlabels.text import sanitize_line
from fewlabels.web.background import BackgroundWorker, CachedResponse
from fewlabels.web.board import AnnotatorAccuracy, Board, Dispute, GroupEstimate, TeamSummary, Vote
from fewlabels.web.error_log import FailureLog
from fewlabels.web.item_view import ItemView, show_item
from fewlabels.web.media import MediaFolder
from fewlabels.web.row_cache import RowCache

MAX_GROUPS = 60  # groups and annotators in a board
WRITE_TIMEOUT = 3.0  # seconds that a request waits for other writers


@dataclass(frozen=True)
class LabellingRules:
    """Rules of labelling on this page."""

    lease: float = 600.0  # seconds for which an item is reserved for one annotator
    new_classes: bool = False
    reveals: bool = False  # show the predicted class after an item is answered
    origins: tuple[str, ...] = ()  # allowed for images and audio

    def __post_init__(self) -> None:
        """Refuse an invalid lease."""
        check_lease(self.lease)


class LabellingService:
    """A session with its item rows, its media folder and its background computations."""

    def __init__(
        self,
        session: Session,
        rules: LabellingRules | None = None,
        *,
        folder: MediaFolder | None = None,
        predicted: Callable[[ItemId], str | None] = lambda _: None,
        log: FailureLog | None = None,
    ) -> None:
        self.session, self.rules, self.folder, self.log = (
            session,
            rules or LabellingRules(),
            folder,
            log or FailureLog(),
        )
        self._predicted, self._row_cache = predicted, RowCache(session.show, session.foresee)
        session.set_patience(WRITE_TIMEOUT)
        computations = {"status": session.status, "assessment": lambda: session.assess().to_dict()}
        self._background = BackgroundWorker(lambda: session.progress, self.log, self._refresh, computations)
        self._refresh()
        self._background.start()

    def close(self) -> None:
        """Stop the background thread."""
        self._background.close()

    @property
    def board(self) -> Board:
        """The board as last computed."""
        return self._board.model_copy(update={"stale": self._background.is_stale})

    async def fetch(self, kind: Literal["status", "assessment"]) -> CachedResponse:
        """Return a result that is slow to compute, from the background thread."""
        return await self._background.fetch(kind)

    def ask(self, who: str, n: int = 1) -> list[ItemView]:
        """Return items for this annotator, reserved until the lease expires."""
        ids = self.session.ask(n, who=who, lease=self.rules.lease, fresh=False)
        rows = self._row_cache.show(ids)
        return [show_item(i, rows[i], self.folder, self.rules.origins) for i in ids]

    def tell(
        self, who: str, answers: Sequence[tuple[ItemId, str | None, str]], *, replaces: bool = True
    ) -> dict[str, str]:
        """Record answers: item, class or None, and a note; return the predicted classes if they are revealed.

        Without `replaces`, refuse items that another annotator has answered.
        """
        with self.session.together():
            if not replaces:
                _refuse_answered(self.session.list_taken([item for item, _, _ in answers], who=who))
            self._save(self.session.tell, who, answers)
        return self._reveal(answers)

    def decide(self, who: str, answers: Sequence[tuple[ItemId, str | None, str]]) -> dict[str, str]:
        """Record decisions on disputed items."""
        self._save(self.session.decide, who, answers)
        return self._reveal(answers)

    def list_disputes(self, n: int) -> list[Dispute]:
        """Return items on which annotators disagree."""
        found = self.session.list_disputes(n)
        rows = self._row_cache.show([row["id"] for row in found])
        return [
            Dispute(
                item=show_item(row["id"], rows[row["id"]], self.folder, self.rules.origins),
                votes=[Vote(who=sanitize_line(who), label=label, note=sanitize_line(row["notes"].get(who, ""))) for who, label in row["votes"].items()],
            )
            for row in found
        ]  # fmt: skip

    def _save(self, tell: Callable[..., None], who: str, answers: Sequence[tuple[ItemId, str | None, str]]) -> None:
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
        return {item: sanitize_line(said) for item, said in found.items() if said is not None}

    def undo(self, who: str, only: tuple[ItemId, bool] | None = None, *, decisions: bool = True) -> ItemId | None:
        """Undo this annotator's last answer; with `only`, just this answer or decision."""
        taken = self.session.undo(who=who, only=only, decisions=decisions)
        self._background.wake()
        return taken

    def needs_engine(self, item: str) -> bool:
        """Return whether showing an item needs a query: its row is not cached."""
        return not self._row_cache.contains(item) and self.session.has_item(item)

    def find_media(self, item: str, column: str) -> str | None:
        """Return the text of an item's column, which may name a file."""
        if not self.session.has_item(item):  # an unknown id would scan the whole file
            return None
        row = self._row_cache.show([item]).get(item, {})
        value = row.get(column)
        return value if isinstance(value, str) else None

    def _refresh(self) -> None:
        self._board = compute_board(self.session)


def _refuse_answered(items: Sequence[ItemId]) -> None:
    if items:
        names = join_names(sanitize_line(str(item)) for item in items)
        raise HTTPException(
            409, f"another annotator has answered {names} in the meantime; nothing was saved; ask for another item"
        )


def compute_board(session: Session) -> Board:
    """Compute the board from the labels so far."""
    found = session.status()
    known = session.knowledge()
    sign = getattr(session.goal, "sign", 1 if known.metric.worst == "highest" else -1)
    rows = _summarize_groups(known, sign)
    return Board(
        n_labels=found["n_labels"], settled=found["settled"], sentence=found["answer"]["sentence"], obstacle=found["obstacle"],
        metric=found["metric"], goal=found["goal"], groups=rows[:MAX_GROUPS], n_groups=len(rows), team=_describe_team(found["votes"]),
    )  # fmt: skip


def _describe_team(found: dict[str, Any] | None) -> TeamSummary | None:
    if found is None:
        return None
    agreed = found["agreement"]
    return TeamSummary(
        **{name: found[name] for name in ("wanted", "n_votes", "n_short", "n_disputed", "errs")}, sentence=found["claim"],
        agreement="" if agreed is None else describe_agreement(agreed),
        people=[AnnotatorAccuracy(**{**row, "who": sanitize_line(row["who"])}) for row in found["annotators"][:MAX_GROUPS]],
    )  # fmt: skip


def _summarize_groups(known: Posterior, sign: int) -> list[GroupEstimate]:
    """Estimate every group; sort by the probability of being the one that the goal seeks."""
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
