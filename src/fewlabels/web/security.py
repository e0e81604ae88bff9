"""Security checks of every request before it reaches the app, and security headers of every response.

- Host: only host names of this server, against DNS rebinding.
- Credential: a token in the URL of the first visit, exchanged for a cookie; programs send it as a bearer token.
- Origin: a request with a cookie that changes state must come from the labelling page, against cross-site requests.
- Size: limited, whether Content-Length announces it or not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qs, unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fewlabels.web.browser import OneTimeCodes
from fewlabels.web.credentials import UNAVAILABLE, Credential, CredentialStore, KeysUnavailableError, MemoryStore
from fewlabels.web.error_log import RETRY
from fewlabels.web.rate_limit import Pace

LARGEST = 1_000_000  # bytes of a request
OURS = "x-fewlabels"  # header of the page: role and name, or 1; other sites cannot send it without a CORS preflight
INVALID = "This link is no longer valid. Open your link again, or ask the owner of the session for a new one."
REPLACED = "Another link was opened in this browser, so answers would be stored under another name. Reload this page to continue with that link, or open your own link again."  # fmt: skip
RATE, BURST = (
    90.0,
    150.0,
)  # all requests of a credential; below the limit on all reads, so that few of them wait
SAFE = ("GET", "HEAD")
TOO_LONG = f"a request has at most {LARGEST:,} bytes; send answers in several"
WELCOME = """<!doctype html><html lang="en"><meta charset="utf-8"><title>fewlabels</title>
<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Continue to the labelling page</a></p></html>"""
REFUSED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>fewlabels</title>
<h1>This page needs a valid link</h1>
<p>Open your link as <code>fewlabels label</code> printed it, with everything after the question mark.
If it was revoked, ask the owner of the session for a new one.</p></html>"""


@dataclass(frozen=True)
class Door:
    """The accepted hosts, origins and credentials of a server."""

    hosts: tuple[str, ...]  # accepted Host headers
    secure: bool = False  # behind TLS
    origins: tuple[str, ...] = ()  # allowed for images and audio
    store: CredentialStore = field(default_factory=MemoryStore)
    codes: OneTimeCodes = field(default_factory=OneTimeCodes, repr=False)

    @property
    def token(self) -> str:
        """The owner's token."""
        found = self.store.read()
        return "" if found is None else found.owner.token

    @property
    def cookie(self) -> str:
        """The name of the cookie; it has the port, because browsers send cookies to every port of a host."""
        port = re.search(r":(\d+)$", self.hosts[0])
        return f"fewlabels_{port[1] if port else 'page'}"

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every response: no external or inline content, no frames, no caching."""
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

    def authenticate(self, headers: Headers) -> tuple[Credential, Literal["token", "cookie"]] | None:
        """Return the credential of a request and how it was sent; None without a valid one."""
        found, (kind, _, token) = self.store.read(), headers.get("authorization", "").partition(" ")
        if found is None:
            return None
        if kind.lower() == "bearer" and (caller := found.find("token", token.strip())):
            return caller, "token"
        caller = found.find("cookie", _read_cookies(headers).get(self.cookie, ""))
        return None if caller is None else (caller, "cookie")

    def exchange(self, query: Mapping[str, list[str]]) -> Credential | None:
        """Return the credential of a first visit, by its token or its one-time code; None if it is invalid."""
        found = self.store.read()
        if found is None:
            return None
        if "code" in query:
            return found.owner if self.codes.redeem(query["code"][0]) else None
        return found.find("token", query["token"][0])

    def is_ours(self, headers: Headers) -> bool:
        """Return whether a request comes from the labelling page: it has its header and no other origin."""
        origin, scheme = headers.get("origin"), "https" if self.secure else "http"
        return OURS in headers and (origin is None or origin in [f"{scheme}://{host}" for host in self.hosts])


class Doorkeeper:
    """ASGI middleware that forwards a request to the app or refuses it."""

    def __init__(self, app: ASGIApp, door: Door, pace: Pace | None = None) -> None:
        self.app, self.door, self.pace = app, door, pace or Pace(RATE, BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, forward it, and add the security headers to its response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = self._dress(send)
        refusal = self._check(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self.app(scope, _bound(receive), send)

    def _check(self, scope: Scope) -> Response | None:
        try:
            return self._refuse(scope)
        except KeysUnavailableError:
            return JSONResponse({"error": UNAVAILABLE}, 503, headers={"retry-after": str(RETRY)})

    def _refuse(self, scope: Scope) -> Response | None:
        """Return the response to a refused or a first request; None after its credential is attached to the scope."""
        door, headers = self.door, Headers(scope=scope)
        if headers.get("host", "").lower() not in door.hosts:
            return _say(421, "this server does not serve that host name")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > LARGEST:
            return _say(413, TOO_LONG)
        if scope["path"] == "/" and scope["method"] == "GET":
            query = parse_qs(scope["query_string"].decode("latin-1"))
            if query.keys() & {"token", "code"}:
                return self._welcome(door.exchange(query))
        known = door.authenticate(headers)
        if known is None:
            return HTMLResponse(REFUSED, 401) if scope["path"] == "/" else _say(401, INVALID if OURS in headers else "credentials missing or invalid; send Authorization: Bearer TOKEN")  # fmt: skip
        scope["state"] = {**scope.get("state", {}), "caller": known[0]}
        if not self.pace.allows(known[0].token):
            return _say(429, "rate limit exceeded; retry in a moment")
        return self._refuse_foreign(scope, headers, known[0]) if known[1] == "cookie" else None

    def _refuse_foreign(self, scope: Scope, headers: Headers, caller: Credential) -> Response | None:
        """Refuse a request with a cookie from another site, or from a page that was opened with another link."""
        if headers.get(OURS, "1") != "1" and unquote(headers[OURS]) != caller.label:
            return _say(401, REPLACED)
        if scope["method"] not in SAFE and not self.door.is_ours(headers):
            return _say(403, "this request does not come from the labelling page")
        return None

    def _welcome(self, caller: Credential | None) -> Response:
        """Exchange a link for a cookie, and redirect to a URL without the secret."""
        if caller is None:
            return HTMLResponse(REFUSED, 401)
        answer = HTMLResponse(WELCOME)
        answer.set_cookie(self.door.cookie, caller.cookie, httponly=True, samesite="strict", secure=self.door.secure)
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
    """Refuse a request body above the limit that Content-Length did not announce."""
    n = 0

    async def bounded() -> Message:
        nonlocal n
        message = await receive()
        n += len(message.get("body", b""))
        if n > LARGEST:
            raise HTTPException(413, TOO_LONG)
        return message

    return bounded


def _read_cookies(headers: Headers) -> dict[str, str]:
    pairs = (part.partition("=") for part in headers.get("cookie", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _say(status: int, error: str) -> JSONResponse:
    return JSONResponse({"error": error}, status)
