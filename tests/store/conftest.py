"""Engines for the store's tests: the embedded one and two lines of Neo4j, each started once and ended again.

Everything runs on the embedded engine and on the LTS line. On the newest line run the tests marked `newest`:
together they use every statement of cypher/store and every file of cypher/queries.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

from chronofy_kg.facts import OPEN_US, Assertion, FactTable, TableBuilder, ValueKind, fold
from chronofy_kg.facts.model import fact_id
from chronofy_kg.facts.plan import plan_load, plan_retract
from chronofy_kg.store import GraphStore, StoreAddress, Written

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = int(os.environ.get("EXAMPLES", "200"))
settings.register_profile(
    "soak", max_examples=EXAMPLES, stateful_step_count=15, deadline=None, print_blob=True
)


def _load_deploy() -> ModuleType:
    """Load the launcher of deploy/, which is no package."""
    spec = importlib.util.spec_from_file_location(
        "chronofy_deploy_neo4j", ROOT / "deploy" / "neo4j_server.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not marked for the newest line."""

    def is_left_out(item: pytest.Item) -> bool:
        call = getattr(item, "callspec", None)
        return (
            call is not None
            and call.params.get("address") == NEWEST
            and not item.get_closest_marker("newest")
        )

    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not is_left_out(item)]


@pytest.fixture(scope="session")
def deploy() -> ModuleType:
    return _load_deploy()


NEWEST = "neo4j-2026"
#: The lines of Neo4j by the name of their parameter; "embedded" is the engine of the wheel.
LINES = {"neo4j": "5.26", NEWEST: "2026.08"}


