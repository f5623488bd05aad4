"""Keys, scopes and tenants: a walk over all routes with two tenants, and every way to have no good key."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronofy_kg.api import create_app
from chronofy_kg.api.access import PUBLIC, SCOPE_OF, KeyRing
from chronofy_kg.settings import Settings
from chronofy_kg.store.keys import SCOPES, digest_of, split_key

Check = Callable[..., dict[str, Any]]

DOCUMENT = create_app(SimpleNamespace(settings=Settings())).openapi()  # type: ignore[arg-type]
OPERATIONS = {(method.upper(), path) for path in DOCUMENT["paths"] for method in DOCUMENT["paths"][path]}
PRIVATE = sorted(OPERATIONS - PUBLIC)
MARK = "xanthippe"  # in everything that the tenant north stores


def now() -> int:
    return time.time_ns() // 1_000


def url(path: str, **names: str) -> str:
    return path.format(**({"fact_id": "f_1", "answer_id": "a_1", "name": "n", "job_id": "j_1"} | names))


@pytest.fixture(scope="module")
def ring(kb: Any) -> KeyRing:
    return KeyRing(kb.store.keys.all, now, required=True, fresh_s=0.05)


@pytest.fixture(scope="module")
def closed(kb: Any, ring: KeyRing) -> Iterator[TestClient]:
    """A client of a server with keys."""
    with TestClient(create_app(kb, ring=ring), raise_server_exceptions=False) as started:
        yield started


@pytest.fixture(scope="module")
def make_key(kb: Any) -> Callable[..., dict[str, str]]:
    def make(tenant: str, *scopes: str) -> dict[str, str]:
        _, text = kb.store.keys.create(tenant, scopes, "test", now())
        return {"authorization": f"Bearer {text}"}

    return make


@pytest.fixture(scope="module")
def north(make_key: Any) -> dict[str, str]:
    return make_key("north", "read", "write")


@pytest.fixture(scope="module")
def south(make_key: Any) -> dict[str, str]:
    return make_key("south", "read", "write")


@pytest.fixture(scope="module")
def told(closed: TestClient, north: dict[str, str]) -> dict[str, str]:
    """What north stored: ids by the name of their parameter."""
    row = {"subject": MARK, "predicate": MARK, "value": MARK, "source": MARK, "observed_at": "2024-05-01"}
    loaded = closed.post("/v1/facts", json=row, headers=north)
    assert loaded.status_code == 200, loaded.text
    spec = {"text": f"facttype {MARK}: categorical, half_life = 9 d\nspec {MARK}: G validity >= 0.5"}
    assert closed.put(f"/v1/specs/{MARK}", json=spec, headers=north).status_code == 200
    asked = {"pattern": {"subject": MARK}, "at": "2024-05-02"}
    answer = closed.post("/v1/query", json=asked, headers=north).json()
    assert answer["answer"].startswith(f"{MARK} {MARK}: {MARK}")
    job = closed.post("/v1/jobs", json={"kind": "fit", "types": [MARK]}, headers=north).json()
    return {
        "fact_id": loaded.json()["facts"][0], "answer_id": answer["id"], "name": MARK, "job_id": job["id"],
    }  # fmt: skip


def requests_about(told: dict[str, str]) -> dict[tuple[str, str], dict[str, Any]]:
    """For each operation with a tenant, a request that shows north's words to north."""
    step = {"text": "t", "facts": [told["fact_id"]]}
    # The retraction comes last: it takes the fact away.
    return {
        ("GET", "/v1/facts"): {"params": {"subject": MARK}},
        ("GET", "/v1/facts/{fact_id}"): {},
        ("GET", "/v1/facts/{fact_id}/history"): {},
        ("POST", "/v1/query"): {"json": {"pattern": {"subject": MARK}, "at": "2024-05-02"}},
        ("POST", "/v1/verify"): {"json": {"steps": [step], "at": "2024-05-02"}},
        ("GET", "/v1/answers/{answer_id}"): {},
        ("GET", "/v1/answers/{answer_id}/provenance"): {},
        ("GET", "/v1/fact-types"): {},
        ("GET", "/v1/fact-types/{name}"): {},
        ("GET", "/v1/specs"): {},
        ("GET", "/v1/specs/{name}"): {},
        ("PUT", "/v1/specs/{name}"): {"json": {"text": "spec other: G validity >= 0.25"}},
        ("GET", "/v1/jobs"): {},
        ("GET", "/v1/jobs/{job_id}"): {},
        ("POST", "/v1/jobs/{job_id}/cancel"): {},
        ("POST", "/v1/jobs"): {"json": {"kind": "fit", "types": [MARK]}},
        ("POST", "/v1/facts"): {
            "json": {"subject": MARK, "predicate": "other", "value": 1, "observed_at": "2024-01-01"}
        },
        ("POST", "/v1/facts/{fact_id}/retract"): {"json": {}},
    }


