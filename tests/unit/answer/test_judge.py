"""What a spec may and may not make of evidence: nothing that does not count may pass for fresh."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from chronofy_kg.answer.judge import Judge, bound_of, default_judge, judge_from, ruling
from chronofy_kg.answer.trace import OLDEST_DAYS, Cited, Evidence, TraceStep, not_counting, reacquired
from chronofy_kg.facts.time import DAY_US
from chronofy_kg.spec import parse_spec

UNKNOWN = not_counting("f_unknown", "unknown")


def fresh(name: str, quality: float = 1.0, age: float = 0.0, half_life: float = 10.0) -> Cited:
    beta = math.log(2) / half_life
    return Cited(name, "in_force", None, quality, age, beta, beta / 2, beta * 2)


def spec(text: str) -> Judge:
    return judge_from(parse_spec(text))


def steps(*cited: Cited) -> list[TraceStep]:
    return [TraceStep(one.id, (one,)) for one in cited]


@pytest.mark.parametrize(
    "text",
    [
        "spec s: G validity >= 0.5",
        "spec s: G age_days <= 30",
        "spec s: G quality >= 0.1",
        "spec s (eval = last): age_days <= 30",
        "spec s (eval = each): validity > 0 and age_days < 1000",
        "spec s: not F age_days > 30",
    ],
)
@pytest.mark.parametrize(
    "trace",
    [
        [TraceStep("alone", (UNKNOWN,))],
        [TraceStep("beside a fresh one", (fresh("a"), UNKNOWN))],
        [TraceStep("fresh", (fresh("a"),)), TraceStep("beside", (fresh("b"), not_counting("f", "expired")))],
        [TraceStep("fresh", (fresh("a"),)), TraceStep("no evidence", ())],
        [TraceStep("no evidence", ()), TraceStep("derived from it", (fresh("a"),), (0,))],
    ],
)
def test_evidence_that_does_not_count_passes_no_usual_spec(text: str, trace: list[TraceStep]) -> None:
    rho = spec(text).rho(trace)
    assert rho.value <= 0
    assert math.isfinite(rho.value)
    assert ruling(rho, bound_of(trace)) == "reacquire"


@pytest.mark.parametrize(
    ("text", "value"),
    [("spec s (eval = last): age_days <= 30", -10.0), ("spec s (eval = last): quality >= 0.5", -0.1)],
)
def test_a_derived_step_has_the_age_and_quality_of_what_it_uses(text: str, value: float) -> None:
    trace = [TraceStep("old", (fresh("a", quality=0.4, age=40.0),)), TraceStep("so", (), (0,))]
    assert spec(text).rho(trace).value == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "spec s: G[5,9] validity >= 0.5",
        "spec s: F[5,9] validity >= 0.5",
        "spec s: X X X validity >= 0.5",
        "spec s: true",
        "spec s: false",
        "spec s: validity >= 0.5 or true",
        "spec s: 1 >= 0",
        "spec s: G[5,9] validity >= 0.5 or validity >= 0.9",
    ],
)
def test_where_the_evidence_has_no_say_the_spec_is_vacuous(text: str) -> None:
    assert spec(text).rho(steps(fresh("a"), fresh("b"))).vacuous


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("spec s: validity >= 0.5", 0.5),
        ("spec s (eval = first): validity >= 0.5", 0.5),
        ("spec s (eval = last): validity >= 0.5", -0.25),
        ("spec s (eval = each): validity >= 0.5", -0.375),
        ("spec s: X validity >= 0.5", -0.375),
        ("spec s (eval = last): H validity >= 0.5", -0.375),
        ("spec s: F validity >= 0.5", 0.5),
    ],
)
def test_the_spec_says_at_which_step_it_is_read(text: str, value: float) -> None:
    trace = steps(fresh("a"), fresh("b", age=30.0), fresh("c", age=20.0))
    assert spec(text).rho(trace).value == pytest.approx(value)


def test_the_interval_holds_rho_even_where_the_spec_turns_validity_round() -> None:
    trace = steps(fresh("a", age=10.0))
    texts = ("validity >= 0.4", "not validity >= 0.4")
    upright, turned = (spec(f"spec s: {text}").rho(trace) for text in texts)
    assert (upright.low, upright.value, upright.high) == pytest.approx((-0.15, 0.1, 2**-0.5 - 0.4))
    assert (turned.low, turned.value, turned.high) == pytest.approx((0.4 - 2**-0.5, -0.1, 0.15))


@pytest.mark.parametrize(
    ("text", "ages", "failing"),
    [
        ("spec s: G validity >= 0.5", (0, 20, 30, 5), (1, 2)),
        ("spec s: X validity >= 0.5", (0, 20), (1,)),
        ("spec s: validity >= 0.7 and G age_days <= 90", (20, 20, 0), (0,)),
        ("spec s: F validity >= 0.5", (20, 30), (0,)),
        ("spec s (eval = last): H validity >= 0.5", (0, 20, 0), (1,)),
    ],
)
def test_failing_steps_are_those_that_must_be_mended(
    text: str, ages: tuple[int, ...], failing: tuple[int, ...]
) -> None:
    trace = steps(*(fresh(f"f{i}", age=float(age)) for i, age in enumerate(ages)))
    assert spec(text).rho(trace).failing_steps == failing


@pytest.mark.parametrize("gamma", [0.07, 0.3, 0.5, 0.55, 0.7, 0.83, 0.99, 1.0])
def test_fresh_evidence_of_quality_gamma_lies_on_the_boundary(gamma: float) -> None:
    assert default_judge(gamma).rho(steps(fresh("a", quality=gamma))).value == 0.0


def test_quality_of_exactly_gamma_is_the_boundary_and_gamma_zero_passes_no_empty_evidence() -> None:
    half = steps(fresh("a", quality=0.5))
    assert ruling(default_judge(0.5).rho(half), bound_of(half)) == "boundary"
    assert ruling(default_judge(0.0).rho(half), bound_of(half)) == "supported"
    assert ruling(default_judge(1.0).rho(steps(fresh("a"))), bound_of(steps(fresh("a")))) == "boundary"
    dead = steps(fresh("a"), UNKNOWN)
    rho = default_judge(0.0).rho(dead)
    assert (rho.value, ruling(rho, bound_of(dead))) == (0.0, "reacquire")


def test_a_batch_gives_what_each_trace_gives_alone() -> None:
    evidence = Evidence.of(
        [TraceStep("a", (fresh("a", 0.9, 3.0), fresh("b", 0.8, 9.0))), TraceStep("c", (), (0,)),
         TraceStep("d", (fresh("a", 0.9, 3.0),), (1,))]
    )  # fmt: skip
    own = evidence.by_fact()
    raised = np.asarray([[np.nan, np.nan], [0.9, np.nan], [np.nan, 0.8], [0.9, 0.8]])
    judge = spec("spec s: G (validity >= 0.5 and age_days <= 5)")
    together = judge.values(evidence.by_step(reacquired(own, raised)))
    alone = [judge.value(evidence.by_step(reacquired(own, row))) for row in raised]
    assert together.tolist() == alone
    a, b = 0.9 * 2**-0.3, 0.8 * 2**-0.9
    assert alone == pytest.approx([-4.0, -4.0, a - 0.5, 0.3])
    assert b < 0.5


def test_signals_some_time_later_end_with_the_period() -> None:
    trace = [TraceStep("a", (Cited("a", "in_force", None, 0.8, 1.0, 0.1, 0.1, 0.1, ends_us=2 * DAY_US),))]
    evidence = Evidence.of(trace)
    later = evidence.by_fact(later_us=np.asarray([[0], [DAY_US], [2 * DAY_US - 1], [2 * DAY_US]]))
    assert later["validity"][:, 0] == pytest.approx([0.8 * math.exp(-0.1), 0.8 * math.exp(-0.2),
                                                     0.8 * math.exp(-0.3), 0.0])  # fmt: skip
    assert later["age_days"][:, 0].tolist()[-1] == OLDEST_DAYS


def test_an_observation_ahead_of_its_time_does_not_age_until_then() -> None:
    evidence = Evidence.of([TraceStep("a", (fresh("a", age=-5.0, half_life=1.0),))])
    later = evidence.by_fact(later_us=np.asarray([[0], [5 * DAY_US], [6 * DAY_US]]))
    assert later["validity"][:, 0].tolist() == [1.0, 1.0, 0.5]


def test_the_bound_is_the_weakest_link_and_zero_without_evidence() -> None:
    assert bound_of([TraceStep("x", ())]) is None
    bound = bound_of([*steps(UNKNOWN), TraceStep("none", ())])
    assert bound is not None
    assert (bound.value, bound.low, bound.high) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "spec s: G validity >= 0.5",
        "spec s (eval = last): age_days <= 3 or quality > 0.9",
        "spec s (eval = each): validity > 0.3 and age_days < 1000",
        "spec s: F[1,2] validity > 0",
        "spec s: 0.5 >= 0.2",
    ],
)
def test_steps_judged_together_are_judged_as_each_alone(text: str) -> None:
    judge = spec(text)
    cited = [fresh(f"f{n}", 0.4 + 0.1 * (n % 6), 4.0 * n, 5.0 + n) for n in range(12)] + [UNKNOWN]
    trace = [*steps(*cited), TraceStep("no evidence", ()), TraceStep("two", (cited[1], cited[7]))]
    assert judge.rho_of_each(trace) == [replace(judge.rho([step]), because=()) for step in trace]
    assert judge.rho_of_each([]) == []
