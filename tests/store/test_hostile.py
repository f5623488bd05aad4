"""Names that could break a query or a file are data like any other, on every engine."""

from __future__ import annotations

from typing import Any

import pytest

from chronofy_kg.store import GraphStore

pytestmark = [pytest.mark.engine, pytest.mark.newest]

HOSTILE = [
    "single ' double \" back ` tick",
    "``}) DETACH DELETE n //",
    "'}) MATCH (n) DETACH DELETE n; //",
    "line\nbreak\r\nand\ttab",
    "\\u0060 \\u0027 \\ \\\\ \\n",
    "$tenant ${x} {{y}} %s {0}",
    "/* comment */ // and -- more",
    "l" * 1_000,
    "患者:十七 пациент مريض रोगी 🏥 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u202eright to left\u202c \u2028 \u200b",
    " leading and trailing ",
    "Fact:Entity|SUBJECT*0..9",
    "null",
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_comes_back_as_it_was(
    name: str, store: GraphStore, tenant: str, make_ledger: Any, told: Any
) -> None:
    whose = f"{tenant} {name}"
    ledger = make_ledger(store, whose)
    neighbour = make_ledger(store, tenant)
    neighbour.load(told(value="untouched"))
    ledger.load(
        told(subject=name, predicate=name, value=name, type=name, source=name, content=name, unit=name),
        told(subject=name, predicate="linked", object=f"{name} too", meta={name: name}),
    )
    table, _ = store.read(whose)
    rows = {row.predicate: row for row in (table.assertion(index) for index in range(len(table)))}
    assert set(rows) == {name, "linked"}
    valued, linked = rows[name], rows["linked"]
    assert (valued.subject, valued.value, valued.unit, valued.content) == (name, name, name, name)
    assert (valued.type, valued.source) == (name, name)
    assert (linked.subject, linked.object, dict(linked.meta)) == (name, f"{name} too", {name: name})
    # The graph says the same to who reads it with Cypher.
    found = store.cypher(
        "MATCH (e:Entity)<-[:SUBJECT]-(f:Fact {tenant: $tenant, predicate: $name})-[:OF_TYPE]->(t:FactType), "
        "(f)-[:ASSERTED_BY]->(s:Source) WHERE e.id = $name RETURN e.name, f.predicate, f.value, t.name, s.id",
        {"tenant": whose, "name": name},
    )
    assert found.rows == [[name] * 5]
    assert [row[1] for row in store.named("history", tenant=whose, entity=name, predicate=name).rows] == [
        name
    ]
    assert len(store.read(tenant)[0]) == 1
    assert store.cypher("MATCH (n:Fact {tenant: $t}) RETURN count(n)", {"t": whose}).rows == [[2]]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_types_answers_and_rules_keep_such_names(name: str, store: GraphStore, tenant: str) -> None:
    whose = f"{tenant} {name}"
    store.write_fact_types(whose, [{"name": name, "kind": name, "beta": 0.5, "warnings": [name]}])
    assert store.read_fact_types(whose) == [{"name": name, "kind": name, "beta": 0.5, "warnings": [name]}]
    store.write_answer(whose, name, {"id": name, name: [name]}, [])
    assert store.read_answer(whose, name) == {"id": name, name: [name]}
    nodes = [{"id": name, "subject_category": name, "predicate": name, "object_category": name}]
    store.write_rule_graph(whose, nodes, [{"source": name, "target": name, "bits": 1.0}], [])
    assert store.read_rule_graph(whose) == (nodes, [{"source": name, "target": name, "bits": 1.0}], [])
    assert store.write_spec(whose, name, name, 1) == 1
    assert [(spec["name"], spec["text"]) for spec in store.read_specs(whose)] == [(name, name)]


def test_a_decomposed_type_is_one_with_its_composed_form(
    store: GraphStore, tenant: str, ledger: Any, told: Any
) -> None:
    ledger.load(told(predicate="linked", object="o", type="cafe\u0301"))
    found = store.cypher(
        "MATCH (t:FactType)<-[:OF_TYPE]-(f:Fact {tenant: $tenant})-[:OBJECT]->(o:Entity) RETURN t.name, o.id",
        {"tenant": tenant},
    )
    assert found.rows == [["caf\u00e9", "o"]]
