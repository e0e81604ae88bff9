"""The uvicorn server of the page: listening, links, signals and shutdown."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from fewlabels.errors import InputError
from fewlabels.web.addresses import Place
from fewlabels.web.app import make_app
from fewlabels.web.browser import opened_browser
from fewlabels.web.connections import BACKLOG, MOST, Connections, Listener, Tracked
from fewlabels.web.credentials import Credentials, CredentialStore, MemoryStore
from fewlabels.web.error_log import Log
from fewlabels.web.keys_file import KeysFile, change_keys, read_keys
from fewlabels.web.security import Door
from fewlabels.web.service import Desk

TURN = 0.0005  # seconds that a thread runs while others wait
PATIENCE = 5  # seconds that open requests have to finish


def serve(
    desk: Desk,
    place: Place,
    *,
    taken: socket.socket | None = None,
    keys: Path | None = None,
    said: Callable[[Credentials], None] = lambda known: print(*known.list_links(), sep="\n"),
    opens: bool = False,
) -> None:
    """Serve the page until it is stopped; `said` is called with the credentials, which have the links, once it listens.

    The file `keys` stores the credentials, so that open pages continue after a restart; changes to it take effect at
    once. `taken` is a socket that listens already (see `take_port`). The service and the socket are always closed.
    """
    with closing(desk), taken or take_port(place, keys) as listening:
        port = listening.getsockname()[1]
        address = place.spell_address(port)
        known, store = _keep_address(keys, address, port)
        door = Door(place.list_hosts(port), secure=place.scheme == "https", origins=desk.rules.origins, store=store)
        server = Server(make_app(desk, door), desk.log, ssl_certfile=place.certificate, ssl_keyfile=place.key)
        with _heeding(server), _taking_turns(), closing(desk):  # closed before the signal handlers are restored
            said(known)
            with opened_browser(address, door.codes, keys) if opens else nullcontext():
                server.run_on(listening)


def take_port(place: Place, keys: Path | None = None) -> socket.socket:
    """Listen on the given port, else on the last one if it is free, else on any; write no file."""
    place.check()
    last = read_keys(keys).port if keys is not None and os.path.lexists(keys) else 0
    if place.port or not last:
        return place.listen()
    try:
        return replace(place, port=last).listen()
    except InputError:
        return place.listen()


def _keep_address(keys: Path | None, address: str, port: int) -> tuple[Credentials, CredentialStore]:
    """Store the address of the page, so that links can be printed again."""
    if keys is None:
        known = Credentials.create().served_at(address, port)
        return known, MemoryStore(known)
    return change_keys(keys, lambda found: found.served_at(address, port)), KeysFile(keys)


class Server(uvicorn.Server):
    """A uvicorn server that limits its connections, logs failures without values, and installs no signal handlers."""

    def __init__(self, app: FastAPI, log: Log, *, most: int = MOST, **more: Any) -> None:
        self._connections, self._log = Connections(log, most), log
        config = uvicorn.Config(
            Tracked(app, self._connections),
            loop="asyncio",  # accepts connections through the listener
            backlog=BACKLOG,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=PATIENCE,
            log_level="critical",
            access_log=False,  # the URL of a first visit holds the token
            **more,
        )
        super().__init__(config)

    def run_on(self, taken: socket.socket) -> None:
        """Serve on a listening socket until the server is stopped."""
        with Listener(taken, self._connections) as listener:
            self.run(sockets=[listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start; errors in the event loop go to the same log."""
        asyncio.get_running_loop().set_exception_handler(self._note)
        await super().startup(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Close slow connections once a second; the server ticks ten times a second."""
        if counter % 10 == 0:
            self._connections.drop_slow()
        return await super().on_tick(counter)

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._log.note("event loop", context.get("exception") or RuntimeError())

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers; `serve` does."""
        yield


@contextmanager
def _taking_turns() -> Iterator[None]:
    """Let requests interrupt the background computation sooner."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _heeding(server: Server) -> Iterator[None]:
    """Handle SIGINT, however early, and SIGTERM: finish open requests, then stop."""

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {sign: signal.signal(sign, stop) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
