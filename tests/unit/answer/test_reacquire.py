"""What to acquire again, and until when an answer is one."""

from __future__ import annotations

import math
import random
import time

import numpy as np
import pytest

from chronofy_kg.answer.judge import Judge, default_judge, judge_from
from chronofy_kg.answer.reacquire import MOST_TARGETS, targets, targets_below_tau, valid_until
from chronofy_kg.answer.trace import Cited, Evidence, TraceStep, not_counting, reacquired
from chronofy_kg.facts.time import DAY_US, OPEN_US
from chronofy_kg.spec import parse_spec


def seen(
    name: str, age: float, quality: float = 1.0, half_life: float = 10.0, ends_us: int = OPEN_US
) -> Cited:
    beta = math.log(2) / half_life
    return Cited(name, "in_force", None, quality, age, beta, beta, beta, ends_us)


def spec(text: str) -> Judge:
    return judge_from(parse_spec(text))


def steps(*cited: Cited) -> list[TraceStep]:
    return [TraceStep(one.id, (one,)) for one in cited]


def test_the_stalest_comes_first_gains_add_up_and_each_needs_gamma() -> None:
    trace = steps(seen("a", 20.0), seen("b", 40.0), seen("c", 1.0), seen("d", 30.0))
    found = targets(trace, default_judge(), 3)
    assert [t.fact for t in found] == ["b", "d", "a"]
    assert [t.step for t in found] == [1, 3, 0]
    end = 2**-0.1
    assert [t.gain for t in found] == pytest.approx([2**-3 - 2**-4, 2**-2 - 2**-4, end - 2**-4])
    assert [t.needed_validity for t in found] == [0.5, 0.5, 0.5]
    assert all(t.reachable for t in found)


@pytest.mark.parametrize("gamma", [0.3, 1 / 3, 0.7, 0.123456789])
def test_the_needed_validity_is_enough_and_nothing_less_is(gamma: float) -> None:
    trace, judge = steps(seen("a", 40.0), seen("b", 50.0)), default_judge(gamma)
    evidence = Evidence.of(trace)
    own = evidence.by_fact()
    for target in targets(trace, judge, 3):
        at = [c.id for c in evidence.cited].index(target.fact)
        for level, enough in (
            (target.needed_validity, True),
            (np.nextafter(target.needed_validity, 0), False),
        ):
            raised = np.ones(2)
            raised[at] = level
            assert (judge.value(evidence.by_step(reacquired(own, raised))) >= 0) == enough


def test_a_fact_cited_twice_is_asked_for_once_and_lifts_both_steps() -> None:
    stale = seen("a", 40.0)
    trace = [TraceStep("one", (stale,)), TraceStep("two", (seen("b", 0.0), stale))]
    (target,) = targets(trace, default_judge(), 3)
    assert (target.fact, target.step, target.gain) == ("a", 0, pytest.approx(1 - 2**-4))


def test_the_lag_window_counts_the_failing_step_itself() -> None:
    # Step 3 fails by the fact of step 1, through what it uses; step 1 itself is no part of the spec.
    judge = spec("spec s (eval = last): validity >= 0.5")
    trace = [
        TraceStep("0", (seen("far", 40.0),)),
        TraceStep("1", (seen("near", 40.0),)),
        TraceStep("2", (seen("ok", 0.0),)),
        TraceStep("3", (), (1, 2)),
    ]
    assert [t.fact for t in targets(trace, judge, 3)] == ["near"]
    assert targets(trace, judge, 2) == ()


def test_quality_too_low_is_said_even_where_nothing_gains() -> None:
    trace = steps(seen("poor", 0.0, quality=0.4), seen("stale", 40.0))
    found = {t.fact: t for t in targets(trace, default_judge(), 3)}
    assert found["stale"].reachable
    assert found["stale"].needed_validity == 0.5
    assert not found["poor"].reachable
    assert found["poor"].needed_validity == 0.5


