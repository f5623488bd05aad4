"""Read-only Cypher and named queries on every engine: nothing that they do can stay."""

from __future__ import annotations

import time
from typing import Any

import pytest

from chronofy_kg.errors import LimitError, QueryError, ReadOnlyError
from chronofy_kg.store import GraphStore, query

pytestmark = pytest.mark.engine


@pytest.mark.newest
def test_rows_are_lists_of_json_values(store: GraphStore) -> None:
    found = store.cypher(
        "RETURN 1 AS whole, 1.5 AS part, true AS yes, null AS nothing, "
        "[1, {a: 'x'}] AS list, $given AS given, "
        "datetime('2024-05-01T12:00:00.000001+02:00') AS moment, date('2024-02-29') AS day, "
        "duration({days: 3, hours: 2}) AS lasting, 1.0 / 0.0 AS infinite",
        {"given": {"k": [None, "v"]}},
    )
    assert found.columns == [
        "whole", "part", "yes", "nothing", "list", "given", "moment", "day", "lasting", "infinite",
    ]  # fmt: skip
    assert found.rows == [
        [1, 1.5, True, None, [1, {"a": "x"}], {"k": [None, "v"]}, "2024-05-01T10:00:00.000001Z", "2024-02-29",
         "P3DT2H", None],
    ]  # fmt: skip
    assert found.truncated is False


def test_nodes_relationships_and_paths_are_maps(
    store: GraphStore, tenant: str, ledger: Any, told: Any
) -> None:
    ledger.load(told(value="a"))
    row = store.cypher(
        "MATCH way = (f:Fact {tenant: $tenant})-[s:SUBJECT]->(e:Entity) RETURN e, s, way", {"tenant": tenant}
    ).rows[0]
    entity = {"labels": ["Entity"], "properties": {"tenant": tenant, "id": "x", "name": "x"}}
    assert row[0] == entity
    assert row[1] == {"type": "SUBJECT", "properties": {"tenant": tenant}}
    assert row[2]["nodes"][1] == entity
    assert row[2]["nodes"][0]["properties"]["valid_from"] == "1970-01-01T00:00:00Z"
    assert row[2]["relationships"] == [row[1]]


def test_rows_are_capped_and_the_cap_is_told(store: GraphStore) -> None:
    text = "UNWIND range(1, 2500) AS x RETURN x"
    cut = store.cypher(text, row_limit=2_000)
    assert (len(cut.rows), cut.truncated) == (2_000, True)
    whole = store.cypher(text, row_limit=2_500)
    assert (len(whole.rows), whole.truncated) == (2_500, False)


@pytest.mark.parametrize("limit", [10, 1_000])
@pytest.mark.newest
def test_a_result_that_is_left_unread_is_still_a_read(store: GraphStore, limit: int) -> None:
    cut = store.cypher("UNWIND range(1, 20000) AS x RETURN x", row_limit=limit)
    assert (len(cut.rows), cut.truncated) == (limit, True)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (n:Junk) RETURN n",
        "MATCH (n:Tenant) SET n.junk = 1 RETURN n",
        "MERGE (n:Junk {id: 1}) RETURN n",
        "MATCH (n) DETACH DELETE n",
    ],
)
def test_a_write_that_passes_the_guard_is_undone(
    text: str, store: GraphStore, ledger: Any, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.load(told(value="a"))
    monkeypatch.setattr(query, "check_read_only", lambda text: None)
    with pytest.raises(ReadOnlyError, match="nothing was changed"):
        store.cypher(text)
    monkeypatch.undo()
    assert store.cypher("MATCH (n:Junk) RETURN count(n)").rows == [[0]]
    assert store.cypher("MATCH (n:Tenant) WHERE n.junk = 1 RETURN count(n)").rows == [[0]]
    assert len(store.read(ledger.tenant)[0]) == 1


@pytest.mark.parametrize(
    "text",
    ["CREATE (n)", "RETURN 1; RETURN 2", "CREATE INDEX junk FOR (n:Junk) ON (n.a)", "CALL dbms.components()"],
)
def test_the_guard_stands_before_the_engine(text: str, store: GraphStore) -> None:
    with pytest.raises(ReadOnlyError):
        store.cypher(text)


@pytest.mark.newest
def test_what_the_engine_does_not_understand_is_told_in_one_line(store: GraphStore) -> None:
    with pytest.raises(QueryError) as refused:
        store.cypher("MATCH (n RETURN n")
    assert "RETURN" in str(refused.value)
    assert "\n" not in str(refused.value)
    with pytest.raises(QueryError):
        store.cypher("RETURN missing_variable")
    with pytest.raises(QueryError):
        store.cypher("RETURN $missing_parameter")
    with pytest.raises(QueryError, match="parameter"):
        store.cypher("RETURN $x", {"x": object()})


def test_an_unknown_name_is_told_with_those_that_are_there(store: GraphStore) -> None:
    with pytest.raises(QueryError, match=r"no query is called '\.\./store/sequence_take'; .*history"):
        store.named("../store/sequence_take")


@pytest.mark.newest
def test_validity_of_an_entity_decays_with_age(
    store: GraphStore, tenant: str, ledger: Any, told: Any
) -> None:
    day = 86_400_000_000
    store.write_fact_types(tenant, [{"name": "p", "beta": 0.25}])
    ledger.load(told(value="a", quality=0.8), told(predicate="q", value="b", observed_at=2 * day))
    found = store.named("facts_of_entity", tenant=tenant, entity="x", at_us=4 * day)
    rows = {row[1]: dict(zip(found.columns, row, strict=True)) for row in found.rows}
    assert rows["p"]["age_days"] == 4.0
    assert rows["p"]["validity"] == pytest.approx(0.8 * 0.36787944117144233, rel=1e-12)
    assert (rows["q"]["age_days"], rows["q"]["beta"], rows["q"]["validity"]) == (2.0, None, 1.0)


def test_the_stalest_come_first(store: GraphStore, tenant: str, ledger: Any, told: Any) -> None:
    ledger.load(*(told(subject=f"s{age}", value=age, observed_at=-age) for age in (3, 1, 2)))
    rows = store.named("stalest_facts", tenant=tenant, at_us=10, limit=2).rows
    assert [row[1] for row in rows] == ["s3 p 3", "s2 p 2"]


def test_a_query_that_takes_too_long_is_ended(store: GraphStore) -> None:
    begin = time.monotonic()
    with pytest.raises(LimitError, match=r"longer than 0\.5 s"):
        store.cypher(
            "UNWIND range(1, 6000) AS a UNWIND range(1, 6000) AS b "
            "WITH a, b WHERE (a * b) % 7 = 3 RETURN count(*)",
            timeout_s=0.5,
        )
    assert time.monotonic() - begin < 5.0
    assert store.cypher("RETURN 1 AS one").rows == [[1]]
