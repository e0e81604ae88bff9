"""A worker thread that computes slow results and caches them until an event arrives; requests never compute them.

The board is recomputed after every answer, including answers that other processes write. Status and assessment are
computed on request; concurrent requests share one result. The service starts the worker.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from hashlib import blake2b
from threading import Event, Lock, Thread
from typing import Any

from fastapi.encoders import jsonable_encoder
from starlette.responses import JSONResponse

from fewlabels.web.error_log import FailureLog, make_busy_error

POLL_SECONDS = 1.0  # seconds between two polls of the journal, for events of other processes
MIN_INTERVAL = 0.5  # minimal seconds between two computations of the board
REST_FACTOR = 3  # the thread sleeps this many times as long as it computed, so that labelling requests come first
MANY_WAITING, LONG_INTERVAL = 8, 2.0  # above this many waiting clients, results are computed at this interval
MAX_WAITING = 128  # requests that may wait for results; more are refused
FETCH_TIMEOUT = 30.0  # seconds that a request waits for a new result before it gets the latest one


@dataclass(frozen=True)
class CachedResponse:
    """A computed result as it is sent."""

    body: bytes  # JSON
    etag: str  # entity tag: a hash of the body
    event: int  # number of the last event it includes
    computed_at: float  # time of computation on the monotonic clock


class BackgroundWorker:
    """A thread that computes one result at a time.

    `read_progress` returns the number of the last event, and how many answers were given or changed.
    """

    def __init__(
        self,
        read_progress: Callable[[], tuple[int, int]],
        log: FailureLog,
        refresh: Callable[[], None],
        computations: Mapping[str, Callable[[], Any]],
    ) -> None:
        self._read_progress, self._log = read_progress, log
        self._refresh, self._computations = refresh, computations
        self._latest: dict[str, CachedResponse] = {}
        self._pending: dict[str, Future[CachedResponse | Exception]] = {}
        self._lock, self._wake, self._demand, self._closed = Lock(), Event(), Event(), Event()
        self._n_fetching, self._n_waiting, self._n_answers = 0, 0, read_progress()[1]
        self._thread = Thread(target=self._run, daemon=True, name="figures")
        self.is_stale = False  # computing the board failed

    def start(self) -> None:
        """Start the worker's background thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the worker's background thread, and refuse the waiting requests."""
        for event in (self._closed, self._wake, self._demand):
            event.set()
        self._thread.join()
        self._resolve_futures(self._take_pending(), make_busy_error("the server is stopping"))

    def wake(self) -> None:
        """Signal the background worker that an event was written."""
        self._wake.set()

    async def fetch(self, kind: str) -> CachedResponse:
        """Return a result that includes all events up to now, or after a timeout the latest one.

        Call it only from the thread of the event loop.
        """
        if self._n_fetching >= MAX_WAITING:
            raise make_busy_error("too many clients are reading")
        self._n_fetching += 1
        try:
            pending = asyncio.wrap_future(self._request(kind))
            done, _ = await asyncio.wait([pending], timeout=FETCH_TIMEOUT)
        finally:
            self._n_fetching -= 1
        found = pending.result() if done else self._latest.get(kind)
        if found is None:
            raise make_busy_error(f"the {kind} is still being computed")
        if isinstance(found, Exception):
            raise found
        return found

    def _request(self, kind: str) -> Future[CachedResponse | Exception]:
        """Ask the worker for a result, and return its future."""
        with self._lock:
            future = self._pending.setdefault(kind, Future())
            self._n_waiting += 1
        self._demand.set()
        self._wake.set()
        return future

    def _take_pending(self) -> dict[str, Future[CachedResponse | Exception]]:
        """Take the requests that wait for the worker."""
        with self._lock:
            pending, self._pending, self._n_waiting = self._pending, {}, 0
            self._demand.clear()
            return pending

    def _resolve_futures(
        self, pending: Mapping[str, Future[CachedResponse | Exception]], found: CachedResponse | Exception
    ) -> None:
        """Answer the requests that wait for a result of the worker."""
        for future in pending.values():
            future.set_result(found)

    def _run(self) -> None:
        """Compute, in the background thread, what is requested; rest in proportion."""
        while not self._closed.is_set():
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()
            began, n_waiting = time.monotonic(), self._n_waiting
            self._run_pending(self._take_pending())
            rest = REST_FACTOR * (time.monotonic() - began)
            self._closed.wait(max(rest, LONG_INTERVAL) if n_waiting > MANY_WAITING else rest)
            self._demand.wait(MIN_INTERVAL - rest)

    def _run_pending(self, pending: Mapping[str, Future[CachedResponse | Exception]]) -> None:
        """Compute the pending results that are out of date; log failures, and retry after the next answer."""
        try:
            event, n_answers = self._read_progress()
        except Exception as error:
            self._log.note("reading the journal", error)
            self._resolve_futures(pending, error)
            return
        if n_answers != self._n_answers:
            self._n_answers = n_answers
            self._refresh_board()
        for kind, future in pending.items():
            future.set_result(self._compute(kind, event))

    def _refresh_board(self) -> None:
        """Compute the board again in the background; log a failure and keep the old one."""
        try:
            self._refresh()
            self.is_stale = False
        except Exception as error:
            self.is_stale = True
            self._log.note("computing the board", error)

    def _compute(self, kind: str, event: int) -> CachedResponse | Exception:
        """Compute a result in the background, or return the latest one if no event arrived since."""
        latest = self._latest.get(kind)
        if latest is not None and latest.event == event:
            return latest
        try:
            body = bytes(JSONResponse(jsonable_encoder(self._computations[kind]())).body)
        except Exception as error:
            self._log.note(f"computing {kind}", error)
            return error
        etag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
        self._latest[kind] = CachedResponse(body, etag, event, time.monotonic())
        return self._latest[kind]
