"""What comes in, strictly: bodies through one JSON decoder, query strings without anything left over.

First of all a route asks who calls (`access`). `StrictRequest` bounds size and media type of a body;
`StrictRoute` uses it for every route, and refuses query parameters that the route does not have, that repeat,
or that are no clean text. Which fields a body may have is said in `models`.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from email.message import Message
from typing import Any, NoReturn
from urllib.parse import unquote_to_bytes

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from chronofy_kg.api.access import admit, scope_of
from chronofy_kg.api.idempotency import once
from chronofy_kg.api.problems import ProblemError, problem_from
from chronofy_kg.errors import InputError
from chronofy_kg.facts.strict_json import decode_json, escape_pointer

__all__ = ["JSON_TYPE", "NDJSON_TYPE", "StrictRequest", "StrictRoute", "accepts", "explain_validation"]

JSON_TYPE = "application/json"
NDJSON_TYPE = "application/x-ndjson"
MOST_QUERY_BYTES = 32_768
#: A body below this is decoded at once; a larger one in a thread, so that others are served meanwhile.
_SMALL_BODY = 32_768
_MOMENT_S = 0.25
_LOG = logging.getLogger(__name__)


class StrictRequest(Request):
    """A request whose body is bounded and decoded by `chronofy_kg.facts.strict_json`."""

    async def body(self) -> bytes:
        """Return the body, which must be JSON by its media type."""
        return await self.body_of(JSON_TYPE)

    async def body_of(self, *media_types: str) -> bytes:
        """Return the body, which must be of one of these media types, within the size allowed."""
        self._check_declared()
        if self.headers.get("content-length") != "0":
            self._check_media_type(media_types)
        return await self.raw_body()

    async def raw_body(self) -> bytes:
        """Return the body of whatever media type, within the size allowed."""
        if not hasattr(self, "_body"):
            self._body = await self._received(self._check_declared())
        return self._body

    def _check_declared(self) -> int:
        """Return the size allowed, unless the head says already that the body is larger."""
        limit: int = self.app.state.max_body_bytes
        declared = self.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            _too_large(limit)
        return limit

    async def _received(self, limit: int) -> bytes:
        seconds: float = self.app.state.timeout_s
        chunks = bytearray()
        try:
            async with asyncio.timeout(seconds):
                async for chunk in self.stream():
                    chunks += chunk
                    if len(chunks) > limit:
                        _too_large(limit)
        except TimeoutError:
            raise ProblemError("request-timeout", f"the body took longer than {seconds:g} s") from None
        return bytes(chunks)

    async def json(self) -> Any:
        """Return the body decoded."""
        if not hasattr(self, "_decoded"):
            raw = await self.body()
            try:
                decoded = (
                    decode_json(raw) if len(raw) < _SMALL_BODY else await run_in_threadpool(decode_json, raw)
                )
            except InputError as error:
                # The framework would turn any other kind of exception into its own 400.
                raise problem_from(error) from error
            self._decoded = decoded
        return self._decoded

    @property
    def content_type(self) -> str:
        """The media type of the body, without its parameters."""
        return self._media_type()[0]

    def _media_type(self) -> tuple[str, str]:
        message = Message()
        message["content-type"] = self.headers.get("content-type", "")
        return message.get_content_type(), str(message.get_param("charset", "utf-8"))

    def _check_media_type(self, media_types: Sequence[str]) -> None:
        accepted = {"Accept": ", ".join(media_types)}
        if not self.headers.get("content-type"):
            if "content-length" not in self.headers and "transfer-encoding" not in self.headers:
                return  # no body at all: the model says which fields are missing
            raise ProblemError(
                "unsupported-media-type", f"send Content-Type: {media_types[0]}", headers=accepted
            )
        media_type, charset = self._media_type()
        if media_type not in media_types:
            wanted = " or ".join(media_types)
            raise ProblemError("unsupported-media-type", f"send {wanted}, not {media_type[:100]}",
                               headers=accepted)  # fmt: skip
        if charset.lower() not in ("utf-8", "utf8"):
            raise ProblemError(
                "unsupported-media-type", "send UTF-8; JSON has no other encoding", headers=accepted
            )
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise ProblemError("unsupported-media-type", "send the body as it is, without Content-Encoding",
                               headers=accepted)  # fmt: skip


def accepts(headers: Headers, media_type: str) -> bool:
    """Whether a request asks for just this media type; a wildcard does not."""
    ranges = [part.partition(";")[0].strip().lower() for part in headers.get("accept", "").split(",")]
    return media_type in ranges


def _too_large(limit: int) -> NoReturn:
    raise ProblemError("body-too-large", f"the body is over {limit:,} bytes; send less at once")


class StrictRoute(APIRoute):
    """A route that takes nothing it does not know."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the framework's handler."""
        inner = super().get_route_handler()
        known = sorted(_query_names(self.dependant))
        (method,) = self.methods or {"GET"}
        scope = scope_of(method, self.path_format)

        async def handler(request: Request) -> Response:
            request.state.template = self.path_format
            request.state.caller = await admit(request, scope)
            errors = list(_query_errors(request.scope["query_string"], known))
            if errors:
                raise ProblemError(
                    "invalid-parameter", "the query string is not what this path takes", errors=errors
                )
            strict = StrictRequest(request.scope, request.receive)
            work = once(strict, lambda: inner(strict)) if scope == "write" else inner(strict)
            return await _in_time(work, request)

        return handler


