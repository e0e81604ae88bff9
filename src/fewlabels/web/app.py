"""The FastAPI app: the routes of the HTTP API and the static files of the page, around a LabellingService."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from fewlabels.data.names import ItemId
from fewlabels.errors import InputError, join_names
from fewlabels.sessions.journal.errors import StorageError, UnusableError
from fewlabels.text import sanitize_line
from fewlabels.web.board import Board
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
from fewlabels.web.media import MEDIA_TYPES
from fewlabels.web.messages import (
    ERROR_RESPONSES,
    MAX_ITEMS,
    NOT_MODIFIED,
    AskRequest,
    AskResponse,
    DisputesResponse,
    LastAnswer,
    Shortcuts,
    TellRequest,
    TellResponse,
    UndoRequest,
    UndoResponse,
)
from fewlabels.web.overview import Overview
from fewlabels.web.permissions import Caller, Identity, Owner, hide_paths, hide_results, limit_rate, resolve_name
from fewlabels.web.rate_limit import RateLimit
from fewlabels.web.security import HEALTH_PATH, SecurityMiddleware, SecurityPolicy
from fewlabels.web.service import LabellingService

HERE = Path(__file__).parent
PAGE = {
    "/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css"), "/page.js": ("page.js", "text/javascript"),
    "/overview": ("overview.html", "text/html"), "/overview.js": ("overview.js", "text/javascript"),
}  # fmt: skip
SANDBOX_HEADERS = {"content-security-policy": "default-src 'none'; sandbox"}  # browsers run nothing in a served file


def make_app(
    service: LabellingService, security_policy: SecurityPolicy, rate_limit: RateLimit | None = None
) -> FastAPI:
    """Build the web app: a labelling service behind the security middleware and a rate limit."""
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
    _add_file_routes(app, service)
    app.add_api_route(HEALTH_PATH, lambda: _check_health(service), methods=["GET"], include_in_schema=False)
    app.add_api_route("/favicon.ico", lambda: Response(status_code=204), methods=["GET"], include_in_schema=False)
    for path, file in PAGE.items():
        app.add_api_route(path, _serve_file(*file), methods=["GET"], include_in_schema=False)
    return app


def _check_health(service: LabellingService) -> Response:
    """Answer probes of the app: the server runs, and can read its session (a 503 otherwise)."""
    _ = service.session.progress
    return JSONResponse({"status": "ok"})


def _add_labelling_routes(
    app: FastAPI, service: LabellingService, security_policy: SecurityPolicy, rate_limit: RateLimit
) -> None:
    """Add the routes to the app by which annotators label: ask, tell and undo."""

    @app.post("/api/ask")
    def ask(body: AskRequest, caller: Caller) -> AskResponse:
        """Return items to label: the same until they are answered, and reserved for the annotator during the lease."""
        who = _resolve_caller(body.who, caller, security_policy, rate_limit)
        views, classes = service.ask(who, body.n), service.session.classes
        board = hide_results(service.board, caller)
        n_answered = service.session.count_answers(who)
        return AskResponse(
            items=views, classes=list(classes), shortcuts=Shortcuts.of(classes), board=board, n_answered=n_answered
        )

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
    """Add the routes to the app by which the owner decides disputed items."""

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
    """Add the routes to the app that return results: status and assessment."""
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


def _add_file_routes(app: FastAPI, service: LabellingService) -> None:
    """Add the routes to the app that return whole documents: report, metrics, overview and answers."""
    throttle = ReadThrottle(rate=2.0, burst=5.0)

    @app.get("/api/report", response_model=dict[str, str], responses=NOT_MODIFIED)
    async def report(request: Request, _: Owner) -> Response:
        """Return the report on the labels so far, one HTML file, as `html`. Owner only."""
        await throttle.wait()
        return send_cached(request, await service.fetch("report"))

    @app.get("/api/metrics", response_class=PlainTextResponse)
    async def metrics(_: Owner) -> str:
        """Return counts for monitoring, in the text format of Prometheus. Owner only."""
        await throttle.wait()
        board = service.board
        values = {
            "labels": board.n_labels,
            "settled": int(board.settled),
            "estimates_stale": int(board.stale),
            "groups": board.n_groups,
        }
        return "".join(f"# TYPE fewlabels_{name} gauge\nfewlabels_{name} {value}\n" for name, value in values.items())

    @app.get("/api/overview")
    async def overview(_: Owner) -> Overview:
        """Return settings, the activity of every annotator and the latest answers. Owner only."""
        await throttle.wait()
        return await run_in_threadpool(service.make_overview)

    @app.get("/api/answers")
    async def answers(_: Owner) -> dict[str, str]:
        """Return every answer, as `csv`. Owner only."""
        await throttle.wait()
        return {"csv": await run_in_threadpool(service.export_answers)}


def _add_read_routes(app: FastAPI, service: LabellingService, throttle: ReadThrottle) -> None:
    """Add the routes to the app that the page reads: who calls, the progress, media and static files."""
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
    """Answer a route of the app with an item's file from the media folder."""
    name = service.find_media(item, column)
    file = service.folder.find(name) if service.folder is not None and name is not None else None
    if file is None:
        raise HTTPException(404, "no such file in the media folder")
    return FileResponse(file, media_type=MEDIA_TYPES[file.suffix.lower()], headers=SANDBOX_HEADERS)


