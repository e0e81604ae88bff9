"""The labelling service behind the HTTP API: a Session shared by several annotators and programs.

Estimates are recomputed in the background as answers arrive, so that no request waits for them (see `background`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from starlette.exceptions import HTTPException

from fewlabels.data.names import ItemId
from fewlabels.errors import join_names
from fewlabels.sessions.exchange.answer_table import tabulate_answers
from fewlabels.sessions.exchange.sheets import render_sheet
from fewlabels.sessions.leases import check_lease
from fewlabels.sessions.session import Session
from fewlabels.text import sanitize_line
from fewlabels.web.background import BackgroundWorker, CachedResponse
from fewlabels.web.board import Board, Dispute, Vote, compute_board
from fewlabels.web.error_log import FailureLog
from fewlabels.web.item_view import ItemView, show_item
from fewlabels.web.media import MediaFolder
from fewlabels.web.overview import SETTINGS, Overview, make_overview
from fewlabels.web.row_cache import RowCache

WRITE_TIMEOUT = 3.0  # seconds that a request waits for other writers


@dataclass(frozen=True)
class LabellingRules:
    """Rules of labelling on this page."""

    lease: float = 600.0  # seconds for which an item is reserved for one annotator
    new_classes: bool = False
    reveals: bool = False  # show the predicted class after an item is answered
    origins: tuple[str, ...] = ()  # allowed for images and audio
    blind: bool = False  # hide the estimates while labelling, from the owner, too

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
        computations: dict[str, Callable[[], Any]] = {
            "status": session.status,
            "assessment": lambda: session.assess().to_dict(),
            "report": lambda: {"html": session.assess().to_html()},
        }
        self._background = BackgroundWorker(lambda: session.progress, self.log, self._refresh, computations)
        self._refresh()
        self._background.start()

    def close(self) -> None:
        """Stop the background thread."""
        self._background.close()

    @property
    def board(self) -> Board:
        """The board as last computed; without estimates where they are hidden from everybody."""
        board = self._board.model_copy(update={"stale": self._background.is_stale, "blind": self.rules.blind})
        return board.hide_estimates() if self.rules.blind else board

    def export_answers(self) -> str:
        """Return all answers as CSV."""
        rows, columns = tabulate_answers(self.session.answers(), self.session.classes)
        return render_sheet(rows, columns, "csv")

    def make_overview(self) -> Overview:
        """Return settings, the activity of every annotator and the latest answers."""
        return make_overview(self.session.votes(), self.board, self._settings)

    async def fetch(self, kind: Literal["status", "assessment", "report"]) -> CachedResponse:
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
        """Save answers or decisions with their notes in one transaction, and wake the background thread."""
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
        """Compute the service's board and settings again, in the background thread."""
        found = self.session.status()
        self._board = compute_board(found, self.session.knowledge(), self.session.goal)
        self._settings = {name: found[name] for name in SETTINGS} | {
            "items": f"{found['n_items']:,}",
            "predictions": Path(self.session.source).name,
            "answers per item": f"{self.session.wanted}",
            "reserved for": f"{self.rules.lease:g} seconds",
            "estimates": "hidden from all" if self.rules.blind else "shown to the owner",
        }


def _refuse_answered(items: Sequence[ItemId]) -> None:
    """Refuse answers to the service if another annotator's would be replaced."""
    if items:
        names = join_names(sanitize_line(str(item)) for item in items)
        raise HTTPException(
            409, f"another annotator has answered {names} in the meantime; nothing was saved; ask for another item"
        )
