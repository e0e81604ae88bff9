"""GET requests for results: conditional responses with an ETag, and a throttle over all clients."""

import asyncio
import time
from dataclasses import dataclass
from math import ceil

from fastapi import Request
from starlette.responses import Response

from fewlabels.web.background import MAX_WAITING, CachedResponse
from fewlabels.web.error_log import make_busy_error


@dataclass
class ReadThrottle:
    """A rate limit over all clients together, with a burst; some requests wait, and the rest are refused."""

    rate: float = 100.0
    burst: float = 50.0
    max_waiting: int = MAX_WAITING  # requests that may wait
    _next: float = 0.0  # time at which the next request may proceed

    async def wait(self) -> None:
        """Wait until the throttle lets this GET request through. Call it only from the thread of the event loop."""
        now = time.monotonic()
        self._next = max(self._next, now - self.burst / self.rate)
        delay = self._next - now
        if delay * self.rate > self.max_waiting:
            raise make_busy_error("too many clients are reading", ceil(delay))
        self._next += 1 / self.rate
        if delay > 0:
            await asyncio.sleep(delay)


def send_cached(request: Request, cached: CachedResponse) -> Response:
    """Answer a conditional GET: send a result, or 304 if the client has it already (RFC 9110, 13.1.2)."""
    age = int(time.monotonic() - cached.computed_at)
    headers = {"etag": cached.etag, "age": str(age)}
    etags = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    if cached.etag in etags or "*" in etags:
        return Response(status_code=304, headers=headers)
    return Response(cached.body, media_type="application/json", headers=headers)
