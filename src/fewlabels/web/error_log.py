"""Failures inside the server: a line and a traceback on standard error, and an answer that tells nothing of the inside.

What is logged names the request, the kind of error and the lines of code, never values: they may hold items or tokens.
"""

import logging
import time
import traceback
from collections.abc import Callable, Iterator

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fewlabels.sessions.journal.errors import StorageError, UnusableError
from fewlabels.text import tame_line

LOGGER = logging.getLogger("fewlabels.web")  # on standard error, unless a program sends it elsewhere
INTERNAL = "internal error; reload the page to see what was saved; the server's log says where it happened"
UNAVAILABLE = "the session's file cannot be used at the moment (a full disk, or another process holds it); nothing was saved; send it again in a moment"  # fmt: skip
STOP = "stop labelling and tell the owner of the session: nothing can be saved"
RETRY = 2  # seconds until a client should try again
EVERY = 60.0  # seconds between two entries about the same failure
MOST = 1000  # failures remembered


class Log:
    """Failures, each kind at most once a minute: a request that fails again and again must not fill a disk."""

    def __init__(self, write: Callable[[str], None] = LOGGER.error) -> None:
        self._write = write
        self._seen: dict[tuple[str, ...], float] = {}

    def note(self, what: str, error: BaseException) -> None:
        """Write down what failed and where."""
        lines = (
            [f"{what[:200]}: {error}"]
            if isinstance(error, StorageError | UnusableError)
            else list(_describe(what, error))
        )
        key, now = (type(error).__name__, lines[-1]), time.monotonic()
        if now - self._seen.get(key, -EVERY) < EVERY:
            return
        if len(self._seen) >= MOST:
            self._seen.clear()
        self._seen[key] = now
        self._write("\n".join(lines))


def _describe(what: str, error: BaseException | None) -> Iterator[str]:
    """Yield the kind of an error and the lines of code it came through, then the same of what caused it."""
    while error is not None:
        yield f"{what[:200]}: {type(error).__name__}"
        yield "".join(traceback.format_tb(error.__traceback__)).rstrip()
        what, error = "caused by", error.__cause__ or error.__context__


def say_busy(why: str, seconds: int = RETRY) -> HTTPException:
    """Return the answer to a request that may be sent again in a moment."""
    after = str(max(RETRY, seconds))
    return HTTPException(503, f"{why}; send the request again in a moment", headers={"retry-after": after})


class Failures:
    """Answers a request that failed inside with a 500, in the middle of everything that dresses answers."""

    def __init__(self, app: ASGIApp, log: Log) -> None:
        self.app, self.log = app, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log what it raises."""
        has_begun = False

        async def note(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, note)
        except Exception as error:
            self.log.note(name_request(scope), error)
            if has_begun or scope["type"] != "http":
                raise
            await JSONResponse({"error": INTERNAL}, 500)(scope, receive, send)


def name_request(scope: Scope) -> str:
    """Name a request without its query, which may hold a token."""
    return tame_line(f"{scope.get('method', scope['type'])} {scope.get('path', '')}")
