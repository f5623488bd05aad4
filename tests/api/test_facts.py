"""Loading and reading facts, end to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronofy_kg.api.replies import FactList, FactOut, LoadOut

pytestmark = pytest.mark.engine
Check = Callable[..., Any]


def told(subject: str, **fields: Any) -> dict[str, Any]:
    return {
        "subject": subject,
        "predicate": "egfr",
        "value": 52.0,
        "observed_at": "2024-05-17T08:30:00Z",
    } | fields


def listed(client: TestClient, subject: str, **params: Any) -> list[dict[str, Any]]:
    reply = client.get("/v1/facts", params={"subject": subject, "at": "2024-06-01T00:00:00Z"} | params)
    assert reply.status_code == 200, reply.text
    items: list[dict[str, Any]] = reply.json()["items"]
    return items


def test_a_fact_comes_out_as_it_went_in(client: TestClient, load: Check, assert_documented: Check) -> None:
    loaded = load(told("in:1", unit="mL/min", source="lab:3", quality=0.97, meta={"ward": "7é"}))
    assert_documented(loaded, LoadOut)
    assert (loaded["added"], loaded["unchanged"], loaded["corrected"], loaded["errors"]) == (1, 0, 0, [])
    reply = client.get(f"/v1/facts/{loaded['facts'][0]}", params={"at": "2024-05-27T08:30:00Z"})
    fact = reply.json()
    assert_documented(fact, FactOut)
    wanted = {
        "id": loaded["facts"][0], "subject": "in:1", "predicate": "egfr", "value": 52.0, "unit": "mL/min",
        "type": "egfr", "content": "in:1 egfr 52 mL/min", "meta": {"ward": "7é"},
        "valid_from": "2024-05-17T08:30:00Z", "valid_to": None, "observed_at": "2024-05-17T08:30:00Z",
        "quality": 0.97, "superseded_by": None, "contradicts": [], "age_days": 10.0, "beta_from": "prior",
        "sources": [{"id": "lab:3", "observed_at": "2024-05-17T08:30:00Z", "quality": 0.97}],
    }  # fmt: skip
    assert {name: fact[name] for name in wanted} == wanted
    assert fact["recorded_at"].endswith("Z")
    # The prior of a numeric type: a half-life of 90 days.
    assert fact["validity"]["value"] == pytest.approx(0.97 * 0.5 ** (10 / 90), rel=1e-9)


def test_one_object_and_lines(client: TestClient) -> None:
    one = client.post("/v1/facts", json=told("one:1"))
    assert one.json()["added"] == 1
    lines = "\n".join(json.dumps(told(f"line:{n}")) for n in range(3)) + "\n\n"
    many = client.post("/v1/facts", content=lines, headers={"content-type": "application/x-ndjson"})
    assert many.json()["added"] == 3
    assert len(set(many.json()["facts"])) == 3
    assert many.json()["sequence"] > one.json()["sequence"]
    assert [fact["subject"] for fact in listed(client, "line:1")] == ["line:1"]


def test_the_same_again_changes_nothing(load: Check) -> None:
    first = load(told("same:1", source="a"))
    again = load(told("same:1", source="a"))
    assert (again["added"], again["unchanged"], again["facts"]) == (0, 1, first["facts"])


def test_a_correction(client: TestClient, load: Check) -> None:
    load(told("corr:1", source="a"))
    again = load(told("corr:1", source="a", value=54))
    assert (again["added"], again["corrected"]) == (1, 1)
    assert [fact["value"] for fact in listed(client, "corr:1")] == [54]


def test_nothing_is_a_load_too(client: TestClient) -> None:
    assert client.post("/v1/facts", json={"facts": []}).json()["added"] == 0


BAD = [
    told("bad:1"),
    told("bad:2", value=None),
    "text",
    told("bad:3", valid_from="2024-05-01", valid_to="2024-04-01"),
    told("bad:4", observed_at="05/06/2024"),
    told("bad:5", **{"od/d": 1}),
    told("bad:6", quality=0),
    told("bad:7", recorded_at="2024-01-01"),
]
POINTERS = ["/facts/1/value", "/facts/2", "/facts/3/valid_to", "/facts/4/observed_at", "/facts/5/od~1d",
            "/facts/6/quality", "/facts/7/recorded_at"]  # fmt: skip


def test_bad_rows_store_nothing(client: TestClient, assert_problem: Check) -> None:
    before = client.get("/healthz/ready").json()["sequence"]
    body = assert_problem(client.post("/v1/facts", json={"facts": BAD}), 422, "invalid-facts")
    assert [place["pointer"] for place in body["errors"]] == POINTERS
    assert "7 of 8 row(s)" in body["detail"]
    assert client.get("/healthz/ready").json()["sequence"] == before
    assert listed(client, "bad:1") == []


def test_bad_rows_can_be_skipped(client: TestClient, assert_documented: Check) -> None:
    rows = [told("skip:1"), *BAD[1:], told("skip:2")]
    reply = client.post("/v1/facts", params={"on_error": "skip"}, json={"facts": rows})
    assert reply.status_code == 200
    assert_documented(reply.json(), LoadOut)
    assert reply.json()["added"] == 2
    assert [place["pointer"] for place in reply.json()["errors"]] == POINTERS
    assert len(listed(client, "skip:1")) == len(listed(client, "skip:2")) == 1


def test_bad_lines(client: TestClient, assert_problem: Check) -> None:
    good = json.dumps(told("lines:1"))
    lines = "\n".join(
        [good, "", '{"subject": "lines:2"', '{"subject": "a", "subject": "b"}', '{"subject": NaN}', "7"]
    )
    headers = {"content-type": "application/x-ndjson"}
    body = assert_problem(client.post("/v1/facts", content=lines, headers=headers), 422, "invalid-facts")
    assert [place["line"] for place in body["errors"]] == [3, 4, 5, 6]
    assert listed(client, "lines:1") == []
    reply = client.post("/v1/facts", params={"on_error": "skip"}, content=lines, headers=headers)
    assert (reply.json()["added"], len(reply.json()["errors"])) == (1, 4)
    mark = b"\xef\xbb\xbf" + good.encode()
    assert_problem(client.post("/v1/facts", content=mark, headers=headers), 400, "invalid-json")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [({"facts": {}}, "/facts"), ({"facts": [], "on_error": "skip"}, "/on_error"), ([], "")],
)
def test_bodies_that_are_no_batch(client: TestClient, assert_problem: Check, body: Any, pointer: str) -> None:
    problem = assert_problem(client.post("/v1/facts", json=body), 422, "invalid-body")
    assert [place["pointer"] for place in problem["errors"]] == [pointer]


@pytest.mark.parametrize("text", ['CVE-2024/1 (RCE)? ~"x', "a\\b'c`d", "$p {x: 1}", "x" * 2_000, "😀 naïve"])
def test_odd_names(client: TestClient, load: Check, text: str) -> None:
    load({"subject": "odd:1", "predicate": text, "object": text, "observed_at": "2024-05-17", "source": text})
    found = listed(client, "odd:1", predicate=text, object=text, source=text)
    assert [(fact["predicate"], fact["object"]) for fact in found] == [(text, text)]


def test_as_of_and_history(client: TestClient, load: Check) -> None:
    load(told("hist:1", value=60, observed_at="2023-06-01"), told("hist:1", value=52))
    assert [fact["value"] for fact in listed(client, "hist:1")] == [52]
    assert [fact["value"] for fact in listed(client, "hist:1", at="2023-07")] == [60]
    assert listed(client, "hist:1", at="2023-05-31") == []
    both = listed(client, "hist:1", history="true")
    assert [fact["value"] for fact in both] == [60, 52]
    assert both[0]["superseded_by"] == both[1]["id"]
    assert both[0]["valid_to"] == both[1]["valid_from"]
    assert listed(client, "hist:1", known_at="2020-01-01") == []


def test_filters(client: TestClient, load: Check) -> None:
    load(
        told("filter:1", source="a"),
        told("filter:1", predicate="weight", type="mass", source="b"),
        {"subject": "filter:1", "predicate": "takes", "object": "drug:9", "observed_at": "2024-05-17"},
    )
    for params, predicates in (
        ({}, ["egfr", "takes", "weight"]),
        ({"predicate": "egfr"}, ["egfr"]),
        ({"type": "mass"}, ["weight"]),
        ({"source": "b"}, ["weight"]),
        ({"object": "drug:9"}, ["takes"]),
        ({"object": "drug:9", "source": "b"}, []),
    ):
        found = listed(client, "filter:1", **params)
        assert sorted(fact["predicate"] for fact in found) == predicates, params


def test_pages_hold_everything_once(
    client: TestClient, load: Check, assert_documented: Check, assert_problem: Check
) -> None:
    # All of one start, so that the order rests on what breaks ties.
    load(*(told("page:1", predicate=f"p{n}") for n in range(7)))
    params: dict[str, Any] = {"subject": "page:1", "limit": 3, "at": "2024-06-01"}
    seen: list[str] = []
    while True:
        page = client.get("/v1/facts", params=params).json()
        assert_documented(page, FactList)
        seen += [fact["id"] for fact in page["items"]]
        if page["next"] is None:
            break
        params["cursor"] = page["next"]
    assert len(seen) == len(set(seen)) == 7
    assert seen == [fact["id"] for fact in listed(client, "page:1")]
    other = client.get("/v1/facts", params={"subject": "page:2", "cursor": params["cursor"]})
    body = assert_problem(other, 422, "invalid-parameter")
    assert body["errors"][0]["name"] == "cursor"


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "",
        "AAAA",
        "é",
        "bnVsbA",
        "W10",
        "WzFlOTk5LCAiYSIsIDAsIDAsICJiIl0",
        "WzFlMzAsICJhIiwgMCwgMCwgImIiXQ",
    ],
)
def test_forged_cursors(client: TestClient, assert_problem: Check, cursor: str) -> None:
    body = assert_problem(client.get("/v1/facts", params={"cursor": cursor}), 422, "invalid-parameter")
    assert [(place["in"], place["name"]) for place in body["errors"]] == [("query", "cursor")]


def test_unknown_facts(client: TestClient, assert_problem: Check) -> None:
    for name in ("f_" + "0" * 32, "nonsense", "a%27b", "%F0%9F%98%80"):
        assert_problem(client.get(f"/v1/facts/{name}"), 404, "unknown-fact")


def test_all_facts_as_one_stream(
    client: TestClient, load: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page by page in the server: the stream is what the pages are, at the moment of the first."""
    monkeypatch.setattr("chronofy_kg.api.routes.facts._STREAM_PAGE", 7)
    load(*({"subject": f"stream{n:02d}", "predicate": "streamed", "value": n, "observed_at": "2024-05-01"}
           for n in range(20)))  # fmt: skip
    asked = {"predicate": "streamed", "at": "2024-05-02"}
    lines = {"accept": "application/x-ndjson"}
    reply = client.get("/v1/facts", params=asked, headers=lines)
    assert reply.headers["content-type"] == "application/x-ndjson"
    assert "content-length" not in reply.headers
    found = [json.loads(line) for line in reply.text.splitlines()]
    assert found == client.get("/v1/facts", params=asked).json()["items"]
    assert len(found) == 20
    some = client.get("/v1/facts", params=asked | {"limit": "5"}, headers=lines).text.splitlines()
    assert [json.loads(line) for line in some] == found[:5]
    cursor = client.get("/v1/facts", params=asked | {"limit": "12"}).json()["next"]
    rest = client.get("/v1/facts", params=asked | {"cursor": cursor}, headers=lines).text.splitlines()
    assert [json.loads(line) for line in rest] == found[12:]
    assert client.get("/v1/facts", params=asked | {"subject": "nobody"}, headers=lines).content == b""
    assert client.get("/v1/facts", params={"at": "never"}, headers=lines).status_code == 422
