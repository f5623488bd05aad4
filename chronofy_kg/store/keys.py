"""API keys: made, read, rotated and ended. The store keeps a digest of a key's secret, never the secret.

A key is the text ``ck_<id>_<secret>``. The secret is 256 random bits, so one round of SHA-256 is enough:
there is nothing to guess. The keys of all tenants live in the store, where every worker reads them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from neo4j import ManagedTransaction

from chronofy_kg.errors import InputError, UnknownNameError
from chronofy_kg.facts import OPEN_US
from chronofy_kg.store.connection import Connection, run

__all__ = ["SCOPES", "ApiKey", "KeyCabinet", "Scope", "digest_of", "split_key"]

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_FORM = re.compile(r"ck_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_MOST_NAME = 200


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is kept of a key.

    Attributes:
        id: the public part of its text.
        tenant: whose facts it opens.
        name: what it is for, in the words of whoever made it.
        scopes: what it may do; `admin` includes the others.
        digest: SHA-256 of the secret, in hexadecimal digits.
        created_at_us, ends_at_us: the half-open period in which it is good, microseconds.
    """

    id: str
    tenant: str
    name: str
    scopes: tuple[Scope, ...]
    digest: str = field(repr=False)
    created_at_us: int
    ends_at_us: int = OPEN_US

    def is_good(self, now_us: int) -> bool:
        """Whether it has not ended."""
        return now_us < self.ends_at_us

    def allows(self, scope: Scope) -> bool:
        """Whether it may do what asks for a scope."""
        return scope in self.scopes or "admin" in self.scopes

    def opens_with(self, secret: str) -> bool:
        """Whether this is its secret, in time that does not depend on the answer."""
        return hmac.compare_digest(digest_of(secret), self.digest)


def digest_of(secret: str) -> str:
    """Return what the store keeps of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def split_key(text: str) -> tuple[str, str] | None:
    """Return the id and the secret of a key's text, None for a text that is no key.

    >>> split_key("ck_0123456789ab_" + "x" * 43)[0]
    '0123456789ab'
    """
    match = _FORM.fullmatch(text)
    return None if match is None else (match[1], match[2])


class KeyCabinet:
    """The keys of a store, of all tenants.

    Args:
        connection: the open store.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[ApiKey]:
        """Return every key, ended ones too, by time of making."""
        found = [
            ApiKey(**{**row, "scopes": tuple(row["scopes"])})
            for row in self._connection.read(lambda tx: run(tx, "keys_read"))
        ]
        return sorted(found, key=lambda key: (key.created_at_us, key.id))

    def create(
        self, tenant: str, scopes: Sequence[Scope], name: str, now_us: int, ends_at_us: int = OPEN_US
    ) -> tuple[ApiKey, str]:
        """Make a key; return it with its text, which nobody can read again.

        Raises:
            InputError: no scope or an unknown one, an end that is past, or a name that is too long.
        """
        key, text = _new_key(tenant, scopes, name, now_us, ends_at_us)
        self._connection.write(lambda tx: _create(tx, key))
        return key, text

    def rotate(self, key_id: str, now_us: int, grace_us: int = 0) -> tuple[ApiKey, str]:
        """Make a key like another one, which ends after a time of grace.

        Raises:
            UnknownNameError: no key has this id.
            InputError: it has ended.
        """
        old = self._find(key_id)
        if not old.is_good(now_us):
            raise InputError(f"key {key_id} has ended; make a new one")
        key, text = _new_key(old.tenant, old.scopes, old.name, now_us, old.ends_at_us)

        def work(tx: ManagedTransaction) -> None:
            _create(tx, key)
            run(tx, "keys_end", id=old.id, ends_at_us=now_us + grace_us)

        self._connection.write(work)
        return key, text

    def revoke(self, key_id: str, now_us: int) -> ApiKey:
        """End a key now; one that has ended stays as it is.

        Raises:
            UnknownNameError: no key has this id.
        """
        self._find(key_id)
        self._connection.write(lambda tx: run(tx, "keys_end", id=key_id, ends_at_us=now_us))
        return self._find(key_id)

    def _find(self, key_id: str) -> ApiKey:
        for key in self.all():
            if key.id == key_id:
                return key
        raise UnknownNameError(f"no key has the id {key_id!r}; chronofy-kg keys list shows them")


def _new_key(
    tenant: str, scopes: Sequence[str], name: str, now_us: int, ends_at_us: int
) -> tuple[ApiKey, str]:
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        what = f"unknown scope {unknown[0]!r}" if unknown else "a key needs a scope"
        raise InputError(f"{what}; there are {', '.join(SCOPES)}")
    if len(name) > _MOST_NAME:
        raise InputError(f"the name of a key has at most {_MOST_NAME} characters")
    if ends_at_us <= now_us:
        raise InputError("the key would have ended already")
    secret, key_id = secrets.token_urlsafe(32), secrets.token_hex(6)
    kept = tuple(scope for scope in SCOPES if scope in scopes)
    key = ApiKey(key_id, tenant, name, kept, digest_of(secret), now_us, ends_at_us)
    return key, f"ck_{key_id}_{secret}"


def _create(tx: ManagedTransaction, key: ApiKey) -> None:
    run(
        tx, "keys_create", id=key.id, tenant=key.tenant, name=key.name, scopes=list(key.scopes),
        digest=key.digest, created_at_us=key.created_at_us, ends_at_us=key.ends_at_us,
    )  # fmt: skip
