"""Answers to patterns, from assertions alone: the pure part of the pipeline."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from support.facts import catalog_of, table_of, told

from chronofy_kg.answer.model import Answer
from chronofy_kg.answer.shape import answer_as_json
from chronofy_kg.facts.time import format_instant

Ask = Callable[..., Answer]

POTASSIUM = catalog_of(serum_potassium=7.0)
OLD = told("patient:17", "serum_potassium", 3.2, "2025-09-15T12:00Z", unit="mEq/L", source="lab:3")
NEW = told("patient:17", "serum_potassium", 4.1, "2026-03-14T12:00Z", unit="mEq/L", source="lab:3")
NOW = "2026-03-15T12:00Z"


def test_yesterdays_reading_answers_and_the_old_one_is_superseded(ask: Ask) -> None:
    answer = ask(table_of(OLD, NEW), POTASSIUM, NOW, subject="patient:17", predicate="serum_potassium")
    assert (answer.verdict, answer.withheld, answer.partial) == ("supported", False, False)
    assert [fact.value for fact in answer.facts] == [4.1]
    assert answer.excluded["superseded"] == 1
    assert sum(answer.excluded.values()) == 1
    expected = math.exp(-math.log(2) / 7)
    assert answer.confidence == pytest.approx(expected, rel=1e-12)
    assert answer.bound is not None
    assert answer.bound.weakest == answer.facts[0].id
    assert answer.rho is not None
    assert answer.rho.value == pytest.approx(expected - 0.5, rel=1e-12)
    assert "4.1 mEq/L" in (answer.text or "")


def test_without_yesterdays_reading_the_answer_is_withheld_and_asks_for_a_new_one(ask: Ask) -> None:
    answer = ask(table_of(OLD), POTASSIUM, NOW, subject="patient:17", predicate="serum_potassium")
    assert (answer.verdict, answer.withheld, answer.text) == ("reacquire", True, None)
    assert answer.excluded["below_tau"] == 1
    (target,) = answer.reacquire
    assert target.sources == ("lab:3",)
    assert target.reachable
    assert target.needed_validity == pytest.approx(0.5, abs=1e-9)
    shown = answer_as_json(answer)
    assert "3.2" not in str(shown)
    assert shown["steps"][0]["text"] == "patient:17 serum_potassium"


def test_a_failing_fact_above_tau_is_named_never_told(ask: Ask) -> None:
    answer = ask(table_of(OLD), POTASSIUM, "2025-09-25T12:00Z", subject="patient:17")
    assert (answer.verdict, answer.withheld) == ("reacquire", True)
    assert answer.rho is not None
    assert answer.rho.value == pytest.approx(2 ** (-10 / 7) - 0.5)
    assert answer.rho.failing_steps == (0,)
    shown = answer_as_json(answer)
    assert "3.2" not in str(shown)
    assert shown["answer"] is None
    assert shown["reacquire"][0]["about"] == "patient:17 serum_potassium"


def test_valid_until_is_where_validity_meets_gamma(ask: Ask) -> None:
    answer = ask(table_of(NEW), POTASSIUM, NOW, subject="patient:17")
    assert answer.valid_until is not None
    assert format_instant(answer.valid_until // 1_000_000 * 1_000_000) == "2026-03-21T12:00:00Z"


def test_an_answer_ends_with_the_period_of_its_fact(ask: Ask) -> None:
    fact = told("x", "serum_potassium", 1.0, "2026-03-14T12:00Z", until="2026-03-16")
    answer = ask(table_of(fact), POTASSIUM, NOW, subject="x")
    assert answer.valid_until is not None
    assert format_instant(answer.valid_until) == "2026-03-16T00:00:00Z"


def test_a_sound_statement_stands_though_another_fails(ask: Ask) -> None:
    catalog = catalog_of(serum_potassium=7.0, weight=365.0)
    table = table_of(
        told("p", "serum_potassium", 3.2, "2026-03-01T12:00Z", source="lab"),
        told("p", "weight", 80, "2026-03-01"),
    )
    answer = ask(table, catalog, NOW, subject="p")
    assert (answer.verdict, answer.partial, answer.withheld) == ("supported", True, False)
    assert [fact.predicate for fact in answer.facts] == ["weight"]
    assert "Left out, the evidence is too old: p serum_potassium" in (answer.text or "")
    assert "3.2" not in str(answer_as_json(answer))
    assert [t.sources for t in answer.reacquire] == [("lab",)]
    assert answer.rho is not None
    assert answer.rho.value > 0
    assert answer.rho.failing_steps == (1,)


def test_flagging_tells_what_fails_and_keeps_the_verdict(ask: Ask) -> None:
    answer = ask(table_of(OLD), POTASSIUM, "2025-09-25T12:00Z", subject="patient:17", on_fail="flag")
    assert (answer.verdict, answer.withheld, answer.partial) == ("reacquire", False, False)
    assert "3.2 mEq/L" in (answer.text or "")
    assert "[fails the spec]" in (answer.text or "")


def test_robustness_of_exactly_zero_is_answered_and_said(ask: Ask) -> None:
    table = table_of(told("p", "serum_potassium", 3.2, NOW, quality=0.5))
    answer = ask(table, POTASSIUM, NOW, subject="p")
    assert (answer.verdict, answer.withheld) == ("boundary", False)
    assert answer.valid_until is None


def test_nothing_matches(ask: Ask) -> None:
    answer = ask(table_of(NEW), POTASSIUM, NOW, subject="patient:18")
    assert (answer.verdict, answer.withheld) == ("insufficient_evidence", True)
    assert (answer.bound, answer.rho, answer.confidence) == (None, None, None)
    assert sum(answer.excluded.values()) == 0


@pytest.mark.parametrize(
    ("row", "at", "retired", "reason"),
    [
        (told("p", "weight", 1, "2026-01-01"), "2026-02-01", "2026-03-01", "retracted"),
        (told("p", "weight", 1, "2026-01-01", seen="2026-03-01"), "2026-02-01", None, "not_yet_observed"),
        (told("p", "weight", 1, "2026-03-01", seen="2026-01-01"), "2026-02-01", None, "not_yet_valid"),
        (told("p", "weight", 1, "2026-01-01", until="2026-01-15"), "2026-02-01", None, "expired"),
    ],
)
def test_each_reason_for_leaving_a_match_out(
    ask: Ask, row: object, at: str, retired: str | None, reason: str
) -> None:
    table = table_of(row, retired={0: retired} if retired else None)  # type: ignore[arg-type]
    answer = ask(table, catalog_of(weight=365.0), at, subject="p")
    assert answer.verdict == "insufficient_evidence"
    assert {k: v for k, v in answer.excluded.items() if v} == {reason: 1}


def test_an_observation_within_the_clock_skew_has_age_zero(ask: Ask) -> None:
    table = table_of(told("p", "weight", 1, "2026-01-01T00:02Z", quality=0.9))
    table_late = table_of(told("p", "weight", 1, "2026-01-01T01:00Z"))
    near = ask(table, catalog_of(weight=1.0), "2026-01-01T00:02Z", subject="p")
    assert near.confidence == 0.9
    late = ask(table_late, catalog_of(weight=1.0), "2026-01-01T00:00Z", subject="p")
    assert late.excluded["not_yet_observed"] == 1


def test_known_at_and_at_are_independent(ask: Ask) -> None:
    table = table_of(NEW, recorded="2026-03-20")
    before = ask(table, POTASSIUM, NOW, known_at="2026-03-19", subject="patient:17")
    after = ask(table, POTASSIUM, NOW, known_at="2026-03-20", subject="patient:17")
    assert (before.verdict, after.verdict) == ("insufficient_evidence", "supported")


def test_two_values_of_one_instant_are_said_to_contradict(ask: Ask) -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01", source="a", quality=0.8),
        told("p", "weight", 90, "2026-01-01", source="b", quality=0.9),
    )
    answer = ask(table, catalog_of(weight=365.0), "2026-01-02", subject="p")
    assert [fact.value for fact in answer.facts] == [90]
    assert len(answer.facts[0].contradicts) == 1
    assert "contradicted by" in (answer.text or "")


def test_the_best_assertion_decides_validity_not_the_latest(ask: Ask) -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01", source="scale", quality=1.0),
        told("p", "weight", 80, "2026-01-01", seen="2026-01-02", source="guess", quality=0.1),
    )
    answer = ask(table, catalog_of(weight=10.0), "2026-01-03", subject="p")
    (fact,) = answer.facts
    assert fact.validity.value == pytest.approx(2 ** (-2 / 10))
    assert [source.id for source in fact.sources] == ["guess", "scale"]
    assert format_instant(fact.observed_at) == "2026-01-01T00:00:00Z"


def test_an_undeclared_type_is_said_to_be_one(ask: Ask) -> None:
    answer = ask(table_of(told("p", "mood", "good", "2026-01-01")), catalog_of(), "2026-01-02", subject="p")
    assert answer.facts[0].beta_from == "prior"
    assert "undeclared" in (answer.text or "")


def test_history_shows_the_ended_periods(ask: Ask) -> None:
    answer = ask(table_of(OLD, NEW), POTASSIUM, NOW, subject="patient:17", history=True)
    assert [fact.value for fact in answer.facts] == [4.1, 3.2]
    assert answer.facts[1].superseded_by == answer.facts[0].id
    assert len(answer.steps) == 1


def test_nothing_below_tau_is_stated_or_context(ask: Ask) -> None:
    table = table_of(*(told(f"p{i}", "weight", i, "2026-01-01") for i in range(40)))
    answer = ask(table, catalog_of(weight=10.0), "2026-02-19", predicate="weight", tau=0.05)
    assert answer.context == ()
    assert answer.facts == ()
    assert answer.excluded["below_tau"] == 40


def test_no_refresh_helps_where_quality_alone_is_below_gamma(ask: Ask) -> None:
    table = table_of(told("p", "weight", 80, "2026-01-01", quality=0.4))
    answer = ask(table, catalog_of(weight=10.0), "2026-01-02", subject="p")
    (target,) = answer.reacquire
    assert not target.reachable
    assert answer_as_json(answer)["reacquire"][0]["reason"] == "unreachable"