def _serve_file(name: str, kind: str) -> Callable[[], Response]:
    """Make a route of the app that sends a static file of the page."""

    def serve() -> Response:
        return Response((HERE / name).read_bytes(), media_type=kind)

    return serve


def _resolve_caller(who: str, caller: Caller, security_policy: SecurityPolicy, rate_limit: RateLimit) -> str:
    """Return the annotator name of a request to the app; refuse it above the rate limit or with another link's name."""
    limit_rate(rate_limit, caller)
    return resolve_name(caller, who, security_policy.store.read())


def _list_posted_answers(body: TellRequest) -> list[tuple[ItemId, str | None, str]]:
    """List the answers in a request to the app; refuse two for the same item, because their order would be ambiguous."""
    n_of = Counter(str(one.id) for one in body.answers)
    twice = [item for item, n in n_of.items() if n > 1]
    if twice:
        raise InputError(f"answers: more than one for {join_names(map(sanitize_line, twice))}; send one for each item")
    return [(one.id, one.label, one.note) for one in body.answers]


def _make_error_handler(status: int | None, say: Callable[[Any], str]) -> Callable[[Request, Exception], Response]:
    """Make a handler of the app that answers an error with its message as JSON."""

    def explain(_: Request, error: Exception) -> Response:
        code = status or int(getattr(error, "status_code", 500))
        return JSONResponse({"error": say(error)}, code, headers=getattr(error, "headers", None))

    return explain


def _make_unavailable_handler(log: FailureLog, text: str) -> Callable[[Request, Exception], Response]:
    """Make a handler of the app that logs an error and answers it with a 503 to retry."""

    def explain(request: Request, error: Exception) -> Response:
        log.note(describe_request(request.scope), error)
        return JSONResponse({"error": text}, 503, headers={"retry-after": str(RETRY_AFTER)})

    return explain


def _make_unusable_handler(service: LabellingService) -> Callable[[Request, Exception], Response]:
    """Make a handler of the app for a session that cannot be used any more."""

    def explain(request: Request, error: Exception) -> Response:
        service.log.note(describe_request(request.scope), error)
        return JSONResponse({"error": f"{hide_paths(str(error), service.session.files)}; {STOP_LABELLING}"}, 500)

    return explain


def _format_validation_error(error: RequestValidationError) -> str:
    """Describe why a request to the app is invalid: its first wrong field."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return f"{where or 'the request'}: {first['msg']}"
