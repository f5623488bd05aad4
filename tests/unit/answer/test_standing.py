"""How matched statements stand, against a slow reading of the rules, row by row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.facts import catalog_of, table_of, told, us

from chronofy_kg.answer.model import EXCLUSIONS, Pattern
from chronofy_kg.answer.select import found_by_pattern
from chronofy_kg.answer.standing import standing
from chronofy_kg.answer.view import Moment, build_view
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import from_declaration
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.table import FactTable, TableBuilder
from chronofy_kg.facts.time import DAY_US, OPEN_US

TYPES = TypeCatalog.of(
    [
        from_declaration("weight", "numeric", "one", beta=0.01),
        from_declaration("takes", "categorical", "many", beta=0.01),
    ]
)
DAYS = st.integers(0, 7)


@st.composite
def rows(draw: st.DrawFn) -> tuple[Assertion, int, int]:
    start = draw(DAYS)
    end = draw(st.one_of(st.none(), st.integers(start + 1, 9)))
    predicate = draw(st.sampled_from(["weight", "takes"]))
    value = draw(st.integers(1, 3))
    recorded = draw(DAYS)
    retired = draw(st.one_of(st.none(), st.integers(recorded + 1, 9)))
    row = Assertion(
        subject=draw(st.sampled_from("pq")),
        predicate=predicate,
        object=None if predicate == "weight" else f"drug:{value}",
        value=value if predicate == "weight" else None,
        valid_from=start * DAY_US,
        valid_to=OPEN_US if end is None else end * DAY_US,
        observed_at=draw(DAYS) * DAY_US,
        source=draw(st.sampled_from("ab")),
        quality=draw(st.sampled_from([None, 0.5])),
    )
    return row, recorded * DAY_US, OPEN_US if retired is None else retired * DAY_US


def table_with(told_rows: list[tuple[Assertion, int, int]]) -> FactTable:
    builder = TableBuilder()
    for row, recorded, retired in told_rows:
        builder.add(row, recorded_at=recorded, retired_at=retired)
    return builder.build()


def holder(table: FactTable, among: list[int], instant: int) -> int | None:
    """The row that holds at an instant among rows of one key: latest start, then quality, observed, id."""
    covering = [r for r in among if table.valid_from[r] <= instant < table.valid_to[r]]

    def rank(row: int) -> tuple[object, ...]:
        quality = 1.0 if np.isnan(table.quality[row]) else float(table.quality[row])
        return int(table.valid_from[row]), quality, int(table.observed_at[row]), table.ids[row].tobytes()

    return max(covering, key=rank, default=None)


def slow_reason(table: FactTable, home: list[int], moment: Moment) -> str | None:
    """Why the statement that some rows tell is left out; None where it is in use."""
    believed = [r for r in range(len(table)) if table.recorded_at[r] <= moment.known_at < table.retired_at[r]]
    limit = moment.observed_by
    seen = [r for r in believed if limit is None or table.observed_at[r] <= limit]
    if not set(home) & set(believed):
        return "retracted"
    if not set(home) & set(seen):
        return "not_yet_observed"
    own = [r for r in home if r in seen]
    start, end = int(table.valid_from[home[0]]), max(int(table.valid_to[r]) for r in own)
    if start > moment.at:
        return "not_yet_valid"
    many = table.pool[table.predicate[home[0]]] == "takes"
    same_key = [r for r in seen if table.statement(r)[:3] == table.statement(home[0])[:3]]
    same_value = [r for r in same_key if table.statement(r) == table.statement(home[0])]
    rivals = same_value if many else same_key
    days = range(start, min(end, 12 * DAY_US), DAY_US)
    held = [(r := holder(table, rivals, day)) is not None and r in same_value for day in days]
    if moment.at < end:
        return None if held[(moment.at - start) // DAY_US] else "superseded"
    # It ran out by itself if its value, begun in its own time, still held on its last day.
    own_time = [holder(table, rivals, day) for day in days]
    begun = [r for r in own_time if r in same_value and table.valid_from[r] >= start]
    return "expired" if held and held[-1] and begun else "superseded"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(rows(), min_size=1, max_size=9),
    st.integers(0, 9),
    st.integers(0, 9),
    st.booleans(),
    st.sampled_from(
        [
            Pattern("p"),
            Pattern(predicate="weight"),
            Pattern("p", "takes"),
            Pattern(object="drug:1"),
            Pattern(),
        ]
    ),
)
def test_each_matched_statement_counts_once_for_the_first_reason(
    told_rows: list[tuple[Assertion, int, int]], at: int, known: int, hindsight: bool, pattern: Pattern
) -> None:
    table = table_with(told_rows)
    moment = Moment(at * DAY_US, known * DAY_US, 0, hindsight)
    found = found_by_pattern(table, TYPES, pattern, moment, tau=0.0, limit=50)
    homes: dict[tuple[object, ...], list[int]] = {}
    for row in range(len(table)):
        matches = pattern.subject in (None, table.pool[table.subject[row]])
        matches &= pattern.predicate in (None, table.pool[table.predicate[row]])
        matches &= pattern.object in (None, table.pool.get(int(table.object[row])))
        if matches and table.recorded_at[row] <= moment.known_at:
            homes.setdefault((table.statement(row), int(table.valid_from[row])), []).append(row)
    reasons = [slow_reason(table, home, moment) for home in homes.values()]
    expected = {name: reasons.count(name) for name in EXCLUSIONS}
    assert found.excluded == expected
    assert bool(found.stated) == (None in reasons)


def test_an_ended_period_does_not_count_as_used_because_its_value_holds_again() -> None:
    table = table_of(
        told("p", "weight", 80, "2023-01-01", until="2024-01-01", seen="2023-01-01"),
        told("p", "weight", 80, "2026-01-01"),
    )
    moment = Moment(us("2026-02-01"), us("2026-12-01"))
    found = found_by_pattern(table, TYPES, Pattern("p"), moment, tau=0.0, limit=5)
    assert {name: count for name, count in found.excluded.items() if count} == {"expired": 1}


def test_a_statement_of_the_future_is_not_in_use_because_its_value_holds_now() -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01"), told("p", "weight", 80, "2026-03-01", seen="2026-01-01")
    )
    found = found_by_pattern(
        table, TYPES, Pattern("p"), Moment(us("2026-02-01"), us("2026-12-01")), tau=0.0, limit=5
    )
    assert {name: count for name, count in found.excluded.items() if count} == {"not_yet_valid": 1}


def test_retracted_by_one_source_and_stated_by_another_is_in_use() -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01", source="a"),
        told("p", "weight", 80, "2026-01-01", source="b"),
        retired={0: "2026-02-01"},
    )
    moment = Moment(us("2026-03-01"), us("2026-12-01"))
    found = found_by_pattern(table, TYPES, Pattern("p"), moment, tau=0.0, limit=5)
    assert sum(found.excluded.values()) == 0
    assert [c.fact and [s.id for s in c.fact.sources] for c in found.stated] == [["b"]]
    before = Moment(us("2026-03-01"), us("2026-01-15"))
    everyone = found_by_pattern(table, TYPES, Pattern("p"), before, tau=0.0, limit=5)
    assert [c.fact and {s.id for s in c.fact.sources} for c in everyone.stated] == [{"a", "b"}]


def test_a_text_value_matches_as_an_object() -> None:
    table = table_of(told("c", "status", "active", "2026-01-01"), told("d", "status", "none", "2026-01-01"))
    moment = Moment(us("2026-02-01"), us("2026-12-01"))
    found = found_by_pattern(table, TYPES, Pattern(object="active"), moment, tau=0.0, limit=5)
    assert [c.fact and c.fact.subject for c in found.stated] == ["c"]


def test_no_rows_have_no_reasons() -> None:
    table = table_of(told("p", "weight", 80, "2026-01-01"))
    view = build_view(table, catalog_of(), Moment(0, 0))
    home, reasons = standing(view, np.empty(0, dtype=np.int64))
    assert (len(home), len(reasons)) == (0, 0)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_order_of_loading_does_not_change_what_is_stated(order: tuple[int, ...]) -> None:
    told_rows = [told(f"p{i}", "weight", i + 1, "2026-01-01") for i in range(3)]
    table = table_of(*(told_rows[i] for i in order))
    moment = Moment(us("2026-02-01"), us("2026-12-01"))
    found = found_by_pattern(table, TYPES, Pattern(predicate="weight"), moment, tau=0.0, limit=2)
    reference = found_by_pattern(
        table_of(*told_rows), TYPES, Pattern(predicate="weight"), moment, tau=0.0, limit=2
    )
    assert [c.id for c in found.stated] == [c.id for c in reference.stated]
    assert found.context == reference.context
