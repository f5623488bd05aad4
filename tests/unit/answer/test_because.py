"""Why rho is what it is, down to the fact."""

import pytest

from chronofy_kg.answer.because import sentence
from chronofy_kg.answer.judge import default_judge, judge_from
from chronofy_kg.answer.trace import Cited, TraceStep, not_counting
from chronofy_kg.spec import parse_spec


def cited(name, *, age, beta=0.01, quality=1.0):
    return Cited(name, "in_force", None, quality, age, beta, beta, beta)


STEPS = [
    TraceStep("one", (cited("f:0a", age=0.0), cited("f:0b", age=10.0))),
    TraceStep("two", (cited("f:1", age=41.0, beta=0.0577623),), (0,)),
    TraceStep("three", (), (1,)),
]


def test_the_weakest_fact_of_the_weakest_step_is_named():
    rho = default_judge(0.5).rho(STEPS)
    reason = rho.because[0]
    assert (reason.step, reason.fact, reason.signal, reason.derivative) == (1, "f:1", "validity", 1.0)
    assert reason.half_life_days == pytest.approx(12.0, abs=1e-3)
    assert sentence(rho.value, rho.because) == (
        "rho = -0.406 because step 1 leans on f:1 (observed 41 days ago, half-life 12 d)"
    )


def test_a_step_that_rests_on_an_earlier_one_leans_on_its_fact():
    rho = judge_from(parse_spec("spec s (eval=last): validity >= 0.5")).rho(STEPS)
    assert [(one.step, one.fact) for one in rho.because] == [(2, "f:1")]


def test_age_and_quality_have_their_own_facts():
    steps = [TraceStep("", (cited("old", age=90.0, beta=0.0), cited("poor", age=1.0, quality=0.3)))]
    judge = judge_from(parse_spec("spec s: quality - age_days / 100 >= 0"))
    rho = judge.rho(steps)
    assert [(one.signal, one.fact) for one in rho.because] == [("quality", "poor"), ("age_days", "old")]
    text = sentence(rho.value, rho.because)
    assert "poor (observed 1 days ago, half-life 69 d, by its quality)" in text
    assert "old (observed 90 days ago, does not decay)" in text


def test_what_does_not_count_is_said():
    rho = default_judge(0.5).rho([TraceStep("", (not_counting("gone", "superseded"),))])
    assert sentence(rho.value, rho.because) == "rho = -0.5 because step 0 leans on gone (superseded)"
    rho = default_judge(0.5).rho([TraceStep("", ())])
    assert sentence(rho.value, rho.because) == "rho = -0.5 because step 0 has no evidence"
