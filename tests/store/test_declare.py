"""Another cardinality for types whose facts are loaded: the graph is the new fold, at once and later on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from chronofy_kg.facts import OPEN_US, FactTable
from chronofy_kg.store import StaleSnapshotError

pytestmark = pytest.mark.engine


def all_many(table: FactTable) -> NDArray[np.bool_]:
    return np.ones(len(table), dtype=bool)


def all_one(table: FactTable) -> NDArray[np.bool_]:
    return np.zeros(len(table), dtype=bool)


def was_is_many(table: FactTable) -> NDArray[np.bool_]:
    return np.asarray([table.pool.get(code) == "was" for code in table.type.tolist()], dtype=bool)


def test_one_to_many_and_back(ledger: Any, told: Any, check_graph: Any, expected_graph: Any) -> None:
    ledger.load(told(value="a"), told(value="b", valid_from=10, valid_to=20), told(value="c", valid_from=30))
    at_first = expected_graph(ledger.table)
    written = ledger.declare(all_many, now=2_000)
    assert (written.sequence, written.recorded_at) == (2, 2_000)
    rows = ledger.store.cypher(
        "MATCH (f:Fact {tenant: $tenant}) WHERE f.state = 'in_force' "
        "RETURN f.value, f.valid_from_us, f.valid_to_us ORDER BY f.value",
        {"tenant": ledger.tenant},
    ).rows
    assert rows == [["a", 0, OPEN_US], ["b", 10, 20], ["c", 30, OPEN_US]]
    check_graph(ledger, expected_graph(ledger.table, all_many))
    assert ledger.store.read_fact_types(ledger.tenant) == [
        {"name": "is", "half_life_days": 2_000, "version": 1}
    ]
    ledger.declare(all_one, now=3_000)
    check_graph(ledger, at_first)


def test_a_tenant_without_facts_may_declare(
    ledger: Any, told: Any, check_graph: Any, expected_graph: Any
) -> None:
    assert ledger.declare(all_many).sequence == 1
    ledger.load(told(value="a"), told(value="b", valid_from=10))
    check_graph(ledger, expected_graph(ledger.table, all_many))


def test_a_stale_declaration_writes_nothing(ledger: Any, told: Any, make_ledger: Any) -> None:
    other = make_ledger(ledger.store, ledger.tenant)
    other.load(told(value="a"))
    with pytest.raises(StaleSnapshotError):
        ledger.declare(all_many)
    assert ledger.store.read_fact_types(ledger.tenant) == []
    assert ledger.store.sequence(ledger.tenant)[0] == 1
    # Nor does a load that was planned before a declaration get through.
    ledger.table, ledger.sequence = ledger.store.read(ledger.tenant)
    ledger.declare(all_many)
    with pytest.raises(StaleSnapshotError):
        other.load(told(value="b", valid_from=5))


@pytest.mark.parametrize("seed", range(4))
def test_the_graph_is_the_fold_whatever_is_declared(
    seed: int, ledger: Any, random_rows: Any, check_graph: Any, expected_graph: Any
) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(8):
        alive = np.flatnonzero(ledger.table.retired_at == OPEN_US)
        chance = rng.random()
        if len(alive) and chance < 0.2:
            ledger.retract(rng.choice(alive, size=1).tolist())
        elif chance < 0.55:
            ledger.declare([all_many, all_one, was_is_many][int(rng.integers(3))])
        else:
            ledger.load(*random_rows(rng, int(rng.integers(2, 8))))
        check_graph(ledger, expected_graph(ledger.table, ledger.many))