@pytest.fixture(scope="session", params=["embedded", *LINES])
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, deploy: ModuleType
) -> Iterator[StoreAddress]:
    """Where a running engine is."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "embedded":
        yield StoreAddress(data_dir=folder, linger=1.0)
        return
    line = LINES[request.param]
    reason = deploy.missing(line)
    if reason is not None:
        required = os.environ.get("CI") == "true" or os.environ.get("REQUIRE_NEO4J") == "1"
        (pytest.fail if required else pytest.skip)(f"no Neo4j {line}: {reason}")
    server = deploy.start(folder, line=line)
    try:
        yield StoreAddress(server.uri, deploy.USER, server.password)
    finally:
        deploy.stop(folder)


@pytest.fixture(scope="session")
def opened(address: StoreAddress) -> Iterator[GraphStore]:
    with GraphStore.open(address) as store:
        yield store


@pytest.fixture
def store(opened: GraphStore) -> GraphStore:
    """An open store; tests keep apart by their tenants."""
    return opened


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


def objects_are_many(table: FactTable) -> NDArray[np.bool_]:
    return np.asarray(table.kind == ValueKind.OBJECT)


def told(**fields: object) -> Assertion:
    """Return an assertion about x; valid from 0 and open unless said otherwise."""
    start = fields.get("valid_from", 0)
    usual = {"subject": "x", "predicate": "p", "valid_from": start, "valid_to": OPEN_US, "observed_at": start}
    return Assertion(**(usual | fields))  # type: ignore[arg-type]


@dataclass
class Ledger:
    """A tenant with its table, as a caller of the store keeps it."""

    store: GraphStore
    tenant: str
    table: FactTable = field(default_factory=FactTable.empty)
    sequence: int = 0
    many: Callable[[FactTable], NDArray[np.bool_]] = objects_are_many

    def load(self, *rows: Assertion, now: int = 1_000) -> Written:
        builder = TableBuilder(self.tenant)
        builder.extend(rows)
        incoming = builder.build()
        plan = plan_load(self.table, incoming, self.many(incoming))
        return self._keep(self.store.write(self.tenant, self.table, plan, self.many, self.sequence, now))

    def retract(self, rows: Sequence[int], now: int = 1_000) -> Written:
        plan = plan_retract(self.table, np.asarray(rows, dtype=np.int64))
        return self._keep(self.store.write(self.tenant, self.table, plan, self.many, self.sequence, now))

    def declare(self, many: Callable[[FactTable], NDArray[np.bool_]], now: int = 1_000) -> Written:
        """Declare the types of this tenant with another cardinality."""
        before, self.many = self.many, many
        types = [{"name": "is", "half_life_days": now}]
        return self._keep(
            self.store.declare(self.tenant, self.table, types, before, many, self.sequence, now)
        )

    def _keep(self, written: Written) -> Written:
        self.table, self.sequence = written.table, written.sequence
        return written


@pytest.fixture
def ledger(store: GraphStore, tenant: str) -> Ledger:
    return Ledger(store, tenant)


@pytest.fixture(scope="session")
def make_ledger() -> type[Ledger]:
    return Ledger


@pytest.fixture(name="told")
def _told() -> Callable[..., Assertion]:
    return told


@pytest.fixture
def many() -> Callable[[FactTable], NDArray[np.bool_]]:
    return objects_are_many


@dataclass(frozen=True)
class ExpectedGraph:
    """What the graph must hold for a table, worked out row by row from the pure fold."""

    facts: dict[str, tuple[str, int, int, int]]  # id: state, valid_from, valid_to, observed_at
    supersedes: set[tuple[str, str]]
    resumes: set[tuple[str, str]]
    homes: set[tuple[str, str]]  # fact id, assertion id


def expected_graph(
    table: FactTable, many: Callable[[FactTable], NDArray[np.bool_]] = objects_are_many
) -> ExpectedGraph:
    believed = np.flatnonzero(table.retired_at == OPEN_US)
    history = fold(table, believed, many(table.take(believed)))
    facts: dict[str, tuple[str, int, int, int]] = {}
    homes: dict[str, list[int]] = {}
    for row in range(len(table)):
        homes.setdefault(fact_id(table.statement(row), int(table.valid_from[row])), []).append(row)
    for name, rows in homes.items():
        alive = [row for row in rows if table.retired_at[row] == OPEN_US]
        quality = np.where(np.isnan(table.quality), 1.0, table.quality)
        last = max(alive or rows, key=lambda row: (table.observed_at[row], quality[row], -row))
        state = "shadowed" if alive else "retracted"
        facts[name] = (
            state,
            int(table.valid_from[last]),
            int(table.valid_to[last]),
            int(table.observed_at[last]),
        )
    resumes = set()
    for index, winner in enumerate(history.winner.tolist()):
        start, end = int(history.start[index]), int(history.end[index])
        support = [
            row
            for row in believed.tolist()
            if table.statement(row) == table.statement(winner)
            and table.valid_from[row] <= start
            and end <= table.valid_to[row]
        ]
        facts[history.id(index)] = (
            "in_force",
            start,
            end,
            max(int(table.observed_at[row]) for row in support),
        )
        if start != table.valid_from[winner]:
            home = fact_id(table.statement(winner), int(table.valid_from[winner]))
            resumes.add((history.id(index), home))
    ended = np.flatnonzero(history.superseded_by >= 0).tolist()
    return ExpectedGraph(
        facts=facts,
        supersedes={(history.id(int(history.superseded_by[i])), history.id(i)) for i in ended},
        resumes=resumes,
        homes={(name, table.id_of(row)) for name, rows in homes.items() for row in rows},
    )


@pytest.fixture(name="expected_graph")
def _expected_graph() -> Callable[..., ExpectedGraph]:
    return expected_graph


@pytest.fixture
def random_rows() -> Callable[[np.random.Generator, int], list[Assertion]]:
    """Rows that meet often: few subjects, values, sources and times, so that they interrupt and correct."""

    def make(rng: np.random.Generator, count: int) -> list[Assertion]:
        rows = []
        for _ in range(count):
            start = int(rng.integers(0, 8))
            end = OPEN_US if rng.random() < 0.6 else start + int(rng.integers(1, 5))
            is_object = rng.random() < 0.3
            what = {"object": f"o{rng.integers(3)}"} if is_object else {"value": f"v{rng.integers(3)}"}
            source = [None, "a", "b"][int(rng.integers(3))]
            quality = [None, 0.5, 0.9][int(rng.integers(3))]
            rows.append(
                told(
                    subject=f"s{rng.integers(2)}", predicate="linked" if is_object else "is",
                    valid_from=start, valid_to=end, observed_at=start + int(rng.integers(0, 4)),
                    source=source, quality=quality, type=["is", "was"][int(rng.integers(2))], **what,
                )
            )  # fmt: skip
        return rows

    return make


def _graph(ledger: Any) -> tuple[dict[str, tuple[Any, ...]], set[Any], set[Any], set[Any]]:
    """Return the facts and relationships that the graph holds for a tenant."""
    given = {"tenant": ledger.tenant}

    def ask(text: str) -> list[list[Any]]:
        rows: list[list[Any]] = ledger.store.cypher(text, given, row_limit=10_000).rows
        return rows

    facts = ask(
        "MATCH (f:Fact {tenant: $tenant}) "
        "RETURN f.id, f.state, f.valid_from_us, f.valid_to_us, f.observed_at_us"
    )
    supersedes = ask("MATCH (a:Fact {tenant: $tenant})-[:SUPERSEDES]->(b:Fact) RETURN a.id, b.id")
    resumes = ask("MATCH (a:Fact {tenant: $tenant})-[:RESUMES]->(b:Fact) RETURN a.id, b.id")
    homes = ask("MATCH (f:Fact {tenant: $tenant})-[a:ASSERTED_BY]->(:Source) RETURN f.id, a.id")
    pairs = [[tuple(row) for row in rows] for rows in (supersedes, resumes, homes)]
    for found in pairs:
        assert len(found) == len(set(found))
    return {row[0]: tuple(row[1:]) for row in facts}, *map(set, pairs)  # type: ignore[return-value]


def _check_graph(ledger: Any, expected: Any) -> None:
    facts, supersedes, resumes, homes = _graph(ledger)
    assert supersedes == expected.supersedes
    assert resumes == expected.resumes
    assert homes == expected.homes
    assert {name: facts[name] for name in expected.facts} == expected.facts
    assert all(facts[name][0] != "in_force" for name in facts.keys() - expected.facts.keys())


@pytest.fixture(name="graph_of")
def _graph_of() -> Callable[..., Any]:
    return _graph


@pytest.fixture(name="check_graph")
def _check_graph_fixture() -> Callable[..., None]:
    return _check_graph
