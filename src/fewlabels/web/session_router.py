"""Several sessions under one server: the app of each is below a path of its own, with links and cookies of its own."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from fewlabels.sessions.journal.errors import StorageError, UnusableError
from fewlabels.web.security import HEALTH_PATH

NO_SESSION = "there is no such session on this server; open your link again, or ask the owner of the session"


class SessionRouter:
    """ASGI app that forwards a request for /NAME/path to the app called NAME, as a request for /path.

    Parameters
    ----------
    apps: mapping
        The apps by name.
    check: callable
        Raises `StorageError` where a session cannot be read; called for probes of /healthz.
    """

    def __init__(self, apps: Mapping[str, ASGIApp], check: Callable[[], object]) -> None:
        self._apps, self._check = apps, check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, or answer it."""
        if scope["type"] != "http":  # start and stop of the server, which no app has work to do at: the first answers
            await next(iter(self._apps.values()))(scope, receive, send)
            return
        if scope["path"] == HEALTH_PATH:
            await (await self._check_health())(scope, receive, send)
            return
        name, slash, rest = scope["path"].removeprefix("/").partition("/")
        app = self._apps.get(name)
        if app is None:
            await JSONResponse({"error": NO_SESSION}, 404)(scope, receive, send)
        elif not slash:  # relative, because a proxy may have removed a path in front of it
            await _redirect_to_session(f"{quote(name)}/", scope["query_string"])(scope, receive, send)
        else:
            await app({**scope, "path": f"/{rest}", "raw_path": quote(f"/{rest}").encode()}, receive, send)

    async def _check_health(self) -> Response:
        """Answer probes of the router: all sessions can be read."""
        try:
            await run_in_threadpool(self._check)
        except (StorageError, UnusableError):
            return JSONResponse({"status": "unavailable"}, 503)
        return JSONResponse({"status": "ok"})


def _redirect_to_session(path: str, query: bytes) -> Response:
    """Redirect a request without a trailing slash to the session's page."""
    return RedirectResponse(
        f"{path}?{query.decode('latin-1')}" if query else path, headers={"cache-control": "no-store"}
    )
