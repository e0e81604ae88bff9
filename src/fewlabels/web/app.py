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

from fewlabels.data.names import ItemId
from fewlabels.errors import InputError, join_names
from fewlabels.sessions.journal.errors import StorageError, UnusableError
from fewlabels.sessions.shortcuts import PAGE_COMMANDS, assign_shortcuts
from fewlabels.text import sanitize_line
from fewlabels.web.board import Board, Dispute
from fewlabels.web.conditional_get import ReadThrottle, send_cached
from fewlabels.web.credentials import UNAVAILABLE as KEYS_UNAVAILABLE
from fewlabels.web.credentials import KeysUnavailableError
from fewlabels.web.error_log import (
    RETRY_AFTER,
    STOP_LABELLING,
    UNAVAILABLE,
    ErrorMiddleware,
    FailureLog,
    describe_request,
)
from fewlabels.web.item_view import ItemView
from fewlabels.web.media import MEDIA_TYPES
from fewlabels.web.permissions import Caller, Identity, Owner, hide_paths, hide_results, limit_rate, resolve_name
from fewlabels.web.rate_limit import RateLimit
from fewlabels.web.security import SecurityMiddleware, SecurityPolicy
from fewlabels.web.service import LabellingService

HERE = Path(__file__).parent
PAGE = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css"), "/page.js": ("page.js", "text/javascript")}  # fmt: skip
SANDBOX_HEADERS = {"content-security-policy": "default-src 'none'; sandbox"}  # browsers run nothing in a served file
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
        """Assign shortcuts to these classes."""
        found = assign_shortcuts(classes)
        return cls(shown=found.shown, typed=found.typed, commands=found.assign_commands(PAGE_COMMANDS))


class AskResponse(BaseModel):
    """Items to label, and the possible classes; no classes if labels are grades from 0 to 1."""

    items: list[ItemView]
    classes: list[str]
    shortcuts: Shortcuts
    board: Board


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


def make_app(
    service: LabellingService, security_policy: SecurityPolicy, rate_limit: RateLimit | None = None
) -> FastAPI:
    """Build the app: a labelling service behind the security middleware and a rate limit."""
    rate_limit = rate_limit or RateLimit()
    app = FastAPI(
        title="fewlabels", version="1", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json", responses=ERROR_RESPONSES,
        description="Items to label, answers to them, and estimates of the model's metrics.",
    )  # fmt: skip
    app.add_middleware(ErrorMiddleware, log=service.log)
    app.add_middleware(SecurityMiddleware, security_policy=security_policy)
    app.add_exception_handler(
        InputError, _make_error_handler(400, lambda error: hide_paths(str(error), service.session.files))
    )
    app.add_exception_handler(StorageError, _make_unavailable_handler(service.log, UNAVAILABLE))
    app.add_exception_handler(UnusableError, _make_unusable_handler(service))
    app.add_exception_handler(KeysUnavailableError, _make_unavailable_handler(service.log, KEYS_UNAVAILABLE))
    app.add_exception_handler(RequestValidationError, _make_error_handler(422, _format_validation_error))
    app.add_exception_handler(
        HTTPException, _make_error_handler(None, lambda error: str(getattr(error, "detail", error)))
    )
    throttle = ReadThrottle()
    _add_labelling_routes(app, service, security_policy, rate_limit)
    _add_adjudication_routes(app, service, security_policy, rate_limit, throttle)
    _add_read_routes(app, service, throttle)
    _add_result_routes(app, service)
    app.add_api_route("/favicon.ico", lambda: Response(status_code=204), methods=["GET"], include_in_schema=False)
    for path, file in PAGE.items():
        app.add_api_route(path, _serve_file(*file), methods=["GET"], include_in_schema=False)
    return app


def _add_labelling_routes(
    app: FastAPI, service: LabellingService, security_policy: SecurityPolicy, rate_limit: RateLimit
) -> None:
    @app.post("/api/ask")
    def ask(body: AskRequest, caller: Caller) -> AskResponse:
        """Return items to label: the same until they are answered, and reserved for the annotator during the lease."""
        who = _resolve_caller(body.who, caller, security_policy, rate_limit)
        views, classes = service.ask(who, body.n), service.session.classes
        board = hide_results(service.board, caller)
        return AskResponse(items=views, classes=list(classes), shortcuts=Shortcuts.of(classes), board=board)

    @app.post("/api/tell")
    def tell(body: TellRequest, caller: Caller) -> TellResponse:
        """Record answers: all or none. A later answer replaces the earlier one; with votes, that of the same annotator.

        Annotators replace only their own answers; an item that another annotator has answered is refused with a 409.
        """
        who = _resolve_caller(body.who, caller, security_policy, rate_limit)
        said = service.tell(who, _list_posted_answers(body), replaces=caller.is_owner)
        return TellResponse(kept=len(body.answers), predicted=said, board=hide_results(service.board, caller))

    @app.post("/api/undo")
    def undo(body: UndoRequest, caller: Caller) -> UndoResponse:
        """Undo the caller's last answer or decision; its item is open again."""
        who = _resolve_caller(body.who, caller, security_policy, rate_limit)
        only = None if body.id is None else (body.id, body.decided)
        taken = service.undo(who, only, decisions=caller.is_owner)
        return UndoResponse(id=taken, board=hide_results(service.board, caller))

    @app.get("/api/last")
    def last(caller: Caller, who: Annotated[str, Query(max_length=200)] = "") -> LastAnswer:
        """Return the caller's last answer or decision, which undo would remove. Only the owner has decisions."""
        name = _resolve_caller(who, caller, security_policy, rate_limit)
        found = service.session.find_last(who=name, decisions=caller.is_owner)
        return LastAnswer(id=None) if found is None else LastAnswer(id=found[0], decided=found[1])


