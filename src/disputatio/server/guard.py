"""The checks of every request: host name (DNS rebinding), origin (CSRF), token, size and speed."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from disputatio.server.faults import Fault, fault_of
from disputatio.server.metrics import Metrics
from disputatio.server.options import Access, Limits
from disputatio.server.replies import fault_response

LOG = logging.getLogger("disputatio.server")

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
OPEN = frozenset({"/api/health"})  # beside the page's own files, what is answered without a token
UPLOADS = "/api/ingest"
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::(\d{1,5}))?")
_IN_ADDRESS = frozenset({"token", "access_token", "api_key", "apikey", "key", "auth", "authorization"})
_LONGEST_TARGET = 8_000
_MOST_HEADERS, _LARGEST_HEADERS = 64, 32_768
_LEAST_RATE = 16_384  # bytes a second that a body has to come at
_METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
_HEADERS = "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version"
_POLICY = "; ".join((
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'",
    "connect-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'",
    "frame-ancestors 'none'",
))  # fmt: skip
SECURITY = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class _Refusal(Exception):
    """The reason that a request is refused; `reason` is its label in the metrics."""

    def __init__(
        self, status: int, reason: str, message: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.status, self.reason, self.message, self.headers = status, reason, message, headers
        super().__init__(message)


class Guard:
    """The application behind all checks."""

    def __init__(
        self, app: ASGIApp, *, access: Access, limits: Limits, metrics: Metrics, files: Iterable[str] = ()
    ) -> None:
        """Wrap an application; `files` are the addresses of the page's files, which need no token."""
        self._app, self._access, self._limits, self._metrics = app, access, limits, metrics
        self._hosts = {name.casefold() for name in (*LOOPBACK, *access.hosts)}
        self._origins = {origin.casefold() for origin in access.origins}
        self._open = OPEN | set(files)
        self._digest = _digest(access.token) if access.token else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["method"] == "HEAD" and scope["path"] in self._open:
            scope = {
                **scope,
                "method": "GET",
            }  # who monitors a server asks so; the HTTP server drops the body
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        answer = self._secure(send, scope, origin)
        try:
            self._check_name(headers, scope)
            self._check_origin(headers, origin)
            if scope["method"] == "OPTIONS" and origin and "access-control-request-method" in headers:
                await self._preflight(scope, receive, answer)
                return
            self._check_token(headers, scope)
            passed = await self._bound_body(headers, scope, receive)
        except _Refusal as refusal:
            self._metrics.refused.labels(refusal.reason).inc()
            fault = Fault(
                status=refusal.status,
                kind="Refused",
                message=refusal.message,
                headers={"Connection": "close", **refusal.headers},
            )
            await fault_response(fault)(scope, receive, answer)
            return
        await self._pass(scope, passed, answer)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; an unexpected error is logged, and the client gets status 500."""
        begun = False

        async def send_and_note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        except Exception as error:
            LOG.exception("a request failed: unexpected error")
            if begun:
                raise  # the connection is closed, so that no client takes a part for the whole
            await fault_response(fault_of(error))(scope, receive, send)

    # --- host, origin, token ----------------------------------------------------------------------
    def _check_name(self, headers: Headers, scope: Scope) -> None:
        """Refuse host names that are not this server's, and malformed addresses."""
        given = headers.getlist("host")
        match = _HOST.fullmatch(given[0]) if len(given) == 1 else None
        if match is None:
            raise _Refusal(400, "host", "a request names one host")
        if match[1].casefold() not in self._hosts:
            raise _Refusal(
                421, "host", "this server does not go by that name: start it with --allow-host NAME"
            )
        size = sum(len(name) + len(value) for name, value in headers.raw)
        if len(headers) > _MOST_HEADERS or size > _LARGEST_HEADERS:
            raise _Refusal(431, "headers", "the headers are too many or too large")
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        if len(raw) + len(scope["query_string"]) > _LONGEST_TARGET:
            raise _Refusal(414, "path", "the address is too long")
        path: str = scope["path"]
        parts = path.split("/")
        if (
            not raw.startswith(b"/")
            or b"//" in raw
            or any(part in (".", "..") for part in parts)
            or any(ord(letter) < 32 or letter in "\\\x7f\ufffd" for letter in path)
        ):
            raise _Refusal(400, "path", "the address is not a plain path")

    def _check_origin(self, headers: Headers, origin: str) -> None:
        """Refuse all requests from pages of other sites."""
        if origin and origin.casefold() in self._origins:
            return
        own = headers["host"].casefold()
        if len(headers.getlist("origin")) > 1 or (
            origin and origin.casefold() not in (f"http://{own}", f"https://{own}")
        ):
            raise _Refusal(
                403, "origin", "pages of other sites may not ask: start the server with --allow-origin ORIGIN"
            )
        site = headers.get("sec-fetch-site", "none")
        if site not in ("same-origin", "none"):
            raise _Refusal(403, "origin", "pages of other sites may not ask")

    def _check_token(self, headers: Headers, scope: Scope) -> None:
        """Refuse requests without the token, and tokens in addresses, which logs would keep."""
        if self._digest is None or (scope["path"] in self._open and scope["method"] in ("GET", "HEAD")):
            return
        query = scope["query_string"].decode("latin-1")
        if any(name.casefold() in _IN_ADDRESS for name, _ in parse_qsl(query, keep_blank_values=True)):
            raise _Refusal(400, "token", "a token goes into the header Authorization, never into an address")
        given = headers.getlist("authorization")
        scheme, _, word = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        known = hmac.compare_digest(_digest(word.strip()), self._digest)  # also where there is none
        if scheme.casefold() != "bearer" or not known:
            raise _Refusal(
                401, "token", "give the token as Authorization: Bearer ...", {"WWW-Authenticate": "Bearer"}
            )

    # --- size and speed ---------------------------------------------------------------------------
    async def _bound_body(self, headers: Headers, scope: Scope, receive: Receive) -> Receive:
        """Return a `receive` that enforces the size and speed of the body.

        Uploads are read piece by piece by their route; other bodies are read here, whole.
        """
        uploads = scope["path"] == UPLOADS and self._access.writing
        most = self._limits.upload if uploads else self._limits.body
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise _Refusal(400, "body", "the length of the body is no number")
        if int(length[:20]) > most:
            raise _Refusal(413, "body", _too_large(most))
        body = _Body(receive, most, self._limits.body_seconds, self._limits.rest_seconds)
        if uploads:
            return body.piece
        try:
            whole = await body.whole()
        except HTTPException as error:
            raise _Refusal(error.status_code, "body", error.detail) from error
        replayed = False

        async def replay() -> Message:
            nonlocal replayed
            if replayed:
                return await receive()
            replayed = True
            return {"type": "http.request", "body": whole, "more_body": False}

        return replay

    # --- headers ----------------------------------------------------------------------------------
    def _secure(self, send: Send, scope: Scope, origin: str) -> Send:
        """Wrap `send`: add the security headers, and count the status in the metrics."""

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api") or message["status"] >= 400:
                    headers.setdefault("cache-control", "no-store")
                if origin and origin.casefold() in self._origins:
                    headers["access-control-allow-origin"] = origin
                    headers["cross-origin-resource-policy"] = "cross-origin"
                    headers["access-control-expose-headers"] = "Content-Location, Retry-After, Mcp-Session-Id"
                    headers.add_vary_header("Origin")
                route = getattr(scope.get("route"), "path", "other")
                self._metrics.requests.labels(route, str(message["status"])).inc()
            await send(message)

        return answer

    async def _preflight(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight request; only pages of allowed origins get the permissions."""
        from starlette.responses import Response

        allowed = Headers(scope=scope)["origin"].casefold() in self._origins
        headers = {"Access-Control-Allow-Methods": _METHODS, "Access-Control-Allow-Headers": _HEADERS}
        await Response(status_code=204, headers=headers if allowed else {})(scope, receive, send)


class _Body:
    """A request body with a bounded size, a minimum speed, and a longest rest between two pieces."""

    def __init__(self, receive: Receive, most: int, seconds: float, rest: float) -> None:
        self._receive, self._most, self._seconds, self._rest = receive, most, seconds, rest
        self._size = 0
        self._over = False
        self._began = asyncio.get_running_loop().time()

    async def piece(self) -> Message:
        """Receive the next message; raises `HTTPException` for a body that is too large or too slow."""
        if self._over:
            return await self._receive()  # the client closing its end
        allowed = self._seconds + self._size / _LEAST_RATE
        left = self._began + allowed - asyncio.get_running_loop().time()
        try:
            message = await asyncio.wait_for(self._receive(), max(min(left, self._rest), 0.001))
        except TimeoutError as error:
            raise HTTPException(408, "the body came too slowly") from error
        self._size += len(message.get("body", b""))
        if self._size > self._most:
            raise HTTPException(413, _too_large(self._most))
        self._over = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def whole(self) -> bytes:
        parts = []
        while not self._over:
            parts.append((await self.piece()).get("body", b""))
        return b"".join(parts)


def _digest(word: str) -> bytes:
    return hashlib.sha256(word.encode("utf-8", "surrogateescape")).digest()


def _too_large(most: int) -> str:
    return f"the body is larger than {most:,} bytes"
