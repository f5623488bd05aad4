"""Export from one engine, restore into the other: the same graph, element by element."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chronofy_kg.cli import main
from chronofy_kg.facts import OPEN_US, Assertion
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import load_settings
from chronofy_kg.store import GraphStore, StoreAddress

pytestmark = [pytest.mark.engine, pytest.mark.newest]

START, DAY = 1_704_067_200_000_000, 86_400_000_000
SPEC = "facttype egfr: numeric, half_life = 90 d\n"
SCRIPTS = [
    "患者:十七", "пациент", "मरीज", "رقم ٧", "cafe\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u202eright to left\u202c", "line\nbreak\r\n\ttab", "\\u0060 \\n", "'\"`}) DETACH DELETE n //",
    " blank ", "x" * 1_000,
]  # fmt: skip


def doubles() -> list[float]:
    """Return numbers of every size, drawn by their bits."""
    drawn = np.random.default_rng(7).integers(0, 2**64, 300, dtype=np.uint64).view(np.float64)
    edges = [0.0, -0.0, 5e-324, -5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1 / 3, 2.0**53, 1e22, 123456789.0]
    return [*edges, *drawn[np.isfinite(drawn)].tolist()]


def told(subject: str, predicate: str, start: int = 0, end: int = OPEN_US, **more: Any) -> Assertion:
    return Assertion(
        subject=subject,
        predicate=predicate,
        valid_from=start,
        valid_to=end,
        **({"observed_at": start, "source": "lab"} | more),
    )


def fill(kb: KnowledgeBase, clock: list[int]) -> None:
    """Tell a tenant a history: corrections, interruptions, retractions, and all kinds of value."""
    kb.put_spec("types", SPEC)
    loads = [
        [told(f"n{i}", "measures", i, value=value, unit="mg") for i, value in enumerate(doubles())],
        [
            told(
                name,
                name,
                value=name,
                type=name,
                source=name,
                content=name,
                unit=name,
                meta={name: [name, 1.5]},
            )
            for name in SCRIPTS
        ],
        [told(name, "linked", object=f"{name} too", lang=None, quality=0.1 + 0.2) for name in SCRIPTS],
        [
            told("p", "egfr", value=52, quality=0.9),
            told(
                "p",
                "egfr",
                value=52.0,
                source="other",
                observed_at=5,
                meta={"b": None, "a": {"deep": [True]}},
            ),
            told("p", "alive", value=True),
            told("p", "note", value="", datatype="xsd:string", lang="nl", content=""),
            told("p", "born", -62_135_596_800_000_000, -1, value="old", observed_at=-1),
            told("p", "big", value=2**53 - 1),
            told("p", "nobody", value=1, source=None),
        ],
        [
            told("p", "state", value="a"),
            told("p", "state", value="b", source="other"),
        ],  # contradict each other
        [
            told("p", "state", 10, 20, value="c"),
            told("p", "phase", value="a"),
            told("p", "phase", 10, 20, value="b"),
        ],
        [told("p", "egfr", value=48), told("p", "egfr", value=47)],  # takes back 52, and 48 within the load
        [told("p", "state", 10, 30, value="c")],  # another end: the period until 20 is no more
        [told("p", "egfr", -5, value=60, observed_at=-5)],  # late
    ]
    for rows in loads:
        clock[0] += DAY + 1
        kb.load(rows)
    for at in (15, 15):  # the interruption, and then the one of the two contradicting values that held
        clock[0] += DAY + 1
        (fact,) = kb.facts(subject="p", predicate="state", at=at).items
        kb.retract(fact.id, fact.sources[0].id)


def dump(store: GraphStore, tenant: str) -> tuple[list[str], list[str]]:
    """Return every node and every relationship of a tenant as sorted lines of text; doubles by their bits."""

    def ask(text: str) -> list[list[Any]]:
        found = store.cypher(text, {"tenant": tenant}, 100_000)
        assert not found.truncated
        return found.rows

    key = "coalesce(n.id, n.name, n.tenant)"
    nodes = ask(f"MATCH (n {{tenant: $tenant}}) RETURN labels(n), {key}, properties(n)")
    ends = [key.replace("n.", f"{end}.") for end in "ab"]
    pairs = ask(
        f"MATCH (a {{tenant: $tenant}})-[r]->(b) "
        f"RETURN labels(a), {ends[0]}, type(r), labels(b), {ends[1]}, properties(r)"
    )
    for labels, row in [(row[0], row) for row in nodes]:
        if labels == ["Tenant"]:
            assert len(row[2].pop("id")) == 32  # tells this store's tenant from that store's
            row[1] = ""
    return sorted(map(canonical, nodes)), sorted(map(canonical, pairs))


def canonical(row: list[Any]) -> str:
    def bits(value: Any) -> Any:
        if isinstance(value, float):
            return f"double {struct.pack('>d', value).hex()}"
        if isinstance(value, dict):
            return {name: bits(inner) for name, inner in value.items()}
        return [bits(inner) for inner in value] if isinstance(value, list) else value

    return json.dumps(bits(row), sort_keys=True, ensure_ascii=False)


_NUMBER = count()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StoreAddress, GraphStore]]:
    """An embedded engine of its own, beside the engine under test."""
    address = StoreAddress(data_dir=tmp_path_factory.mktemp("here"), linger=1.0)
    with GraphStore.open(address) as store:
        yield address, store


def run(
    monkeypatch: pytest.MonkeyPatch, address: StoreAddress, folder: Path, tenant: str, *argv: str
) -> None:
    for name, value in (("USER", address.user), ("PASSWORD", address.password), ("EMBEDDER", "none")):
        if value:
            monkeypatch.setenv(f"CHRONOFY_KG_{name}", value)
    place = ["--uri", address.uri, "--data", str(address.data_dir if address.is_embedded else folder)]
    assert main([*place, "--tenant", tenant, *argv]) == 0


@pytest.mark.parametrize("there_first", [False, True], ids=["into", "out of"])
def test_an_export_restored_into_the_other_engine_is_the_same_graph(
    there_first: bool,
    here: tuple[StoreAddress, GraphStore],
    address: StoreAddress,
    store: GraphStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenant = f"moved {next(_NUMBER)} 東"
    one, other = ((address, store), here) if there_first else (here, (address, store))
    clock = [START]
    given = load_settings(data=tmp_path / "caches", tenant=tenant, embedder="none")
    fill(KnowledgeBase(one[1], given, lambda: clock[0]), clock)
    clock[0] = START
    KnowledgeBase(other[1], given, lambda: clock[0]).put_spec("types", SPEC)
    file = str(tmp_path / "moved.jsonl.gz")
    run(monkeypatch, one[0], tmp_path / "one", tenant, "export", "--output", file)
    run(monkeypatch, other[0], tmp_path / "other", tenant, "load", file, "--restore")
    (nodes, pairs), (nodes_there, pairs_there) = dump(one[1], tenant), dump(other[1], tenant)
    assert nodes_there == nodes
    assert pairs_there == pairs
    states = {
        state: sum(f'"state": "{state}"' in node for node in nodes)
        for state in ("in_force", "shadowed", "retracted")
    }
    assert min(states.values()) > 0, states
    kinds = [json.loads(pair)[2] for pair in pairs]
    assert {"SUPERSEDES", "RESUMES", "ASSERTED_BY", "OBJECT", "SUBJECT", "OF_TYPE"} <= set(kinds)
    told_back = [json.loads(pair)[5] for pair in pairs if json.loads(pair)[2] == "ASSERTED_BY"]
    assert sum(edge["retired_at_us"] != OPEN_US for edge in told_back) == 5
