"""ETags of specs: what is known is not sent again, what was changed meanwhile is not overwritten."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.testclient import TestClient

Check = Callable[..., dict[str, Any]]


def text(gamma: float) -> dict[str, str]:
    return {"text": f"spec fresh: G validity >= {gamma}\n"}


def test_a_spec_that_is_known_is_not_sent_again(client: TestClient, assert_problem: Check) -> None:
    put = client.put("/v1/specs/etag_read", json=text(0.25))
    assert put.headers["etag"].startswith('"1-')
    shown = client.get("/v1/specs/etag_read")
    assert shown.json() == put.json()
    assert shown.headers["etag"] == put.headers["etag"]
    for known in (shown.headers["etag"], f'"x", {shown.headers["etag"]}', "W/" + shown.headers["etag"], "*"):
        reply = client.get("/v1/specs/etag_read", headers={"if-none-match": known})
        assert (reply.status_code, reply.content) == (304, b"")
        assert reply.headers["etag"] == shown.headers["etag"]
    assert client.get("/v1/specs/etag_read", headers={"if-none-match": '"x"'}).status_code == 200
    client.put("/v1/specs/etag_read", json=text(0.5))
    newest = client.get("/v1/specs/etag_read", headers={"if-none-match": shown.headers["etag"]})
    assert (newest.status_code, newest.json()["version"]) == (200, 2)
    assert client.get("/v1/specs/etag_read", params={"version": "1"}).json() == put.json()
    assert_problem(client.get("/v1/specs/etag_read", params={"version": "3"}), 404, "not-found")
    assert_problem(client.get("/v1/specs/etag_none"), 404, "not-found")


def test_what_was_changed_meanwhile_is_not_overwritten(client: TestClient, assert_problem: Check) -> None:
    path = "/v1/specs/etag_write"
    assert_problem(client.put(path, json=text(0.1), headers={"if-match": "*"}), 412, "precondition-failed")
    first = client.put(path, json=text(0.1), headers={"if-none-match": "*"})
    assert first.status_code == 200
    assert_problem(client.put(path, json=text(0.2), headers={"if-none-match": "*"}), 412)
    second = client.put(path, json=text(0.2), headers={"if-match": first.headers["etag"]})
    assert second.json()["version"] == 2
    body = assert_problem(client.put(path, json=text(0.3), headers={"if-match": first.headers["etag"]}), 412)
    assert second.headers["etag"] in body["detail"]
    assert client.get(path).json()["version"] == 2
    back = client.put(path, json=text(0.1), headers={"if-match": "*"})
    assert back.json()["version"] == 3  # the text of the first, and yet another version
    assert back.headers["etag"] != first.headers["etag"]


def test_of_those_who_saw_one_version_one_replaces_it(client: TestClient) -> None:
    path = "/v1/specs/etag_race"
    seen = client.put(path, json=text(0.1)).headers["etag"]
    with ThreadPoolExecutor(6) as pool:
        sent = list(pool.map(
            lambda n: client.put(path, json=text(0.2 + n / 100), headers={"if-match": seen}).status_code,
            range(6),
        ))  # fmt: skip
    assert sent.count(200) == 1
    assert set(sent) <= {200, 409, 412}
    assert client.get(path).json()["version"] == 2