def test_every_operation_is_in_one_of_both_tables() -> None:
    assert set(SCOPE_OF) | PUBLIC >= OPERATIONS
    assert set(SCOPE_OF) <= OPERATIONS
    assert not set(SCOPE_OF) & PUBLIC
    assert set(OPERATIONS & PUBLIC) == {
        ("GET", "/healthz/live"),
        ("GET", "/healthz/ready"),
    }
    for method, path in OPERATIONS:
        operation = DOCUMENT["paths"][path][method.lower()]
        if (method, path) in PUBLIC:
            assert operation["security"] == []
        else:
            assert operation["security"] == [{"key": []}]
            assert operation["x-scope"] == SCOPE_OF[method, path]
            assert {"401", "403"} <= set(operation["responses"])


def test_the_walk_has_a_request_for_every_operation_of_a_tenant(told: dict[str, str]) -> None:
    assert set(requests_about(told)) == {key for key, scope in SCOPE_OF.items() if scope != "admin"}


def test_nothing_of_one_tenant_is_visible_to_the_other(
    closed: TestClient, north: dict[str, str], south: dict[str, str], told: dict[str, str]
) -> None:
    """South asks first, so that its writes could show in north's replies too."""
    for (method, path), arguments in requests_about(told).items():
        reply = closed.request(method, url(path, **told), headers=south, **arguments)
        text = reply.text + str(dict(reply.headers))
        sent = json.dumps(arguments) + url(path, **told)
        hidden = [word for word in (MARK, told["fact_id"], told["job_id"]) if word not in sent]
        assert reply.status_code in (200, 202, 404), (method, path, reply.text)
        assert not [word for word in hidden if word in text], (method, path, text)
        if (method, path) == ("POST", "/v1/query"):
            assert reply.json()["verdict"] == "insufficient_evidence"
        if (method, path) == ("POST", "/v1/verify"):
            assert reply.json()["steps"][0]["status"] == "unknown"
        if path.endswith(("/retract", "/cancel")) or (method == "GET" and "{" in path):
            assert reply.status_code == 404, (method, path, reply.text)
        if method == "GET" and "{" not in path:
            assert reply.json()["items"] == []
    assert closed.get("/v1/specs", headers=south).json()["items"][0]["text"].startswith("spec other")
    for (method, path), arguments in requests_about(told).items():
        reply = closed.request(method, url(path, **told), headers=north, **arguments)
        assert reply.status_code in (200, 202), (method, path, reply.text)
        if method == "GET":
            assert MARK in reply.text or told["fact_id"] in reply.text, (method, path, reply.text)
    history = closed.get("/v1/facts", params={"subject": MARK, "history": "true"}, headers=south).json()
    assert [fact["predicate"] for fact in history["items"]] == ["other"]


def test_a_free_query_needs_the_admin_scope(
    closed: TestClient, north: dict[str, str], make_key: Any, assert_problem: Check
) -> None:
    body = {"query": "MATCH (t:Tenant) RETURN count(t) AS n"}
    refused = closed.post("/v1/cypher", json=body, headers=north)
    assert "admin" in assert_problem(refused, 403, "missing-scope")["detail"]
    assert 'error="insufficient_scope", scope="admin"' in refused.headers["www-authenticate"]
    shown = closed.post("/v1/cypher", json=body, headers=make_key("south", "admin"))
    assert shown.status_code == 200
    assert shown.json()["rows"][0][0] >= 2


@pytest.mark.parametrize(("method", "path"), PRIVATE)
def test_scopes(closed: TestClient, make_key: Any, assert_problem: Check, method: str, path: str) -> None:
    """A key with every scope but the one that is needed is refused, before its body is looked at."""
    needed = SCOPE_OF[method, path]
    others = [scope for scope in SCOPES if scope not in (needed, "admin")]
    reply = closed.request(method, url(path), headers=make_key("north", *others), content=b"{")
    assert_problem(reply, 403, "missing-scope")
    admitted = closed.request(method, url(path) + "?nope=1", headers=make_key("north", needed))
    assert_problem(admitted, 422, "invalid-parameter")


@pytest.mark.parametrize(("method", "path"), PRIVATE)
def test_no_key(closed: TestClient, assert_problem: Check, method: str, path: str) -> None:
    reply = closed.request(method, url(path) + "?nope=1", content=b"{")
    assert_problem(reply, 401, "missing-key")
    assert reply.headers["www-authenticate"] == 'Bearer realm="chronofy-kg"'


