"""Fact types, specs, answers and the rule graph: the same on every engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chronofy_kg.store import GraphStore
from chronofy_kg.store.migrate import known_migrations, statements_of

pytestmark = [pytest.mark.engine, pytest.mark.newest]


def test_fact_types_come_back_as_written(store: GraphStore, tenant: str) -> None:
    rows: list[dict[str, Any]] = [
        {"name": "b", "kind": "numeric", "beta": 0.1, "beta_high": None, "warnings": [], "version": 1},
        {"name": "a", "kind": "event", "beta": 0.0, "warnings": ["few data", "span"], "declared": True},
    ]
    store.write_fact_types(tenant, rows)
    assert store.read_fact_types(tenant) == sorted(rows, key=lambda row: row["name"])
    store.write_fact_types(tenant, [{"name": "b", "beta": None, "beta_high": 2.5}])
    assert store.read_fact_types(tenant)[1] == rows[0] | {"beta": None, "beta_high": 2.5}


def test_each_record_of_a_fact_type_is_a_version(store: GraphStore, tenant: str) -> None:
    store.write_fact_types(tenant, [{"name": "a", "beta": 1.0, "version": 0}])
    assert store.read_fact_type_versions(tenant) == []
    first = store.record_fact_types(tenant, [{"name": "a", "beta": 2.0, "version": 7}, {"name": "b"}], 10)
    second = store.record_fact_types(tenant, [{"name": "a", "beta": None}], 10)
    assert (first.sequence, first.recorded_at) == (1, 10)
    assert (second.sequence, second.recorded_at) == (2, 11)  # recorded after, whatever the clock says
    assert store.read_fact_type_versions(tenant) == [
        {"name": "a", "beta": 2.0, "version": 1, "recorded_at_us": 10},
        {"name": "a", "beta": None, "version": 2, "recorded_at_us": 11},
        {"name": "b", "version": 1, "recorded_at_us": 10},
    ]
    assert store.read_fact_types(tenant) == [
        {"name": "a", "beta": None, "version": 2}, {"name": "b", "version": 1},
    ]  # fmt: skip
    assert store.recorded_fact_types(tenant, 11)
    assert not store.recorded_fact_types(tenant, 12)
    linked = "MATCH (t:FactType {tenant: $t})-[:HAS_VERSION {tenant: $t}]->(v) RETURN t.name, v.version"
    assert sorted(store.cypher(linked, {"t": tenant}).rows) == [["a", 1], ["a", 2], ["b", 1]]


def test_fact_types_recorded_at_the_same_time_are_all_kept(store: GraphStore, tenant: str) -> None:
    def record(number: int) -> int:
        return store.record_fact_types(tenant, [{"name": "same", "beta": float(number)}], number).sequence

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(record, range(12))) == list(range(1, 13))
    kept = store.read_fact_type_versions(tenant)
    assert [row["version"] for row in kept] == list(range(1, 13))
    assert {row["beta"] for row in kept} == {float(number) for number in range(12)}
    assert [row["recorded_at_us"] for row in kept] == sorted({row["recorded_at_us"] for row in kept})


def test_what_a_store_had_before_there_were_versions_counts_as_the_first(
    store: GraphStore, tenant: str
) -> None:
    row = {"name": "a", "beta": 0.5, "beta_high": None, "version": 3}
    store.write_fact_types(tenant, [row])
    texts = {m.version: m for m in known_migrations()}
    for text in statements_of(texts[2].text):
        store._connection.run_schema(text)
    assert store.read_fact_type_versions(tenant) == [row | {"recorded_at_us": 0}]
    store.record_fact_types(tenant, [{"name": "a", "beta": 0.7}], 5)
    assert [r["version"] for r in store.read_fact_type_versions(tenant)] == [3, 4]


def test_facts_hang_on_the_type_that_is_declared(
    store: GraphStore, tenant: str, ledger: Any, told: Any
) -> None:
    store.write_fact_types(tenant, [{"name": "egfr", "beta": 0.25}])
    ledger.load(told(predicate="egfr", value=1.0), told(predicate="seen", value=1.0))
    counted = store.named("types_and_counts", tenant=tenant).rows
    assert [[row[0], row[2], row[4]] for row in counted] == [["egfr", 0.25, 1], ["seen", None, 1]]
    # A type that only facts told of was never written.
    assert [row["name"] for row in store.read_fact_types(tenant)] == ["egfr"]


def test_specs_are_versioned_by_their_text(store: GraphStore, tenant: str) -> None:
    assert store.write_spec(tenant, "usual", "spec a: G v >= 0.5", 10) == 1
    assert store.write_spec(tenant, "usual", "spec a: G v >= 0.5", 20) == 1
    assert store.write_spec(tenant, "usual", "spec a: G v >= 0.6", 30) == 2
    assert store.write_spec(tenant, "usual", "spec a: G v >= 0.5", 40) == 3
    assert store.write_spec(tenant, "other", "", 50) == 1
    found = [(row["name"], row["version"], row["recorded_at_us"]) for row in store.read_specs(tenant)]
    assert found == [("other", 1, 50), ("usual", 1, 10), ("usual", 2, 30), ("usual", 3, 40)]
    assert store.write_spec(tenant, "usual", "spec a: G v >= 0.7", 60, "Ada") == 4
    assert [row["author"] for row in store.read_specs(tenant)] == [None, None, None, None, "Ada"]
    assert store.read_specs(tenant)[1]["text"] == "spec a: G v >= 0.5"
    assert store.read_specs(tenant)[1]["hash"] == store.read_specs(tenant)[3]["hash"]


def test_an_answer_keeps_its_body_and_the_facts_it_used(
    store: GraphStore, tenant: str, ledger: Any, told: Any
) -> None:
    ledger.load(told(value="a"), told(value="b", valid_from=5))
    facts = [row[0] for row in store.named("history", tenant=tenant, entity="x", predicate="p").rows]
    body = {"id": "q1", "verdict": "supported", "answer": "caf\u00e9 \u2028", "confidence": 0.1 + 0.2}
    store.write_answer(tenant, "q1", body, [(facts[0], 0.5), (facts[1], 0.25)])
    assert store.read_answer(tenant, "q1") == body
    assert store.read_answer(tenant, "q2") is None
    assert store.read_answer("somebody-else", "q1") is None
    store.write_answer(tenant, "q1", body | {"verdict": "reacquire"}, [(facts[1], 0.75)])
    assert store.read_answer(tenant, "q1") == body | {"verdict": "reacquire"}
    used = store.cypher(
        "MATCH (:Answer {tenant: $tenant, id: 'q1'})-[u:USED]->(f:Fact) RETURN f.id, u.validity",
        {"tenant": tenant},
    )
    assert used.rows == [[facts[1], 0.75]]


def test_the_rule_graph_is_replaced_as_a_whole(
    store: GraphStore, tenant: str, ledger: Any, told: Any
) -> None:
    assert store.read_rule_graph(tenant) == ([], [], [])
    ledger.load(told(value="a"), told(value="b", valid_from=5))
    facts = [row[0] for row in store.named("history", tenant=tenant, entity="x", predicate="p").rows]
    nodes = [
        {
            "id": f"n{number}",
            "subject_category": "person",
            "predicate": "p",
            "object_category": "",
            "support": 2,
        }
        for number in range(3)
    ]
    edges = [
        {"source": "n0", "target": "n1", "roles": "s=s", "support": 3, "confidence": 0.75, "lag": 1.5,
         "bits": 12.5, "beta": 0.1, "gap_histogram": [1, 2, 0], "gap_bounds": [0.5, 1.0]},
        {"source": "n0", "target": "n1", "roles": "s=o", "support": 1, "confidence": 0.25, "lag": 0.0,
         "bits": 1.5, "beta": 0.2, "gap_histogram": [], "gap_bounds": []},
    ]  # fmt: skip
    store.write_rule_graph(tenant, nodes, edges, [(facts[0], "n0"), (facts[1], "n1")])
    found_nodes, found_edges, found_instances = store.read_rule_graph(tenant)
    assert found_nodes == nodes
    assert sorted(found_edges, key=lambda edge: -edge["bits"]) == edges
    assert found_instances == sorted([(facts[0], "n0"), (facts[1], "n1")])
    rows = store.named("rule_edges", tenant=tenant, limit=10).rows
    assert [(row[0], row[3]) for row in rows] == [("person p", 12.5), ("person p", 1.5)]
    store.write_rule_graph(tenant, nodes[2:], [], [(facts[1], "n2")])
    assert store.read_rule_graph(tenant) == (nodes[2:], [], [(facts[1], "n2")])
    left = store.cypher("MATCH (n:RuleNode {tenant: $tenant}) RETURN count(n)", {"tenant": tenant})
    assert left.rows == [[1]]


def test_specs_put_at_the_same_time_are_all_kept(store: GraphStore, tenant: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        versions = list(pool.map(lambda n: store.write_spec(tenant, "same", f"text {n}", n), range(12)))
    assert sorted(versions) == list(range(1, 13))
    assert {spec["text"] for spec in store.read_specs(tenant)} == {f"text {n}" for n in range(12)}


@pytest.mark.newest
def test_answers_written_at_once_are_all_there_with_what_they_used(ledger: Any, told: Any) -> None:
    """They share transactions; one that cannot be stored does not take others with it."""
    ledger.load(*(told(subject=f"s{n}", value="a") for n in range(4)))
    store, tenant = ledger.store, ledger.tenant
    rows = store.cypher("MATCH (f:Fact {tenant: $t}) RETURN f.id", {"t": tenant}).rows
    facts = sorted(row[0] for row in rows)
    bad = "x" * 17_000_000  # more than a message holds

    def write(number: int) -> str:
        body = {"n": number, "bad": bad if number == 7 else ""}
        try:
            store.write_answer(tenant, f"a_{number % 20}", body, [(facts[number % 4], number / 100)])
        except Exception as error:
            return type(error).__name__
        return "stored"

    with ThreadPoolExecutor(12) as pool:
        outcomes = list(pool.map(write, range(20))) + list(pool.map(write, range(20, 40)))
    assert {n: outcome for n, outcome in enumerate(outcomes) if outcome != "stored"} == {7: "InputError"}
    for number in range(20):
        assert store.read_answer(tenant, f"a_{number}") == {"n": number + 20, "bad": ""}
    used = store.cypher(
        "MATCH (a:Answer {tenant: $t})-[u:USED]->(f:Fact) RETURN a.id, f.id, u.validity", {"t": tenant}
    ).rows
    assert sorted(map(tuple, used)) == sorted((f"a_{n}", facts[n % 4], (n + 20) / 100) for n in range(20))
