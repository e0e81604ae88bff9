"""The FastAPI app: the routes of the HTTP API and the static files of the page, around a LabellingService."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from fewlabels.errors import InputError, listing
from fewlabels.sessions.journal.errors import StorageError, UnusableError
from fewlabels.sessions.session import ItemId
from fewlabels.sessions.shortcuts import PAGE as COMMANDS
from fewlabels.sessions.shortcuts import assign_shortcuts
from fewlabels.text import tame_line
from fewlabels.web.conditional_get import Turns, send_figures
from fewlabels.web.credentials import UNAVAILABLE as KEYS_UNAVAILABLE
from fewlabels.web.credentials import KeysUnavailableError
from fewlabels.web.error_log import RETRY, STOP, UNAVAILABLE, Failures, Log, name_request
from fewlabels.web.item_view import Card
from fewlabels.web.media import KINDS
from fewlabels.web.permissions import Caller, Me, Owner, hide_paths, hide_results, limit_rate, resolve_name
from fewlabels.web.rate_limit import Pace
from fewlabels.web.security import Door, Doorkeeper
from fewlabels.web.service import Board, Desk, Dispute

HERE = Path(__file__).parent
PAGE = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css"), "/page.js": ("page.js", "text/javascript")}  # fmt: skip
INERT = {"content-security-policy": "default-src 'none'; sandbox"}  # browsers run nothing in a served file
MOST = 100  # items or answers in one request
Who = Annotated[str, Field(max_length=200, description="The annotator's name. With an annotator's link, leave it out: the link has a name. Annotators with different names get different items.")]  # fmt: skip


class Ask(BaseModel):
    """A request for items to label."""

    who: Who = ""
    n: Annotated[int, Field(ge=1, le=MOST)] = 1


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
        """Assign shortcuts to these classes."""
        found = assign_shortcuts(classes)
        return cls(shown=found.shown, typed=found.typed, commands=found.place(COMMANDS))


class Asked(BaseModel):
    """Items to label, and the possible classes; no classes if labels are grades from 0 to 1."""

    items: list[Card]
    classes: list[str]
    shortcuts: Shortcuts
    board: Board


class Answer(BaseModel):
    """The label of an item: a class, or null for "cannot tell"."""

    id: ItemId
    label: Annotated[str, Field(max_length=1000)] | None
    note: Annotated[str, Field(max_length=10_000)] = ""


class Tell(BaseModel):
    """Answers to record: all or none."""

    who: Who = ""
    answers: Annotated[list[Answer], Field(min_length=1, max_length=MOST)]


class Told(BaseModel):
    """The number of recorded answers, the predicted classes of these items if they are revealed, and the progress."""

    kept: int
    predicted: dict[str, str]
    board: Board


class Disputes(BaseModel):
    """Items with conflicting votes and no decision, the oldest first."""

    items: list[Dispute]
    classes: list[str]
    shortcuts: Shortcuts
    board: Board


class Undo(BaseModel):
    """A request to undo the last answer; with an id, only if that answer is the last, so repeating it is harmless."""

    who: Who = ""
    id: Annotated[ItemId | None, Field(description="The id from /api/last: undo only this one.")] = None
    decided: Annotated[bool, Field(description="Undo the decision on this item, not an answer to it.")] = False


class Last(BaseModel):
    """The item whose answer or decision undo would remove; null if there is none."""

    id: ItemId | None
    decided: bool = False


class Undone(BaseModel):
    """The item whose answer was undone; null if there was no answer."""

    id: ItemId | None
    board: Board


class Problem(BaseModel):
    """An error message: what was wrong and what to do."""

    error: str


PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 405, 409, 413, 421, 422, 429, 500, 503)
}

UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Not modified: If-None-Match has the current ETag."}}


def make_app(desk: Desk, door: Door, pace: Pace | None = None) -> FastAPI:
    """Build the app: a labelling service behind the security middleware and a rate limit."""
    pace = pace or Pace()
    app = FastAPI(
        title="fewlabels", version="1", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json", responses=PROBLEMS,
        description="Items to label, answers to them, and estimates of the model's metrics.",
    )  # fmt: skip
    app.add_middleware(Failures, log=desk.log)
    app.add_middleware(Doorkeeper, door=door)
    app.add_exception_handler(InputError, _explain(400, lambda error: hide_paths(str(error), desk.session.files)))
    app.add_exception_handler(StorageError, _say_later(desk.log, UNAVAILABLE))
    app.add_exception_handler(UnusableError, _say_stop(desk))
    app.add_exception_handler(KeysUnavailableError, _say_later(desk.log, KEYS_UNAVAILABLE))
    app.add_exception_handler(RequestValidationError, _explain(422, _say_what_is_wrong))
    app.add_exception_handler(HTTPException, _explain(None, lambda error: str(getattr(error, "detail", error))))
    turns = Turns()
    _add_loop(app, desk, door, pace)
    _add_adjudication(app, desk, door, pace, turns)
    _add_reading(app, desk, turns)
    _add_results(app, desk)
    app.add_api_route("/favicon.ico", lambda: Response(status_code=204), methods=["GET"], include_in_schema=False)
    for path, file in PAGE.items():
        app.add_api_route(path, _serve_file(*file), methods=["GET"], include_in_schema=False)
    return app


def _add_loop(app: FastAPI, desk: Desk, door: Door, pace: Pace) -> None:
    @app.post("/api/ask")
    def ask(wish: Ask, caller: Caller) -> Asked:
        """Return items to label: the same until they are answered, and reserved for the annotator during the lease."""
        who = _admit(wish.who, caller, door, pace)
        cards, classes = desk.ask(who, wish.n), desk.session.classes
        board = hide_results(desk.board, caller)
        return Asked(items=cards, classes=list(classes), shortcuts=Shortcuts.of(classes), board=board)

    @app.post("/api/tell")
    def tell(told: Tell, caller: Caller) -> Told:
        """Record answers: all or none. A later answer replaces the earlier one; with votes, that of the same annotator.

        Annotators replace only their own answers; an item that another annotator has answered is refused with a 409.
        """
        who = _admit(told.who, caller, door, pace)
        said = desk.tell(who, _list_answers(told), replaces=caller.is_owner)
        return Told(kept=len(told.answers), predicted=said, board=hide_results(desk.board, caller))

    @app.post("/api/undo")
    def undo(wish: Undo, caller: Caller) -> Undone:
        """Undo the caller's last answer or decision; its item is open again."""
        who = _admit(wish.who, caller, door, pace)
        only = None if wish.id is None else (wish.id, wish.decided)
        taken = desk.undo(who, only, decisions=caller.is_owner)
        return Undone(id=taken, board=hide_results(desk.board, caller))

    @app.get("/api/last")
    def last(caller: Caller, who: Annotated[str, Query(max_length=200)] = "") -> Last:
        """Return the caller's last answer or decision, which undo would remove. Only the owner has decisions."""
        name = _admit(who, caller, door, pace)
        found = desk.session.find_last(who=name, decisions=caller.is_owner)
        return Last(id=None) if found is None else Last(id=found[0], decided=found[1])


