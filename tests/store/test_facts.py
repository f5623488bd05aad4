"""Writing and reading assertions and facts: the same on every engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from support.facts import same_rows

from chronofy_kg.errors import InputError
from chronofy_kg.facts import OPEN_US, FactTable
from chronofy_kg.facts.plan import plan_load
from chronofy_kg.store import GraphStore, StaleSnapshotError

pytestmark = pytest.mark.engine

CAFE_NFD = "cafe\u0301"


def test_a_new_tenant_is_empty(store: GraphStore, tenant: str) -> None:
    assert store.sequence(tenant) == (0, 0)
    table, sequence = store.read(tenant)
    assert (len(table), sequence) == (0, 0)
    assert store.changes(tenant, 0).sequence == 0


@pytest.mark.newest
def test_everything_comes_back_bit_for_bit(ledger: Any, told: Any) -> None:
    day = 86_400_000_000
    ledger.load(
        told(subject=CAFE_NFD, predicate=CAFE_NFD, value=CAFE_NFD, source=CAFE_NFD, unit=CAFE_NFD),
        told(subject="caf\u00e9", predicate="caf\u00e9", value="caf\u00e9", source="caf\u00e9", valid_from=1),
        told(value=0.1 + 0.2, quality=0.1 + 0.2, valid_from=2),
        told(value=5e-324, valid_from=3),
        told(value=-0.0, valid_from=4),
        told(value=0.0, valid_from=5),
        told(value=1.7976931348623157e308, valid_from=6),
        told(value=2**62, valid_from=7),
        told(value=52, valid_from=8),
        told(value=52.0, valid_from=9, unit="mL/min"),
        told(value=True, valid_from=10),
        told(value=False, valid_from=11),
        told(value="true", valid_from=12, datatype="xsd:string", lang="nl"),
        told(value="", valid_from=13, content="", meta={"b": [1, None], "a": "\u2028"}),
        told(value="tab\t\"quote\" 'single' `back` \\ \U0001f600 \u0000", valid_from=14),
        told(object=CAFE_NFD, valid_from=-700_000 * day, observed_at=-1, valid_to=OPEN_US - day),
        told(
            value="old", valid_from=-1, valid_to=-1 + 1, observed_at=-1, source=None, type="typ\u0065\u0301"
        ),
        told(value="x" * 100_000, valid_from=15, source="long"),
    )
    table, sequence = ledger.store.read(ledger.tenant)
    assert sequence == 1
    assert same_rows(table, ledger.table)


def test_entities_are_one_in_nfc_and_named_as_first_told(ledger: Any, told: Any) -> None:
    ledger.load(told(subject=CAFE_NFD, value=1.0))
    ledger.load(told(subject="caf\u00e9", value=2.0, valid_from=5))
    found = ledger.store.cypher(
        "MATCH (e:Entity {tenant: $tenant}) RETURN e.id, e.name", {"tenant": ledger.tenant}
    )
    assert found.rows == [["caf\u00e9", CAFE_NFD]]


@pytest.mark.newest
def test_a_fact_shows_times_twice_and_its_value_as_such(ledger: Any, told: Any) -> None:
    ledger.load(
        told(subject="p:17", predicate="egfr", value=52.5, unit="mL/min", valid_from=1_700_000_000_000_001,
             source="lab", quality=0.9),
        told(subject="p:17", predicate="alive", value=True, valid_from=-1),
    )  # fmt: skip
    rows = ledger.store.cypher(
        "MATCH (f:Fact {tenant: $tenant})-[:SUBJECT]->(e:Entity) MATCH (f)-[:OF_TYPE]->(t:FactType) "
        "RETURN e.id, t.name, f.value, f.value_kind, f.unit, f.content, f.state, f.valid_from, "
        "f.valid_from_us, f.valid_to, f.valid_to_us, f.quality ORDER BY f.predicate",
        {"tenant": ledger.tenant},
    ).rows
    assert rows == [
        ["p:17", "alive", True, "boolean", None, "p:17 alive true", "in_force",
        "1969-12-31T23:59:59.999999Z", -1,
         None, OPEN_US, None],
        ["p:17", "egfr", 52.5, "number", "mL/min", "p:17 egfr 52.5 mL/min", "in_force",
         "2023-11-14T22:13:20.000001Z", 1_700_000_000_000_001, None, OPEN_US, 0.9],
    ]  # fmt: skip


def test_the_same_rows_again_change_nothing(ledger: Any, told: Any) -> None:
    rows = [told(value="a", source="s"), told(object="o", source="s")]
    ledger.load(*rows)
    written = ledger.load(*rows)
    assert written.sequence == 1
    assert ledger.store.sequence(ledger.tenant) == (1, 1_000)
    assert len(ledger.store.read(ledger.tenant)[0]) == 2


def test_recorded_at_never_goes_back(ledger: Any, told: Any) -> None:
    assert ledger.load(told(value=1.0), now=5_000).recorded_at == 5_000
    assert ledger.load(told(value=2.0, valid_from=1), now=4_000).recorded_at == 5_001
    assert ledger.load(told(value=3.0, valid_from=2), now=5_001).recorded_at == 5_002
    assert ledger.store.sequence(ledger.tenant) == (3, 5_002)
    assert ledger.store.read(ledger.tenant)[0].recorded_at.tolist() == [5_000, 5_001, 5_002]


def test_a_correction_retires_what_the_same_source_said(ledger: Any, told: Any) -> None:
    ledger.load(told(value="a", source="s"), told(value="a", source="other"))
    ledger.load(told(value="b", source="s"), now=2_000)
    table, _ = ledger.store.read(ledger.tenant)
    assert table.retired_at.tolist() == [2_000, OPEN_US, OPEN_US]
    assert same_rows(table, ledger.table)


@pytest.mark.newest
def test_a_row_corrected_within_its_load_is_stored_as_retired(ledger: Any, told: Any) -> None:
    ledger.load(told(value="a", source="s"), told(value="b", source="s"), now=7)
    table, _ = ledger.store.read(ledger.tenant)
    assert table.retired_at.tolist() == [7, OPEN_US]
    states = ledger.store.cypher(
        "MATCH (f:Fact {tenant: $tenant}) RETURN f.value, f.state ORDER BY f.value", {"tenant": ledger.tenant}
    )
    assert states.rows == [["a", "retracted"], ["b", "in_force"]]


@pytest.mark.newest
def test_an_interruption_is_resumed_and_can_be_retracted(
    ledger: Any, told: Any, expected_graph: Any, check_graph: Any, graph_of: Any
) -> None:
    ledger.load(told(value="a", source="s"))
    ledger.load(told(value="b", source="s", valid_from=10, valid_to=20))
    rows = ledger.store.named("history", tenant=ledger.tenant, entity="x", predicate="p").rows
    assert [(row[1], row[4], row[5]) for row in rows] == [
        ("a", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000010Z"),
        ("b", "1970-01-01T00:00:00.000010Z", "1970-01-01T00:00:00.000020Z"),
        ("a", "1970-01-01T00:00:00.000020Z", None),
    ]
    first, middle, last = rows
    # The interruption ends by its own word: nothing superseded it.
    assert (first[7], middle[7], last[8]) == (middle[0], None, first[0])
    check_graph(ledger, expected_graph(ledger.table))
    ledger.retract([1])
    check_graph(ledger, expected_graph(ledger.table))
    # The interruption comes back, told by another source: the facts that were there serve again.
    ledger.load(told(value="b", source="t", valid_from=10, valid_to=20))
    check_graph(ledger, expected_graph(ledger.table))
    assert len(graph_of(ledger)[0]) == 3


@pytest.mark.newest
def test_a_type_told_otherwise_moves_the_fact(ledger: Any, told: Any) -> None:
    ledger.load(told(value="a", source="s", type="one", quality=0.5))
    ledger.load(told(value="a", source="t", type="two", quality=0.9))
    rows = ledger.store.cypher(
        "MATCH (f:Fact {tenant: $tenant})-[:OF_TYPE]->(t) RETURN f.type, t.name", {"tenant": ledger.tenant}
    ).rows
    assert rows == [["two", "two"]]


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.newest), 1, 2, 3])
def test_the_graph_is_the_fold(
    seed: int, ledger: Any, random_rows: Any, expected_graph: Any, check_graph: Any
) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(8):
        alive = np.flatnonzero(ledger.table.retired_at == OPEN_US)
        if len(alive) and rng.random() < 0.25:
            ledger.retract(rng.choice(alive, size=1).tolist())
        else:
            ledger.load(*random_rows(rng, int(rng.integers(1, 6))))
        check_graph(ledger, expected_graph(ledger.table))
    assert same_rows(ledger.store.read(ledger.tenant)[0], ledger.table)


def test_a_stale_snapshot_is_refused_and_writes_nothing(ledger: Any, told: Any, make_ledger: Any) -> None:
    other = make_ledger(ledger.store, ledger.tenant)
    other.load(told(value="first"))
    with pytest.raises(StaleSnapshotError, match="at change 1, the snapshot at 0") as refused:
        ledger.load(told(value="second", subject="y"))
    assert (refused.value.expected, refused.value.current) == (0, 1)
    assert ledger.store.sequence(ledger.tenant)[0] == 1
    assert len(ledger.store.read(ledger.tenant)[0]) == 1


@pytest.mark.newest
def test_changes_bring_another_snapshot_level(ledger: Any, told: Any, many: Any) -> None:
    ledger.load(told(value="a", source="s"), told(predicate="knows", object="o", source="s"), now=10)
    snapshot, since = ledger.store.read(ledger.tenant)
    ledger.load(told(value="b", source="s"), told(value="c", valid_from=5, source="s"), now=20)
    ledger.load(told(value="d", valid_from=5, source="s"), now=30)
    changes = ledger.store.changes(ledger.tenant, since, snapshot.pool)
    assert (changes.sequence, changes.recorded_at) == (3, 30)
    # What came and went again meanwhile is an added row that says so.
    assert changes.added.retired_at.tolist() == [OPEN_US, 30, OPEN_US]
    assert [snapshot.id_of(0)] == ["a_" + ids.tobytes().hex() for ids in changes.retired_ids]
    assert changes.retired_at.tolist() == [20]
    assert same_rows(changes.apply(snapshot), ledger.table)
    nothing = ledger.store.changes(ledger.tenant, 3)
    assert (nothing.sequence, len(nothing.added), len(nothing.retired_ids)) == (3, 0, 0)
    assert same_rows(nothing.apply(ledger.table), ledger.table)


def test_tenants_do_not_meet(store: GraphStore, told: Any, make_ledger: Any) -> None:
    one, two = make_ledger(store, "t-one-" + told.__name__), make_ledger(store, "t-two-" + told.__name__)
    for ledger in (one, two):
        ledger.table, ledger.sequence = store.read(ledger.tenant)
        ledger.load(told(value=ledger.tenant, valid_from=ledger.sequence))
    assert store.read(one.tenant)[0].value(0) == one.tenant
    assert store.read(two.tenant)[0].value(0) == two.tenant


def test_a_load_of_many_and_large_rows_is_cut_into_messages(ledger: Any, told: Any) -> None:
    rows = [
        told(subject=f"s{number}", value=float(number), source=f"q{number % 3}") for number in range(6_000)
    ]
    rows += [told(subject=f"big{number}", value="y" * 1_500_000) for number in range(6)]
    ledger.load(*rows)
    table, _ = ledger.store.read(ledger.tenant)
    assert same_rows(table, ledger.table)


def test_a_row_that_no_message_can_hold_is_refused(ledger: Any, told: Any) -> None:
    with pytest.raises(InputError, match="too large"):
        ledger.load(told(value="y" * 16_000_000))
    assert ledger.store.sequence(ledger.tenant) == (0, 0)


def test_an_empty_plan_checks_the_sequence_too(ledger: Any, told: Any, many: Any) -> None:
    ledger.load(told(value="a"))
    plan = plan_load(ledger.table, FactTable.empty(), np.empty(0, dtype=bool))
    assert ledger.store.write(ledger.tenant, ledger.table, plan, many, 1, 9).sequence == 1
    with pytest.raises(StaleSnapshotError):
        ledger.store.write(ledger.tenant, ledger.table, plan, many, 0, 9)


def test_writers_at_the_same_time_never_lose_or_double_anything(
    store: GraphStore, tenant: str, told: Any, make_ledger: Any, expected_graph: Any, check_graph: Any
) -> None:
    def work(name: str) -> int:
        """Write five times, planning again whenever somebody else was quicker."""
        ledger, refused = make_ledger(store, tenant), 0
        for number in range(5):
            while True:
                ledger.table, ledger.sequence = store.read(tenant)
                try:
                    ledger.load(told(predicate="p", value=f"{name}{number}", valid_from=number, source=name))
                    break
                except StaleSnapshotError:
                    refused += 1
        return refused

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, "abcd"))
    final = make_ledger(store, tenant)
    final.table, final.sequence = store.read(tenant)
    assert (final.sequence, len(final.table)) == (20, 20)
    assert len(np.unique(final.table.recorded_at)) == 20
    check_graph(final, expected_graph(final.table))


def test_tenants_can_be_written_at_the_same_time(
    store: GraphStore, tenant: str, told: Any, make_ledger: Any
) -> None:
    def work(name: str) -> int:
        ledger = make_ledger(store, f"{tenant}-{name}")
        for number in range(5):
            ledger.load(*(told(subject=f"s{n}", value=number, valid_from=number) for n in range(40)))
        return len(store.read(ledger.tenant)[0])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, "abcd")) == [200] * 4