def test_equally_stale_facts_are_all_asked_for() -> None:
    trace = [TraceStep("s", tuple(seen(name, 40.0) for name in "abc"))]
    found = targets(trace, default_judge(), 3)
    assert [t.fact for t in found] == ["a", "b", "c"]
    assert [t.gain for t in found] == pytest.approx([0, 0, 1 - 2**-4])


def test_any_of_several_steps_is_enough_where_the_spec_says_so() -> None:
    (target,) = targets(steps(seen("a", 40.0), seen("b", 30.0)), spec("spec s: F validity >= 0.5"), 3)
    assert target.fact in ("a", "b")
    assert target.gain == pytest.approx(1 - 2**-3)


@pytest.mark.parametrize(
    "text", ["spec s: not G validity >= 0.2", "spec s: G age_days >= 400", "spec s: X validity >= 0.5"]
)
def test_what_no_observation_mends_has_no_targets(text: str) -> None:
    trace = steps(seen("a", 20.0))
    assert spec(text).rho(trace).value < 0
    assert targets(trace, spec(text), 3) == ()


def test_age_is_mended_by_a_new_observation() -> None:
    (target,) = targets(steps(seen("a", 40.0, quality=0.9)), spec("spec s: G age_days <= 30"), 3)
    assert (target.gain, target.reachable) == (40.0, True)


def test_an_unknown_fact_is_no_target_and_an_expired_one_is() -> None:
    trace = [TraceStep("s", (not_counting("gone", "expired"), seen("a", 40.0)))]
    assert {t.fact for t in targets(trace, default_judge(), 3)} == {"gone", "a"}
    unknown = [TraceStep("s", (not_counting("nobody", "unknown"), seen("a", 40.0)))]
    assert targets(unknown, default_judge(), 3) == ()


@pytest.mark.parametrize("seed", range(8))
def test_the_climb_is_greedy_among_all_facts(seed: int) -> None:
    """Against a slow search that tries every fact in every round."""
    rng = random.Random(seed)
    facts = [seen(f"f{i}", rng.uniform(15, 60), rng.choice([1.0, 0.9, 0.45])) for i in range(8)]
    trace = [
        TraceStep(
            str(n), tuple(rng.sample(facts, 2)), (rng.randrange(n),) if n and rng.random() < 0.4 else ()
        )
        for n in range(6)
    ]
    texts = ("G validity >= 0.5", "F[0,2] validity >= 0.7 and G validity >= 0.1", "G F[0,1] validity >= 0.6")
    judge = spec(f"spec s: {texts[seed % 3]}")
    evidence = Evidence.of(trace)
    own, before = evidence.by_fact(), judge.value(evidence.signals())
    assert before < 0
    raised, rho = np.full(len(evidence.cited), np.nan), before
    for target in targets(trace, judge, 50):
        at = [c.id for c in evidence.cited].index(target.fact)
        if target.gain + before <= rho and not target.reachable:
            continue  # named because it blocks, not climbed
        gains = []
        for number in np.flatnonzero(np.isnan(raised)):
            tried = raised.copy()
            tried[number] = evidence.fresh[number]
            gains.append(judge.value(evidence.by_step(reacquired(own, tried))))
        raised[at] = evidence.fresh[at]
        rho = judge.value(evidence.by_step(reacquired(own, raised)))
        assert rho == pytest.approx(max(gains))
        assert target.gain == pytest.approx(rho - before)


def test_six_hundred_stale_facts_are_planned_in_bounded_time() -> None:
    facts = [seen(f"f{i:03d}", 20.0 + i / 10) for i in range(600)]
    trace = [TraceStep(str(n), tuple(facts[3 * n : 3 * n + 3])) for n in range(200)]
    begun = time.process_time()
    found = targets(trace, default_judge(), 3)
    assert time.process_time() - begun < 10
    assert [t.fact for t in found] == [f"f{i:03d}" for i in reversed(range(600))]
    assert {t.needed_validity for t in found} == {0.5}
    assert MOST_TARGETS > 600