def _add_adjudication(app: FastAPI, desk: Desk, door: Door, pace: Pace, turns: Turns) -> None:
    @app.post("/api/decide")
    def decide(told: Tell, caller: Owner) -> Told:
        """Record decisions on disputed items; a decision counts as the true label and has its author. Owner only."""
        who = _admit(told.who, caller, door, pace)
        said = desk.decide(who, _list_answers(told))
        return Told(kept=len(told.answers), predicted=said, board=desk.board)

    @app.get("/api/disputes")
    async def disputes(_: Owner, n: Annotated[int, Query(ge=1, le=MOST)] = 10) -> Disputes:
        """List disputed items with their votes. Owner only."""
        await turns.wait()
        found, classes = await run_in_threadpool(lambda: (desk.list_disputes(n), desk.session.classes))
        return Disputes(items=found, classes=list(classes), shortcuts=Shortcuts.of(classes), board=desk.board)


def _add_results(app: FastAPI, desk: Desk) -> None:
    turns = Turns(rate=40.0, burst=20.0)

    @app.get("/api/status", response_model=dict[str, Any], responses=UNCHANGED)
    async def status(request: Request, _: Owner) -> Response:
        """Return the status of the session, with every answer so far. Owner only."""
        figures = await desk.fetch("status")
        await turns.wait()  # afterwards: many clients that waited for the same result get it one after the other
        return send_figures(request, figures)

    @app.get("/api/assessment", response_model=dict[str, Any], responses=UNCHANGED)
    async def assessment(request: Request, _: Owner) -> Response:
        """Return the assessment of the model from the labels so far. Owner only."""
        figures = await desk.fetch("assessment")
        await turns.wait()
        return send_figures(request, figures)


