"""Foreign traces: what counts as evidence, and that nothing else passes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.facts import catalog_of, table_of, told, us

from chronofy_kg.answer.judge import Judge, default_judge, judge_from
from chronofy_kg.answer.model import Answer
from chronofy_kg.answer.resolve import resolve
from chronofy_kg.answer.verify import GivenStep, verify
from chronofy_kg.answer.view import Moment
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.errors import QueryError
from chronofy_kg.facts.model import fact_id
from chronofy_kg.facts.table import FactTable
from chronofy_kg.spec import parse_spec

AT = "2026-03-15"
TYPES = catalog_of(weight=10.0, dose=1000.0)
KEYS = [("p", "weight"), ("p", "dose"), ("q", "weight")]


def home(table: FactTable, row: int) -> str:
    return fact_id(table.statement(row), int(table.valid_from[row]))


def judged(
    table: FactTable,
    steps: Sequence[GivenStep],
    judge: Judge | None = None,
    types: TypeCatalog = TYPES,
    at: str = AT,
) -> Answer:
    moment = Moment(us(at), us("2026-12-01"))
    return verify(
        steps,
        lambda ids: resolve(table, types, moment, ids, KEYS),
        judge or default_judge(),
        answer_id="ans_v",
        at=moment.at,
        known_at=moment.known_at,
        lag=3,
    )


def test_a_sound_trace_is_bounded_by_its_weakest_link() -> None:
    table = table_of(told("p", "weight", 80, "2026-03-12"), told("p", "dose", 5, "2026-03-14"))
    answer = judged(table, [GivenStep("a", (home(table, 0),)), GivenStep("b", (home(table, 1),), (0,))])
    weight = 2 ** (-3 / 10)
    assert answer.verdict == "supported"
    assert answer.bound is not None
    assert answer.bound.value == pytest.approx(weight, rel=1e-12)
    assert answer.bound.weakest == home(table, 0)
    assert [step.validity.value for step in answer.steps] == pytest.approx([weight, weight])
    assert answer.rho is not None
    assert answer.rho.value == pytest.approx(weight - 0.5)
    assert answer.confidence == answer.bound.value


def test_no_steps_and_no_evidence_never_pass() -> None:
    table = table_of(told("p", "weight", 80, "2026-03-12"))
    for steps in ([], [GivenStep("trust me")]):
        answer = judged(table, steps)
        assert (answer.verdict, answer.withheld, answer.confidence) == ("insufficient_evidence", True, None)
    mixed = judged(table, [GivenStep("a", (home(table, 0),)), GivenStep("trust me")])
    assert mixed.verdict == "reacquire"
    assert mixed.steps[1].status == "no_evidence"
    assert mixed.steps[1].validity.value == 0
    assert mixed.confidence == 0


@pytest.mark.parametrize(
    ("row", "status", "retired"),
    [
        (told("p", "weight", 80, "2026-03-01", until="2026-03-10"), "expired", None),
        (told("p", "weight", 80, "2026-03-20", seen="2026-03-01"), "not_yet_valid", None),
        (told("p", "weight", 80, "2026-03-01", seen="2026-03-20"), "not_yet_observed", None),
        (told("p", "weight", 80, "2026-03-14"), "retracted", "2026-04-01"),
    ],
)
def test_facts_that_do_not_hold_make_their_step_zero(row: object, status: str, retired: str | None) -> None:
    table = table_of(row, retired={0: retired} if retired else None)  # type: ignore[arg-type]
    answer = judged(table, [GivenStep("a", (home(table, 0),))])
    assert (answer.verdict, answer.steps[0].status) == ("reacquire", status)
    assert answer.steps[0].validity.value == 0
    assert answer.excluded[status] == 1


def test_a_superseded_fact_does_not_count() -> None:
    table = table_of(told("p", "weight", 80, "2026-03-13"), told("p", "weight", 81, "2026-03-14"))
    answer = judged(table, [GivenStep("a", (home(table, 0),))])
    assert (answer.verdict, answer.steps[0].status) == ("reacquire", "superseded")


def test_an_unknown_id_does_not_count_and_cannot_be_acquired_again() -> None:
    table = table_of(told("p", "weight", 80, "2026-03-14"))
    answer = judged(table, [GivenStep("a", (home(table, 0), "f_nothing"))])
    assert (answer.verdict, answer.steps[0].status) == ("reacquire", "unknown")
    assert answer.reacquire == ()


def test_a_value_in_force_under_another_id_is_restated() -> None:
    table = table_of(told("p", "weight", 80, "2026-03-01"), told("p", "weight", 80, "2026-03-14"))
    answer = judged(table, [GivenStep("a", (home(table, 0),))])
    assert (answer.verdict, answer.steps[0].status) == ("supported", "restated")
    assert answer.steps[0].facts == (home(table, 0),)
    assert answer.confidence == pytest.approx(2 ** (-1 / 10))


def test_a_value_that_returned_after_an_interruption_is_restated() -> None:
    table = table_of(
        told("p", "weight", 80, "2026-01-01", seen="2026-03-14"),
        told("p", "weight", 90, "2026-02-01", until="2026-02-10"),
    )
    answer = judged(table, [GivenStep("a", (home(table, 0),))])
    assert (answer.verdict, answer.steps[0].status) == ("supported", "restated")


@pytest.mark.parametrize("uses", [(1,), (0,), (-1,), (7,)])
def test_a_step_may_use_earlier_steps_only(uses: tuple[int, ...]) -> None:
    with pytest.raises(QueryError, match="step 0 uses step"):
        judged(table_of(told("p", "weight", 80, "2026-03-14")), [GivenStep("a", (), uses)])


def test_a_derived_step_inherits_the_weakness_of_what_it_uses() -> None:
    table = table_of(told("p", "weight", 80, "2026-02-01"), told("p", "dose", 5, "2026-03-14"))
    steps = [
        GivenStep("old", (home(table, 0),)),
        GivenStep("new", (home(table, 1),)),
        GivenStep("so", (), (0, 1)),
    ]
    answer = judged(table, steps)
    old = 2 ** (-42 / 10)
    assert answer.verdict == "reacquire"
    assert answer.steps[2].status == "fails"
    assert answer.steps[2].validity.value == pytest.approx(old)
    assert answer.rho is not None
    assert answer.rho.failing_steps == (0, 2)
    (target,) = answer.reacquire
    assert (target.fact, target.step, target.reachable) == (home(table, 0), 0, True)
    assert target.needed_validity == pytest.approx(0.5, abs=1e-9)
    fresh = 2 ** (-1 / 1000)
    assert target.gain == pytest.approx(fresh - old)


def test_two_equally_stale_facts_are_both_asked_for() -> None:
    table = table_of(told("p", "weight", 80, "2026-02-01"), told("q", "weight", 70, "2026-02-01"))
    answer = judged(table, [GivenStep("a", (home(table, 0), home(table, 1)))])
    assert {target.fact for target in answer.reacquire} == {home(table, 0), home(table, 1)}
    assert answer.reacquire[-1].gain == pytest.approx(1 - 2 ** (-42 / 10))


def test_a_target_out_of_the_lag_window_is_not_named() -> None:
    table = table_of(told("p", "weight", 80, "2026-03-14"), told("p", "dose", 5, "2026-03-14"))
    good = GivenStep("g", (home(table, 1),))
    stale = table_of(told("p", "weight", 80, "2026-02-01"), told("p", "dose", 5, "2026-03-14"))
    steps = [good, good, good, good, GivenStep("bad", (home(stale, 0),))]
    answer = judged(stale, steps)
    assert [target.step for target in answer.reacquire] == [4]


def test_duplicated_facts_count_once() -> None:
    table = table_of(told("p", "weight", 80, "2026-03-14"))
    fact = home(table, 0)
    answer = judged(table, [GivenStep("a", (fact, fact, fact))])
    assert answer.steps[0].facts == (fact,)
    assert answer.verdict == "supported"


def test_a_vacuous_spec_is_no_pass() -> None:
    table = table_of(told("p", "weight", 80, "2026-03-14"))
    vacuous = judge_from(parse_spec("spec later: G[5,9] validity >= 0.5"))
    answer = judged(table, [GivenStep("a", (home(table, 0),))], vacuous)
    assert answer.verdict == "insufficient_evidence"


def test_a_spec_may_look_at_age_and_quality() -> None:
    table = table_of(told("p", "dose", 5, "2026-01-01", quality=0.9))
    young = judge_from(parse_spec("param days = 30; spec young: G age_days <= days"), params={"days": 30})
    answer = judged(table, [GivenStep("a", (home(table, 0),))], young)
    assert answer.rho is not None
    assert answer.rho.value == pytest.approx(30 - 73)
    assert answer.verdict == "reacquire"
    relaxed = judge_from(parse_spec("param days = 30; spec young: G age_days <= days"), params={"days": 100})
    assert judged(table, [GivenStep("a", (home(table, 0),))], relaxed).verdict == "supported"


@pytest.mark.parametrize(
    ("text", "name", "params", "message"),
    [
        ("param g = 0.5", None, {}, "declares no spec"),
        ("spec a: G validity >= 0.5", "b", {}, "no spec 'b'"),
        ("spec a: G validity >= 0.5", None, {"g": 1.0}, "no param 'g'"),
        ("spec a: G potassium >= 0.5", None, {}, "names 'potassium'"),
    ],
)
def test_a_spec_that_cannot_judge_is_refused(
    text: str, name: str | None, params: dict[str, float], message: str
) -> None:
    with pytest.raises(QueryError, match=message):
        judge_from(parse_spec(text), name, params)
