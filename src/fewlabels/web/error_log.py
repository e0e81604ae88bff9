"""Internal errors: logged with a traceback on standard error, and answered with a 500 without details.

Log entries have the request, the type of the error and the lines of code, never values, which may hold items or tokens.
"""

import json
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fewlabels.sessions.journal.errors import StorageError, UnusableError
from fewlabels.text import sanitize_line

LOGGER = logging.getLogger("fewlabels.web")  # writes to standard error by default
INTERNAL_ERROR = "internal error; reload the page to see what was saved; the server's log says where it happened"
UNAVAILABLE = "the session file cannot be used at the moment (the disk is full, or another process has locked it); nothing was saved; send the request again in a moment"  # fmt: skip
STOP_LABELLING = "stop labelling and tell the owner of the session: nothing can be saved"
RETRY_AFTER = 2  # seconds until a client should retry
REPEAT_SECONDS = 60.0  # seconds between two entries for the same failure
MAX_FAILURES = 1000  # failures kept for deduplication


class JsonFormatter(logging.Formatter):
    """Formats a log entry as one line of JSON: time, level, logger and message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return an error, or another record, as a line of JSON for the log."""
        time_of = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry = {
            "time": time_of,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        return json.dumps(entry, ensure_ascii=False)


class FailureLog:
    """A log of failures, each at most once a minute, so that a request that fails repeatedly does not fill the disk."""

    def __init__(self, write: Callable[[str], None] = LOGGER.error) -> None:
        self._write = write
        self._seen: dict[tuple[str, ...], float] = {}

    def note(self, what: str, error: BaseException) -> None:
        """Log what failed and where."""
        lines = (
            [f"{what[:200]}: {error}"]
            if isinstance(error, StorageError | UnusableError)
            else list(_format_chain(what, error))
        )
        key, now = (type(error).__name__, lines[-1]), time.monotonic()
        if now - self._seen.get(key, -REPEAT_SECONDS) < REPEAT_SECONDS:
            return
        if len(self._seen) >= MAX_FAILURES:
            self._seen.clear()
        self._seen[key] = now
        self._write("\n".join(lines))


def _format_chain(what: str, error: BaseException | None) -> Iterator[str]:
    """Yield the type and the traceback of an error, then of its causes."""
    while error is not None:
        yield f"{what[:200]}: {type(error).__name__}"
        yield "".join(traceback.format_tb(error.__traceback__)).rstrip()
        what, error = "caused by", error.__cause__ or error.__context__


def make_busy_error(why: str, seconds: int = RETRY_AFTER) -> HTTPException:
    """Return the error that answers requests while the session is busy: a 503 with Retry-After."""
    after = str(max(RETRY_AFTER, seconds))
    return HTTPException(503, f"{why}; send the request again in a moment", headers={"retry-after": after})


class ErrorMiddleware:
    """ASGI middleware that logs unhandled errors and answers them with a 500; security headers are added outside it."""

    def __init__(self, app: ASGIApp, log: FailureLog) -> None:
        self.app, self.log = app, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, and log what it raises."""
        has_begun = False

        async def note(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, note)
        except Exception as error:
            self.log.note(describe_request(scope), error)
            if has_begun or scope["type"] != "http":
                raise
            await JSONResponse({"error": INTERNAL_ERROR}, 500)(scope, receive, send)


def describe_request(scope: Scope) -> str:
    """Return method and path for the error log, without the query, which may hold a token."""
    return sanitize_line(f"{scope.get('method', scope['type'])} {scope.get('path', '')}")
