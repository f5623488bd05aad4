"""Every file of cypher/queries on every engine: its header is true, and its example has these answers.

The graph is a part of the demo's facts, so the examples of the headers work after `make neo4j` too.
"""

from __future__ import annotations

import math
import re
import shlex
from itertools import pairwise
from typing import Any

import pytest

from chronofy_kg.cli.options import cypher_values
from chronofy_kg.demo import demo_assertions
from chronofy_kg.facts.model import fact_id
from chronofy_kg.facts.time import parse_instant
from chronofy_kg.store import GraphStore, named_queries
from chronofy_kg.store.query import named_text

DAY_US = 86_400_000_000
AT_US = parse_instant("1985-02-15T00:00:00Z").us
TYPES = {"string", "integer", "list of strings"}
DECLARED = re.compile(r"^//   (\w+): ([a-z ]+), (\S.*)$", re.MULTILINE)
PARAM = re.compile(r"^//   :param (\w+) => (.+)$", re.MULTILINE)
NAMES = named_queries()


def _body(name: str) -> str:
    return "\n".join(line for line in named_text(name).splitlines() if not line.startswith("//"))


@pytest.mark.parametrize("name", NAMES)
def test_a_header_names_exactly_the_parameters_that_are_used(name: str) -> None:
    text = named_text(name)
    used = set(re.findall(r"\$(\w+)", _body(name)))
    declared, examples = DECLARED.findall(text), PARAM.findall(text)
    assert [row[0] for row in declared] == [row[0] for row in examples]
    assert len(declared) == len(used)
    assert {row[0] for row in declared} == used
    assert declared[0][0] == "tenant"
    assert {row[1] for row in declared} <= TYPES


