"""Any sequence of loads, corrections, retractions and declarations: the graph is the pure fold.

Two workers serve each of two tenants. Their clocks go back at times, one of them is opened anew from a saved
snapshot now and then, and whatever one writes the other must see.

The usual run is short and the same each time. The long one, `make soak`, is
``pytest tests/store/test_stateful.py --hypothesis-profile=soak``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from numpy.typing import NDArray
from support.facts import same_rows
from support.rules import Believed, rests_on

from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import FactType
from chronofy_kg.errors import QueryError
from chronofy_kg.facts import OPEN_US, Assertion, FactTable, fold
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import load_settings
from chronofy_kg.store import GraphStore, StoreAddress, snapshot

pytestmark = pytest.mark.engine

SHORT = settings(max_examples=4, stateful_step_count=8, derandomize=True, database=None)
TYPES = ("is", "was", "linked")
LABELS = ("Fact", "Entity", "Source", "FactType", "FactTypeVersion", "Spec", "Tenant")
HORIZON = 8


@st.composite
def assertions(draw: st.DrawFn) -> Assertion:
    """Rows that meet often: few keys, values, sources and times, so that they interrupt and correct."""
    predicate = draw(st.sampled_from(["is", "was", "linked", "mixed"]))
    start = draw(st.integers(0, HORIZON - 1))
    what: dict[str, Any] = {"value": draw(st.sampled_from(["a", "b", "cafe\u0301", 1, 1.0, 0.1 + 0.2, True]))}
    if predicate == "linked":
        what = {"object": draw(st.sampled_from(["x", "y", "s0"]))}
    elif predicate == "mixed":
        what["type"] = draw(st.sampled_from(["is", "was"]))
    return Assertion(
        subject=draw(st.sampled_from(["s0", "s1"])),
        predicate=predicate,
        valid_from=start,
        valid_to=draw(st.sampled_from([OPEN_US, OPEN_US, start + 1, start + 3])),
        observed_at=start + draw(st.integers(0, 3)),
        source=draw(st.sampled_from([None, "one", "two"])),
        quality=draw(st.sampled_from([None, 0.5, 1.0])),
        **what,
    )


class Tenant:
    """One tenant: its workers, and what must be believed by now."""

    def __init__(self, store: GraphStore, name: str, folder: Path, clock: Callable[[], int]) -> None:
        self.store, self.tenant, self.clock = store, name, clock
        self.settings = load_settings(data=folder, tenant=name, embedder="none")
        self.declared: dict[str, bool] = {}
        self.told: list[Assertion] = []
        self.believed = Believed(name, lambda row: self._is_many(row))
        self.workers = [self.open(), self.open()]

    def open(self) -> KnowledgeBase:
        return KnowledgeBase(self.store, self.settings, self.clock)

    def reopen(self, worker: int) -> None:
        self.workers[worker]._snapshot.close()
        self.workers[worker] = self.open()

    def _is_many(self, row: Assertion) -> bool:
        return self.declared.get(row.type or row.predicate, row.object is not None)

    def table(self) -> FactTable:
        return self.store.read(self.tenant)[0]

    def many(self, table: FactTable) -> NDArray[np.bool_]:
        rows = self.store.read_fact_types(self.tenant)
        return TypeCatalog.of(FactType.from_dict(row) for row in rows).many(table)

    def load(self, worker: int, rows: list[Assertion]) -> int:
        self.believed.load(rows)
        self.told += rows
        return self.workers[worker].load(rows).added


class Stores(RuleBasedStateMachine):
    """The state machine; `check` is given the engine and the fixtures that compare a graph with its fold."""

    def __init__(self, store: GraphStore, folder: Path, expected_graph: Any, check_graph: Any) -> None:
        super().__init__()
        self.expected_graph, self.check_graph = expected_graph, check_graph
        self.now = 1_000_000
        # Names are part of ids, and ids decide ties: always the same ones, so that a failure can be repeated.
        names = ("stateful-a", "stateful-b")
        for name in names:
            for label in LABELS:
                wipe(store, label, name)
        self.tenants = [Tenant(store, name, folder, lambda: self.now) for name in names]
        self.touched = {0, 1}

    def on(self, tenant: int, step: int) -> Tenant:
        self.now = max(self.now + step, 1_000_000)
        self.touched.add(tenant)
        return self.tenants[tenant]

    which = st.integers(0, 1)
    steps = st.sampled_from([-5, 0, 1, 1_000])

    @rule(tenant=which, worker=which, step=steps, rows=st.lists(assertions(), min_size=1, max_size=6))
    def load(self, tenant: int, worker: int, step: int, rows: list[Assertion]) -> None:
        self.on(tenant, step).load(worker, rows)

    @rule(tenant=which, worker=which, step=steps, pick=st.integers(0, 99), row=assertions())
    def correct(self, tenant: int, worker: int, step: int, pick: int, row: Assertion) -> None:
        """The source of an earlier row says something else of its key and valid_from."""
        whose = self.on(tenant, step)
        sourced = [told for told in whose.told if told.source is not None and told.predicate != "mixed"]
        if not sourced:
            return
        old = sourced[pick % len(sourced)]
        is_object = old.object is not None
        whose.load(
            worker,
            [
                Assertion(
                    subject=old.subject, predicate=old.predicate, type=old.type, source=old.source,
                    object=(row.object or "x") if is_object else None,
                    value=None if is_object else (row.value if row.value is not None else "a"),
                    valid_from=old.valid_from, observed_at=row.observed_at,
                    valid_to=OPEN_US if row.valid_to == OPEN_US else old.valid_from + 2,
                )
            ],
        )  # fmt: skip

    @rule(tenant=which, worker=which, random=st.randoms(use_true_random=False))
    def load_everything_again(self, tenant: int, worker: int, random: Any) -> None:
        whose = self.on(tenant, 1)
        rows, before = list(whose.told), self.store_sequence(tenant)
        random.shuffle(rows)
        assert whose.load(worker, rows) == 0
        assert self.store_sequence(tenant) == before
        del whose.told[len(rows) :]

    @rule(tenant=which, worker=which, step=steps, pick=st.integers(0, 99),
          source=st.sampled_from([None, None, "one", "two"]))  # fmt: skip
    def retract(self, tenant: int, worker: int, step: int, pick: int, source: str | None) -> None:
        whose = self.on(tenant, step)
        table = whose.table()
        facts = sorted(self.expected_graph(table, whose.many).facts)
        if not facts:
            return
        fact = facts[pick % len(facts)]
        believed = np.flatnonzero(table.retired_at == OPEN_US)
        rows = rests_on(fold(table, believed, whose.many(table.take(believed))), fact, source)
        try:
            whose.workers[worker].retract(fact, source)
        except QueryError:
            assert source is not None
            assert rows == []
        whose.believed.retract(table.id_of(row) for row in rows)

    @rule(tenant=which, worker=which, step=steps, name=st.sampled_from(TYPES), many=st.booleans())
    def declare(self, tenant: int, worker: int, step: int, name: str, many: bool) -> None:
        whose = self.on(tenant, step)
        whose.declared[name] = many
        text = f"facttype {name}: categorical, {'many' if many else 'one'}\n"
        whose.workers[worker].put_spec(f"types-{name}", text)

    @precondition(lambda self: any(whose.told for whose in self.tenants))
    @rule(tenant=which, worker=which)
    def reopen(self, tenant: int, worker: int) -> None:
        self.on(tenant, 0).reopen(worker)

    def store_sequence(self, tenant: int) -> int:
        return self.tenants[tenant].store.sequence(self.tenants[tenant].tenant)[0]

    @invariant()
    def the_graph_is_the_fold(self) -> None:
        untouched = {0, 1} - self.touched
        for tenant in untouched:
            assert self.store_sequence(tenant) == self.sequences[tenant]
        for tenant in self.touched:
            self._check(self.tenants[tenant])
        self.sequences = [self.store_sequence(tenant) for tenant in (0, 1)]
        self.touched = set()

    def _check(self, whose: Tenant) -> None:
        table, sequence = whose.store.read(whose.tenant)
        for worker in whose.workers:
            seen, last = worker._snapshot.current()
            assert same_rows(seen, table)
            assert (worker._snapshot.sequence, last) == (sequence, whose.store.sequence(whose.tenant)[1])
        mixed = {table.id_of(row) for row in range(len(table)) if table.assertion(row).predicate == "mixed"}
        stored = {table.id_of(row): bool(table.retired_at[row] == OPEN_US) for row in range(len(table))}
        told = whose.believed.states()
        assert stored.keys() == told.keys()
        # Rows of one key under two types are corrected by rules of their own.
        assert {n: s for n, s in stored.items() if n not in mixed} == {
            n: s for n, s in told.items() if n not in mixed
        }
        self.check_graph(whose, self.expected_graph(table, whose.many))

    def teardown(self) -> None:
        """Look at both once more: nothing reached the one that was not spoken to."""
        self.touched = {0, 1}
        self.the_graph_is_the_fold()


def wipe(store: GraphStore, label: str, tenant: str) -> None:
    text = f"MATCH (n:{label} {{tenant: $tenant}}) DETACH DELETE n"
    store._connection.write(lambda tx: tx.run(text, tenant=tenant).consume())


@pytest.fixture
def alone(address: StoreAddress, tmp_path: Path) -> Iterator[GraphStore]:
    """A store; the embedded engine reads all facts of all tenants to find those of one, so one of its own."""
    with GraphStore.open(replace(address, data_dir=tmp_path) if address.is_embedded else address) as store:
        yield store


def test_any_sequence_of_changes_leaves_the_graph_equal_to_the_fold(
    alone: GraphStore,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    expected_graph: Any,
    check_graph: Any,
) -> None:
    monkeypatch.setattr(snapshot, "_LEAST_CHANGED", 1)
    long = settings.get_current_profile_name() == "soak"
    chosen = settings.get_profile("soak") if long else SHORT
    run_state_machine_as_test(
        lambda: Stores(alone, tmp_path_factory.mktemp("stateful"), expected_graph, check_graph),
        settings=settings(chosen, deadline=None, suppress_health_check=list(HealthCheck)),
    )
