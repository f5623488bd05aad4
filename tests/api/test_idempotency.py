"""Idempotency-Key: the same request again has its first reply; nothing is done twice."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronofy_kg.api import create_app

Check = Callable[..., dict[str, Any]]


def row(subject: str, value: float = 1.0) -> dict[str, Any]:
    return {"subject": subject, "predicate": "idem", "value": value, "observed_at": "2024-05-01"}


def key(name: str) -> dict[str, str]:
    return {"idempotency-key": name}


def test_the_same_request_again_has_the_same_reply(client: TestClient) -> None:
    first = client.post("/v1/facts", json=row("i1"), headers=key("one"))
    again = client.post("/v1/facts", json=row("i1"), headers=key("one"))
    assert (first.status_code, first.json()["added"]) == (200, 1)
    assert (again.status_code, again.content) == (200, first.content)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["content-type"] == "application/json"
    assert client.post("/v1/facts", json=row("i1"), headers=key("two")).json()["added"] == 0


def test_a_job_is_started_once(client: TestClient) -> None:
    body = {"kind": "mine"}
    first, again = (client.post("/v1/jobs", json=body, headers=key("job")) for _ in range(2))
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["id"] == again.json()["id"]
    assert first.headers["location"] == again.headers["location"]


def test_another_request_under_the_key_is_refused(client: TestClient, assert_problem: Check) -> None:
    assert client.post("/v1/facts", json=row("i2"), headers=key("other")).status_code == 200
    for reply in (
        client.post("/v1/facts", json=row("i2", 2.0), headers=key("other")),
        client.post("/v1/facts?on_error=skip", json=row("i2"), headers=key("other")),
        client.post("/v1/jobs", json={"kind": "mine"}, headers=key("other")),
    ):
        assert_problem(reply, 422, "idempotency-mismatch")


def test_a_request_that_failed_gives_its_key_free(client: TestClient, assert_problem: Check) -> None:
    assert_problem(client.post("/v1/facts", json={"subject": "i3"}, headers=key("free")), 422)
    assert client.post("/v1/facts", json=row("i3"), headers=key("free")).json()["added"] == 1


@pytest.mark.parametrize("bad", ["", "a b", "x" * 201, "é"])
def test_keys_that_are_none(client: TestClient, assert_problem: Check, bad: str) -> None:
    reply = client.post("/v1/facts", json=row("i4"), headers={"idempotency-key": bad.encode()})
    body = assert_problem(reply, 422, "invalid-parameter")
    assert (body["errors"][0]["in"], body["errors"][0]["name"]) == ("header", "Idempotency-Key")


def test_at_once_one_works_and_the_others_are_told(kb: Any, assert_problem: Check) -> None:
    """Two workers on one store, eight requests with one key."""
    go, loads = threading.Event(), []
    real = kb.load

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(kb, name)

        def load(self, rows: Any) -> Any:
            loads.append(1)
            assert go.wait(10)
            return real(rows)

    clients = [TestClient(create_app(Slow()), raise_server_exceptions=False) for _ in range(2)]  # type: ignore[arg-type]
    with ThreadPoolExecutor(8) as pool:
        sent = [
            pool.submit(clients[n % 2].post, "/v1/facts", json=row("i5"), headers=key("at-once"))
            for n in range(8)
        ]  # fmt: skip
        told = []
        while len(told) < 7:
            told = [one.result() for one in sent if one.done()]
        for reply in told:
            assert_problem(reply, 409, "idempotency-pending")
            assert reply.headers["retry-after"] == "1"
        go.set()
        replies = [one.result() for one in sent]
    assert sorted(reply.status_code for reply in replies) == [200] + [409] * 7
    assert loads == [1]
    assert clients[1].post("/v1/facts", json=row("i5"), headers=key("at-once")).json()["added"] == 1
    assert loads == [1]


def test_a_claim_whose_worker_died_is_taken_over_and_old_replies_are_forgotten(kb: Any) -> None:
    log = kb.store.requests("idem-tenant")
    assert log.claim("k", "d", 1_000, lease_us=100, keep_us=1_000).outcome == "claimed"
    assert log.claim("k", "d", 1_050, lease_us=100, keep_us=1_000).outcome == "pending"
    assert log.claim("k", "e", 1_050, lease_us=100, keep_us=1_000).outcome == "other"
    assert log.claim("k", "e", 1_101, lease_us=100, keep_us=1_000).outcome == "claimed"
    log.finish("k", 200, {"a": "b"}, "text é")
    done = log.claim("k", "e", 2_000, lease_us=100, keep_us=1_000)
    assert (done.outcome, done.status, done.headers, done.body) == ("done", 200, {"a": "b"}, "text é")
    assert kb.store.requests("other-tenant").claim("k", "e", 2_000, 100, 1_000).outcome == "claimed"
    assert log.claim("k", "x", 2_102, lease_us=100, keep_us=1_000).outcome == "claimed"