@pytest.mark.parametrize("name", NAMES)
def test_a_header_begins_with_what_it_does_and_ends_with_a_command(name: str) -> None:
    head = [line for line in named_text(name).splitlines() if line.startswith("//")]
    assert re.match(r"// [A-Z].+[.:]", head[0])
    words = shlex.split(head[-1].removeprefix("// Example: "))
    assert words[:3] == ["chronofy-kg", "cypher", f"@{name}"]
    assert words[3::2] == ["--param"] * ((len(words) - 3) // 2)
    given = cypher_values(words[4::2])
    kinds = {row[0]: row[1] for row in DECLARED.findall(named_text(name))}
    assert set(given) == set(kinds) - {"tenant"}
    python = {"string": str, "integer": int, "list of strings": list}
    assert all(isinstance(value, python[kinds[key]]) for key, value in given.items())


def test_no_query_has_comments_or_text_put_together_in_its_body() -> None:
    for name in NAMES:
        assert "//" not in _body(name).replace("http://", ""), name
        assert ";" not in _body(name), name


def _example(store: GraphStore, name: str) -> dict[str, Any]:
    """Return the parameters of a header's example, worked out by the engine as Browser has it do."""
    pairs = PARAM.findall(named_text(name))
    row = store.cypher("RETURN " + ", ".join(f"{text} AS {key}" for key, text in pairs)).rows[0]
    return dict(zip([key for key, _ in pairs], row, strict=True))


def _run(store: GraphStore, name: str, **other: Any) -> list[dict[str, Any]]:
    found = store.named(name, **(_example(store, name) | other))
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


@pytest.fixture(scope="module")
def graph(opened: GraphStore, make_ledger: Any) -> Any:
    """The economic series of 1984 and 1985 and two statements about a CVE, in the tenant of the examples."""
    begin, end = parse_instant("1984-01-01").us, parse_instant("1986-01-01").us
    rows = [
        row
        for row in demo_assertions()
        if (
            row.subject == "US"
            and row.predicate in ("unemployment_rate", "inflation_rate")
            and begin <= row.valid_from < end
        )
        or (row.subject == "CVE-2023-47246" and row.predicate == "weakness")
    ]
    assert len(rows) == 17
    opened.write_fact_types("default", [{"name": "unemployment_rate", "kind": "numeric", "beta": 0.001}])
    ledger = make_ledger(opened, "default")
    ledger.load(*rows, now=2_000_000_000_000_000)
    table = ledger.table
    found = opened.cypher(
        "MATCH (f:Fact {tenant: 'default'})-[:SUBJECT]->(e) RETURN e.id, f.predicate, f.valid_from, f.id"
    )
    ids = {(subject, predicate, start[:10]): fact for subject, predicate, start, fact in found.rows}
    assert {fact_id(table.statement(i), int(table.valid_from[i])) for i in range(len(table))} == set(
        ids.values()
    )
    nodes = [
        {
            "id": "r_1",
            "subject_category": "country",
            "predicate": "inflation_rate",
            "object_category": "number",
        },
        {"id": "r_2", "subject_category": "country", "predicate": "unemployment_rate", "object_category": ""},
    ]
    edges = [
        {"source": "r_1", "target": "r_2", "bits": 2.5, "support": 8, "confidence": 0.75, "roles": "same"},
        {"source": "r_2", "target": "r_1", "bits": 7.25, "support": 4, "confidence": 0.5, "roles": "same"},
    ]
    opened.write_rule_graph("default", nodes, edges, [])
    answer = _example(opened, "evidence_of_answer")["answer"]
    used = [
        (_id(ids, "unemployment_rate", "1984-12-31"), 0.9),
        (_id(ids, "inflation_rate", "1984-12-31"), 0.5),
    ]
    opened.write_answer("default", answer, {"id": answer}, used)
    return ids


def _id(ids: dict[tuple[str, str, str], str], predicate: str, day: str) -> str:
    return ids["US", predicate, day]


@pytest.mark.engine
@pytest.mark.newest
def test_every_file_has_an_answer_to_its_own_example(store: GraphStore, graph: Any) -> None:
    assert {name: len(_run(store, name)) > 0 for name in NAMES} == dict.fromkeys(NAMES, True)


@pytest.mark.engine
@pytest.mark.newest
def test_facts_of_entity(store: GraphStore, graph: Any) -> None:
    rows = {row["predicate"]: row for row in _run(store, "facts_of_entity")}
    assert set(rows) == {"unemployment_rate", "inflation_rate"}
    held = rows["unemployment_rate"]
    assert (held["value"], held["unit"], held["beta"]) == (7.3, "%", 0.001)
    assert held["fact"] == _id(graph, "unemployment_rate", "1984-12-31")
    assert held["age_days"] == 46.0
    assert held["validity"] == pytest.approx(math.exp(-0.046), rel=1e-12)
    assert rows["inflation_rate"]["validity"] == 1.0


@pytest.mark.engine
@pytest.mark.newest
def test_as_of(store: GraphStore, graph: Any) -> None:
    rows = _run(store, "as_of")
    assert sorted((row["subject"], row["predicate"]) for row in rows) == [
        ("US", "inflation_rate"),
        ("US", "unemployment_rate"),
    ]
    held = next(row for row in rows if row["predicate"] == "unemployment_rate")
    assert (held["value"], held["valid_from"]) == (7.3, "1984-12-31T00:00:00Z")
    # Half-open: the period that begins at an instant holds there, the one that ends there does not.
    change = parse_instant("1985-09-30T00:00:00Z").us
    values = [
        next(
            row["value"] for row in _run(store, "as_of", at_us=at) if row["predicate"] == "unemployment_rate"
        )
        for at in (change - 1, change)
    ]
    assert values == [7.3, 7.2]
    assert _run(store, "as_of", at_us=parse_instant("1983-01-01").us) == []
    assert len(_run(store, "as_of", limit=1)) == 1
    now = _run(store, "as_of", at_us=parse_instant("2026-01-01").us)
    assert ("CVE-2023-47246", "CWE-22") in {(row["subject"], row["value"]) for row in now}


@pytest.mark.engine
@pytest.mark.newest
def test_history(store: GraphStore, graph: Any) -> None:
    rows = _run(store, "history")
    in_force = [row for row in rows if row["state"] == "in_force"]
    assert [row["value"] for row in in_force] == [7.9, 7.5, 7.4, 7.3, 7.3, 7.3, 7.2, 7.0]
    for row, after in pairwise(in_force):
        assert row["valid_to"] == after["valid_from"]
        # A value that is told again renews what holds; it does not supersede it.
        assert row["superseded_by"] == (after["fact"] if row["value"] != after["value"] else None)
    assert in_force[-1]["superseded_by"] is None


@pytest.mark.engine
@pytest.mark.newest
def test_stalest_facts(store: GraphStore, graph: Any) -> None:
    rows = _run(store, "stalest_facts", at_us=AT_US + 700 * DAY_US)
    ages = [row["age_days"] for row in rows]
    assert ages == sorted(ages, reverse=True)
    assert {row["content"] for row in rows} == {"US unemployment_rate 7 %", "US inflation_rate 5.13 %"}


@pytest.mark.engine
@pytest.mark.newest
def test_rule_edges(store: GraphStore, graph: Any) -> None:
    rows = _run(store, "rule_edges")
    assert [(row["if_node"], row["then_node"], row["bits"]) for row in rows] == [
        ("country unemployment_rate", "country inflation_rate number", 7.25),
        ("country inflation_rate number", "country unemployment_rate", 2.5),
    ]
    assert len(_run(store, "rule_edges", limit=1)) == 1


@pytest.mark.engine
@pytest.mark.newest
def test_evidence_of_answer(store: GraphStore, graph: Any) -> None:
    rows = _run(store, "evidence_of_answer")
    assert [(row["fact"], row["validity"], row["source"]) for row in rows] == [
        (_id(graph, "unemployment_rate", "1984-12-31"), 0.9, "statsmodels:macrodata"),
        (_id(graph, "inflation_rate", "1984-12-31"), 0.5, "statsmodels:macrodata"),
    ]
    assert rows[0]["content"] == "US unemployment_rate 7.3 %"
    assert _run(store, "evidence_of_answer", answer="a_none") == []


@pytest.mark.engine
@pytest.mark.newest
def test_a_fact_that_resumes_has_the_statements_of_its_home(
    store: GraphStore, ledger: Any, told: Any
) -> None:
    ledger.load(
        told(value="a", source="first"), told(value="b", source="second", valid_from=5, valid_to=8), now=10
    )
    periods = store.named("history", tenant=ledger.tenant, entity="x", predicate="p")
    rows = [dict(zip(periods.columns, row, strict=True)) for row in periods.rows]
    resumed = next(row for row in rows if row["resumes"])
    assert resumed["value"] == "a"
    found = _run(store, "sources_of_fact", tenant=ledger.tenant, fact=resumed["fact"])
    assert [row["source"] for row in found] == ["first"]
    store.write_answer(ledger.tenant, "a_1", {"id": "a_1"}, [(resumed["fact"], 0.5)])
    evidence = _run(store, "evidence_of_answer", tenant=ledger.tenant, answer="a_1")
    assert [(row["fact"], row["source"]) for row in evidence] == [(resumed["fact"], "first")]


@pytest.mark.engine
@pytest.mark.newest
def test_the_small_ones(store: GraphStore, graph: Any) -> None:
    fact = _id(graph, "unemployment_rate", "1984-12-31")
    assert _run(store, "fact_keys") == [{"subject": "US", "predicate": "unemployment_rate"}]
    assert _example(store, "fact_keys")["ids"] == [fact]
    (stated,) = _run(store, "sources_of_fact")
    assert stated["source"] == "statsmodels:macrodata"
    assert stated["observed_at_us"] == parse_instant("1984-12-31T00:00:00Z").us
    counted = {row["type"]: (row["facts"], row["beta"]) for row in _run(store, "types_and_counts")}
    assert counted["unemployment_rate"] == (8, 0.001)
    assert counted["inflation_rate"] == (8, None)
