"""Changes written one after the other while the next is planned, whoever else reads or writes meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from neo4j.exceptions import Neo4jError

from chronofy_kg.errors import InputError, StoreError
from chronofy_kg.facts import OPEN_US, FactTable, TableBuilder
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.plan import Plan, plan_load
from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import load_settings
from chronofy_kg.store import GraphStore, Snapshot, StoreAddress
from chronofy_kg.store.errors import told_errors

pytestmark = pytest.mark.engine
Planner = Callable[[FactTable], Plan]


def rows_of(told: Any, snapshot: Snapshot, tenant: str, part: int, count: int = 6) -> FactTable:
    """Rows of which every second repeats, corrects or ends one of the part before."""
    builder = TableBuilder(tenant)
    for n in range(count):
        subject = f"s{n if n % 2 else f'{part}-{n}'}"
        builder.add(told(subject=subject, value=part, valid_from=n if n % 3 else part, source="lab"))
    return snapshot.adopt(builder.build())


def planned(known: FactTable, batch: FactTable) -> Plan:
    return plan_load(known, batch, np.zeros(len(batch), dtype=bool))


def no_many(table: FactTable) -> Any:
    return np.zeros(len(table), dtype=bool)


def believed(table: FactTable) -> set[str]:
    return {table.id_of(row) for row in np.flatnonzero(table.retired_at == table.retired_at.max()).tolist()}


def test_the_outcome_is_that_of_one_write_after_the_other(store: GraphStore, tenant: str, told: Any) -> None:
    one, other = Snapshot(store, tenant + "a"), Snapshot(store, tenant + "b")
    clock = iter(range(1_000, 9_000))
    parts = range(4)
    ahead = list(
        one.write_each(
            (partial(planned, batch=rows_of(told, one, tenant + "a", p)) for p in parts),
            no_many,
            clock.__next__,
        )
    )
    alone = [
        other.write(partial(planned, batch=rows_of(told, other, tenant + "b", p)), no_many, clock.__next__)
        for p in parts
    ]
    for left, right in zip(ahead, alone, strict=True):
        assert (len(left.new), len(left.retire), left.unchanged) == (
            len(right.new),
            len(right.retire),
            right.unchanged,
        )
    table = one.current()[0]
    assert one.sequence == 4
    assert believed(table) == believed(other.current()[0])
    # What is kept in memory is what the store holds, with its times.
    read, sequence = store.read(tenant + "a")
    assert sequence == 4
    for name in ("ids", "recorded_at", "retired_at"):
        assert np.array_equal(getattr(table, name), getattr(read, name))


def test_somebody_who_is_quicker_makes_both_plans_anew(store: GraphStore, tenant: str, told: Any) -> None:
    mine, theirs = Snapshot(store, tenant), Snapshot(store, tenant)
    asked: list[int] = []

    def planner(part: int) -> Planner:
        batch = rows_of(told, mine, tenant, part)

        def plan(known: FactTable) -> Plan:
            asked.append(part)
            if asked == [0]:  # after this plan was made on the newest state
                built = rows_of(told, theirs, tenant, 9)
                theirs.write(partial(planned, batch=built), no_many, lambda: 50)
            return planned(known, batch)

        return plan

    plans = list(mine.write_each(map(planner, range(3)), no_many, lambda: 100))
    assert asked == [0, 1, 0, 1, 2]
    table, sequence = store.read(tenant)
    assert sequence == 4
    assert len({table.id_of(row) for row in range(len(table))}) == len(table)
    assert len(table) == 6 + sum(len(plan.new) for plan in plans)
    kept = mine.current()[0]
    assert np.array_equal(kept.ids, table.ids)
    assert np.array_equal(kept.retired_at, table.retired_at)


def test_nothing_to_write_is_no_change(store: GraphStore, tenant: str, told: Any) -> None:
    mine = Snapshot(store, tenant)
    batch = rows_of(told, mine, tenant, 1)
    again: list[Planner] = [partial(planned, batch=batch)] * 3
    plans = list(mine.write_each(again, no_many, lambda: 10))
    assert [len(plan.new) for plan in plans] == [6, 0, 0]
    assert [plan.unchanged for plan in plans] == [0, 6, 6]
    assert mine.sequence == 1


def test_a_plan_that_fails_loses_nothing_of_the_one_before(store: GraphStore, tenant: str, told: Any) -> None:
    mine = Snapshot(store, tenant)

    def broken(known: FactTable) -> Plan:
        raise RuntimeError("no plan")

    planners: list[Planner] = [partial(planned, batch=rows_of(told, mine, tenant, 1)), broken]
    with pytest.raises(RuntimeError, match="no plan"):
        list(mine.write_each(planners, no_many, lambda: 10))
    assert len(mine.current()[0]) == 6
    mine.write(partial(planned, batch=rows_of(told, mine, tenant, 2)), no_many, lambda: 20)
    assert mine.sequence == 2


def test_readers_need_not_wait_for_a_writer(store: GraphStore, tenant: str, told: Any) -> None:
    mine = Snapshot(store, tenant)
    read, waiting = threading.Event(), threading.Event()

    def slow(known: FactTable) -> Plan:
        waiting.set()
        assert read.wait(20), "a reader waited for the writer"
        return planned(known, rows_of(told, mine, tenant, 1))

    writer = threading.Thread(target=lambda: list(mine.write_each([slow], no_many, lambda: 10)))
    writer.start()
    assert waiting.wait(20)
    assert len(mine.current()[0]) == 0
    read.set()
    writer.join(20)
    assert len(mine.current()[0]) == 6


def test_row_48_a_load_is_written_in_batches_of_the_size_that_is_set(
    store: GraphStore, tenant: str, tmp_path: Path
) -> None:
    settings = load_settings(data=tmp_path, tenant=tenant, embedder="none", load_batch=100)
    rows = [
        Assertion(subject=f"s{n}", predicate="p", value=n, valid_from=0, valid_to=OPEN_US, observed_at=0)
        for n in range(250)
    ]
    kb = KnowledgeBase(store, settings)
    kb.load(rows)
    told = kb.cypher(
        "MATCH (:Fact {tenant: $tenant})-[a:ASSERTED_BY]->() RETURN a.added_seq AS seq, count(a) AS rows "
        "ORDER BY seq",
        {"tenant": tenant},
    )
    assert [count for _, count in told.rows] == [100, 100, 50]
    with pytest.raises(InputError, match="load_batch"):
        load_settings(load_batch=1)


def test_row_48_a_transaction_that_is_too_large_says_what_to_set() -> None:
    address = StoreAddress("bolt://127.0.0.1:7687", "neo4j", None, None, Path())
    problem = Neo4jError._hydrate_neo4j(
        code="Neo.TransientError.General.MemoryPoolOutOfMemoryError",
        message="The allocation of an extra 2.0 MiB would use more than the limit 1.0 MiB.",
    )
    with (
        pytest.raises(StoreError, match=r"2\.0 MiB .*; .*CHRONOFY_KG_LOAD_BATCH lower"),
        told_errors(address),
    ):
        raise problem
