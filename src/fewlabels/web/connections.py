"""Limits on connections: their number, and how long a client may neither send nor read.

Every connection takes a file descriptor of the process, authenticated or not. At the limit, the connection that has
been idle longest is closed for a new one; a connection whose request is being processed stays open.
"""

import errno
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fewlabels.web.error_log import FailureLog

try:
    import resource
except ImportError:  # Windows has no descriptor limit
    MAX_CONNECTIONS = 512
else:
    MAX_CONNECTIONS = min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
BACKLOG = max(8, MAX_CONNECTIONS // 8)  # connections that the operating system queues
State = Literal["waiting", "receiving", "answering", "sending"]  # sending: its client reads
STATE_TIMEOUTS: dict[State, float] = {"waiting": 15.0, "receiving": 30.0, "sending": 30.0}  # seconds
Peer = tuple[str, int]


@dataclass
class Connection:
    """The connection of a client, its state, and since when it has this state."""

    socket: socket.socket
    state: State
    since: float

    def drop(self) -> None:
        """Shut the connection down: reads and writes fail from now on."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


class Connections:
    """All open connections. Use it only from the thread of the event loop."""

    def __init__(self, log: FailureLog, max_connections: int = MAX_CONNECTIONS) -> None:
        self.log, self.max_connections = log, max_connections
        self._open: dict[Peer, Connection] = {}

    def admit(self, client: socket.socket, peer: Peer) -> bool:
        """Register a new connection, at the limit in place of an idle one; False if there is none."""
        if len(self._open) >= self.max_connections:
            self._forget_closed()
        if len(self._open) >= self.max_connections and not self.drop_longest():
            return False
        self._open[peer] = Connection(client, "waiting", time.monotonic())
        return True

    def drop_longest(self) -> bool:
        """Close the connection that has waited longest for its client; return whether there was one."""
        waiting = {peer: one for peer, one in self._open.items() if one.state in ("waiting", "receiving")}
        if not waiting:
            return False
        self._open.pop(min(waiting, key=lambda peer: waiting[peer].since)).drop()
        return True

    def drop_slow(self) -> None:
        """Close connections that exceed the timeout of their state."""
        self._forget_closed()
        now = time.monotonic()
        slow = [
            peer for peer, one in self._open.items() if now - one.since > STATE_TIMEOUTS.get(one.state, float("inf"))
        ]
        for peer in slow:
            self._open.pop(peer).drop()

    def note(self, peer: Peer | None, state: State) -> None:
        """Set the state of a connection, from now on."""
        one = self._open.get(peer) if peer is not None else None
        if one is not None:
            one.state, one.since = state, time.monotonic()

    def _forget_closed(self) -> None:
        """Forget connections that are closed."""
        self._open = {peer: one for peer, one in self._open.items() if one.socket.fileno() >= 0}


class Listener(socket.socket):
    """A listening socket that limits connections as it accepts them, so that TLS handshakes count too."""

    def __init__(self, listening_socket: socket.socket, connections: Connections) -> None:
        super().__init__(fileno=listening_socket.detach())
        self._connections = connections

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection within the limit, and close the others."""
        while True:
            try:
                client, address = super().accept()
            except OSError as error:
                self._free_descriptor(error)
                raise
            if self._connections.admit(client, tuple(address[:2])):
                return client, address
            client.close()

    def _free_descriptor(self, error: OSError) -> None:
        """Close the longest-waiting connection if the process has no file descriptor left for a new one."""
        if error.errno in (errno.EMFILE, errno.ENFILE) and self._connections.drop_longest():
            self._connections.log.note("accepting a connection", error)
            raise BlockingIOError from error  # the event loop retries once the descriptor is free


class ConnectionMiddleware:
    """ASGI middleware that tracks the state of connections."""

    def __init__(self, app: ASGIApp, connections: Connections) -> None:
        self.app, self.connections = app, connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, and update the state of its connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        peer, note = scope.get("client"), self.connections.note
        has_body = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
        note(peer, "receiving" if has_body else "answering")

        async def receive_tracked() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                note(peer, "answering")
            return message

        async def send_tracked(message: Message) -> None:
            note(peer, "sending")
            await send(message)
            note(peer, "answering")

        try:
            await self.app(scope, receive_tracked, send_tracked)
        finally:
            note(peer, "waiting")
