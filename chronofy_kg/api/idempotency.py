"""Idempotency-Key: a write that is sent again under the same key is answered with its first reply.

The key belongs to the tenant. Only good replies are kept; a request that failed gives its key free. A key
that comes with another request is refused, and so is one whose first request is still being worked on.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from chronofy_kg.api.problems import ProblemError
from chronofy_kg.api.tenants import seat_of

if TYPE_CHECKING:
    from chronofy_kg.api.strict import StrictRequest

__all__ = ["HEADER", "KEY_PATTERN", "once"]

HEADER = "idempotency-key"
KEY_PATTERN = r"^[!-~]{1,200}$"
_SECOND_US = 1_000_000
_KEPT = ("content-type", "etag", "location")


async def once(request: StrictRequest, work: Callable[[], Awaitable[Response]]) -> Response:
    """Return the reply of a write, or the one that it had before.

    Args:
        request: with the key in a header; without one the work is done.
        work: does it.

    Raises:
        ProblemError: the key is none, belongs to another request, or is being worked on.
    """
    given = request.headers.getlist(HEADER)
    if not given:
        return await work()
    key = given[0]
    if len(given) > 1 or not re.fullmatch(KEY_PATTERN, key):
        detail = "send one of 1 to 200 visible ASCII characters"
        place = {"in": "header", "name": "Idempotency-Key", "detail": detail}
        raise ProblemError("invalid-parameter", f"Idempotency-Key: {detail}", errors=[place])
    settings = request.app.state.tenants.own.kb.settings
    kb = (await seat_of(request)).kb
    log = kb.store.requests(kb.tenant)
    digest = _digest(request, await request.raw_body())
    lease = int((settings.request_timeout_s + 5) * _SECOND_US)
    keep = int(settings.idempotency_hours * 3_600 * _SECOND_US)
    claim = await run_in_threadpool(log.claim, key, digest, time.time_ns() // 1_000, lease, keep)
    if claim.outcome == "other":
        raise ProblemError("idempotency-mismatch", "this Idempotency-Key came with another request before")
    if claim.outcome == "pending":
        raise ProblemError(
            "idempotency-pending", "the first request with this Idempotency-Key is still worked on",
            headers={"Retry-After": "1"},
        )  # fmt: skip
    if claim.outcome == "done":
        headers = {**(claim.headers or {}), "Idempotency-Replayed": "true"}
        return Response(claim.body, claim.status, headers)
    try:
        reply = await work()
        if reply.status_code < 400:
            headers = {name: reply.headers[name] for name in _KEPT if name in reply.headers}
            body = bytes(reply.body).decode()
            await run_in_threadpool(log.finish, key, reply.status_code, headers, body)
            return reply
    except BaseException:
        await run_in_threadpool(log.drop, key)
        raise
    await run_in_threadpool(log.drop, key)
    return reply


def _digest(request: StrictRequest, body: bytes) -> str:
    head = [request.method, request.url.path, request.url.query, request.headers.get("content-type", "")]
    return hashlib.sha256("\n".join(head).encode() + b"\n\n" + body).hexdigest()