def test_what_tau_removed_needs_tau_as_well_and_is_named_whatever_the_spec_says() -> None:
    (lenient,) = targets_below_tau(steps(seen("a", 50.0))[0], default_judge(0.01), 3, 0.05)
    assert (lenient.needed_validity, lenient.reachable) == (0.05, True)
    assert lenient.gain == pytest.approx(1 - 2**-5)
    (strict,) = targets_below_tau(steps(seen("a", 50.0))[0], default_judge(0.5), 3, 0.05)
    assert strict.needed_validity == 0.5
    (poor,) = targets_below_tau(steps(seen("a", 50.0, quality=0.2))[0], default_judge(0.1), 3, 0.3)
    assert (poor.needed_validity, poor.reachable) == (0.3, False)
    (hopeless,) = targets_below_tau(steps(seen("a", 50.0))[0], spec("spec s: X validity >= 0.5"), 3, 0.05)
    assert (hopeless.gain, hopeless.reachable) == (0.0, False)


# Until when


@pytest.mark.parametrize("quality", [1.0, 0.9, 0.55])
@pytest.mark.parametrize("gamma", [0.5, 0.3])
@pytest.mark.parametrize("half_life", [0.25, 10.0, 365.0])
def test_valid_until_is_the_closed_form_to_the_microsecond(
    quality: float, gamma: float, half_life: float
) -> None:
    age = half_life / 20
    at = 1_700_000_000_000_000
    until = valid_until(steps(seen("a", age, quality, half_life)), default_judge(gamma), at)
    assert until is not None
    exact = (math.log(quality / gamma) / (math.log(2) / half_life) - age) * DAY_US
    assert abs(until - at - exact) <= 1


def test_it_is_the_first_instant_at_which_the_answer_is_none() -> None:
    trace, judge, at = steps(seen("a", 1.0), seen("b", 2.0, 0.9)), default_judge(), 10**15
    until = valid_until(trace, judge, at)
    assert until is not None
    evidence = Evidence.of(trace)
    for instant, sound in ((until - 1, True), (until, False)):
        assert (judge.value(evidence.by_step(evidence.by_fact(later_us=instant - at))) > 0) == sound


@pytest.mark.parametrize("days", [1, 3, 40_000])
def test_it_ends_with_the_period_of_a_fact(days: int) -> None:
    lasting = Cited("a", "in_force", None, 1.0, 1.0, ends_us=days * DAY_US)
    assert valid_until(steps(lasting), default_judge(), 10**15) == 10**15 + days * DAY_US


def test_what_does_not_decay_holds_for_ever() -> None:
    assert valid_until(steps(Cited("a", "in_force", None, 1.0, 1.0)), default_judge(), 10**15) is None


def test_a_period_that_ended_before_is_not_what_an_answer_waits_for() -> None:
    trace = [TraceStep("over", (not_counting("x", "expired"),)), TraceStep("now", (seen("a", 0.0),))]
    until = valid_until(trace, spec("spec s: F validity >= 0.5"), 10**15)
    assert until == pytest.approx(10**15 + 10 * DAY_US, abs=1)


def test_a_spec_on_age_ends_by_age() -> None:
    until = valid_until(steps(seen("a", 12.5)), spec("spec s: G age_days <= 30"), 10**15)
    assert until == 10**15 + int(17.5 * DAY_US)


@pytest.mark.parametrize("text", ["spec s: G validity >= 0.5", "spec s: G (age_days <= 3 and quality > 0.1)"])
def test_of_statements_that_stand_alone_the_first_to_end_counts(text: str) -> None:
    judge, at = spec(text), 1_700_000_000_000_000
    trace = steps(seen("a", 1.0), seen("b", 2.0, half_life=6.0), seen("c", 0.0, ends_us=DAY_US // 2))
    alone = [valid_until([step], judge, at) for step in trace]
    assert valid_until(trace, judge, at, singly=True) == min(alone) == at + DAY_US // 2
    assert valid_until(trace[:2], judge, at, singly=True) == min(alone[:2])
    timeless = [TraceStep("t", (Cited("t", "in_force", None, 1.0, 1.0),))]
    assert valid_until(timeless, spec("spec s: G validity >= 0.5"), at, singly=True) is None