def _add_reading(app: FastAPI, desk: Desk, turns: Turns) -> None:
    engine = Turns(rate=5.0, burst=20.0, most=10)  # the rows of items that were asked are cached in memory

    @app.get("/api/me")
    def me(caller: Caller) -> Me:
        """Return the role and the name that belong to this link."""
        return Me(role=caller.role, name=caller.name)

    @app.get("/api/board")
    async def board(caller: Caller) -> Board:
        """Return the progress, as last computed. Only the owner gets estimates."""
        await turns.wait()
        return hide_results(desk.board, caller)

    @app.get("/media", include_in_schema=False)
    async def media(
        item: Annotated[str, Query(max_length=1000)], column: Annotated[str, Query(max_length=1000)]
    ) -> Response:
        if await run_in_threadpool(desk.needs_engine, item):
            await engine.wait()
        return await run_in_threadpool(_send_media, desk, item, column)


def _send_media(desk: Desk, item: str, column: str) -> Response:
    name = desk.find_media(item, column)
    file = desk.folder.find(name) if desk.folder is not None and name is not None else None
    if file is None:
        raise HTTPException(404, "no such file in the media folder")
    return FileResponse(file, media_type=KINDS[file.suffix.lower()], headers=INERT)


def _serve_file(name: str, kind: str) -> Callable[[], Response]:
    def serve() -> Response:
        return Response((HERE / name).read_bytes(), media_type=kind)

    return serve


def _admit(who: str, caller: Caller, door: Door, pace: Pace) -> str:
    """Return the annotator name of a request; refuse it above the rate limit or with another link's name."""
    limit_rate(pace, caller)
    return resolve_name(caller, who, door.store.read())


def _list_answers(told: Tell) -> list[tuple[ItemId, str | None, str]]:
    """List answers; refuse two for the same item, because their order would be ambiguous."""
    n_of = Counter(str(one.id) for one in told.answers)
    twice = [item for item, n in n_of.items() if n > 1]
    if twice:
        raise InputError(f"answers: more than one for {listing(map(tame_line, twice))}; send one for each item")
    return [(one.id, one.label, one.note) for one in told.answers]


def _explain(status: int | None, say: Callable[[Any], str]) -> Callable[[Request, Exception], Response]:
    def explain(_: Request, error: Exception) -> Response:
        code = status or int(getattr(error, "status_code", 500))
        return JSONResponse({"error": say(error)}, code, headers=getattr(error, "headers", None))

    return explain


def _say_later(log: Log, text: str) -> Callable[[Request, Exception], Response]:
    def explain(request: Request, error: Exception) -> Response:
        log.note(name_request(request.scope), error)
        return JSONResponse({"error": text}, 503, headers={"retry-after": str(RETRY)})

    return explain


def _say_stop(desk: Desk) -> Callable[[Request, Exception], Response]:
    def explain(request: Request, error: Exception) -> Response:
        desk.log.note(name_request(request.scope), error)
        return JSONResponse({"error": f"{hide_paths(str(error), desk.session.files)}; {STOP}"}, 500)

    return explain


def _say_what_is_wrong(error: RequestValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return f"{where or 'the request'}: {first['msg']}"
