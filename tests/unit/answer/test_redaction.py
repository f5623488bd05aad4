"""What a withheld fact says appears nowhere; what tau removed is told by id only."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support.facts import catalog_of, table_of, told, us

from chronofy_kg.answer.judge import Judge, default_judge, judge_from
from chronofy_kg.answer.model import Answer
from chronofy_kg.answer.provenance import provenance_of
from chronofy_kg.answer.resolve import resolve
from chronofy_kg.answer.shape import answer_as_json
from chronofy_kg.answer.verify import GivenStep, verify
from chronofy_kg.answer.view import Moment
from chronofy_kg.facts.model import fact_id
from chronofy_kg.facts.table import FactTable
from chronofy_kg.spec import parse_spec

Ask = Callable[..., Answer]
TYPES = catalog_of(secret=10.0, weight=3650.0)
SECRET = told(
    "p", "secret", "s3cretvalue", "2026-01-01", unit="s3cretunit", datatype="s3crettype", lang="s3cretlang",
    content="s3cretcontent", meta={"note": "s3cretmeta"}, source="lab",
)  # fmt: skip
FRESH = told("p", "weight", 80, "2026-01-01", source="scale")
OLDER = told("p", "secret", "s3cretvalue", "2025-06-01", until="2025-07-01", content="s3cretcontent")
FAILING, REMOVED = "2026-01-21", "2026-04-01"


def texts(answer: Answer) -> str:
    shown = answer_as_json(answer)
    return json.dumps(shown, allow_nan=False) + json.dumps(provenance_of(shown), allow_nan=False)


@pytest.mark.parametrize("at", [FAILING, REMOVED])
@pytest.mark.parametrize("rows", [(SECRET,), (SECRET, FRESH), (OLDER, SECRET, FRESH)])
@pytest.mark.parametrize("history", [False, True])
def test_nothing_that_is_left_out_is_told(ask: Ask, at: str, rows: tuple[object, ...], history: bool) -> None:
    answer = ask(table_of(*rows), TYPES, at, subject="p", history=history)  # type: ignore[arg-type]
    assert "s3cret" not in texts(answer)
    assert "s3cret" not in repr(answer.facts)
    assert answer.withheld == (len(rows) == 1)
    assert [t.sources for t in answer.reacquire] == [("lab",)]


@pytest.mark.parametrize("on_fail", ["withhold", "flag"])
def test_what_tau_removed_is_not_told_even_when_flagged(ask: Ask, on_fail: str) -> None:
    answer = ask(table_of(SECRET, FRESH), TYPES, REMOVED, subject="p", on_fail=on_fail)
    assert "s3cret" not in texts(answer)
    assert (answer.verdict, answer.partial, answer.excluded["below_tau"]) == ("supported", True, 1)
    assert [step.status for step in answer.steps] == ["supported", "below_tau"]
    assert [step.text for step in answer.steps][1] == "p secret"
    assert "Left out, the evidence is too old: p secret" in (answer.text or "")
    removed = answer.steps[1].facts[0]
    assert removed not in answer.context
    assert [t.fact for t in answer.reacquire] == [removed]


def test_a_withheld_answer_names_its_facts(ask: Ask) -> None:
    shown = answer_as_json(ask(table_of(SECRET), TYPES, FAILING, subject="p"))
    assert shown["facts"] == [{"id": shown["steps"][0]["facts"][0], "subject": "p", "predicate": "secret"}]
    assert (shown["answer"], shown["confidence"], shown["valid_until"]) == (None, 0.0, None)


def test_a_gamma_below_tau_still_names_what_tau_removed(ask: Ask) -> None:
    answer = ask(table_of(SECRET), TYPES, REMOVED, subject="p", gamma=0.001)
    assert (answer.verdict, answer.withheld) == ("reacquire", True)
    assert answer.rho is not None
    assert answer.rho.value > 0
    (target,) = answer.reacquire
    assert (target.needed_validity, target.reachable) == (0.05, True)


def test_tau_zero_removes_nothing_and_gamma_zero_supports_what_is_left(ask: Ask) -> None:
    answer = ask(table_of(SECRET), TYPES, REMOVED, subject="p", gamma=0.0, tau=0.0)
    assert (answer.verdict, answer.excluded["below_tau"]) == ("supported", 0)
    assert answer.confidence == pytest.approx(2**-9)
    gone = ask(table_of(SECRET), TYPES, "2999-01-01", subject="p", gamma=0.0, tau=0.0)
    assert (gone.verdict, gone.withheld, gone.confidence) == ("reacquire", True, 0.0)


def test_the_spec_may_ask_for_flags_and_the_request_decides(ask: Ask) -> None:
    flagging = judge_from(parse_spec("spec s (on_fail = flag): G validity >= 0.5"))
    table = table_of(SECRET)
    told_anyway = ask(table, TYPES, FAILING, subject="p", judge=flagging)
    assert (told_anyway.withheld, told_anyway.verdict) == (False, "reacquire")
    assert "s3cretvalue" in (told_anyway.text or "")
    assert told_anyway.confidence == pytest.approx(0.25)
    withheld = ask(table, TYPES, FAILING, subject="p", judge=flagging, on_fail="withhold")
    assert (withheld.withheld, withheld.text) == (True, None)


@pytest.mark.parametrize("text", ["spec s: true", "spec s: G[5,9] validity >= 0.5", "spec s: X validity > 0"])
def test_a_vacuous_spec_answers_nothing(ask: Ask, text: str) -> None:
    answer = ask(table_of(FRESH), TYPES, FAILING, subject="p", judge=judge_from(parse_spec(text)))
    assert (answer.verdict, answer.withheld, answer.facts) == ("insufficient_evidence", True, ())
    assert (answer.rho, answer.bound, answer.confidence) == (None, None, None)
    removed = ask(table_of(SECRET), TYPES, REMOVED, subject="p", judge=judge_from(parse_spec(text)))
    assert removed.verdict == "reacquire"
    assert "Infinity" not in texts(removed)


def verified(table: FactTable, judge: Judge, row: int = 0) -> Answer:
    moment = Moment(us(FAILING), us("2026-12-01"))
    fact = fact_id(table.statement(row), int(table.valid_from[row]))
    return verify(
        [GivenStep("the s3cretvalue says so", (fact,)), GivenStep("hence s3cretvalue", (), (0,))],
        lambda ids: resolve(table, TYPES, moment, ids, [("p", "secret")]),
        judge, answer_id="ans_v", at=moment.at, known_at=moment.known_at, lag=3,
    )  # fmt: skip


def test_a_foreign_trace_that_fails_is_withheld_or_flagged() -> None:
    withheld = verified(table_of(SECRET), default_judge())
    assert withheld.withheld
    assert "s3cret" not in texts(withheld)
    flagged = verified(table_of(SECRET), judge_from(parse_spec("spec s (on_fail=flag): G validity >= 0.5")))
    assert (flagged.verdict, flagged.withheld) == ("reacquire", False)
    assert flagged.text == "the s3cretvalue says so\nhence s3cretvalue"
    assert [fact.id for fact in flagged.facts] == [flagged.steps[0].facts[0]]


def test_a_vacuous_spec_verifies_nothing_and_tells_nothing() -> None:
    answer = verified(table_of(SECRET), judge_from(parse_spec("spec s: true")))
    assert (answer.verdict, answer.withheld, answer.confidence) == ("insufficient_evidence", True, None)
    assert "s3cret" not in texts(answer)
