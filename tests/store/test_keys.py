"""API keys in the graph, on every engine."""

from __future__ import annotations

import pytest

from chronofy_kg.errors import InputError, UnknownNameError
from chronofy_kg.facts import OPEN_US
from chronofy_kg.store import GraphStore
from chronofy_kg.store.keys import split_key

pytestmark = [pytest.mark.engine, pytest.mark.newest]


def secret_of(text: str) -> str:
    parts = split_key(text)
    assert parts is not None
    return parts[1]


def test_made_read_rotated_and_ended(store: GraphStore, tenant: str) -> None:
    cabinet = store.keys
    key, text = cabinet.create(tenant, ["write", "read"], "loader", 1_000)
    assert (key.scopes, key.ends_at_us, key.tenant) == (("read", "write"), OPEN_US, tenant)
    assert [found for found in cabinet.all() if found.tenant == tenant] == [key]
    assert key.opens_with(secret_of(text))
    assert not key.opens_with(secret_of(text)[:-1])
    fresh, other = cabinet.rotate(key.id, 2_000, grace_us=500)
    assert other != text
    old, new = (found for found in cabinet.all() if found.tenant == tenant)
    assert (old.id, old.ends_at_us, new) == (key.id, 2_500, fresh)
    assert [old.is_good(now) for now in (1_000, 2_499, 2_500)] == [True, True, False]
    assert (fresh.scopes, fresh.name) == (key.scopes, key.name)
    assert not fresh.opens_with(secret_of(text))
    assert cabinet.revoke(fresh.id, 3_000).ends_at_us == 3_000
    assert cabinet.revoke(fresh.id, 4_000).ends_at_us == 3_000  # an end never moves to later
    with pytest.raises(InputError, match="has ended"):
        cabinet.rotate(fresh.id, 5_000)


def test_what_is_refused(store: GraphStore, tenant: str) -> None:
    for scopes in ([], ["root"], ["read", "READ"]):
        with pytest.raises(InputError, match="scope"):
            store.keys.create(tenant, scopes, "", 1_000)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ended already"):
        store.keys.create(tenant, ["read"], "", 1_000, 1_000)
    with pytest.raises(UnknownNameError, match="keys list"):
        store.keys.revoke("nope", 1_000)
    assert [key for key in store.keys.all() if key.tenant == tenant] == []


def test_admin_includes_the_others(store: GraphStore, tenant: str) -> None:
    key, _ = store.keys.create(tenant, ["admin"], "", 1_000)
    assert [key.allows(scope) for scope in ("read", "write", "admin")] == [True, True, True]  # type: ignore[arg-type]
    key, _ = store.keys.create(tenant, ["write"], "", 1_000)
    assert [key.allows(scope) for scope in ("read", "write", "admin")] == [False, True, False]  # type: ignore[arg-type]