def _add_adjudication_routes(
    app: FastAPI,
    service: LabellingService,
    security_policy: SecurityPolicy,
    rate_limit: RateLimit,
    throttle: ReadThrottle,
) -> None:
    @app.post("/api/decide")
    def decide(body: TellRequest, caller: Owner) -> TellResponse:
        """Record decisions on disputed items; a decision counts as the true label and has its author. Owner only."""
        who = _resolve_caller(body.who, caller, security_policy, rate_limit)
        said = service.decide(who, _list_posted_answers(body))
        return TellResponse(kept=len(body.answers), predicted=said, board=service.board)

    @app.get("/api/disputes")
    async def disputes(_: Owner, n: Annotated[int, Query(ge=1, le=MAX_ITEMS)] = 10) -> DisputesResponse:
        """List disputed items with their votes. Owner only."""
        await throttle.wait()
        found, classes = await run_in_threadpool(lambda: (service.list_disputes(n), service.session.classes))
        return DisputesResponse(
            items=found, classes=list(classes), shortcuts=Shortcuts.of(classes), board=service.board
        )


def _add_result_routes(app: FastAPI, service: LabellingService) -> None:
    throttle = ReadThrottle(rate=40.0, burst=20.0)

    @app.get("/api/status", response_model=dict[str, Any], responses=NOT_MODIFIED)
    async def status(request: Request, _: Owner) -> Response:
        """Return the status of the session, with every answer so far. Owner only."""
        cached = await service.fetch("status")
        await throttle.wait()  # afterwards: many clients that waited for the same result get it one after the other
        return send_cached(request, cached)

    @app.get("/api/assessment", response_model=dict[str, Any], responses=NOT_MODIFIED)
    async def assessment(request: Request, _: Owner) -> Response:
        """Return the assessment of the model from the labels so far. Owner only."""
        cached = await service.fetch("assessment")
        await throttle.wait()
        return send_cached(request, cached)


def _add_read_routes(app: FastAPI, service: LabellingService, throttle: ReadThrottle) -> None:
    engine_throttle = ReadThrottle(
        rate=5.0, burst=20.0, max_waiting=10
    )  # the rows of items that were asked are cached in memory

    @app.get("/api/me")
    def me(caller: Caller) -> Identity:
        """Return the role and the name that belong to this link."""
        return Identity(role=caller.role, name=caller.name)

    @app.get("/api/board")
    async def board(caller: Caller) -> Board:
        """Return the progress, as last computed. Only the owner gets estimates."""
        await throttle.wait()
        return hide_results(service.board, caller)

    @app.get("/media", include_in_schema=False)
    async def media(
        item: Annotated[str, Query(max_length=1000)], column: Annotated[str, Query(max_length=1000)]
    ) -> Response:
        if await run_in_threadpool(service.needs_engine, item):
            await engine_throttle.wait()
        return await run_in_threadpool(_send_media, service, item, column)


def _send_media(service: LabellingService, item: str, column: str) -> Response:
    name = service.find_media(item, column)
    file = service.folder.find(name) if service.folder is not None and name is not None else None
    if file is None:
        raise HTTPException(404, "no such file in the media folder")
    return FileResponse(file, media_type=MEDIA_TYPES[file.suffix.lower()], headers=SANDBOX_HEADERS)


def _serve_file(name: str, kind: str) -> Callable[[], Response]:
    def serve() -> Response:
        return Response((HERE / name).read_bytes(), media_type=kind)

    return serve


def _resolve_caller(who: str, caller: Caller, security_policy: SecurityPolicy, rate_limit: RateLimit) -> str:
    """Return the annotator name of a request; refuse it above the rate limit or with another link's name."""
    limit_rate(rate_limit, caller)
    return resolve_name(caller, who, security_policy.store.read())


def _list_posted_answers(body: TellRequest) -> list[tuple[ItemId, str | None, str]]:
    """List answers; refuse two for the same item, because their order would be ambiguous."""
    n_of = Counter(str(one.id) for one in body.answers)
    twice = [item for item, n in n_of.items() if n > 1]
    if twice:
        raise InputError(f"answers: more than one for {join_names(map(sanitize_line, twice))}; send one for each item")
    return [(one.id, one.label, one.note) for one in body.answers]


def _make_error_handler(status: int | None, say: Callable[[Any], str]) -> Callable[[Request, Exception], Response]:
    def explain(_: Request, error: Exception) -> Response:
        code = status or int(getattr(error, "status_code", 500))
        return JSONResponse({"error": say(error)}, code, headers=getattr(error, "headers", None))

    return explain


def _make_unavailable_handler(log: FailureLog, text: str) -> Callable[[Request, Exception], Response]:
    def explain(request: Request, error: Exception) -> Response:
        log.note(describe_request(request.scope), error)
        return JSONResponse({"error": text}, 503, headers={"retry-after": str(RETRY_AFTER)})

    return explain


def _make_unusable_handler(service: LabellingService) -> Callable[[Request, Exception], Response]:
    def explain(request: Request, error: Exception) -> Response:
        service.log.note(describe_request(request.scope), error)
        return JSONResponse({"error": f"{hide_paths(str(error), service.session.files)}; {STOP_LABELLING}"}, 500)

    return explain


def _format_validation_error(error: RequestValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return f"{where or 'the request'}: {first['msg']}"
