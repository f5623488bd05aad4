"""`keys`: made, listed, rotated and revoked; the key itself is printed once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chronofy_kg.errors import UnknownNameError
from chronofy_kg.facts.time import OPEN_US
from chronofy_kg.store.keys import ApiKey

KEY = ApiKey("0123456789ab", "north", "ward 3", ("read", "write"), "d" * 64, 1_700_000_000_000_000)


def cabinet(**replies):
    calls = []

    def method(name):
        def call(*args, **keywords):
            calls.append((name, args, keywords))
            if isinstance(replies[name], BaseException):
                raise replies[name]
            return replies[name]

        return call

    return SimpleNamespace(calls=calls, **{name: method(name) for name in replies})


def test_create_prints_the_key_once(run, kb):
    kb.store = SimpleNamespace(keys=cabinet(create=(KEY, "ck_0123456789ab_secret")))
    ran = run(
        "keys", "create", "--scope", "read", "--scope", "write", "--name", "ward 3", "--tenant", "north"
    )
    assert (ran.code, ran.out) == (0, "ck_0123456789ab_secret\n")
    assert "secret" not in ran.err
    assert ran.err.startswith("key 0123456789ab of tenant north, read write; keep it")
    ((_, (tenant, scopes, name, _now), keywords),) = kb.store.keys.calls
    assert (tenant, scopes, name, keywords) == ("north", ["read", "write"], "ward 3", {})


def test_create_with_an_end(run, kb):
    kb.store = SimpleNamespace(keys=cabinet(create=(KEY, "ck_0123456789ab_secret")))
    ran = run("keys", "create", "--scope", "read", "--days", "2", "--json")
    assert ran.json["key"] == "ck_0123456789ab_secret"
    assert (ran.json["created_at"], ran.json["ends_at"]) == ("2023-11-14T22:13:20Z", None)
    ((_, args, keywords),) = kb.store.keys.calls
    assert keywords["ends_at_us"] - args[3] == 2 * 86_400_000_000


def test_a_scope_is_needed(run, kb):
    assert run("keys", "create").code == 2


def test_list(run, kb):
    ended = ApiKey("ba9876543210", "south", "", ("admin",), "d" * 64, 0, 1_000_000)
    kb.store = SimpleNamespace(keys=cabinet(all=[KEY, ended]))
    ran = run("keys", "list", "--json")
    assert [(one["id"], one["status"], one["ends_at"]) for one in ran.json["items"]] == [
        ("0123456789ab", "good", None),
        ("ba9876543210", "ended", "1970-01-01T00:00:01Z"),
    ]
    assert "d" * 64 not in ran.out
    ran = run("keys", "list")
    assert "0123456789ab" in ran.out
    assert "d" * 64 not in ran.out
    kb.store = SimpleNamespace(keys=cabinet(all=[]))
    assert "there are no keys" in run("keys", "list").err


def test_rotate_and_revoke(run, kb):
    kb.store = SimpleNamespace(keys=cabinet(rotate=(KEY, "ck_fresh"), revoke=KEY))
    assert run("keys", "rotate", "0123456789ab", "--grace", "60").out == "ck_fresh\n"
    name, (key_id, _now, grace), _ = kb.store.keys.calls[0]
    assert (name, key_id, grace) == ("rotate", "0123456789ab", 60_000_000)
    assert run("keys", "revoke", "0123456789ab").out == "key 0123456789ab of tenant north has ended\n"
    kb.store = SimpleNamespace(keys=cabinet(revoke=UnknownNameError("no key has the id 'x'")))
    ran = run("keys", "revoke", "x")
    assert (ran.code, ran.err) == (1, "chronofy-kg: no key has the id 'x'\n")


@pytest.mark.parametrize("option", [("--days", "0"), ("--days", "-1"), ("--scope", "root")])
def test_what_makes_no_key(run, kb, option):
    from chronofy_kg.store.keys import _new_key

    def create(tenant, scopes, name, now, ends_at_us=OPEN_US):
        return _new_key(tenant, scopes, name, now, ends_at_us)

    kb.store = SimpleNamespace(keys=SimpleNamespace(create=create))
    assert run("keys", "create", "--scope", "read", *option).code in (1, 2)
