"""Repeatable requests: the reply of a write is kept under the key that its client gave it.

The key is claimed before the work begins. Two claims at once meet at the constraint of the key, whichever
worker they came to: one works, the other is told so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from neo4j import ManagedTransaction

from chronofy_kg.store.connection import Connection, run

__all__ = ["Claim", "RequestLog"]

_PENDING, _FREE = 0, -1


@dataclass(frozen=True, slots=True)
class Claim:
    """What a claim met.

    Attributes:
        outcome: `claimed`: the work is the caller's; `pending`: somebody is at it; `other`: the key was given
            to another request; `done`: the reply is here.
        status, headers, body: of the reply, where it is done.
    """

    outcome: Literal["claimed", "pending", "other", "done"]
    status: int = _PENDING
    headers: Mapping[str, str] | None = None
    body: str = ""


class RequestLog:
    """The requests of a tenant.

    Args:
        connection: the open store.
        tenant: whose requests they are.
    """

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection, self._tenant = connection, tenant

    def claim(self, key: str, digest: str, now_us: int, lease_us: int, keep_us: int) -> Claim:
        """Claim a key, or say what is known of it.

        Args:
            key: that the client gave.
            digest: of the request.
            now_us: the clock.
            lease_us: after so long a claim without a reply counts as given up: its worker has died.
            keep_us: after so long a reply is forgotten.
        """
        there = {"tenant": self._tenant, "key": key}

        def work(tx: ManagedTransaction) -> Claim:
            run(tx, "requests_prune", tenant=self._tenant, before_us=now_us - keep_us)
            found = run(tx, "requests_read", **there, now_us=now_us)
            if not found:
                run(tx, "requests_create", **there, digest=digest, now_us=now_us)
                return Claim("claimed")
            (row,) = found
            age = now_us - row["created_at_us"]
            if row["status"] == _FREE or age > (lease_us if row["status"] == _PENDING else keep_us):
                run(tx, "requests_claim", **there, digest=digest, now_us=now_us)
                return Claim("claimed")
            if row["digest"] != digest:
                return Claim("other")
            if row["status"] == _PENDING:
                return Claim("pending")
            return Claim("done", row["status"], json.loads(row["headers"]), row["body"])

        return self._connection.write(work)

    def finish(self, key: str, status: int, headers: Mapping[str, str], body: str) -> None:
        """Keep the reply of a claimed request."""
        told = {"status": status, "headers": json.dumps(dict(headers)), "body": body}
        self._connection.write(lambda tx: run(tx, "requests_finish", tenant=self._tenant, key=key, **told))

    def drop(self, key: str) -> None:
        """Give up a claim: the work failed, and the key is free."""
        self._connection.write(lambda tx: run(tx, "requests_drop", tenant=self._tenant, key=key))
