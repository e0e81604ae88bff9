"""Security checks of every request before it reaches the app, and security headers of every response.

- Host: only host names of this server, against DNS rebinding.
- Credential: a token in the URL of the first visit, exchanged for a cookie; programs send it as a bearer token.
- Origin: a request with a cookie that changes state must come from the labelling page, against cross-site requests.
- Size: limited, whether Content-Length announces it or not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal
from urllib.parse import parse_qs, unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fewlabels.web.credentials import UNAVAILABLE, Credential, CredentialStore, KeysUnavailableError, MemoryStore
from fewlabels.web.error_log import RETRY_AFTER
from fewlabels.web.one_time_codes import OneTimeCodes
from fewlabels.web.rate_limit import RateLimit

MAX_REQUEST_BYTES = 1_000_000  # bytes of a request
PAGE_HEADER = (
    "x-fewlabels"  # header of the page: role and name, or 1; other sites cannot send it without a CORS preflight
)
INVALID_LINK = "This link is no longer valid. Open your link again, or ask the owner of the session for a new one."
REPLACED_LINK = "Another link was opened in this browser, so answers would be stored under another name. Reload this page to continue with that link, or open your own link again."  # fmt: skip
RATE, BURST = (
    90.0,
    150.0,
)  # all requests of a credential; below the limit on all reads, so that few of them wait
SAFE_METHODS = ("GET", "HEAD")
TOO_LARGE = f"a request has at most {MAX_REQUEST_BYTES:,} bytes; send answers in several"
HEALTH_PATH = "/healthz"
SIGNED_IN_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>fewlabels</title>
<meta http-equiv="refresh" content="0;url=./"><p><a href="./">Continue to the labelling page</a></p></html>"""
UNAUTHORIZED_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>fewlabels</title>
<h1>This page needs a valid link</h1>
<p>Open your link as <code>fewlabels label</code> printed it, with everything after the question mark.
If it was revoked, ask the owner of the session for a new one.</p></html>"""


@dataclass(frozen=True)
class SecurityPolicy:
    """The accepted hosts, origins and credentials of a server."""

    hosts: tuple[str, ...]  # accepted Host headers
    secure: bool = False  # behind TLS
    public_origin: str = ""  # of a reverse proxy
    origins: tuple[str, ...] = ()  # allowed for images and audio
    store: CredentialStore = field(default_factory=MemoryStore)
    codes: OneTimeCodes = field(default_factory=OneTimeCodes, repr=False)
    session: str = ""  # name of the session, if the server has several

    @property
    def token(self) -> str:
        """The owner's token."""
        found = self.store.read()
        return "" if found is None else found.owner.token

    @property
    def cookie(self) -> str:
        """The name of the cookie; it has the port, because browsers send cookies to every port of a host."""
        port = re.search(r":(\d+)$", self.hosts[0])
        of_session = f"_{sha256(self.session.encode()).hexdigest()[:12]}" if self.session else ""
        return f"fewlabels_{port[1] if port else 'page'}{of_session}"

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every response: no external or inline content, no frames, no caching."""
        allowed_origins = " ".join(("", *self.origins))
        return {
            "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            f"img-src 'self'{allowed_origins}; media-src 'self'{allowed_origins}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
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

    def is_same_origin(self, headers: Headers) -> bool:
        """Return whether a request comes from the labelling page: it has its header and no other origin."""
        origin, scheme = headers.get("origin"), "https" if self.secure else "http"
        accepted = {f"{scheme}://{host}" for host in self.hosts} | {self.public_origin} - {""}
        return PAGE_HEADER in headers and (origin is None or origin in accepted)


class SecurityMiddleware:
    """ASGI middleware that forwards a request to the app or refuses it."""

    def __init__(self, app: ASGIApp, security_policy: SecurityPolicy, rate_limit: RateLimit | None = None) -> None:
        self.app, self.security_policy, self.rate_limit = app, security_policy, rate_limit or RateLimit(RATE, BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, forward it, and add the security headers to its response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = self._add_headers(send)
        refusal = self._check(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self.app(scope, _limit_size(receive), send)

    def _check(self, scope: Scope) -> Response | None:
        """Return the response to a request that fails the security checks; None for one that passes."""
        if scope["path"] == HEALTH_PATH:  # probes come by address and have no credential
            return None
        try:
            return self._refuse_request(scope)
        except KeysUnavailableError:
            return JSONResponse({"error": UNAVAILABLE}, 503, headers={"retry-after": str(RETRY_AFTER)})

    def _refuse_request(self, scope: Scope) -> Response | None:
        """Return the response to a refused or a first request; None after its credential is attached to the scope."""
        security_policy, headers = self.security_policy, Headers(scope=scope)
        if headers.get("host", "").lower() not in security_policy.hosts:
            return _json_error(421, "this server does not serve that host name")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > MAX_REQUEST_BYTES:
            return _json_error(413, TOO_LARGE)
        if scope["path"] == "/" and scope["method"] == "GET":
            query = parse_qs(scope["query_string"].decode("latin-1"))
            if query.keys() & {"token", "code"}:
                return self._set_cookie(security_policy.exchange(query))
        known = security_policy.authenticate(headers)
        if known is None:
            return HTMLResponse(UNAUTHORIZED_PAGE, 401) if scope["path"] == "/" else _json_error(401, INVALID_LINK if PAGE_HEADER in headers else "credentials missing or invalid; send Authorization: Bearer TOKEN")  # fmt: skip
        scope["state"] = {**scope.get("state", {}), "caller": known[0]}
        if not self.rate_limit.allows(known[0].token):
            return _json_error(429, "rate limit exceeded; retry in a moment")
        return self._refuse_cross_site(scope, headers, known[0]) if known[1] == "cookie" else None

    def _refuse_cross_site(self, scope: Scope, headers: Headers, caller: Credential) -> Response | None:
        """Refuse a request with a cookie from another site, or from a page that was opened with another link."""
        if headers.get(PAGE_HEADER, "1") != "1" and unquote(headers[PAGE_HEADER]) != caller.identity:
            return _json_error(401, REPLACED_LINK)
        if scope["method"] not in SAFE_METHODS and not self.security_policy.is_same_origin(headers):
            return _json_error(403, "this request does not come from the labelling page")
        return None

    def _set_cookie(self, caller: Credential | None) -> Response:
        """Exchange a link for a cookie, and redirect to a URL without the secret."""
        if caller is None:
            return HTMLResponse(UNAUTHORIZED_PAGE, 401)
        answer = HTMLResponse(SIGNED_IN_PAGE)
        answer.set_cookie(
            self.security_policy.cookie,
            caller.cookie,
            httponly=True,
            samesite="strict",
            secure=self.security_policy.secure,
        )
        return answer

    def _add_headers(self, send: Send) -> Send:
        """Add the security headers to a response."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.security_policy.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        return send_with_headers


def _limit_size(receive: Receive) -> Receive:
    """Refuse, for security, a request body above the limit that Content-Length did not announce."""
    n = 0

    async def receive_limited() -> Message:
        nonlocal n
        message = await receive()
        n += len(message.get("body", b""))
        if n > MAX_REQUEST_BYTES:
            raise HTTPException(413, TOO_LARGE)
        return message

    return receive_limited


def _read_cookies(headers: Headers) -> dict[str, str]:
    """Return the cookies of a request, by which security authenticates it."""
    pairs = (part.partition("=") for part in headers.get("cookie", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _json_error(status: int, error: str) -> JSONResponse:
    """Return the response to a request that security refuses, as JSON."""
    return JSONResponse({"error": error}, status)
