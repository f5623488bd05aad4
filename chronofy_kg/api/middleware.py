"""Around every request: its id, the headers of its reply, HEAD, the host it may name, and the last resort.

A plain ASGI layer, so that it also covers what never reaches a route. An exception that no handler knows is
logged with the request id and answered as a problem without detail.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Collection
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chronofy_kg.api.problems import ProblemError, problem_from, problem_reply

__all__ = ["Envelope"]

_LOG = logging.getLogger(__name__)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_MOST_PATH_BYTES = 16_384
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


class Envelope:
    """The outermost layer.

    Args:
        app: the layer below.
        hosts: host names (without port) that a request may name, or None for any. A server on loopback
            names its own: else a web page could reach it through a name that resolves to 127.0.0.1.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None = None) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        reply = _Reply(scope, send, request_id)
        inner: dict[str, Any] = dict(scope)
        inner["state"] = {**scope.get("state", {}), "request_id": request_id}
        if scope["method"] == "HEAD":
            inner["method"] = "GET"
        try:
            _check_path(scope)
            self._check_host(headers.get("host", ""))
            await self._app(inner, receive, reply.send)
        except Exception as error:  # the last resort: nothing may leave without its problem
            problem = problem_from(error)
            if problem.status_code >= 500:
                _LOG.exception("request %s failed: %s %s", request_id, scope["method"], scope["path"])
            if reply.started:
                raise
            await problem_reply(problem, request_id)(inner, receive, reply.send)

    def _check_host(self, host: str) -> None:
        if self._hosts is None:
            return
        name = re.sub(r":\d*$", "", host).strip("[]").lower()
        if name not in self._hosts:
            raise ProblemError(
                "misdirected", f"this server answers for {', '.join(sorted(self._hosts))} only"
            )


def _check_path(scope: Scope) -> None:
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape")
    if len(raw) > _MOST_PATH_BYTES:
        raise ProblemError("uri-too-long", f"the path is over {_MOST_PATH_BYTES:,} bytes")
    path = unquote_to_bytes(raw)
    if b"\x00" in path:
        raise ProblemError("bad-request", "the path contains a NUL character")
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        raise ProblemError("bad-request", "the path is not UTF-8") from None


class _Reply:
    """Passes a reply on, with the headers that every reply has."""

    def __init__(self, scope: Scope, send: Send, request_id: str) -> None:
        self._send, self._request_id, self.started = send, request_id, False
        self._head = scope["method"] == "HEAD"
        self._volatile = scope["path"].startswith(("/v1/", "/healthz/"))

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self._request_id
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("Content-Security-Policy", _NOTHING)
            if self._volatile:
                headers["Cache-Control"] = "no-store"
        elif self._head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)
