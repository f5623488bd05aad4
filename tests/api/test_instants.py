"""The one table of instants through the doors of HTTP: query strings and bodies."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from support.instants import Case, case_id, load_cases

from chronofy_kg.api import create_app
from chronofy_kg.errors import StoreUnavailableError
from chronofy_kg.facts import OPEN_US
from chronofy_kg.settings import Settings

CASES = [case for case in load_cases() if case.unit is None]


class Asked:
    """Stands for the knowledge base: remembers what it is asked, and is out of reach."""

    def __init__(self, zone: str) -> None:
        self.settings = Settings(embedder="none", default_zone=zone)
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **keywords: Any) -> Any:
            self.calls.append((name, args, keywords))
            raise StoreUnavailableError("out of reach")

        return call


@cache
def door(zone: str) -> tuple[TestClient, Asked]:
    kb = Asked(zone)
    return TestClient(create_app(kb), raise_server_exceptions=False), kb  # type: ignore[arg-type]


def check(case: Case, reply: Any, calls: list[Any], heard: Any) -> None:
    """What the door understood is what the table says; `heard` takes the instant from a call."""
    if case.error is None:
        assert reply.status_code == 503, reply.text
        assert [heard(*call) for call in calls] == [case.us]
        return
    assert 400 <= reply.status_code < 500, reply.text
    assert calls == []
    shown = [reply.json()["detail"], *(error["detail"] for error in reply.json().get("errors", ()))]
    assert any(case.error in text for text in shown) or "\0" in case.text, shown


@pytest.mark.parametrize("case", CASES, ids=map(case_id, CASES))
@pytest.mark.parametrize("name", ["at", "known_at"])
@pytest.mark.parametrize("way", ["query", "raw plus", "body"])
def test_instants_of_questions_follow_the_table(way: str, name: str, case: Case) -> None:
    client, kb = door(case.zone)
    kb.calls.clear()
    if way == "raw plus" and case.text == "2024-02-29+02:00":
        pytest.skip("in a query string this is the same as '2024-02-29 02:00', a time of day")
    if way == "body":
        reply = client.post("/v1/query", json={"question": "what?", name: case.text})
    else:
        # A plus that was not encoded arrives as a blank.
        reply = client.get(f"/v1/facts?{name}={quote(case.text, safe='+:' if way == 'raw plus' else '')}")
    if case.us == OPEN_US:
        assert reply.status_code == 422
        assert "is the open end of time" in reply.json()["detail"]
        assert kb.calls == []
        return
    check(case, reply, kb.calls, lambda _name, _args, keywords: keywords[name])


@pytest.mark.parametrize("case", CASES, ids=map(case_id, CASES))
def test_instants_of_facts_follow_the_table(case: Case) -> None:
    client, kb = door(case.zone)
    kb.calls.clear()
    # Of facts that ended before any other instant of the table no end can be told: so it is their beginning.
    field = "valid_to" if case.us == OPEN_US else "valid_from"
    times = {"valid_from": "2024-01-01T00:00:00Z", "observed_at": "2024-01-01T00:00:00Z", field: case.text}
    reply = client.post("/v1/facts", json={"subject": "s", "predicate": "p", "value": 1, **times})
    check(case, reply, kb.calls, lambda _name, args, _keywords: getattr(args[0][0], field))
