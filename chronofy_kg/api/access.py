"""Who may do what: bearer keys, their scopes and tenants, and which scope each operation needs.

`SCOPE_OF` names every operation; one that it does not name needs the admin scope. Where the store has no key
at all the server is open, and listens on loopback only (`serving`). A key that appears while it runs closes
it at once, in every worker.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from chronofy_kg.api.problems import ProblemError
from chronofy_kg.store.keys import SCOPES, ApiKey, Scope, digest_of, split_key

__all__ = ["OPEN", "PUBLIC", "SCOPE_OF", "Caller", "KeyRing", "admit", "scope_of"]

#: Operations that need no key: they tell nothing of any tenant.
PUBLIC = frozenset(
    {
        ("GET", "/"),
        ("GET", "/docs"),
        ("GET", "/openapi.json"),
        ("GET", "/problems"),
        ("GET", "/problems/{slug}"),
        ("GET", "/healthz/live"),
        ("GET", "/healthz/ready"),
    }
)
SCOPE_OF: Mapping[tuple[str, str], Scope] = {
    ("POST", "/v1/facts"): "write",
    ("GET", "/v1/facts"): "read",
    ("GET", "/v1/facts/{fact_id}"): "read",
    ("GET", "/v1/facts/{fact_id}/history"): "read",
    ("POST", "/v1/facts/{fact_id}/retract"): "write",
    ("POST", "/v1/query"): "read",
    ("POST", "/v1/verify"): "read",
    ("GET", "/v1/answers/{answer_id}"): "read",
    ("GET", "/v1/answers/{answer_id}/provenance"): "read",
    ("GET", "/v1/fact-types"): "read",
    ("GET", "/v1/fact-types/{name}"): "read",
    ("GET", "/v1/specs"): "read",
    ("GET", "/v1/specs/{name}"): "read",
    ("PUT", "/v1/specs/{name}"): "write",
    ("POST", "/v1/jobs"): "write",
    ("GET", "/v1/jobs"): "read",
    ("GET", "/v1/jobs/{job_id}"): "read",
    ("POST", "/v1/jobs/{job_id}/cancel"): "write",
    # A free query is not confined to a tenant.
    ("POST", "/v1/cypher"): "admin",
    # The requests of all tenants are counted together.
    ("GET", "/metrics"): "admin",
}
_PAUSE_S = 0.2
_REALM = 'Bearer realm="chronofy-kg"'
# What an unknown id is compared with, so that it takes as long as a wrong secret.
_NOBODY = ApiKey("", "", "", (), digest_of(""), 0, 0)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        tenant: whose facts are meant; None for the server's own tenant.
        scopes: what may be done.
    """

    tenant: str | None = None
    scopes: tuple[Scope, ...] = SCOPES

    def allows(self, scope: Scope) -> bool:
        """Whether it may do what asks for a scope."""
        return scope in self.scopes or "admin" in self.scopes


#: Anybody, on a server without keys.
OPEN = Caller()


class KeyRing:
    """The keys of the store in memory, read again after `fresh_s` seconds: so long may an ended key live on.

    Args:
        read: returns all keys.
        now: the clock, microseconds.
        required: whether requests need a key though none is there.
        fresh_s: seconds that what was read counts as fresh.
    """

    def __init__(
        self,
        read: Callable[[], Sequence[ApiKey]],
        now: Callable[[], int],
        *,
        required: bool = False,
        fresh_s: float = 2.0,
    ) -> None:
        self._read, self._now, self._fresh_s = read, now, fresh_s
        self._lock = threading.Lock()
        self._keys: dict[str, ApiKey] = {}
        self._read_at = -float("inf")
        self._required = required

    @property
    def is_stale(self) -> bool:
        """Whether it must be read again before it is asked."""
        return time.monotonic() - self._read_at > self._fresh_s

    def refresh(self, since: float | None = None) -> None:
        """Read the keys, unless they were read since a monotonic moment (by default: are fresh)."""
        with self._lock:
            began = time.monotonic()
            if self._read_at >= (began - self._fresh_s if since is None else since):
                return  # another thread was first
            keys = self._read()
            self._keys = {key.id: key for key in keys}
            # Once closed it stays closed: revoking the last key must not open a server.
            self._required = self._required or any(key.is_good(self._now()) for key in keys)
            self._read_at = began

    async def look_again(self) -> None:
        """Read the keys as they are now, at most a few times a second whoever asks."""
        arrived = time.monotonic()
        await asyncio.sleep(max(0.0, self._read_at + _PAUSE_S - arrived))
        await run_in_threadpool(self.refresh, arrived)

    @property
    def is_required(self) -> bool:
        """Whether requests need a key."""
        return self._required

    def knows(self, text: str) -> bool:
        """Whether the id of a key's text is on the ring."""
        parts = split_key(text)
        return parts is not None and parts[0] in self._keys

    def find(self, text: str) -> ApiKey | None:
        """Return the good key of this text, None where there is none."""
        key_id, secret = split_key(text) or ("", "")
        key = self._keys.get(key_id, _NOBODY)
        return key if key.opens_with(secret) and key.is_good(self._now()) else None


def scope_of(method: str, template: str) -> Scope | None:
    """Return the scope that an operation needs; None for a public one.

    >>> scope_of("POST", "/v1/something-new")
    'admin'
    """
    return None if (method, template) in PUBLIC else SCOPE_OF.get((method, template), "admin")


async def admit(request: Request, scope: Scope | None) -> Caller:
    """Return who asks, or refuse: 401 without a good key, 403 where it has not the scope."""
    ring: KeyRing | None = request.app.state.ring
    if ring is None or scope is None or request.state.template in request.app.state.opened:
        return OPEN
    if ring.is_stale:
        await run_in_threadpool(ring.refresh)
    given = request.headers.getlist("authorization")
    if not given and not ring.is_required:
        return OPEN
    text = _bearer(given)
    if not ring.knows(text):
        await ring.look_again()  # it may have been made a moment ago
    key = ring.find(text)
    if key is None:
        raise _refused("no such key is in force", 'error="invalid_token"')
    if not key.allows(scope):
        raise ProblemError(
            "missing-scope", f"this needs a key with the scope {scope}",
            headers=_challenge(f'error="insufficient_scope", scope="{scope}"'),
        )  # fmt: skip
    return Caller(key.tenant, key.scopes)


def _bearer(given: Sequence[str]) -> str:
    if not given:
        raise _refused("send Authorization: Bearer and a key")
    kind, _, text = given[0].partition(" ")
    if len(given) > 1 or kind.lower() != "bearer":
        raise _refused("send one Authorization header, of the form: Bearer KEY")
    return text.strip()


def _refused(detail: str, more: str = "") -> ProblemError:
    return ProblemError("missing-key", detail, headers=_challenge(more))


def _challenge(more: str) -> dict[str, Any]:
    return {"WWW-Authenticate": f"{_REALM}, {more}" if more else _REALM}