#: Work that went on after its caller was told that it takes too long; kept from being collected.
_LEFT_BEHIND: set[asyncio.Future[Response]] = set()


async def _in_time(work: Coroutine[Any, Any, Response], request: Request) -> Response:
    """Return the reply of a handler, unless it takes longer than a request may.

    A thread cannot be stopped, so what takes too long goes on by itself.
    """
    seconds: float = request.app.state.timeout_s
    task = asyncio.ensure_future(work)
    try:
        # A body that arrives too late has its own problem, a moment earlier.
        done, _ = await asyncio.wait({task}, timeout=seconds + _MOMENT_S)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return task.result()
    _LEFT_BEHIND.add(task)
    task.add_done_callback(_forget)
    raise ProblemError("timed-out", f"it took longer than {seconds:g} s, and may still be carried out")


def _forget(task: asyncio.Future[Response]) -> None:
    _LEFT_BEHIND.discard(task)
    if not task.cancelled() and task.exception() is not None:
        _LOG.error("a request that had timed out failed: %r", task.exception())


def _query_names(dependant: Dependant) -> Iterator[str]:
    for field in dependant.query_params:
        yield field.alias
    for below in dependant.dependencies:
        yield from _query_names(below)


def _query_errors(raw: bytes, known: Sequence[str]) -> Iterator[dict[str, str]]:
    if len(raw) > MOST_QUERY_BYTES:
        raise ProblemError("uri-too-long", f"the query string is over {MOST_QUERY_BYTES:,} bytes")
    seen: set[str] = set()
    for pair in filter(None, raw.split(b"&")):
        parts = [unquote_to_bytes(part.replace(b"+", b" ")) for part in pair.split(b"=", 1)]
        name = parts[0].decode("utf-8", "replace")
        detail = _query_error(name, parts[-1], known, seen)
        seen.add(name)
        if detail is not None:
            yield {"in": "query", "name": name[:200], "detail": detail}


def _query_error(name: str, value: bytes, known: Sequence[str], seen: set[str]) -> str | None:
    if name not in known:
        close = difflib.get_close_matches(name[:200], known, n=1)
        return "unknown parameter" + (f"; did you mean {close[0]!r}?" if close else "")
    if name in seen:
        return "given more than once"
    if b"\x00" in value:
        return "contains a NUL character"
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return "is not UTF-8"
    return None


_WORDS = {
    "extra_forbidden": "unknown field",
    "missing": "is missing",
    "model_attributes_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "dict_type": "must be a JSON object",
    "list_type": "must be a JSON array",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
}


def explain_validation(error: RequestValidationError) -> ProblemError:
    """Return the problem of a request that does not fit the models of its route."""
    places = [_place(found) for found in error.errors()]
    if any("pointer" in place for place in places):
        return ProblemError("invalid-body", "the body is not what this path takes", errors=places)
    return ProblemError("invalid-parameter", "a parameter is not what this path takes", errors=places)


def _place(found: dict[str, Any]) -> dict[str, str]:
    where, *path = found["loc"]
    message = str(found["msg"]).removeprefix("Value error, ")
    detail = _WORDS.get(
        found["type"], re.sub(r"^(Input|String|Value|List|Dictionary) should", "must", message)
    )
    if where != "body":
        return {"in": str(where), "name": str(path[-1]) if path else "", "detail": detail}
    keys = [str(key) for key in path if key != "[key]"]
    return {"pointer": "".join("/" + escape_pointer(key) for key in keys), "detail": detail}
