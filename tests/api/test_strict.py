"""What bodies may hold, field by field, and what reaches the knowledge base of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronofy_kg.answer.model import Pattern
from chronofy_kg.api.models import AssertionIn
from chronofy_kg.errors import StoreUnavailableError
from chronofy_kg.facts.rows import FIELDS
from chronofy_kg.facts.time import parse_instant

Check = Callable[..., dict[str, Any]]
PATTERN = {"pattern": {"subject": "s"}}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        (PATTERN | {"question": "who?"}, ""),
        ({"question": ""}, "/question"),
        ({"question": "  "}, "/question"),
        ({"question": "a\u0000b"}, "/question"),
        ({"question": "x" * 2_001}, "/question"),
        ({"question": 7}, "/question"),
        ({"pattern": {}}, "/pattern"),
        ({"pattern": {"subject": None}}, "/pattern"),
        ({"pattern": {"subject": 1}}, "/pattern/subject"),
        ({"pattern": {"subject": "s", "verb": "p"}}, "/pattern/verb"),
        (PATTERN | {"tau": -0.1}, "/tau"),
        (PATTERN | {"tau": 1}, "/tau"),
        (PATTERN | {"tau": "0.1"}, "/tau"),
        (PATTERN | {"tau": True}, "/tau"),
        (PATTERN | {"limit": 0}, "/limit"),
        (PATTERN | {"limit": 101}, "/limit"),
        (PATTERN | {"limit": "5"}, "/limit"),
        (PATTERN | {"limit": 5.5}, "/limit"),
        (PATTERN | {"limit": True}, "/limit"),
        (PATTERN | {"mode": "freshest"}, "/mode"),
        (PATTERN | {"on_fail": "ignore"}, "/on_fail"),
        (PATTERN | {"history": "true"}, "/history"),
        (PATTERN | {"hindsight": 1}, "/hindsight"),
        (PATTERN | {"params": {"gamma": "0.5"}}, "/params/gamma"),
        (PATTERN | {"params": {"gamma": "30 d or so"}}, "/params/gamma"),
        (PATTERN | {"params": {"gamma": True}}, "/params/gamma"),
        (PATTERN | {"params": {"gamma": 10**320}}, "/params/gamma"),
        (PATTERN | {"params": {"a/b": None}}, "/params/a~1b"),
        (PATTERN | {"params": [1]}, "/params"),
        (PATTERN | {"spec": {}}, "/spec"),
        (PATTERN | {"spec": {"name": "a", "text": "b"}}, "/spec"),
        (PATTERN | {"spec": {"text": "b", "version": 1}}, "/spec"),
        (PATTERN | {"spec": {"name": "a", "version": 0}}, "/spec/version"),
        (PATTERN | {"spec": "a"}, "/spec"),
    ],
)
def test_query_bodies_that_are_refused(
    bare: TestClient, assert_problem: Check, body: dict[str, Any], pointer: str
) -> None:
    problem = assert_problem(bare.post("/v1/query", json=body), 422, "invalid-body")
    assert [place["pointer"] for place in problem["errors"]] == [pointer]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/steps"),
        ({"steps": {}}, "/steps"),
        ({"steps": [1]}, "/steps/0"),
        ({"steps": [{"text": "a"}, {"text": 1}]}, "/steps/1/text"),
        ({"steps": [{"facts": "f_1"}]}, "/steps/0/facts"),
        ({"steps": [{"facts": ["f_1", 2]}]}, "/steps/0/facts/1"),
        ({"steps": [{"uses": [-1]}]}, "/steps/0/uses/0"),
        ({"steps": [{"uses": [0.5]}]}, "/steps/0/uses/0"),
        ({"steps": [{"cites": []}]}, "/steps/0/cites"),
        ({"steps": [{}] * 10_001}, "/steps"),
    ],
)
def test_traces_that_are_refused(
    bare: TestClient, assert_problem: Check, body: dict[str, Any], pointer: str
) -> None:
    problem = assert_problem(bare.post("/v1/verify", json=body), 422, "invalid-body")
    assert [place["pointer"] for place in problem["errors"]] == [pointer]


@pytest.mark.parametrize(
    "body",
    [
        {"query": ""},
        {"query": "RETURN\u00001"},
        {"query": "RETURN $a", "parameters": [1]},
        {"query": "RETURN $a", "parameters": {"a": 2**63}},
        {"query": "RETURN $a", "parameters": {"a": [{"b": -(2**63) - 1}]}},
        {"query": "RETURN $a", "parameters": {"a": {"b": "x\u0000"}}},
        {"query": "RETURN $a", "parameters": {"a": {"b\u0000": 1}}},
    ],
)
def test_cypher_bodies_that_are_refused(
    bare: TestClient, assert_problem: Check, body: dict[str, Any]
) -> None:
    assert_problem(bare.post("/v1/cypher", json=body), 422, "invalid-body")


@pytest.mark.parametrize("name", ["a.b", "a b", "-a", "1a", "a%2Fb", "é", "x" * 101])
def test_names_of_specs_that_are_refused(bare: TestClient, assert_problem: Check, name: str) -> None:
    assert_problem(bare.put(f"/v1/specs/{name}", json={"text": "spec a: G validity >= 0.5"}), (404, 422))


def test_a_query_arrives_whole(bare: TestClient, stand_in: Any) -> None:
    stand_in.error = StoreUnavailableError("gone")
    body = {
        "pattern": {"subject": "s", "object": None}, "at": "2024-06", "known_at": "2024-06-01T02:00:00 02:00",
        "spec": {"name": "clinical", "version": 3.0}, "params": {"gamma": 1}, "tau": 0, "mode": "fresh",
        "limit": 7.0, "on_fail": "flag", "history": True, "hindsight": True,
    }  # fmt: skip
    assert bare.post("/v1/query", json=body).status_code == 503
    name, args, kwargs = stand_in.calls[0]
    at = parse_instant("2024-06-01T00:00:00Z").us
    assert (name, args) == ("query", (None,))
    assert kwargs["pattern"] == Pattern("s", None, None)
    assert (kwargs["at"], kwargs["known_at"]) == (at, at)
    assert (kwargs["spec"].name, kwargs["spec"].version, kwargs["spec"].text) == ("clinical", 3, None)
    assert kwargs["limit"] == 7
    assert isinstance(kwargs["limit"], int)
    assert (kwargs["params"], kwargs["tau"], kwargs["mode"], kwargs["on_fail"]) == (
        {"gamma": 1.0},
        0.0,
        "fresh",
        "flag",
    )
    assert kwargs["history"] is True
    assert kwargs["hindsight"] is True


def test_times_without_offset_are_in_the_zone_of_the_settings(bare: TestClient, stand_in: Any) -> None:
    stand_in.error = StoreUnavailableError("gone")
    stand_in.settings = stand_in.settings.model_copy(update={"default_zone": "Europe/Amsterdam"})
    bare.get("/v1/facts", params={"at": "2024-06-01T12:00:00"})
    assert stand_in.calls[0][2]["at"] == parse_instant("2024-06-01T10:00:00Z").us


def test_a_raw_plus_in_a_query_string(bare: TestClient, stand_in: Any) -> None:
    stand_in.error = StoreUnavailableError("gone")
    bare.get("/v1/facts?at=2024-06-01T12:00:00+02:00&known_at=2024-06-01T12:00:00%2B02:00")
    at = parse_instant("2024-06-01T10:00:00Z").us
    assert (stand_in.calls[0][2]["at"], stand_in.calls[0][2]["known_at"]) == (at, at)


def test_parameters_arrive(bare: TestClient, stand_in: Any) -> None:
    stand_in.error = StoreUnavailableError("gone")
    bare.get("/v1/facts?subject=a%26b&object=%C3%A9&type=t&source=s&history=true&limit=5&cursor=c")
    assert stand_in.calls[0][2] == {
        "subject": "a&b", "predicate": None, "object": "é", "type": "t", "source": "s", "at": None,
        "known_at": None, "history": True, "limit": 5, "cursor": "c",
    }  # fmt: skip


def test_documented_fields_of_an_assertion_are_those_that_are_checked() -> None:
    assert set(AssertionIn.model_fields) == set(FIELDS)