def test_bad_keys(closed: TestClient, make_key: Any, kb: Any, assert_problem: Check) -> None:
    good = make_key("north", "read")["authorization"]
    other = make_key("north", "read")["authorization"]
    assert closed.get("/v1/facts", headers={"authorization": good}).status_code == 200
    assert (
        closed.get("/v1/facts", headers={"authorization": good.replace("Bearer", "bEARER")}).status_code
        == 200
    )
    mixed = good[:-43] + other[-43:]  # the id of one and the secret of the other
    key = kb.store.keys.all()[-1]
    for bad in (
        good[:-1], good + "x", mixed, "Bearer", "Bearer ", "Basic " + good[7:], good[7:], "Bearer ck__",
        f"Bearer ck_{key.id}_{key.digest[:43]}", "Bearer ck_" + "0" * 12 + "_" + "x" * 43,
        "Bearer é", "x" * 5_000,
    ):  # fmt: skip
        reply = closed.get("/v1/facts", headers={"authorization": bad.encode("utf-8")})
        assert_problem(reply, 401, "missing-key")
        assert reply.headers["www-authenticate"].startswith('Bearer realm="chronofy-kg"')
        assert "ck_" not in reply.text
    twice = closed.get("/v1/facts", headers=[("authorization", good), ("authorization", good)])
    assert_problem(twice, 401, "missing-key")


def test_public_pages_need_no_key(closed: TestClient) -> None:
    for path in ("/", "/docs", "/openapi.json", "/problems", "/problems/missing-key", "/healthz/live"):
        assert closed.get(path).status_code == 200
    assert closed.get("/healthz/ready").json() == {"store": "ok", "sequence": None, "embedder": "off"}


def test_keys_end(closed: TestClient, kb: Any, assert_problem: Check) -> None:
    key, text = kb.store.keys.create("north", ["read"], "short", now())
    old = {"authorization": f"Bearer {text}"}
    assert closed.get("/v1/specs", headers=old).status_code == 200
    _, text = kb.store.keys.rotate(key.id, now())
    fresh = {"authorization": f"Bearer {text}"}
    assert closed.get("/v1/specs", headers=fresh).status_code == 200
    time.sleep(0.1)  # longer than the ring of this server counts as fresh
    assert_problem(closed.get("/v1/specs", headers=old), 401, "missing-key")
    parts = split_key(text)
    assert parts is not None
    kb.store.keys.revoke(parts[0], now())
    time.sleep(0.1)
    assert_problem(closed.get("/v1/specs", headers=fresh), 401, "missing-key")
    _, text = kb.store.keys.create("north", ["read"], "a moment", now(), now() + 300_000)
    assert closed.get("/v1/specs", headers={"authorization": f"Bearer {text}"}).status_code == 200
    time.sleep(0.3)  # the end of a key needs no reading
    assert_problem(closed.get("/v1/specs", headers={"authorization": f"Bearer {text}"}), 401)


def test_the_first_key_closes_a_server_that_runs_and_the_last_does_not_open_it(assert_problem: Check) -> None:
    key = SimpleNamespace(id="0" * 12, is_good=lambda _: bool(good), opens_with=lambda _: True)
    good, keys = [1], []
    ring = KeyRing(lambda: keys, now, fresh_s=0.0)
    kb = SimpleNamespace(tenant="default", fact_types=list, settings=Settings())
    client = TestClient(create_app(kb, ring=ring))  # type: ignore[arg-type]
    assert client.get("/v1/fact-types").json() == {"items": [], "next": None}
    nobody = {"authorization": "Bearer ck_" + "0" * 12 + "_" + "x" * 43}
    assert_problem(client.get("/v1/fact-types", headers=nobody), 401)
    keys.append(key)
    assert_problem(client.get("/v1/fact-types"), 401)
    good.clear()
    assert_problem(client.get("/v1/fact-types"), 401)


def test_unknown_keys_do_not_make_the_server_read_the_store_each_time() -> None:
    reads: list[int] = []
    ring = KeyRing(lambda: reads.append(1) or [], now, required=True, fresh_s=60)  # type: ignore[func-returns-value]
    client = TestClient(create_app(SimpleNamespace(tenant="t", settings=Settings()), ring=ring))  # type: ignore[arg-type]
    began = time.monotonic()
    for number in range(6):
        headers = {"authorization": f"Bearer ck_{number:012x}_{'x' * 43}"}
        assert client.get("/v1/specs", headers=headers).status_code == 401
    assert time.monotonic() - began > 0.8
    assert len(reads) <= 2 + (time.monotonic() - began) / 0.2


def test_only_a_digest_is_kept(kb: Any, make_key: Any) -> None:
    text = make_key("north", "read")["authorization"].removeprefix("Bearer ")
    key_id, secret = split_key(text) or ("", "")
    found = kb.cypher("MATCH (k:ApiKey {id: $id}) RETURN properties(k)", {"id": key_id}).rows[0][0]
    assert found["digest"] == digest_of(secret)
    assert secret not in json.dumps(found)
    (key,) = [key for key in kb.store.keys.all() if key.id == key_id]
    assert key.digest not in repr(key)
    assert (key.tenant, key.scopes, key.name) == ("north", ("read",), "test")
