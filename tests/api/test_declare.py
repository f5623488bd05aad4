"""A type declared anew with another cardinality: answers and graph agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

pytestmark = pytest.mark.engine


def in_force(kb: Any, subject: str) -> list[Any]:
    rows: list[Any] = kb.cypher(
        "MATCH (f:Fact)-[:SUBJECT]->(:Entity {id: $s}) WHERE f.state = 'in_force' AND f.valid_to IS NULL "
        "RETURN f.value ORDER BY f.value", {"s": subject},
    ).rows  # fmt: skip
    return [value for (value,) in rows]


def test_the_graph_follows_the_declaration(client: TestClient, kb: Any, load: Callable[..., Any]) -> None:
    def declare(cardinality: str) -> None:
        text = f"facttype hobby: categorical, {cardinality}, half_life = 365 d\n"
        reply = client.put("/v1/specs/hobbies", json={"text": text})
        assert reply.status_code == 200, reply.text

    def tell(value: str, start: str) -> None:
        load({"subject": "dec:1", "predicate": "hobby", "value": value, "observed_at": start})

    def listed() -> list[Any]:
        reply = client.get("/v1/facts", params={"subject": "dec:1", "at": "2024-01-01"})
        return sorted(fact["value"] for fact in reply.json()["items"])

    tell("chess", "2023-01-01")
    tell("go", "2023-02-01")
    assert in_force(kb, "dec:1") == listed() == ["go"]
    declare("many")
    assert in_force(kb, "dec:1") == listed() == ["chess", "go"]
    tell("poker", "2023-03-01")
    assert in_force(kb, "dec:1") == listed() == ["chess", "go", "poker"]
    sequence = kb.ready()["sequence"]
    declare("many")
    assert kb.ready()["sequence"] == sequence
    declare("one")
    assert in_force(kb, "dec:1") == listed() == ["poker"]
    tell("bridge", "2023-04-01")
    assert in_force(kb, "dec:1") == listed() == ["bridge"]
