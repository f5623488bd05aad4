"""Categorical and event fits: closed forms, visits, odd input."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chronofy_kg.decay import DecayFit, fit_decay
from chronofy_kg.decay.poisson import exact_rate
from chronofy_kg.errors import FitError, InputError

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[2] / "cases" / "decay_cases.json").read_text())["cases"]
}


def fit_spells(name: str, **options: Any) -> DecayFit:
    subject, state, start, end, changed = zip(*CASES[name]["rows"], strict=True)
    return fit_decay(start, state, subject, kind="categorical", ends=end, changed=changed, **options)


class TestSpells:
    @pytest.mark.parametrize("name", ["cat_offices", "cat_no_change"])
    def test_changes_over_exposure(self, name: str) -> None:
        fit, reference = fit_spells(name), CASES[name]["reference"]
        assert fit.changes == reference["changes"]
        assert fit.span == pytest.approx(reference["exposure"], rel=1e-9)
        assert fit.beta == pytest.approx(reference["beta"], rel=1e-9)
        assert fit.ci == pytest.approx(reference["ci95_exact"], rel=1e-9)

    def test_no_change_has_a_bound_and_a_rate_for_the_table(self) -> None:
        fit = fit_spells("cat_no_change")
        assert (fit.beta, fit.status) == (0.0, "constant")
        assert fit.beta_corrected == pytest.approx(CASES["cat_no_change"]["reference"]["beta_jeffreys"])

    def test_open_spells_are_cut_at_the_window(self) -> None:
        fit = fit_decay([0.0, 10.0], kind="categorical", ends=[10.0, math.nan], window=(0.0, 40.0))
        assert (fit.changes, fit.span, fit.beta) == (1, 40.0, 1 / 40)
        with pytest.raises(InputError, match="window"):
            fit_decay([0.0, 10.0], kind="categorical", ends=[10.0, math.nan])

    def test_dates(self) -> None:
        begin = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
        end = np.array(["2020-12-31", "2021-02-10"], dtype="datetime64[D]")
        fit = fit_decay(begin, kind="categorical", ends=end, changed=[True, False])
        assert (fit.span, fit.beta) == (pytest.approx(405.0), pytest.approx(1 / 405))
        with pytest.raises(InputError, match="both be dates"):
            fit_decay(begin, kind="categorical", ends=[1.0, 2.0])

    def test_nothing_observed_is_insufficient(self) -> None:
        fit = fit_decay([1.0], kind="categorical", ends=[1.0])
        assert (fit.status, fit.origin) == ("insufficient", "prior")
        assert fit.beta == pytest.approx(math.log(2) / 365)

    @pytest.mark.parametrize(
        ("ends", "changed", "message"),
        [([1.0, 2.0], None, "1 times and 2 ends"), ([-1.0], None, "before it starts"),
         ([1.0], [2], "booleans"), ([1.0], [True, False], "booleans")],
    )  # fmt: skip
    def test_what_is_no_spell_is_refused(self, ends: Any, changed: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            fit_decay([0.0], kind="categorical", ends=ends, changed=changed)


class TestVisits:
    def test_four_states(self) -> None:
        case = CASES["cat_panel_K4"]
        subject, time, state = zip(*case["rows"], strict=True)
        fit = fit_decay(time, state, subject, kind="categorical")
        assert fit.beta == pytest.approx(case["reference"]["exit_rate_uniform_K"], rel=1e-6)
        assert fit.ci[0] < case["true_beta"] < fit.ci[1]
        assert fit.status == "ok"
        assert fit.changes is not None
        assert fit.changes / fit.span == pytest.approx(case["reference"]["changes_over_exposure"], rel=1e-9)

    def test_the_same_state_again_is_exposure(self) -> None:
        fit = fit_decay([0, 1, 2, 8], ["on"] * 4, kind="categorical")
        assert (fit.beta, fit.status, fit.span, fit.changes) == (0.0, "constant", 8.0, 0)
        assert fit.ci == pytest.approx((0.0, -math.log(0.025) / 8.0))

    def test_order_and_duplicates_do_not_matter(self) -> None:
        t, s = list(range(12)), list("aaaabbbbbbaa")
        base = fit_decay(t, s, kind="categorical")
        assert base.status == "ok"
        again = fit_decay(t[::-1] + t[:2], s[::-1] + s[:2], kind="categorical")
        assert again.beta == pytest.approx(base.beta, rel=1e-9)

    def test_a_change_at_every_visit_is_a_lower_bound(self) -> None:
        fit = fit_decay(range(20), [i % 3 for i in range(20)], kind="categorical")
        assert fit.status == "unresolved_fast"
        assert 0.0 < fit.beta < math.inf
        assert fit.ci[1] == math.inf

    def test_missing_states_are_dropped(self) -> None:
        states = np.array(["a", None, "a", math.nan, "b"], dtype=object)
        fit = fit_decay(range(5), states, kind="categorical")
        assert fit.n == 3
        assert "missing" in fit.warnings[0]

    def test_two_states_at_one_time_take_no_time(self) -> None:
        fit = fit_decay([0, 0, 5], ["a", "b", "b"], kind="categorical")
        assert fit.changes == 0
        assert "two states for one time" in fit.warnings[0]

    def test_one_visit_is_insufficient_and_none_an_error(self) -> None:
        assert fit_decay([0], ["a"], kind="categorical").status == "insufficient"
        with pytest.raises(FitError):
            fit_decay([], [], kind="categorical")
        with pytest.raises(InputError, match="need values"):
            fit_decay([0], kind="categorical")


class TestEvents:
    def test_what_happened_stays_true_and_the_rate_is_there(self) -> None:
        case = CASES["event_poisson"]
        fit = fit_decay(case["times"], kind="event", window=case["window"])
        assert (fit.beta, fit.half_life, fit.status) == (0.0, None, "ok")
        assert fit.rate == pytest.approx(case["reference"]["rate"], rel=1e-9)
        assert fit.rate_ci == pytest.approx(case["reference"]["ci95_exact"], rel=1e-9)
        assert fit.warnings == ()
        assert fit.to_unit("w").rate == pytest.approx(7 * case["reference"]["rate"])

    def test_clusters_are_told(self) -> None:
        times = np.concatenate([base + np.linspace(0, 1, 20) for base in (0.0, 100.0, 300.0)])
        fit = fit_decay(times, kind="event", window=(0.0, 1000.0))
        assert "clusters" in fit.warnings[0]

    def test_without_a_window_the_first_event_opens_it(self) -> None:
        fit = fit_decay([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], kind="event")
        assert fit.rate == pytest.approx(1.0)

    def test_no_events_are_legal(self) -> None:
        fit = fit_decay([], kind="event", window=(0.0, 100.0))
        assert (fit.beta, fit.rate, fit.n) == (0.0, 0.0, 0)
        assert fit.rate_ci == pytest.approx((0.0, -math.log(0.025) / 100))
        assert fit_decay([], kind="event").rate is None

    @pytest.mark.parametrize("window", [(10.0, 0.0), (0.0, 2.0), (0.0,), (0.0, math.nan)])
    def test_a_window_that_does_not_fit_is_refused(self, window: Any) -> None:
        with pytest.raises(InputError, match="window"):
            fit_decay([1.0, 5.0], kind="event", window=window)


def test_the_exact_interval_is_that_of_the_poisson_distribution() -> None:
    rate, low, high = exact_rate(3, 10.0)
    assert rate == 0.3
    at_high = sum(math.exp(-high * 10) * (high * 10) ** k / math.factorial(k) for k in range(4))
    at_low = 1 - sum(math.exp(-low * 10) * (low * 10) ** k / math.factorial(k) for k in range(3))
    assert (at_high, at_low) == (pytest.approx(0.025), pytest.approx(0.025))
