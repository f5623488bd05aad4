"""What a fact rests on, what ended it and by which rule, and what a retraction changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chronofy_kg.answer.account import changed_facts, explain_fact, history_of, rows_to_retract
from chronofy_kg.answer.view import Moment
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.errors import QueryError, UnknownFactError
from chronofy_kg.facts import OPEN_US, Assertion, FactTable, TableBuilder
from chronofy_kg.facts.model import fact_id

NOW = Moment(1_000, OPEN_US - 1, hindsight=True)
KEYS = [("x", "p")]
CATALOG = TypeCatalog.of([])


def table_of(*rows: dict[str, Any], retired: tuple[int, ...] = ()) -> FactTable:
    builder = TableBuilder("t")
    for row in rows:
        usual = {"subject": "x", "predicate": "p", "valid_from": 0, "valid_to": OPEN_US, "observed_at": 0}
        builder.extend([Assertion(**(usual | row))])
    table = builder.build()
    table.retired_at[list(retired)] = 5
    return table


def home(table: FactTable, row: int) -> str:
    return fact_id(table.statement(row), int(table.valid_from[row]))


def explained(table: FactTable, wanted: str) -> tuple[str, str | None, str]:
    account = explain_fact(table, CATALOG, NOW, wanted, KEYS)
    return account.state, account.ended_by, account.policy.split(":")[0]


def test_a_later_statement_ends_the_older_one() -> None:
    table = table_of({"value": "a"}, {"value": "b", "valid_from": 10})
    assert explained(table, home(table, 0)) == ("in_force", home(table, 1), "later valid_from")
    assert explained(table, home(table, 1)) == ("in_force", None, "nothing ended it")


def test_what_runs_out_is_ended_by_nobody() -> None:
    table = table_of({"value": "a", "valid_to": 10}, {"value": "b", "valid_from": 10})
    assert explained(table, home(table, 0)) == ("in_force", None, "it ended at its own valid_to")


@pytest.mark.parametrize(
    ("winner", "loser", "rule"),
    [
        ({"quality": 0.9}, {"quality": 0.5, "observed_at": 9}, "higher quality"),
        ({}, {"quality": 0.5}, "higher quality"),
        ({"observed_at": 3}, {"observed_at": 2}, "later observed_at"),
    ],
)
def test_the_rule_that_sets_contradicting_statements_apart(winner: Any, loser: Any, rule: str) -> None:
    table = table_of({"value": "a"} | winner, {"value": "b"} | loser)
    assert explained(table, home(table, 1)) == ("shadowed", home(table, 0), rule)


def test_a_tie_is_broken_by_the_id() -> None:
    table = table_of({"value": "a"}, {"value": "b"})
    first, second = sorted((0, 1), key=lambda row: table.ids[row].tobytes())
    assert explained(table, home(table, first)) == ("shadowed", home(table, second), "id tie")


def test_quality_ends_a_value_that_a_weaker_source_still_states() -> None:
    table = table_of(
        {"value": "a", "valid_to": 10, "quality": 0.9},
        {"value": "a", "quality": 0.3, "source": "weak"},
        {"value": "b", "quality": 0.5},
    )
    state, ender, rule = explained(table, home(table, 0))
    assert (state, rule) == ("in_force", "higher quality")
    assert ender == fact_id(table.statement(2), 10)


def test_a_retracted_statement_has_its_assertions_still() -> None:
    table = table_of({"value": "a", "source": "s"}, {"value": "b", "valid_from": 10}, retired=(0,))
    account = explain_fact(table, CATALOG, NOW, home(table, 0), KEYS)
    assert (account.state, account.fact, account.ended_by) == ("retracted", None, None)
    assert [a["source"] for a in account.assertions] == ["s"]
    assert account.assertions[0]["retired_at"] == "1970-01-01T00:00:00.000005Z"


def test_the_history_of_an_interruption() -> None:
    table = table_of({"value": "a"}, {"value": "b", "valid_from": 10, "valid_to": 20})
    periods = history_of(table, CATALOG, NOW, home(table, 1), KEYS)
    assert [(f.value, f.valid_from, f.valid_to, why.split(":")[0]) for f, why in periods] == [
        ("a", 0, 10, "later valid_from"),
        ("b", 10, 20, "it ended at its own valid_to"),
        ("a", 20, OPEN_US, "nothing ended it"),
    ]
    assert periods[0][0].superseded_by == periods[1][0].id


def test_the_history_of_one_of_many_values_is_its_own() -> None:
    table = table_of({"object": "o"}, {"object": "u"}, {"object": "v"}, retired=(2,))
    assert [f.object for f, _ in history_of(table, CATALOG, NOW, home(table, 0), KEYS)] == ["o"]
    assert history_of(table, CATALOG, NOW, home(table, 2), KEYS) == []


def test_a_fact_rests_on_all_that_cover_it_or_on_one_source() -> None:
    table = table_of(
        {"value": "a", "source": "s"},
        {"value": "a", "source": "t"},
        {"value": "a", "source": "short", "valid_to": 5},
        {"value": "b", "valid_from": 10, "valid_to": 20, "source": "s"},
    )

    def rows(wanted: str, source: str | None = None) -> list[int]:
        return rows_to_retract(table, CATALOG, NOW, wanted, KEYS, source).tolist()

    back = fact_id(table.statement(0), 20)
    assert rows(home(table, 0)) == [0, 1]
    assert rows(back) == [0, 1]
    assert rows(back, "t") == [1]
    assert rows(home(table, 3), "s") == [3]
    with pytest.raises(QueryError, match="'t' states nothing"):
        rows(home(table, 3), "t")
    with pytest.raises(QueryError, match="'nobody' states nothing"):
        rows(back, "nobody")
    with pytest.raises(UnknownFactError):
        rows_to_retract(table, CATALOG, NOW, "f_0", [], None)


def test_retracting_again_retires_nothing() -> None:
    table = table_of({"value": "a", "source": "s"}, {"value": "b", "source": "s"}, retired=(0,))
    for source in (None, "s"):
        assert rows_to_retract(table, CATALOG, NOW, home(table, 0), KEYS, source).tolist() == []
    assert changed_facts(table, CATALOG, NOW, np.empty(0, dtype=np.int64), KEYS) == []


def test_what_an_interruption_changes_by_its_retraction() -> None:
    table = table_of(
        {"value": "a"}, {"value": "b", "valid_from": 10, "valid_to": 20}, {"value": "c", "valid_from": 30}
    )
    changed = changed_facts(table, CATALOG, NOW, np.asarray([1]), KEYS)
    back = fact_id(table.statement(0), 20)
    assert changed == sorted([home(table, 0), home(table, 1), back])


def test_a_contradiction_taken_back_changes_the_fact_that_names_it() -> None:
    table = table_of({"value": "a", "quality": 0.9}, {"value": "b", "quality": 0.5})
    assert changed_facts(table, CATALOG, NOW, np.asarray([1]), KEYS) == sorted(home(table, r) for r in (0, 1))
