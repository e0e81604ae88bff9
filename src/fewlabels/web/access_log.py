"""A log of requests, one line of JSON each: who asked for what, with which result, and how long it took.

It has no query strings (the first visit's holds a token), no bodies and no items.
"""

import json
import time
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fewlabels.text import sanitize_line


@runtime_checkable
class LogFile(Protocol):
    """What lines are written to."""

    def write(self, text: str, /) -> object:
        """Write text to the access log."""
        ...

    def flush(self) -> object:
        """Pass on what was written to the access log."""
        ...


class AccessLogMiddleware:
    """ASGI middleware that writes a line when a response is complete."""

    def __init__(self, app: ASGIApp, file: LogFile, session: str = "") -> None:
        self.app, self.file, self.session = app, file, session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, and note its status and duration."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            self._write(scope, status, time.perf_counter() - began)

    def _write(self, scope: Scope, status: int, seconds: float) -> None:
        """Write the log's line about a request."""
        caller = scope.get("state", {}).get("caller")
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            **({"session": self.session} if self.session else {}),
            "client": scope["client"][0] if scope.get("client") else None,
            "caller": None if caller is None else sanitize_line(caller.name or caller.role),
            "method": scope["method"],
            "path": sanitize_line(scope["path"]),
            "status": status,
            "seconds": round(seconds, 4),
        }
        print(json.dumps(line), file=self.file, flush=True)
