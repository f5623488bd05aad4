"""Cited ids at a moment: in force, restated, or why not."""

from __future__ import annotations

import time

import pytest
from support.facts import catalog_of, table_of, told, us

from chronofy_kg.answer.resolve import find_fact, resolve
from chronofy_kg.answer.trace import Cited
from chronofy_kg.answer.view import Moment
from chronofy_kg.facts.model import fact_id
from chronofy_kg.facts.table import FactTable, TableBuilder

TYPES = catalog_of(weight=10.0)
KEY = [("p", "weight")]
LATER = us("2026-12-01")


def home(table: FactTable, row: int) -> str:
    return fact_id(table.statement(row), int(table.valid_from[row]))


def status(table: FactTable, cited: str, at: str, known_at: int = LATER) -> Cited:
    return resolve(table, TYPES, Moment(us(at), known_at), [cited], KEY)[cited]


RETURNS = table_of(
    told("p", "weight", 80, "2026-01-01"), told("p", "weight", 90, "2026-02-01", until="2026-02-10")
)
RESUMED = fact_id(RETURNS.statement(0), us("2026-02-10"))


@pytest.mark.parametrize(
    ("cited", "at", "expected"),
    [
        (home(RETURNS, 0), "2026-01-15", "in_force"),
        (home(RETURNS, 0), "2026-02-05", "superseded"),
        (home(RETURNS, 0), "2026-03-01", "restated"),
        (RESUMED, "2026-03-01", "in_force"),
        (home(RETURNS, 1), "2026-03-01", "expired"),
        ("f_nobody", "2026-03-01", "unknown"),
        ("", "2026-03-01", "unknown"),
    ],
)
def test_a_value_that_returns_after_an_interruption(cited: str, at: str, expected: str) -> None:
    found = status(RETURNS, cited, at)
    assert (found.id, found.status) == (cited, expected)
    assert found.counts == (expected in ("in_force", "restated"))
    assert found.validity.value == 0 or found.counts


def test_a_period_that_is_yet_to_return_is_not_valid_yet() -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01"),
        told("p", "weight", 90, "2026-02-01", until="2026-03-01", seen="2026-01-01"),
    )
    cited = fact_id(table.statement(0), us("2026-03-01"))
    assert status(table, cited, "2026-02-05").status == "not_yet_valid"


def test_a_shadowed_statement_never_held() -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01", quality=0.5), told("p", "weight", 90, "2026-01-01", quality=0.9)
    )
    assert status(table, home(table, 0), "2026-01-02").status == "superseded"


@pytest.mark.parametrize(
    ("rows", "retired"),
    [
        (
            (told("p", "weight", 80, "2026-01-01", source="a"), told("p", "weight", 80, "2026-02-01")),
            "2026-02-15",
        ),
        (
            (told("p", "weight", 80, "2026-01-01", seen="2026-06-01"), told("p", "weight", 80, "2026-02-01")),
            None,
        ),
    ],
)
def test_whatever_became_of_a_statement_its_value_in_force_restates_it(
    rows: tuple[object, ...], retired: str | None
) -> None:
    table = table_of(*rows, retired={0: retired} if retired else None)  # type: ignore[arg-type]
    found = status(table, home(table, 0), "2026-03-01")
    assert found.status == "restated"
    assert found.fact is not None
    assert found.fact.id == home(table, 1)


def test_only_what_was_recorded_by_then_is_known() -> None:
    table = table_of(told("p", "weight", 80, "2026-01-01"), recorded="2026-06-01")
    assert status(table, home(table, 0), "2026-03-01", us("2026-05-31")).status == "unknown"
    assert status(table, home(table, 0), "2026-03-01", us("2026-06-01")).status == "in_force"


def test_another_tenant_has_other_ids() -> None:
    builder = TableBuilder("other")
    builder.add(told("p", "weight", 80, "2026-01-01"))
    assert status(RETURNS, home(builder.build(), 0), "2026-01-15").status == "unknown"


def test_keys_that_the_table_does_not_hold_match_nothing() -> None:
    cited = home(RETURNS, 0)
    for keys in ([], [("p", "nothing")], [("nobody", "weight")], [("weight", "p")]):
        assert (
            resolve(RETURNS, TYPES, Moment(us("2026-01-15"), LATER), [cited], keys)[cited].status == "unknown"
        )


def test_a_fact_is_found_in_any_period() -> None:
    moment = Moment(us("2026-01-15"), LATER, hindsight=True)
    fact = find_fact(RETURNS, TYPES, moment, RESUMED, KEY)
    assert fact is not None
    assert (fact.value, fact.valid_from) == (80, us("2026-02-10"))
    assert find_fact(RETURNS, TYPES, moment, "f_nobody", KEY) is None


def test_thousands_of_ids_over_thousands_of_keys_take_seconds() -> None:
    builder = TableBuilder()
    for number in range(2_000):
        builder.add(told(f"p{number}", "weight", number, "2026-01-01"))
        builder.add(told(f"p{number}", "weight", number + 1, "2026-02-01"))
    table = builder.build()
    ids = [home(table, row) for row in range(len(table))]
    keys = [(f"p{number}", "weight") for number in range(2_000)]
    begun = time.process_time()
    found = resolve(table, TYPES, Moment(us("2026-03-01"), LATER), ids, keys)
    assert time.process_time() - begun < 5
    assert [found[one].status for one in ids[:2]] == ["superseded", "in_force"]
    assert sum(one.counts for one in found.values()) == 2_000
