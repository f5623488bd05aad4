"""The demo's facts on each engine: what Python, HTTP and Cypher say of their types and counts is the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from chronofy_kg.api import create_app
from chronofy_kg.demo import PACKS, demo_assertions
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.resources import data_text
from chronofy_kg.settings import load_settings
from chronofy_kg.store import GraphStore

pytestmark = pytest.mark.engine
QUERY = (
    "MATCH (f:Fact)-[:OF_TYPE]->(t) WHERE f.tenant = $tenant RETURN t.name, t.beta, count(f) ORDER BY t.name"
)


def test_types_betas_and_counts_agree_at_every_door(store: GraphStore, tenant: str, tmp_path: Path) -> None:
    kb = KnowledgeBase(store, load_settings(tenant=tenant, data=tmp_path, embedder="none"))
    for pack in PACKS:
        kb.put_spec(pack, data_text("rules", f"{pack}.spec"))
    told = list(demo_assertions())
    assert kb.load(told).added == len(told)
    kb.fit()
    counts = Counter(row.predicate for row in told)
    expected = [[row["name"], row["beta"], counts[row["name"]]] for row in kb.fact_types()]
    assert [name for name, _, _ in expected] == sorted(counts)
    assert [list(row) for row in kb.cypher(QUERY, {"tenant": tenant}).rows] == expected
    reply = TestClient(create_app(kb)).post(
        "/v1/cypher", json={"query": QUERY, "parameters": {"tenant": tenant}}
    )
    assert reply.json()["rows"] == expected
    again = kb.load(told)
    assert (again.added, again.unchanged, again.corrected) == (0, len(told), 0)
    fitted = {row["name"]: row for row in kb.fact_types()}
    assert fitted["log_weekly_cves"]["status"] == "ok"
    assert fitted["log_weekly_cves"]["half_life_days"] == pytest.approx(75, abs=1)
    assert fitted["unemployment_rate"]["status"] == "unit_root"
    assert fitted["exploitation"]["beta_from"] == "declared"
    versions = {row["name"]: row["version"] for row in kb.fact_types()}
    kb.fit()
    assert {row["name"]: row["version"] for row in kb.fact_types()} == versions
