"""Requests and responses of the HTTP API: what its documents in `/api/openapi.json` describe."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from fewlabels.data.names import ItemId
from fewlabels.sessions.shortcuts import PAGE_COMMANDS, assign_shortcuts
from fewlabels.web.board import Board, Dispute
from fewlabels.web.item_view import ItemView

MAX_ITEMS = 100  # items or answers in one request
AnnotatorName = Annotated[str, Field(max_length=200, description="The annotator's name. With an annotator's link, leave it out: the link has a name. Annotators with different names get different items.")]  # fmt: skip


class AskRequest(BaseModel):
    """A request for items to label."""

    who: AnnotatorName = ""
    n: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 1


class Shortcuts(BaseModel):
    """Keyboard shortcuts of the page, the same as in the terminal."""

    shown: Annotated[
        dict[str, str], Field(description="Class -> the key shown on its button; empty if there are too many classes.")
    ]
    typed: Annotated[dict[str, str], Field(description="Key -> the class it records.")]
    commands: Annotated[
        dict[str, str], Field(description="Command -> its key; empty if classes use all keys it could have.")
    ]

    @classmethod
    def of(cls, classes: tuple[str, ...]) -> "Shortcuts":
        """Assign shortcuts to these classes, as the message of a response."""
        found = assign_shortcuts(classes)
        return cls(shown=found.shown, typed=found.typed, commands=found.assign_commands(PAGE_COMMANDS))


class AskResponse(BaseModel):
    """Items to label, and the possible classes; no classes if labels are grades from 0 to 1."""

    items: list[ItemView]
    classes: list[str]
    shortcuts: Shortcuts
    board: Board
    n_answered: Annotated[int, Field(description="Answers of this annotator so far. The board may lag behind them.")]


class Answer(BaseModel):
    """The label of an item: a class, or null for "cannot tell"."""

    id: ItemId
    label: Annotated[str, Field(max_length=1000)] | None
    note: Annotated[str, Field(max_length=10_000)] = ""


class TellRequest(BaseModel):
    """Answers to record: all or none."""

    who: AnnotatorName = ""
    answers: Annotated[list[Answer], Field(min_length=1, max_length=MAX_ITEMS)]


class TellResponse(BaseModel):
    """The number of recorded answers, the predicted classes of these items if they are revealed, and the progress."""

    kept: int
    predicted: dict[str, str]
    board: Board


class DisputesResponse(BaseModel):
    """Items with conflicting votes and no decision, the oldest first."""

    items: list[Dispute]
    classes: list[str]
    shortcuts: Shortcuts
    board: Board


class UndoRequest(BaseModel):
    """A request to undo the last answer; with an id, only if that answer is the last, so repeating it is harmless."""

    who: AnnotatorName = ""
    id: Annotated[ItemId | None, Field(description="The id from /api/last: undo only this one.")] = None
    decided: Annotated[bool, Field(description="Undo the decision on this item, not an answer to it.")] = False


class LastAnswer(BaseModel):
    """The item whose answer or decision undo would remove; null if there is none."""

    id: ItemId | None
    decided: bool = False


class UndoResponse(BaseModel):
    """The item whose answer was undone; null if there was no answer."""

    id: ItemId | None
    board: Board


class ErrorResponse(BaseModel):
    """An error message: what was wrong and what to do."""

    error: str


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse} for status in (400, 401, 403, 404, 405, 409, 413, 421, 422, 429, 500, 503)
}

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "Not modified: If-None-Match has the current ETag."}
}
