"""A server for the page: where it listens, what address to open, and how it ends."""

import asyncio
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from fewlabels.errors import InputError
from fewlabels.web.app import make_app
from fewlabels.web.connections import BACKLOG, MOST, Connections, Listener, Tracked
from fewlabels.web.desk import Desk
from fewlabels.web.door import LOOPBACK, Door
from fewlabels.web.failures import Log
from fewlabels.web.keys import Kept, keep, recall

TURN = 0.0005  # seconds that a thread may go on while others wait
PATIENCE = 5  # seconds that open requests have to end


@dataclass(frozen=True)
class Place:
    """Where to listen: on this machine alone unless an address is named; port 0 is any that is free."""

    host: str = "127.0.0.1"
    port: int = 0
    certificate: str | None = None
    key: str | None = None

    @property
    def is_private(self) -> bool:
        """Can nobody but this machine reach it?"""
        return self.host in ("127.0.0.1", "localhost", "::1")

    def listen(self) -> socket.socket:
        """Take the port."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        taken = socket.socket(family, socket.SOCK_STREAM)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((self.host, self.port))
            taken.listen()
        except (OSError, OverflowError) as error:
            taken.close()
            raise InputError(f"{self.host}:{self.port} cannot be listened on: {error}; name another --port or --host") from None  # fmt: skip
        return taken


def serve(
    desk: Desk,
    place: Place,
    *,
    names: tuple[str, ...] = (),
    keys: Path | None = None,
    said: Callable[[str], None] = print,
    opens: bool = False,
) -> None:
    """Serve the page until somebody stops it; `said` hears its address once it is there.

    In the file `keys` it keeps what lets people in, so that after a restart their pages go on.
    """
    kept = recall(keys)
    taken = _listen(place, kept)
    port = taken.getsockname()[1]
    known = (*(LOOPBACK if place.is_private else (place.host,)), *names)
    secure = place.certificate is not None
    door = Door(tuple(f"{name}:{port}" for name in known), secure=secure, origins=desk.rules.origins, **kept.secrets)
    keep(keys, port, door)
    address = f"{'https' if secure else 'http'}://{door.hosts[0]}/?token={door.token}"
    server = Server(make_app(desk, door), desk.log, ssl_certfile=place.certificate, ssl_keyfile=place.key)
    with _heeding(server), _taking_turns():
        said(address)
        if opens:
            webbrowser.open(address)
        try:
            server.run_on(taken)
        finally:
            desk.close()
            taken.close()


class Server(uvicorn.Server):
    """A server that bounds its connections, logs failures without what they were about, and leaves signals alone."""

    def __init__(self, app: FastAPI, log: Log, *, most: int = MOST, **more: Any) -> None:
        self._connections, self._log = Connections(log, most), log
        config = uvicorn.Config(
            Tracked(app, self._connections),
            loop="asyncio",  # which asks the listener for connections
            backlog=BACKLOG,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=PATIENCE,
            log_level="critical",
            access_log=False,  # the address of a first visit holds the token
            **more,
        )
        super().__init__(config)

    def run_on(self, taken: socket.socket) -> None:
        """Serve on a listening socket until somebody stops it."""
        with Listener(taken, self._connections) as listener:
            self.run(sockets=[listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin; what fails in the event loop is logged like all else."""
        asyncio.get_running_loop().set_exception_handler(self._note)
        await super().startup(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Look after slow clients once a second; the server ticks ten times."""
        if counter % 10 == 0:
            self._connections.drop_slow()
        return await super().on_tick(counter)

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._log.note("event loop", context.get("exception") or RuntimeError())

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


@contextmanager
def _taking_turns() -> Iterator[None]:
    """Let whoever waits for an answer interrupt the reckoning sooner."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _heeding(server: Server) -> Iterator[None]:
    """Let Ctrl-C, however early, and a polite kill end the server once it has answered those who wait."""

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {sign: signal.signal(sign, stop) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def _listen(place: Place, kept: Kept) -> socket.socket:
    """Take the port that was asked for, else that of last time if it is free, else any."""
    if place.port or not kept.port:
        return place.listen()
    try:
        return replace(place, port=kept.port).listen()
    except InputError:
        return place.listen()
