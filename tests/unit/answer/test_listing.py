from __future__ import annotations

import pytest
from support.facts import catalog_of, table_of, told, us

from chronofy_kg.answer.listing import FactFilter, list_facts, pinned
from chronofy_kg.answer.model import Pattern
from chronofy_kg.answer.view import Moment
from chronofy_kg.errors import CursorError

TYPES = catalog_of(weight=10.0)
MOMENT = Moment(us("2026-03-15"), us("2026-12-01"))


def test_pages_meet_at_no_gap_and_no_overlap_even_where_starts_are_equal() -> None:
    rows = [
        told(f"p{i % 7}", f"weight{i // 7}", i, "2026-01-01" if i % 2 else "2026-01-02") for i in range(35)
    ]
    table = table_of(*rows)
    wanted = FactFilter()
    everything = list_facts(table, TYPES, wanted, MOMENT, limit=100)
    assert everything.next is None
    seen, cursor = [], None
    while True:
        page = list_facts(table, TYPES, wanted, MOMENT, limit=4, cursor=cursor)
        seen += [fact.id for fact in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert seen == [fact.id for fact in everything.items]
    assert len(set(seen)) == 35


def test_the_order_does_not_depend_on_the_order_of_loading() -> None:
    rows = [told(f"p{i}", "weight", i, "2026-01-01") for i in range(20)]
    first = list_facts(table_of(*rows), TYPES, FactFilter(), MOMENT, limit=50)
    second = list_facts(table_of(*reversed(rows)), TYPES, FactFilter(), MOMENT, limit=50)
    assert [f.id for f in first.items] == [f.id for f in second.items]


def test_filters_and_history() -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01", source="a"),
        told("p", "weight", 81, "2026-02-01", source="b"),
        told("q", "weight", 70, "2026-02-01", source="a", type="mass"),
        told("q", "likes", None, "2026-02-01", object="tea"),
    )

    def values(**parts: object) -> list[object]:
        page = list_facts(table, TYPES, FactFilter(**parts), MOMENT, limit=10)  # type: ignore[arg-type]
        return [fact.value if fact.object is None else fact.object for fact in page.items]

    assert set(values()) == {81, 70, "tea"}
    assert values(pattern=Pattern(subject="p")) == [81]
    assert values(pattern=Pattern(subject="p"), history=True) == [80, 81]
    assert values(source="a") == [70]
    assert values(type="mass") == [70]
    assert values(pattern=Pattern(object="tea")) == ["tea"]
    assert values(pattern=Pattern(subject="nobody")) == []


def test_a_cursor_pins_its_instants_and_belongs_to_its_filter() -> None:
    table = table_of(*(told(f"p{i}", "weight", i, "2026-01-01") for i in range(3)))
    page = list_facts(table, TYPES, FactFilter(), MOMENT, limit=1)
    later = Moment(us("2027-01-01"), us("2027-01-01"))
    assert pinned(later, page.next, FactFilter()) == MOMENT
    with pytest.raises(CursorError, match="another filter"):
        pinned(later, page.next, FactFilter(source="a"))
    for garbage in ("", "abc", "e30", "W10", "é", "W251bGxd"):
        with pytest.raises(CursorError):
            pinned(later, garbage, FactFilter())


def test_a_source_lists_every_fact_that_rests_on_it_not_only_those_it_stated_best() -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01", source="a", quality=0.5),
        told("p", "weight", 80, "2026-01-01", source="b", quality=0.9),
    )
    for source in ("a", "b"):
        page = list_facts(table, TYPES, FactFilter(source=source), MOMENT, limit=10)
        assert [fact.value for fact in page.items] == [80]
    assert list_facts(table, TYPES, FactFilter(source="c"), MOMENT, limit=10).items == ()
