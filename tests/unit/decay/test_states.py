"""Categorical facts beyond one rate: states that differ, chains that come back, durations, tallies."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import expm

from chronofy_kg.decay import DecayFit, fit_decay
from chronofy_kg.decay.chain import fit_generator, gap_of_moves
from chronofy_kg.decay.durations import weibull_shape
from chronofy_kg.decay.event import fit_event_tally, tally_events
from chronofy_kg.decay.poisson import exact_rate
from chronofy_kg.decay.spells import fit_spell_tally, tally_spells
from chronofy_kg.errors import InputError

Q = np.array([[-0.3, 0.2, 0.1], [0.05, -0.1, 0.05], [0.5, 0.5, -1.0]])
NAMES = np.array(["a", "b", "c"])


def walk(rng: np.random.Generator, generator: NDArray[np.float64], until: float) -> list[tuple[float, int]]:
    time, state = 0.0, int(rng.integers(len(generator)))
    path = [(time, state)]
    while True:
        time += rng.exponential(-1 / generator[state, state])
        if time > until:
            return path
        chance = np.where(np.arange(len(generator)) == state, 0.0, generator[state])
        state = int(rng.choice(len(generator), p=chance / chance.sum()))
        path.append((time, state))


def spells(rng: np.random.Generator, subjects: int, until: float = 60.0) -> dict[str, Any]:
    rows: list[tuple[float, float, int, int, bool]] = []
    for subject in range(subjects):
        path = [*walk(rng, Q, until), (until, -1)]
        rows += [
            (start, end, state, subject, next_state >= 0)
            for (start, state), (end, next_state) in pairwise(path)
        ]
    start, end, state, owner, changed = zip(*rows, strict=True)
    return {
        "times": start, "ends": end, "values": NAMES[list(state)], "subjects": owner, "changed": changed
    }  # fmt: skip


def visits(rng: np.random.Generator, subjects: int, until: float = 60.0) -> dict[str, Any]:
    times, states, owners = [], [], []
    for subject in range(subjects):
        path = walk(rng, Q, until)
        seen = np.sort(rng.uniform(0, until, 30))
        at = np.searchsorted([time for time, _ in path], seen, side="right") - 1
        times += seen.tolist()
        states += [NAMES[path[i][1]] for i in at]
        owners += [subject] * len(seen)
    return {"times": times, "values": states, "subjects": owners}


class TestRatesOfStates:
    def test_spells_give_the_exact_rate_of_each_state(self) -> None:
        rows = {"times": [0, 10, 20], "ends": [10, 20, 50], "values": ["on", "off", "on"]}
        fit = fit_decay(**rows, subjects=["p"] * 3, kind="categorical", changed=[True, True, False])
        on, off = fit.by_state
        assert (on.state, on.changes, on.exposure) == ("on", 1, 40.0)
        assert (on.rate, *on.ci) == exact_rate(1, 40.0)
        assert (off.state, off.changes, off.exposure, off.rate) == ("off", 1, 10.0, 0.1)
        assert (fit.changes, fit.span, fit.beta) == (2, 50.0, 2 / 50)
        hours = fit.to_unit("h").by_state[0]
        assert (hours.exposure, hours.rate) == (pytest.approx(960.0), pytest.approx(1 / 960))

    def test_states_that_differ_are_told_and_equal_ones_are_not(self) -> None:
        fit = fit_decay(**spells(np.random.default_rng(1), 40), kind="categorical")
        assert any("exit rates differ between states" in text for text in fit.warnings)
        for one in fit.by_state:
            truth = -Q[list(NAMES).index(one.state)].min()
            assert one.ci[0] < truth < one.ci[1]
        # the states differ, their durations do not: no word of durations
        assert not any("compromise" in text and "lasted" in text for text in fit.warnings)

    def test_visits_give_rates_too(self) -> None:
        fit = fit_decay(**visits(np.random.default_rng(2), 60), kind="categorical")
        assert {one.state for one in fit.by_state} == {"a", "b", "c"}
        for one in fit.by_state:
            truth = -Q[list(NAMES).index(one.state)].min()
            assert one.ci[0] < truth < one.ci[1]
        assert any("exit rates differ" in text for text in fit.warnings)

    def test_the_generator_is_the_likeliest_one(self) -> None:
        rng = np.random.default_rng(3)
        start, end, gaps = rng.integers(0, 3, 80), rng.integers(0, 3, 80), rng.exponential(3.0, 80)
        end = np.where(rng.random(80) < 0.6, start, end)

        def deviance(matrix: NDArray[np.float64]) -> float:
            chances = [expm(matrix * d)[i, j] for i, j, d in zip(start, end, gaps, strict=True)]
            return -2 * float(np.log(chances).sum())

        found = fit_generator(start, end, gaps, 3)
        assert found is not None
        assert found.matrix.sum(axis=1) == pytest.approx(np.zeros(3), abs=1e-12)
        best = deviance(found.matrix)
        for _ in range(20):
            change = np.exp(0.1 * rng.normal(size=(3, 3))) * (1 - np.eye(3))
            other = np.maximum(found.matrix, 0) * change
            other -= np.diag(other.sum(axis=1))
            assert deviance(other) >= best - 1e-6

    def test_two_states_have_a_closed_form(self) -> None:
        # one gap length: the chance of a change is p_ij = q_i (1 - exp(-(q1 + q2) d)) / (q1 + q2)
        start = np.repeat([0, 0, 1, 1], [80, 20, 30, 10])
        end = np.repeat([0, 1, 1, 0], [80, 20, 30, 10])
        found = fit_generator(start, end, np.full(140, 2.0), 2)
        assert found is not None
        total = -math.log(1 - 20 / 100 - 10 / 40) / 2.0
        share = np.array([20 / 100, 10 / 40]) / (20 / 100 + 10 / 40)
        assert found.exits == pytest.approx(total * share, rel=1e-5)

    def test_many_states_have_no_matrix(self) -> None:
        fit = fit_decay(range(40), [i % 8 // 2 * 2 + i % 2 for i in range(40)], kind="categorical")
        assert fit.by_state == ()


class TestComingBack:
    def test_two_states_forget_at_the_sum_of_their_rates(self) -> None:
        rows = {"times": [0, 10, 20, 40], "ends": [10, 20, 40, 45], "values": list("abab")}
        fit = fit_decay(**rows, subjects=["p"] * 4, kind="categorical", reverting=True)
        assert fit.beta == pytest.approx(2 / 30 + 2 / 15)
        assert fit.spectral_gap == fit.beta
        assert fit.ci == fit.spectral_gap_ci
        assert fit.ci[0] < fit.beta < fit.ci[1]
        assert "spectral gap of 2 states" in fit.method
        still = fit_decay(**rows, subjects=["p"] * 4, kind="categorical")
        assert (still.beta, still.spectral_gap) == (pytest.approx(4 / 45), None)

    def test_the_interval_covers_the_gap_of_three(self) -> None:
        rng = np.random.default_rng(5)
        truth = float(np.sort(-np.linalg.eigvals(Q).real)[1])
        fits = [fit_decay(**spells(rng, 25), kind="categorical", reverting=True) for _ in range(60)]
        assert np.mean([fit.ci[0] <= truth <= fit.ci[1] for fit in fits]) >= 0.85
        assert np.mean([fit.beta for fit in fits]) == pytest.approx(truth, rel=0.06)

    def test_equal_states_seen_at_visits(self) -> None:
        rows = visits(np.random.default_rng(6), 30)
        still = fit_decay(**rows, kind="categorical")
        again = fit_decay(**rows, kind="categorical", reverting=True)
        assert again.beta == pytest.approx(1.5 * still.beta, rel=1e-12)
        assert again.ci == pytest.approx([1.5 * end for end in still.ci])

    def test_a_state_that_was_never_left_may_be_remembered_for_ever(self) -> None:
        moves = np.array([[0.0, 3, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3], [0, 0, 0, 0]])
        found = gap_of_moves(moves, np.array([3.0, 0, 3, 0]), np.array([10.0, 10, 10, 10]))
        assert (found.rate, found.low) == (0.0, 0.0)
        assert 0.0 < found.high < math.inf

    def test_no_change_keeps_its_bound(self) -> None:
        fit = fit_decay([0], ["on"], kind="categorical", ends=[10], changed=[False], reverting=True)
        assert (fit.beta, fit.status, fit.spectral_gap) == (0.0, "constant", 0.0)
        assert fit.ci == pytest.approx((0.0, 2 * -math.log(0.025) / 10))

    def test_states_are_needed(self) -> None:
        with pytest.raises(InputError, match="reverting needs values"):
            fit_decay([0], kind="categorical", ends=[1], reverting=True)


class TestDurations:
    @pytest.mark.parametrize("shape", [0.5, 1.0, 3.0])
    def test_the_shape_is_found_with_spells_still_open(self, shape: float) -> None:
        rng = np.random.default_rng(8)
        covered = []
        for _ in range(60):
            lasted, watched = rng.weibull(shape, 150), rng.uniform(0.3, 2.0, 150)
            found = weibull_shape(np.minimum(lasted, watched), lasted <= watched)
            assert found is not None
            covered.append(found.low <= shape <= found.high)
        assert np.mean(covered) >= 0.88

    def test_a_constant_rate_is_not_rejected_too_often(self) -> None:
        rng = np.random.default_rng(9)
        ratios = []
        for _ in range(300):
            found = weibull_shape(rng.exponential(size=50), np.ones(50, dtype=bool))
            assert found is not None
            ratios.append(found.ratio)
        assert 0.02 <= np.mean(np.array(ratios) > 3.84) <= 0.09

    def test_terms_of_office_are_told(self) -> None:
        rng = np.random.default_rng(10)
        ends = 4.0 + 0.2 * rng.normal(size=50)
        fit = fit_decay(np.zeros(50), kind="categorical", ends=ends)
        assert fit.shape is not None
        assert fit.shape > 5.0
        assert fit.shape_ci is not None
        assert fit.shape_ci[0] > 1.0
        assert fit.lr_shape is not None
        assert fit.lr_shape > 3.84
        assert any("the sooner it ends" in text for text in fit.warnings)

    def test_too_few_ends_say_nothing(self) -> None:
        assert weibull_shape(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4, dtype=bool)) is None
        assert fit_decay([0.0], kind="categorical", ends=[0.0]).shape is None


class TestTallies:
    def same(self, one: DecayFit, two: DecayFit) -> None:
        for name in ("beta", "ci", "span", "changes", "by_state", "status", "spectral_gap", "beta_corrected"):
            assert getattr(one, name) == getattr(two, name)

    def test_what_is_added_up_is_what_a_full_fit_says_bit_for_bit(self) -> None:
        rows = spells(np.random.default_rng(12), 30)
        day = np.timedelta64(86_400_000_000, "us")
        begin = np.datetime64("2026-01-01", "us") + (np.array(rows["times"]) * day).astype("timedelta64[us]")
        end = np.datetime64("2026-01-01", "us") + (np.array(rows["ends"]) * day).astype("timedelta64[us]")
        more = {"values": rows["values"], "subjects": np.array(rows["subjects"])}
        changed = np.array(rows["changed"])
        full = fit_decay(begin, kind="categorical", ends=end, changed=changed, **more)
        cut = np.datetime64("2026-01-31", "us")
        early, late = begin < cut, end > cut
        before = tally_spells(
            begin[early], np.minimum(end, cut)[early], (changed & (end <= cut))[early],
            more["values"][early], more["subjects"][early],
        )  # fmt: skip
        after = tally_spells(
            np.maximum(begin, cut)[late], end[late], changed[late],
            more["values"][late], more["subjects"][late],
        )  # fmt: skip
        self.same(fit_spell_tally(before + after), full)
        self.same(fit_spell_tally(after + before), full)
        assert fit_spell_tally(before + after).subjects == full.subjects == 30

    def test_a_sum_of_microseconds_does_not_overflow(self) -> None:
        begin = np.full(200_000, np.datetime64("1900-01-01", "us"))
        fit = fit_decay(begin, kind="categorical", ends=begin + np.timedelta64(100 * 365, "D"))
        assert fit.span == 200_000 * 36_500.0
        assert fit.beta == 1 / 36_500.0

    def test_events_add_up(self) -> None:
        full = fit_decay([1, 4, 5, 12, 13], kind="event", window=(0, 20), recency=True)
        parts = tally_events([1, 4, 5], (0, 10)) + tally_events([12, 13], (10, 20))
        again = fit_event_tally(parts, recency=True)
        assert (again.beta, again.ci, again.span, again.status) == (full.beta, full.ci, full.span, "ok")

    def test_ticks_must_agree(self) -> None:
        numbers = tally_spells([0], [1])
        with pytest.raises(InputError, match="do not add up"):
            _ = numbers + tally_spells(
                np.array(["2026-01-01"], dtype="datetime64[D]"),
                np.array(["2026-01-02"], dtype="datetime64[D]"),
            )
        with pytest.raises(InputError, match="do not add up"):
            _ = tally_events([1], (0, 2)) + tally_events([], np.array(["2026-01-01", "2026-01-02"], "M8[D]"))


class TestRecency:
    def test_the_rate_is_beta_on_request_only(self) -> None:
        fit = fit_decay([1, 4, 5, 12, 13], kind="event", window=(0, 20), recency=True)
        assert (fit.beta, *fit.ci) == exact_rate(5, 20.0)
        assert (fit.method, fit.status, fit.half_life) == ("rate of newer events", "ok", math.log(2) / 0.25)
        plain = fit_decay([1, 4, 5, 12, 13], kind="event", window=(0, 20))
        assert (plain.beta, plain.rate) == (0.0, 0.25)

    def test_no_event_in_a_window_has_a_bound(self) -> None:
        fit = fit_decay([], kind="event", window=(0, 20), recency=True)
        assert (fit.beta, fit.status) == (0.0, "constant")
        assert fit.ci == pytest.approx((0.0, -math.log(0.025) / 20))
        unknown = fit_decay([], kind="event", recency=True)
        assert (unknown.beta, unknown.status, unknown.ci) == (0.0, "insufficient", (0.0, math.inf))

    def test_the_dispersion_is_there(self) -> None:
        fit = fit_decay(np.linspace(0, 100, 60), kind="event", window=(0, 100))
        assert fit.dispersion is not None
        assert fit.dispersion < 0.2
