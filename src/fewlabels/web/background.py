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

from fewlabels.sessions.session import Session
from fewlabels.web.error_log import Log, say_busy

POLL = 1.0  # seconds between two polls of the journal, for events of other processes
PAUSE = 0.5  # minimal seconds between two computations of the board
SHARE = 3  # the thread sleeps this many times as long as it computed, so that labelling requests come first
MANY, LONG_PAUSE = 8, 2.0  # above this many waiting clients, results are computed at this interval
MOST_WAITING = 128  # requests that may wait for results; more are refused
WAIT = 30.0  # seconds that a request waits for a new result before it gets the latest one


@dataclass(frozen=True)
class Figures:
    """A computed result as it is sent."""

    body: bytes  # JSON
    tag: str  # entity tag: a hash of the body
    event: int  # number of the last event it includes
    made: float  # time of computation on the monotonic clock


class Background:
    """A thread that computes one result at a time."""

    def __init__(
        self, session: Session, log: Log, refresh: Callable[[], None], kinds: Mapping[str, Callable[[], Any]]
    ) -> None:
        self._session, self._log, self._refresh, self._kinds = session, log, refresh, kinds
        self._latest: dict[str, Figures] = {}
        self._wanted: dict[str, Future[Figures | Exception]] = {}
        self._lock, self._wake, self._demand, self._closed = Lock(), Event(), Event(), Event()
        self._n_fetching, self._n_waiting, self._n_answers = 0, 0, session.progress[1]
        self._thread = Thread(target=self._work, daemon=True, name="figures")
        self.is_stale = False  # computing the board failed

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, and refuse the waiting requests."""
        for event in (self._closed, self._wake, self._demand):
            event.set()
        self._thread.join()
        self._settle(self._take_wanted(), say_busy("the server is stopping"))

    def wake(self) -> None:
        """Signal that an event was written."""
        self._wake.set()

    async def fetch(self, kind: str) -> Figures:
        """Return a result that includes all events up to now, or after a timeout the latest one.

        Call it only from the thread of the event loop.
        """
        if self._n_fetching >= MOST_WAITING:
            raise say_busy("too many clients are reading")
        self._n_fetching += 1
        try:
            wanted = asyncio.wrap_future(self._want(kind))
            done, _ = await asyncio.wait([wanted], timeout=WAIT)
        finally:
            self._n_fetching -= 1
        found = wanted.result() if done else self._latest.get(kind)
        if found is None:
            raise say_busy(f"the {kind} is still being computed")
        if isinstance(found, Exception):
            raise found
        return found

    def _want(self, kind: str) -> Future[Figures | Exception]:
        with self._lock:
            future = self._wanted.setdefault(kind, Future())
            self._n_waiting += 1
        self._demand.set()
        self._wake.set()
        return future

    def _take_wanted(self) -> dict[str, Future[Figures | Exception]]:
        with self._lock:
            wanted, self._wanted, self._n_waiting = self._wanted, {}, 0
            self._demand.clear()
            return wanted

    def _settle(self, wanted: Mapping[str, Future[Figures | Exception]], found: Figures | Exception) -> None:
        for future in wanted.values():
            future.set_result(found)

    def _work(self) -> None:
        while not self._closed.is_set():
            self._wake.wait(POLL)
            self._wake.clear()
            began, n_waiting = time.monotonic(), self._n_waiting
            self._look(self._take_wanted())
            rest = SHARE * (time.monotonic() - began)
            self._closed.wait(max(rest, LONG_PAUSE) if n_waiting > MANY else rest)
            self._demand.wait(PAUSE - rest)

    def _look(self, wanted: Mapping[str, Future[Figures | Exception]]) -> None:
        """Compute the pending results that are out of date; log failures, and retry after the next answer."""
        try:
            event, n_answers = self._session.progress
        except Exception as error:
            self._log.note("reading the journal", error)
            self._settle(wanted, error)
            return
        if n_answers != self._n_answers:
            self._n_answers = n_answers
            self._refresh_board()
        for kind, future in wanted.items():
            future.set_result(self._compute(kind, event))

    def _refresh_board(self) -> None:
        try:
            self._refresh()
            self.is_stale = False
        except Exception as error:
            self.is_stale = True
            self._log.note("computing the board", error)

    def _compute(self, kind: str, event: int) -> Figures | Exception:
        latest = self._latest.get(kind)
        if latest is not None and latest.event == event:
            return latest
        try:
            body = bytes(JSONResponse(jsonable_encoder(self._kinds[kind]())).body)
        except Exception as error:
            self._log.note(f"computing {kind}", error)
            return error
        tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
        self._latest[kind] = Figures(body, tag, event, time.monotonic())
        return self._latest[kind]
