"""Retraction and the history of a fact over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronofy_kg.api.replies import PeriodList, RetractOut
from chronofy_kg.errors import UnknownFactError

pytestmark = pytest.mark.engine
Check = Callable[..., Any]


def told(subject: str, value: float, start: str, **fields: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": "egfr", "value": value, "observed_at": start} | fields


def values(client: TestClient, subject: str, **params: Any) -> list[float]:
    reply = client.get("/v1/facts", params={"subject": subject, "at": "2024-06-01"} | params)
    return [fact["value"] for fact in reply.json()["items"]]


def test_a_retraction_brings_the_older_value_back(
    client: TestClient, kb: Any, load: Check, assert_documented: Check
) -> None:
    loaded = load(told("ret:1", 60, "2023-01-01"), told("ret:1", 52, "2024-05-01"))
    old, new = loaded["facts"]
    before = kb.fact(new).recorded_at
    reply = client.post(f"/v1/facts/{new}/retract", json={}).json()
    assert_documented(reply, RetractOut)
    assert reply == {"changed": sorted([old, new]), "retired": 1, "sequence": loaded["sequence"] + 1}
    assert values(client, "ret:1") == [60]
    # What was believed before is known as it was.
    assert [f.value for f in kb.facts(subject="ret:1", at="2024-06-01", known_at=before).items] == [52]
    again = client.post(f"/v1/facts/{new}/retract", json={}).json()
    assert again == {"changed": [], "retired": 0, "sequence": reply["sequence"]}
    # A retraction stays: the same row told again changes nothing.
    assert load(told("ret:1", 52, "2024-05-01"))["unchanged"] == 1
    assert values(client, "ret:1") == [60]
    states = kb.cypher("MATCH (f:Fact {id: $id}) RETURN f.state", {"id": new}).rows
    assert states == [["retracted"]]


def test_one_source_of_two(client: TestClient, load: Check, assert_problem: Check) -> None:
    both = load(*(told("ret:2", 52, "2024-05-01", source=name) for name in ("a", "b")))
    (fact,) = set(both["facts"])
    url = f"/v1/facts/{fact}/retract"
    assert_problem(client.post(url, json={"source": "c"}), 422, "invalid-query")
    reply = client.post(url, json={"source": "a"}).json()
    assert (reply["changed"], reply["retired"]) == ([fact], 1)
    shown = client.get(f"/v1/facts/{fact}").json()
    assert [source["id"] for source in shown["sources"]] == ["b"]
    assert client.post(url, json={"source": "a"}).json()["retired"] == 0
    assert client.post(url, json={"source": "b"}).json()["retired"] == 1
    assert values(client, "ret:2") == []


def test_the_history_of_a_fact(client: TestClient, load: Check, assert_documented: Check) -> None:
    old, new = load(told("ret:3", 60, "2023-01-01"), told("ret:3", 52, "2024-05-01"))["facts"]
    for fact in (old, new):
        history = client.get(f"/v1/facts/{fact}/history").json()
        assert_documented(history, PeriodList)
        assert [(f["id"], f["superseded_by"], f["policy"].split(":")[0]) for f in history["items"]] == [
            (old, new, "later valid_from"),
            (new, None, "nothing ended it"),
        ]


def test_what_is_refused(client: TestClient, load: Check, assert_problem: Check) -> None:
    for name in ("f_" + "0" * 32, "nonsense"):
        assert_problem(client.post(f"/v1/facts/{name}/retract", json={}), 404, "unknown-fact")
        assert_problem(client.get(f"/v1/facts/{name}/history"), 404, "unknown-fact")
    (fact,) = load(told("ret:4", 1, "2024-01-01"))["facts"]
    assert_problem(client.post(f"/v1/facts/{fact}/retract", json={"sauce": "a"}), 422, "invalid-body")
    assert_problem(client.post(f"/v1/facts/{fact}/retract", json={"source": ""}), 422, "invalid-body")
    assert values(client, "ret:4") == [1]


def test_another_tenant_keeps_what_it_believes(kb: Any, load: Check) -> None:
    from chronofy_kg.kb import KnowledgeBase

    (fact,) = load(told("ret:5", 1, "2024-01-01"))["facts"]
    settings = kb.settings.model_copy(update={"tenant": "another"})
    with KnowledgeBase.open(settings=settings) as other:
        with pytest.raises(UnknownFactError):
            other.retract(fact)
        row = kb.facts(subject="ret:5").items[0]
        other.load([_as_told(row)])
        assert kb.retract(fact) == [fact]
        assert [f.value for f in other.facts(subject="ret:5").items] == [1]
        assert kb.facts(subject="ret:5").items == ()
        account = kb.explain(fact)
        assert (account.state, len(account.assertions)) == ("retracted", 1)


def _as_told(row: Any) -> Any:
    from chronofy_kg.facts import Assertion

    names = ("subject", "predicate", "value", "valid_from", "valid_to", "observed_at")
    return Assertion(**{name: getattr(row, name) for name in names})
