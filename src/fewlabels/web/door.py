"""Who may come in, and what browsers may do with what they get: checked before any request reaches the desk.

- Host: only names this server goes by, so that a foreign page cannot rebind its own name to it.
- Token: a random one, said in the address of the first visit and kept as a cookie from then on; programs send it along.
- Origin: a request that changes something and comes with a cookie must come from our own page.
- Size: bounded, whether announced or not.
"""

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 1_000_000  # bytes of a request
OURS = "x-fewlabels"  # a header that no foreign page can send without asking first
SAFE = ("GET", "HEAD")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
WELCOME = """<!doctype html><html lang="en"><meta charset="utf-8"><title>fewlabels</title>
<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Go on to the labelling page</a></p></html>"""
REFUSED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>fewlabels</title>
<h1>This page needs its whole address</h1>
<p>Open the address that <code>fewlabels label</code> printed, with everything after the question mark.</p></html>"""


@dataclass(frozen=True)
class Door:
    """What lets people in."""

    hosts: tuple[str, ...]  # as browsers name them, with the port
    secure: bool = False  # behind TLS
    origins: tuple[str, ...] = ()  # of pictures from elsewhere
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    visit: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)  # what the cookie holds

    @property
    def cookie(self) -> str:
        """Its name; browsers send cookies to every port of a host."""
        return f"fewlabels_{self.hosts[0].rpartition(':')[2]}"

    @property
    def headers(self) -> dict[str, str]:
        """What every answer says: nothing from elsewhere, nothing inline, nothing framed, nothing kept."""
        elsewhere = " ".join(("", *self.origins))
        return {
            "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            f"img-src 'self'{elsewhere}; media-src 'self'{elsewhere}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "x-frame-options": "DENY",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), microphone=(), geolocation=()",
            "cache-control": "no-store",
        }  # fmt: skip

    def knows(self, headers: Headers, cookies: Mapping[str, str]) -> str | None:
        """Say how a request shows that it may come in: by token, by cookie, or not at all."""
        kind, _, said = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _is_same(said.strip(), self.token):
            return "token"
        return "cookie" if _is_same(cookies.get(self.cookie, ""), self.visit) else None

    def is_ours(self, headers: Headers) -> bool:
        """Does a request that changes something come from our own page?"""
        origin, scheme = headers.get("origin"), "https" if self.secure else "http"
        return OURS in headers and (origin is None or origin in [f"{scheme}://{host}" for host in self.hosts])


def _is_same(said: str, meant: str) -> bool:
    return hmac.compare_digest(said.encode("utf-8", "surrogateescape"), meant.encode())


class Doorkeeper:
    """Lets a request through to the app, or answers it."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then pass on with what every answer says."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = self._dress(send)
        refusal = self._refuse(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self.app(scope, _bound(receive), send)

    def _refuse(self, scope: Scope) -> Response | None:
        door, headers = self.door, Headers(scope=scope)
        if headers.get("host", "") not in door.hosts:
            return _say(421, "this server does not go by that name")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST:
            return _say(413, f"a request has at most {LARGEST:,} bytes; send answers in several")
        if scope["path"] == "/" and scope["method"] in SAFE:
            said = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if said:
                return self._welcome() if _is_same(said, door.token) else HTMLResponse(REFUSED, 401)
        known = door.knows(headers, _read_cookies(headers))
        if known is None:
            return HTMLResponse(REFUSED, 401) if scope["path"] == "/" else _say(401, "say who you are: Authorization: Bearer TOKEN")  # fmt: skip
        if known == "cookie" and scope["method"] not in SAFE and not door.is_ours(headers):
            return _say(403, "this request does not come from the labelling page")
        return None

    def _welcome(self) -> Response:
        """Exchange the token for a cookie, and leave the address that holds it."""
        answer = HTMLResponse(WELCOME)
        answer.set_cookie(self.door.cookie, self.door.visit, httponly=True, samesite="strict", secure=self.door.secure)
        return answer

    def _dress(self, send: Send) -> Send:
        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.door.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        return dressed


def _bound(receive: Receive) -> Receive:
    """Stop reading a request that is longer than it may be."""
    n = 0

    async def bounded() -> Message:
        nonlocal n
        message = await receive()
        n += len(message.get("body", b""))
        if n > LARGEST:
            return {"type": "http.disconnect"}
        return message

    return bounded


def _read_cookies(headers: Headers) -> dict[str, str]:
    pairs = (part.partition("=") for part in headers.get("cookie", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _say(status: int, error: str) -> JSONResponse:
    return JSONResponse({"error": error}, status)
