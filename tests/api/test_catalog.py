"""Fact types, specs, Cypher and readiness, end to end."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronofy_kg.api.replies import (
    CypherOut,
    FactTypeList,
    FactTypeShown,
    Ready,
    SpecDryRunOut,
    SpecList,
    SpecOut,
)
from chronofy_kg.facts.time import parse_instant

pytestmark = pytest.mark.engine
Check = Callable[..., Any]


def test_fact_types(client: TestClient, load: Check, assert_documented: Check, assert_problem: Check) -> None:
    load(
        {
            "subject": "cat:1",
            "predicate": "http://example.org/p#q?x",
            "value": 1,
            "observed_at": "2024-05-17",
        },
        {"subject": "cat:1", "predicate": "cat_takes", "object": "drug:1", "observed_at": "2024-05-17"},
    )
    found = client.get("/v1/fact-types").json()
    assert_documented(found, FactTypeList)
    names = [row["name"] for row in found["items"]]
    assert names == sorted(names)
    assert {"http://example.org/p#q?x", "cat_takes"} <= set(names)
    shown = client.get("/v1/fact-types/http://example.org/p%23q%3Fx").json()
    assert_documented(shown, FactTypeShown)
    assert (shown["name"], shown["kind"], shown["half_life_days"]) == (
        "http://example.org/p#q?x",
        "numeric",
        90.0,
    )
    taken = client.get("/v1/fact-types/cat_takes").json()
    assert (taken["kind"], taken["cardinality"], taken["half_life_days"]) == ("categorical", "many", 365.0)
    assert_problem(client.get("/v1/fact-types/nope"), 404, "not-found")


def test_a_fact_type_with_its_versions_curve_and_picture(
    client: TestClient, kb: Any, load: Check, assert_documented: Check, assert_problem: Check
) -> None:
    load(*(
        {"subject": f"catv:{n % 3}", "predicate": "cat_state", "value": f"v{n // 12 % 2}",
         "observed_at": f"2024-05-{1 + n // 3:02d}T00:00:00Z"}
        for n in range(60)
    ))  # fmt: skip
    assert client.get("/v1/fact-types/cat_state").json()["versions"] == []
    kb.fit(["cat_state"])
    shown = client.get("/v1/fact-types/cat_state", params={"curve": "true"}).json()
    assert_documented(shown, FactTypeShown)
    (version,) = shown["versions"]
    assert (version["version"], version["beta"], version["beta_from"]) == (1, shown["beta"], "fitted")
    assert version["recorded_at"].endswith("Z")
    assert shown["curve"]["what"] == "survival"
    assert shown["curve"]["line"][0] == {"age": 0.0, "value": 1.0, "low": 1.0, "high": 1.0}
    for form, media, start in (("png", "image/png", b"\x89PNG"), ("svg", "image/svg+xml", b"<?xml")):
        picture = client.get("/v1/fact-types/cat_state", params={"plot": form})
        assert (picture.status_code, picture.headers["content-type"]) == (200, media)
        assert picture.content.startswith(start)
    assert_problem(client.get("/v1/fact-types/cat_state", params={"plot": "pdf"}), 422, "invalid-parameter")
    load({"subject": "catv:9", "predicate": "cat_event", "value": 1, "observed_at": "2024-05-17"})
    client.put("/v1/specs/cat_events", json={"text": "facttype cat_event: event\n"})
    assert client.get("/v1/fact-types/cat_event", params={"curve": "true"}).json()["curve"] is None
    assert_problem(client.get("/v1/fact-types/cat_event", params={"plot": "svg"}), 422, "invalid-input")


def test_specs(client: TestClient, load: Check, assert_documented: Check, assert_problem: Check) -> None:
    text = "facttype cat_lactate: numeric, one, half_life = 3 h\nspec fresh: G validity >= 0.5\n"
    first = client.put("/v1/specs/cat_pack", json={"text": text}).json()
    assert_documented(first, SpecOut)
    assert (first["name"], first["version"], first["text"]) == ("cat_pack", 1, text)
    assert client.put("/v1/specs/cat_pack", json={"text": text}).json() == first
    second = client.put("/v1/specs/cat_pack", json={"text": text.replace("0.5", "0.9")}).json()
    assert second["version"] == 2
    found = client.get("/v1/specs").json()
    assert_documented(found, SpecList)
    assert [(s["name"], s["version"]) for s in found["items"] if s["name"] == "cat_pack"] == [
        ("cat_pack", 1), ("cat_pack", 2),
    ]  # fmt: skip
    declared = client.get("/v1/fact-types/cat_lactate").json()
    assert (declared["declared"], declared["beta_from"], declared["half_life_days"]) == (
        True,
        "declared",
        0.125,
    )
    load(
        {"subject": "cat:2", "predicate": "cat_lactate", "value": 2.1, "observed_at": "2024-05-17T00:00:00Z"}
    )
    body = {"pattern": {"subject": "cat:2"}, "at": "2024-05-17T01:00:00Z", "spec": {"name": "cat_pack"}}
    judged = client.post("/v1/query", json=body).json()
    assert judged["verdict"] == "reacquire"
    assert judged["robustness"]["spec"] == {"name": "fresh", "version": 2}
    body["spec"] = {"name": "cat_pack.fresh", "version": 1}
    judged = client.post("/v1/query", json=body).json()
    assert judged["verdict"] == "supported"
    assert judged["bound"]["value"] == pytest.approx(0.5 ** (1 / 3))


def test_a_spec_keeps_its_author_hash_and_time(client: TestClient) -> None:
    text = "spec fresh: G validity >= 0.5\n"
    put = client.put("/v1/specs/cat_told", json={"text": text, "author": "Ada"}).json()
    assert put["author"] == "Ada"
    assert put["hash"] == hashlib.sha256(text.encode()).hexdigest()
    assert parse_instant(put["recorded_at"]).us > 0
    assert put in client.get("/v1/specs").json()["items"]


def test_an_import_may_name_the_version(client: TestClient, assert_problem: Check) -> None:
    for least in ("0.2", "0.6"):
        client.put("/v1/specs/cat_base", json={"text": f"param least = {least}\nspec s: validity > least\n"})
    body = {"text": 'import "cat_base@1" as base\nspec s: G validity >= base.least\n'}
    assert client.put("/v1/specs/cat_pinned", json=body).status_code == 200
    body["text"] = body["text"].replace("@1", "@9")
    problem = assert_problem(client.put("/v1/specs/cat_pinned", json=body), 422, "invalid-spec")
    assert (problem["errors"][0]["line"], problem["errors"][0]["column"]) == (1, 8)


def test_a_dry_run_says_what_would_change_and_writes_nothing(
    client: TestClient, load: Check, assert_documented: Check, assert_problem: Check
) -> None:
    load({"subject": "dry:1", "predicate": "cat_dry", "value": 1.0, "observed_at": "2024-05-17T00:00:00Z"})
    url, old = "/v1/specs/cat_dry", "param gamma in [0, 1] = 0\nspec fresh: G validity > gamma\n"
    first = client.put(url, json={"text": old}, params={"dry_run": "true"}).json()
    assert_documented(first, SpecDryRunOut)
    assert (first["version"], first["against"], first["same"]) == (1, None, False)
    assert {(one["kind"], one["change"]) for one in first["items"]} == {("param", "added"), ("spec", "added")}
    assert first["verdicts"][0]["before"] is None
    assert "cat_dry" not in client.get("/v1/specs").text
    client.put(url, json={"text": old})
    new = old.replace("= 0\n", "= 1\n") + "facttype cat_dry: numeric, half_life = 1 s\n"
    found = client.put(url, json={"text": new}, params={"dry_run": "true"}).json()
    assert (found["version"], found["against"], found["facttypes"]) == (2, 1, ["cat_dry"])
    assert [(one["name"], one["change"]) for one in found["items"]] == [
        ("gamma", "changed"), ("cat_dry", "added"), ("fresh", "affected"),
    ]  # fmt: skip
    (verdicts,) = found["verdicts"]
    assert sum(verdicts["before"].values()) == sum(verdicts["after"].values()) == found["facts"] >= 1
    # Nothing is more valid than 1; what is just as valid is on the boundary.
    assert verdicts["after"]["supported"] == 0
    assert verdicts["before"]["supported"] > 0
    assert verdicts["changed"] == verdicts["before"]["supported"]
    assert client.get("/v1/fact-types/cat_dry").json()["declared"] is False
    assert [
        one["version"] for one in client.get("/v1/specs").json()["items"] if one["name"] == "cat_dry"
    ] == [1]
    same = client.put(url, json={"text": old}, params={"dry_run": "true"}).json()
    assert (same["same"], same["version"], same["items"]) == (True, 1, [])
    bad = client.put(url, json={"text": "spec a: G"}, params={"dry_run": "true"})
    assert_problem(bad, 422, "invalid-spec")


def test_a_spec_with_errors_is_not_stored(client: TestClient, assert_problem: Check) -> None:
    reply = client.put("/v1/specs/cat_bad", json={"text": "spec a: G validity >=\nspec b: H (\n"})
    body = assert_problem(reply, 422, "invalid-spec")
    assert {place["pointer"] for place in body["errors"]} == {"/text"}
    assert all(1 <= place["line"] <= 3 and place["code"] for place in body["errors"])
    assert "cat_bad" not in client.get("/v1/specs").text
    imported = client.put("/v1/specs/cat_bad", json={"text": 'import "/etc/passwd"\n'})
    assert_problem(imported, 422)
    assert "root:" not in imported.text


def cypher(client: TestClient, query: str, **parameters: Any) -> Any:
    return client.post("/v1/cypher", json={"query": query, "parameters": parameters})


def test_cypher_reads(client: TestClient, load: Check, assert_documented: Check) -> None:
    load({"subject": "cy:1", "predicate": "egfr", "value": 52.5, "observed_at": "2024-05-17T08:30:00Z"})
    query = (
        "MATCH (f:Fact)-[:SUBJECT]->(e:Entity {id: $id}) "
        "RETURN f.predicate AS predicate, f.value AS value, f.observed_at AS seen, $x AS x"
    )
    reply = cypher(client, query, id="cy:1", x=[None, True, 2**62, 0.5, "é", {"a": []}])
    assert reply.status_code == 200, reply.text
    assert_documented(reply.json(), CypherOut)
    assert reply.json()["columns"] == ["predicate", "value", "seen", "x"]
    ((predicate, value, seen, x),) = reply.json()["rows"]
    assert (predicate, value) == ("egfr", 52.5)
    assert seen.startswith("2024-05-17T08:30:00")
    assert seen.endswith("Z")
    assert x == [None, True, 2**62, 0.5, "é", {"a": []}]
    assert reply.json()["truncated"] is False
    nobody = cypher(client, "MATCH (e:Entity {id: 'cy:nobody'}) RETURN e.id AS id").json()
    assert (nobody["rows"], nobody["truncated"]) == ([], False)


def test_cypher_shows_whole_elements(client: TestClient, load: Check) -> None:
    load({"subject": "cy:2", "predicate": "takes", "object": "drug:2", "observed_at": "2024-05-17"})
    reply = cypher(
        client, "MATCH p = (f:Fact)-[r:OBJECT]->(e:Entity {id: $id}) RETURN f, r, e, p", id="drug:2"
    )
    assert reply.status_code == 200, reply.text
    assert "takes" in reply.text


def test_cypher_is_cut(client: TestClient, kb: Any) -> None:
    most = kb.settings.cypher_rows
    body = cypher(client, "UNWIND range(1, $n) AS i RETURN i", n=most + 5).json()
    assert (len(body["rows"]), body["truncated"]) == (most, True)
    whole = cypher(client, "UNWIND range(1, $n) AS i RETURN i", n=most).json()
    assert (len(whole["rows"]), whole["truncated"]) == (most, False)


@pytest.mark.parametrize(
    "query",
    ["CREATE (n:Entity {id: 'cy:written'}) RETURN n", "MATCH (n:Fact) DETACH DELETE n",
     "MATCH (n:Fact) SET n.value = 0", "MERGE (n:Entity {id: 'cy:written'})",
     "MATCH (n) REMOVE n.id", "/* x */ cReAtE (n:Entity {id: 'cy:written'})",
     "CREATE INDEX FOR (n:Entity) ON (n.x)", "DROP CONSTRAINT x"],
)  # fmt: skip
def test_cypher_does_not_write(client: TestClient, load: Check, assert_problem: Check, query: str) -> None:
    load({"subject": "cy:3", "predicate": "egfr", "value": 1.5, "observed_at": "2024-05-17"})
    assert_problem(cypher(client, query), 403, "read-only")
    kept = "MATCH (f:Fact)-[:SUBJECT]->(:Entity {id: 'cy:3'}) RETURN f.value"
    assert cypher(client, kept).json()["rows"] == [[1.5]]
    assert cypher(client, "MATCH (e:Entity {id: 'cy:written'}) RETURN e.id").json()["rows"] == []


@pytest.mark.parametrize(
    "query", ["MATCH (", "RETURN $missing", "RETURN 1 UNION RETURN", "nonsense", "RETURN nope()"]
)
def test_cypher_with_errors(client: TestClient, assert_problem: Check, query: str) -> None:
    assert_problem(cypher(client, query), (403, 422))


def test_cypher_takes_no_odd_text(client: TestClient, assert_problem: Check) -> None:
    for query in (
        "RETURN 'a\\u0000b' AS x",
        "RETURN '\\ud800' AS x",
        "RETURN 1.0/0.0 AS x",
        "RETURN 0.0/0.0 AS x",
    ):
        reply = cypher(client, query)
        if reply.status_code == 200:
            assert "NaN" not in reply.text
            assert "Infinity" not in reply.text
        else:
            assert_problem(reply, (400, 422))


def test_ready(client: TestClient, assert_documented: Check) -> None:
    body = client.get("/healthz/ready").json()
    assert_documented(body, Ready)
    assert (body["store"], body["embedder"]) == ("ok", "off")


def test_many_at_once(client: TestClient) -> None:
    """Readers while a writer loads: every reply is whole, and no fact is lost."""
    statuses: list[int] = []

    def read() -> None:
        for _ in range(5):
            body = {"pattern": {"predicate": "together"}, "at": "2024-06-01"}
            statuses.append(client.post("/v1/query", json=body).status_code)

    def write(number: int) -> None:
        for turn in range(3):
            fact = {"subject": f"together:{number}.{turn}", "predicate": "together", "value": turn,
                    "observed_at": "2024-05-30"}  # fmt: skip
            statuses.append(client.post("/v1/facts", json=fact).status_code)

    threads = [threading.Thread(target=read) for _ in range(3)]
    threads += [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200}
    found = client.get("/v1/facts", params={"predicate": "together", "at": "2024-06-01"}).json()["items"]
    assert len(found) == 9
