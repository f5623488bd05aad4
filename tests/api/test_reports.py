"""Cases from reports against other products, end to end; the number is the row of that list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

pytestmark = pytest.mark.engine
Check = Callable[..., Any]


@pytest.fixture
def listed(client: TestClient) -> Check:
    def get(**params: Any) -> list[dict[str, Any]]:
        reply = client.get("/v1/facts", params={"at": "2026-01-01"} | params)
        assert reply.status_code == 200, reply.text
        items: list[dict[str, Any]] = reply.json()["items"]
        return items

    return get


@pytest.fixture
def ask(client: TestClient) -> Check:
    def post(**body: Any) -> dict[str, Any]:
        reply = client.post("/v1/query", json=body)
        assert reply.status_code == 200, reply.text
        answer: dict[str, Any] = reply.json()
        return answer

    return post


def values(facts: list[dict[str, Any]]) -> list[Any]:
    return [fact.get("object") or fact["value"] for fact in facts]


def test_row_1_the_default_is_current_and_history_is_asked_for(
    load: Check, listed: Check, ask: Check
) -> None:
    told = {"subject": "row:1", "predicate": "status"}
    load(
        told | {"value": "open", "valid_from": "2025-01-01"},
        told | {"value": "closed", "valid_from": "2025-02-01"},
    )
    assert values(listed(subject="row:1")) == ["closed"]
    both = listed(subject="row:1", history="true")
    assert values(both) == ["open", "closed"]
    assert [bool(fact.get("superseded_by")) for fact in both] == [True, False]
    answer = ask(pattern={"subject": "row:1"}, at="2025-02-02")
    assert values(answer["facts"]) == ["closed"]
    assert answer["excluded"]["superseded"] == 1


def test_row_2_a_missing_date_is_never_today(client: TestClient) -> None:
    row = {"subject": "row:2", "predicate": "p", "value": 1}
    reply = client.post("/v1/facts", json={"facts": [row]})
    assert reply.status_code == 422
    assert "observed_at" in reply.text
    assert client.get("/v1/facts", params={"subject": "row:2"}).json()["items"] == []


def test_row_3_history_closes_older_statements(load: Check, listed: Check) -> None:
    told = {"subject": "row:3", "predicate": "drinks", "source": "x"}
    load(
        told | {"value": "coffee", "valid_from": "2023-09-23"},
        told | {"value": "tea", "valid_from": "2023-09-21"},
        told | {"value": "no tea", "valid_from": "2023-09-22"},
    )
    days = {"2023-09-21": "tea", "2023-09-22": "no tea", "2023-09-24": "coffee"}
    assert {day: values(listed(subject="row:3", at=day)) for day in days} == {d: [v] for d, v in days.items()}


def test_row_4_the_same_rows_again_change_nothing(load: Check, listed: Check) -> None:
    rows = [
        {"subject": "row:4", "predicate": "p", "value": n, "valid_from": f"2025-0{n}-01"} for n in range(1, 9)
    ]
    first = load(*rows)
    before = listed(subject="row:4", history="true")
    again = load(*rows)
    assert (first["added"], again["added"], again["unchanged"]) == (8, 0, 8)
    assert listed(subject="row:4", history="true") == before


def test_row_5_two_sources_are_one_fact_named_once_each(load: Check, listed: Check) -> None:
    def rows(subject: str) -> list[dict[str, Any]]:
        told = {"subject": subject, "predicate": "p", "value": 1, "valid_from": "2025-01-01"}
        return [told | {"source": name} for name in ("a", "b", "a")]

    load(*rows("row:5"))
    for row in rows("row:5-singly"):
        load(row)
    for subject in ("row:5", "row:5-singly"):
        (fact,) = listed(subject=subject)
        assert sorted(source["id"] for source in fact["sources"]) == ["a", "b"]


def test_row_6_times_are_iso_text_on_every_route(
    load: Check, listed: Check, client: TestClient, ask: Check
) -> None:
    load({"subject": "row:6", "predicate": "p", "value": 1, "valid_from": "2025-01-01T05:30:00+05:30"})
    (fact,) = listed(subject="row:6")
    assert fact["valid_from"] == "2025-01-01T00:00:00Z"
    answer = ask(pattern={"subject": "row:6"}, at="2025-01-02")
    assert answer["facts"][0]["valid_from"] == "2025-01-01T00:00:00Z"
    text = "MATCH (f:Fact {id: $id}) RETURN f.valid_from, [f.valid_from], {at: f.valid_from}"
    reply = client.post("/v1/cypher", json={"query": text, "parameters": {"id": fact["id"]}})
    when = "2025-01-01T00:00:00Z"
    assert reply.json()["rows"] == [[when, [when], {"at": when}]]


def test_row_7_nested_meta_comes_back_as_the_same_object(load: Check, listed: Check) -> None:
    meta = {"population": {"2023": "97709", "2022": "5575"}, "list": [{"a": 1}, {"b": None}]}
    load({"subject": "row:7", "predicate": "p", "value": 1, "valid_from": "2025-01-01", "meta": meta})
    (fact,) = listed(subject="row:7")
    assert fact["meta"] == meta


def test_row_8_names_are_data(client: TestClient, load: Check, listed: Check) -> None:
    load({"subject": "row:8", "predicate": 'a"b', "value": 1, "valid_from": "2025-01-01"})
    assert values(listed(predicate='a"b')) == [1]
    for name in ("x' OR 1=1 //", "a\"b' OR true", "a`b"):
        assert listed(subject=name) == []
        assert listed(subject="row:8", source=name) == []


@pytest.mark.parametrize("question", ['CVE-2024/1 (RCE)? ~"x', "*:* AND [", "a/b"])
def test_row_9_signs_in_a_question_are_text(ask: Check, question: str) -> None:
    assert ask(question=question, at="2025-01-01")["verdict"]


def test_row_11_a_contradiction_keeps_both(load: Check, listed: Check) -> None:
    told = {"subject": "row:11", "predicate": "feels about tea"}
    load(told | {"value": "likes", "valid_from": "2025-01-01"})
    load(told | {"value": "hates", "valid_from": "2025-03-01"})
    assert values(listed(subject="row:11")) == ["hates"]
    assert values(listed(subject="row:11", history="true")) == ["likes", "hates"]


def test_row_12_only_the_same_key_contradicts(load: Check, listed: Check) -> None:
    for day, value in (("2025-01-01", "A"), ("2025-02-01", "B")):
        load({"subject": "row:12", "predicate": "name", "value": value, "valid_from": day})
    for team in ("my team", "brother's team"):
        load({"subject": "row:12", "predicate": "follows", "object": team, "valid_from": "2025-01-01"})
    assert values(listed(subject="row:12", predicate="name")) == ["B"]
    assert sorted(values(listed(subject="row:12", predicate="follows"))) == ["brother's team", "my team"]


def test_row_13_a_new_version_of_a_document_corrects_its_own_statement(
    load: Check, listed: Check, ask: Check
) -> None:
    told = {"subject": "row:13", "predicate": "born in", "valid_from": "2025-01-01", "source": "doc"}
    load(told | {"value": 987})
    load(told | {"value": 986})
    assert values(listed(subject="row:13")) == [986]
    answer = ask(pattern={"subject": "row:13"}, at="2025-01-02")
    assert values(answer["facts"]) == [986]
    assert "987" not in answer["answer"]
    assert answer["excluded"]["retracted"] == 1


def test_row_17_a_boundary_is_in_one_period_and_none_is_empty(
    client: TestClient, load: Check, listed: Check
) -> None:
    told = {"subject": "row:17", "predicate": "p"}
    load(
        told | {"value": 1, "valid_from": "2025-01-01", "valid_to": "2025-02-01"},
        told | {"value": 2, "valid_from": "2025-02-01", "valid_to": "2025-03-01"},
    )
    assert values(listed(subject="row:17", at="2025-02-01T00:00:00Z")) == [2]
    empty = told | {"value": 3, "valid_from": "2025-04-01", "valid_to": "2025-04-01"}
    reply = client.post("/v1/facts", json={"facts": [empty]})
    assert reply.status_code == 422
    assert "valid_to" in reply.json()["errors"][0]["detail"] + reply.json()["errors"][0].get("pointer", "")


def test_row_18_an_interruption_leaves_three_periods(load: Check, listed: Check) -> None:
    told = {"subject": "row:18", "predicate": "v"}
    load(
        told | {"value": 1, "valid_from": "2020-01-01"},
        told | {"value": 2, "valid_from": "2023-01-01", "valid_to": "2024-01-01"},
    )
    for at, value in (("2022-12-31", 1), ("2023-01-01", 2), ("2023-12-31", 2), ("2024-01-01", 1)):
        assert values(listed(subject="row:18", at=at)) == [value], at
    assert values(listed(subject="row:18", history="true")) == [1, 2, 1]


def test_row_19_a_naive_time_is_in_the_default_zone_and_a_date_its_first_instant(
    load: Check, listed: Check, ask: Check
) -> None:
    load({"subject": "row:19", "predicate": "p", "value": 1, "valid_from": "2025-01-01T00:00:00Z"})
    for at in ("2025-01-01", "2025-01-01T00:00:00", "2025-01-01T00:00:00Z"):
        assert values(listed(subject="row:19", at=at)) == [1], at
        assert ask(pattern={"subject": "row:19"}, at=at)["at"] == "2025-01-01T00:00:00Z"
    assert listed(subject="row:19", at="2024-12-31T23:59:59.999999Z") == []
