"""The uvicorn server of the page: listening, links, signals and shutdown."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from fewlabels.errors import InputError
from fewlabels.web.access_log import AccessLogMiddleware, LogFile
from fewlabels.web.browser import opened_browser
from fewlabels.web.connections import BACKLOG, MAX_CONNECTIONS, ConnectionMiddleware, Connections, Listener
from fewlabels.web.credentials import Credentials, CredentialStore, MemoryStore
from fewlabels.web.error_log import FailureLog
from fewlabels.web.keys_file import KeysFile, change_keys, read_keys
from fewlabels.web.listen_address import ListenAddress
from fewlabels.web.security import SecurityPolicy
from fewlabels.web.service import LabellingService
from fewlabels.web.session_router import SessionRouter

SWITCH_INTERVAL = 0.0005  # seconds that a thread runs while others wait
SHUTDOWN_TIMEOUT = 5  # seconds that open requests have to finish


def serve(
    service: LabellingService,
    make_app: Callable[[LabellingService, SecurityPolicy], FastAPI],
    listen_address: ListenAddress,
    *,
    listening_socket: socket.socket | None = None,
    keys: Path | None = None,
    on_ready: Callable[[Credentials], None] = lambda known: print(*known.list_links(), sep="\n"),
    open_browser: bool = False,
    access_log: LogFile | None = None,
) -> None:
    """Run the web server of the page until it is stopped; `on_ready` is called with the credentials once it listens.

    The file `keys` stores the credentials, so that open pages continue after a restart; changes to it take effect at
    once. `access_log` gets a line of JSON for each request. `listening_socket` is a socket that listens already (see `open_listener`). The service and the socket are always closed.
    """
    with closing(service), listening_socket or open_listener(listen_address, keys) as listening:
        port = listening.getsockname()[1]
        address = listen_address.format_url(port)
        known, store = _save_address(keys, address, port)
        security_policy = _make_policy(listen_address, port, service, store)
        app = make_app(service, security_policy)
        if access_log is not None:
            app.add_middleware(AccessLogMiddleware, file=access_log)
        with _running(app, service.log, listen_address, closing(service)) as server:
            on_ready(known)
            with opened_browser(address, security_policy.codes, keys) if open_browser else nullcontext():
                server.run_on(listening)


@dataclass(frozen=True)
class ServedSession:
    """A session that is served with others: its service, and the file with its credentials."""

    service: LabellingService
    keys: Path


def serve_sessions(
    sessions: Mapping[str, ServedSession],
    make_app: Callable[[LabellingService, SecurityPolicy], FastAPI],
    listen_address: ListenAddress,
    *,
    listening_socket: socket.socket | None = None,
    on_ready: Callable[[Mapping[str, Credentials]], object] = len,
    access_log: LogFile | None = None,
) -> None:
    """Serve several sessions until they are stopped, each below a path with its name; always close them.

    `on_ready` is called with the credentials of every session, which have its links.
    """
    with ExitStack() as stack, listening_socket or open_listener(listen_address) as listening:
        port = listening.getsockname()[1]
        known: dict[str, Credentials] = {}
        apps: dict[str, FastAPI] = {}
        for name, one in sessions.items():
            stack.enter_context(closing(one.service))
            known[name], store = _save_address(one.keys, f"{listen_address.format_url(port)}/{quote(name)}", port)
            apps[name] = make_app(one.service, _make_policy(listen_address, port, one.service, store, name))
            if access_log is not None:
                apps[name].add_middleware(AccessLogMiddleware, file=access_log, session=name)
        log = next(iter(sessions.values())).service.log
        router = SessionRouter(apps, lambda: [one.service.session.progress for one in sessions.values()])
        with _running(router, log, listen_address, stack.pop_all()) as server:
            on_ready(known)
            server.run_on(listening)


@contextmanager
def _running(
    app: ASGIApp, log: FailureLog, listen_address: ListenAddress, services: AbstractContextManager[object]
) -> Iterator["Server"]:
    """Handle signals while a server runs; the services are closed before the handlers are restored."""
    server = Server(app, log, ssl_certfile=listen_address.certificate, ssl_keyfile=listen_address.key)
    with _handling_signals(server), _short_switch_interval(), services:
        yield server


def _make_policy(
    listen_address: ListenAddress, port: int, service: LabellingService, store: CredentialStore, session: str = ""
) -> SecurityPolicy:
    """Make the server's security policy for the address and port that it listens on."""
    return SecurityPolicy(
        listen_address.list_allowed_hosts(port),
        secure=listen_address.is_secure,
        public_origin=listen_address.public_origin,
        origins=service.rules.origins,
        store=store,
        session=session,
    )


def open_listener(listen_address: ListenAddress, keys: Path | None = None) -> socket.socket:
    """Let the server listen on the given port, else on the last one if it is free, else on any; write no file."""
    listen_address.check()
    last = read_keys(keys).port if keys is not None and os.path.lexists(keys) else 0
    if listen_address.port or not last:
        return listen_address.listen()
    try:
        return replace(listen_address, port=last).listen()
    except InputError:
        return listen_address.listen()


def _save_address(keys: Path | None, address: str, port: int) -> tuple[Credentials, CredentialStore]:
    """Store the address that the server listens on, so that links can be printed again."""
    if keys is None:
        known = Credentials.create().served_at(address, port)
        return known, MemoryStore(known)
    return change_keys(keys, lambda found: found.served_at(address, port)), KeysFile(keys)


class Server(uvicorn.Server):
    """A uvicorn server that limits its connections, logs failures without values, and installs no signal handlers."""

    def __init__(self, app: ASGIApp, log: FailureLog, *, max_connections: int = MAX_CONNECTIONS, **more: Any) -> None:
        self._connections, self._log = Connections(log, max_connections), log
        config = uvicorn.Config(
            ConnectionMiddleware(app, self._connections),
            loop="asyncio",  # accepts connections through the listener
            backlog=BACKLOG,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
            log_level="critical",
            access_log=False,  # the URL of a first visit holds the token
            **more,
        )
        super().__init__(config)

    def run_on(self, listening_socket: socket.socket) -> None:
        """Serve on a listening socket until the server is stopped."""
        with Listener(listening_socket, self._connections) as listener:
            self.run(sockets=[listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server; errors in the event loop go to the same log."""
        asyncio.get_running_loop().set_exception_handler(self._note)
        await super().startup(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Close slow connections once a second; the server ticks ten times a second."""
        if counter % 10 == 0:
            self._connections.drop_slow()
        return await super().on_tick(counter)

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error in the server's event loop."""
        self._log.note("event loop", context.get("exception") or RuntimeError())

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers for the server; `serve` does."""
        yield


@contextmanager
def _short_switch_interval() -> Iterator[None]:
    """Let requests to the server interrupt the background computation sooner."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _handling_signals(server: Server) -> Iterator[None]:
    """Handle SIGINT to the server, however early, and SIGTERM: finish open requests, then stop."""

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {sign: signal.signal(sign, stop) for sign in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
