"""Around every request: its id, the headers of its reply, HEAD, the host it may name, and the last resort.

A plain ASGI layer, so that it also covers what never reaches a route. An exception that no handler knows is
logged with the request id and answered as a problem without detail. When the reply has gone, the request is
counted (`metrics`) and logged (`logs`).
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Collection
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chronofy_kg.api.cors import Cors
from chronofy_kg.api.logs import log_request
from chronofy_kg.api.metrics import Metrics
from chronofy_kg.api.problems import ProblemError, problem_from, problem_reply

__all__ = ["Envelope"]

_LOG = logging.getLogger(__name__)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_MOST_PATH_BYTES = 16_384
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_CLIENT_LEFT = 499  # in the log only: nobody was there to be answered


class Envelope:
    """The outermost layer.

    Args:
        app: the layer below.
        metrics: where requests are counted.
        hosts: host names (without port) that a request may name, or None for any. A server on loopback
            names its own: else a web page could reach it through a name that resolves to 127.0.0.1.
        origins: of the web pages that may call; none by default.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        hosts: Collection[str] | None = None,
        origins: Collection[str] = (),
    ) -> None:
        self._app, self._metrics, self._hosts, self._cors = app, metrics, hosts, Cors(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, began = Headers(scope=scope), time.perf_counter()
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        reply = _Reply(scope, send, request_id, headers, self._cors)
        state: dict[str, Any] = {**scope.get("state", {}), "request_id": request_id}
        with self._metrics.in_progress():
            try:
                await self._answer({**scope, "state": state}, receive, reply, headers)
            finally:
                took, template = time.perf_counter() - began, state.get("template")
                self._metrics.count(scope["method"], template, reply.status, took)
                log_request(scope["method"], template, reply.status or _CLIENT_LEFT, took, state)

    async def _answer(self, scope: dict[str, Any], receive: Receive, reply: _Reply, headers: Headers) -> None:
        method, request_id = scope["method"], scope["state"]["request_id"]
        if method == "HEAD":
            scope["method"] = "GET"
        try:
            _check_path(scope)
            self._check_host(headers.get("host", ""))
            if self._cors.is_preflight(method, headers):
                await Response(None, 204, self._cors.preflight_headers())(scope, receive, reply.send)
                return
            await self._app(scope, receive, reply.send)
        except Exception as error:  # the last resort: nothing may leave without its problem
            problem = problem_from(error)
            if problem.status_code >= 500:
                _LOG.exception("request %s failed: %s %s", request_id, method, scope["path"])
            if reply.status is not None:
                raise
            await problem_reply(problem, request_id)(scope, receive, reply.send)

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

    def __init__(self, scope: Scope, send: Send, request_id: str, headers: Headers, cors: Cors) -> None:
        self._send, self._request_id, self._asked, self._cors = send, request_id, headers, cors
        self.status: int | None = None
        self._head = scope["method"] == "HEAD"
        self._volatile = scope["path"].startswith(("/v1/", "/healthz/", "/metrics"))

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self._request_id
            for name, value in _HEADERS.items():
                headers[name] = value
            headers.setdefault("Content-Security-Policy", _NOTHING)
            if self._volatile:
                headers.setdefault("Cache-Control", "no-store")
            self._cors.add_to(headers, self._asked)
        elif self._head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)
