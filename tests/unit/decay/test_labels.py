"""Labelled pairs (age, still valid): closed forms, intervals, and what is known to go wrong elsewhere."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from chronofy_kg.decay import fit_labels
from chronofy_kg.errors import FitError, InputError

Floats = NDArray[np.float64]


def log_likelihood(beta: float, ages: Any, valid: Any) -> float:
    ages, valid = np.asarray(ages, dtype=float), np.asarray(valid, dtype=bool)
    return float(-beta * ages[valid].sum() + np.log(-np.expm1(-beta * ages[~valid])).sum())


def draw(rng: np.random.Generator, beta: float, size: int) -> tuple[Floats, NDArray[np.bool_]]:
    ages = rng.exponential(2.0 / beta, size)
    return ages, rng.random(size) < np.exp(-beta * ages)


class TestClosedForms:
    def test_labels_of_one_age(self) -> None:
        fit = fit_labels([2.0] * 10, [True] * 4 + [False] * 6)
        assert fit.beta == pytest.approx(-math.log(0.4) / 2, rel=1e-12)
        assert (fit.status, fit.origin, fit.kind, fit.n, fit.changes) == ("ok", "fitted", "labels", 10, 6)
        assert (fit.span, fit.unit, fit.subjects) == (20.0, "d", 10)

    def test_mixed_ages(self) -> None:
        fit = fit_labels([1, 5, 10, 30, 60], [True, True, True, False, False])
        assert fit.beta == pytest.approx(0.04340166, abs=1e-8)
        assert log_likelihood(fit.beta, [1, 5, 10, 30, 60], [1, 1, 1, 0, 0]) == pytest.approx(-1.088693039)

    def test_the_interval_is_where_the_deviance_is_3_84_higher(self) -> None:
        ages, valid = draw(np.random.default_rng(4), 0.2, 60)
        fit = fit_labels(ages, valid)
        best = log_likelihood(fit.beta, ages, valid)
        for end in fit.ci:
            assert 2 * (best - log_likelihood(end, ages, valid)) == pytest.approx(3.8414588, rel=1e-6)

    def test_units_and_durations(self) -> None:
        ages, valid = [1.0, 5.0, 10.0, 30.0, 60.0], [True, True, True, False, False]
        day = fit_labels(ages, valid)
        hour = fit_labels([24 * age for age in ages], valid, unit="h")
        assert hour.beta * 24 == pytest.approx(day.beta, rel=1e-12)
        assert hour.per_day().ci == pytest.approx(day.ci, rel=1e-12)
        for durations in (
            np.array([1, 5, 10, 30, 60], dtype="timedelta64[D]"), [timedelta(days=age) for age in ages]
        ):  # fmt: skip
            assert fit_labels(durations, valid).beta == pytest.approx(day.beta, rel=1e-12)

    def test_order_does_not_matter(self) -> None:
        ages, valid = draw(np.random.default_rng(1), 0.1, 50)
        base, turned = fit_labels(ages, valid), fit_labels(ages[::-1], valid[::-1])
        assert turned.beta == pytest.approx(base.beta, rel=1e-12)
        assert turned.data_hash == base.data_hash


class TestWhatGoesWrongElsewhere:
    """The published estimator of such pairs is wrong or silent in each of these."""

    def test_a_clipped_likelihood_has_a_false_optimum(self) -> None:
        # one early retraction: with probabilities clipped at 1e-300 the search ends at the cap of 50 a day
        fit = fit_labels([100, 200, 300, 0.05], [True, True, True, False])
        assert fit.beta == pytest.approx(0.0016665972, abs=1e-10)
        assert log_likelihood(fit.beta, [100, 200, 300, 0.05], [1, 1, 1, 0]) > -10.5

    def test_the_optimum_is_global(self) -> None:
        rng = np.random.default_rng(7)
        axis = np.exp(np.linspace(math.log(1e-6), math.log(1e4), 801))
        for _ in range(40):
            ages = 10.0 ** rng.uniform(-2, 3, 12)
            valid = rng.random(12) < 0.7
            if valid.all() or not valid.any():
                continue
            fit = fit_labels(ages, valid)
            best = max(log_likelihood(beta, ages, valid) for beta in axis)
            assert log_likelihood(fit.beta, ages, valid) >= best - 1e-9

    def test_moments_are_inconsistent_and_likelihood_is_not(self) -> None:
        rng = np.random.default_rng(3)
        for truth in (0.01, 0.1, 0.5, 20.0):
            found = [fit_labels(*draw(rng, truth, 400)).beta for _ in range(60)]
            assert np.mean(found) == pytest.approx(truth, rel=0.05)

    def test_fast_decay_is_not_capped(self) -> None:
        fit = fit_labels(*draw(np.random.default_rng(5), 5000.0, 500))
        assert fit.beta == pytest.approx(5000.0, rel=0.2)

    def test_all_valid_is_no_decay_with_a_bound(self) -> None:
        fit = fit_labels([1.0, 2.0, 7.0], [True] * 3)
        assert (fit.beta, fit.status, fit.changes) == (0.0, "constant", 0)
        assert fit.ci == pytest.approx((0.0, -math.log(0.025) / 10.0))
        assert fit.beta_corrected == pytest.approx(0.05)
        assert "every label says valid" in fit.warnings[0]

    def test_none_valid_is_a_lower_bound_not_a_number(self) -> None:
        fit = fit_labels([1.0, 2.0, 7.0], [False] * 3)
        assert (fit.status, fit.ci[1], fit.beta_raw) == ("unresolved_fast", math.inf, math.inf)
        assert fit.beta == fit.ci[0] > 0.0
        assert math.exp(log_likelihood(fit.beta, [1, 2, 7], [0, 0, 0])) == pytest.approx(0.025)

    def test_the_interval_covers_the_truth(self) -> None:
        rng = np.random.default_rng(11)
        fits = [fit_labels(*draw(rng, 0.3, 80)) for _ in range(400)]
        assert 0.93 <= np.mean([fit.ci[0] <= 0.3 <= fit.ci[1] for fit in fits]) <= 0.975

    def test_missing_ages_are_dropped_and_said(self) -> None:
        fit = fit_labels([1.0, math.nan, 5.0, 9.0], [True, True, None, False])
        assert (fit.n, fit.beta) == (2, pytest.approx(fit_labels([1.0, 9.0], [True, False]).beta))
        assert "2 label(s) without an age or an answer" in fit.warnings[0]

    def test_invalid_at_age_0_contradicts_any_rate(self) -> None:
        fit = fit_labels([0.0, 0.0, 1.0, 9.0], [False, True, True, False])
        assert fit.n == 2
        assert "1 label(s) of age 0 say invalid" in fit.warnings[0]

    @pytest.mark.parametrize(
        ("ages", "valid", "message"),
        [([1.0, -2.0], [True, False], "age -2.0 at index 1"), ([1.0, math.inf], [True, False], "index 1"),
         ([1.0], [0.5], "label at index 0 is"), ([1.0], ["yes"], "label at index 0 is"),
         ([1.0, 2.0], [True], "valid has shape"), ([[1.0]], [[True]], "one-dimensional"),
         (["a"], [True], "ages are text")],
    )  # fmt: skip
    def test_what_is_no_label_is_refused(self, ages: Any, valid: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            fit_labels(ages, valid)

    def test_options_are_checked(self) -> None:
        with pytest.raises(InputError, match="prior"):
            fit_labels([1.0], [True], prior=0.0)
        with pytest.raises(InputError, match="unit"):
            fit_labels([1.0], [True], unit="month")
        with pytest.raises(FitError, match="no labels"):
            fit_labels([], [])

    def test_nothing_but_age_0_is_insufficient(self) -> None:
        fit = fit_labels([0.0], [True])
        assert (fit.status, fit.origin, fit.kind) == ("insufficient", "prior", "labels")
        assert fit.beta == pytest.approx(math.log(2) / 365)
        assert fit_labels([0.0], [True], prior=0.5, unit="h").beta == 0.5


@pytest.mark.parametrize("scale", [1e-90, 1e-12, 1e12, 1e90])
def test_any_age_will_do(scale: float) -> None:
    fit = fit_labels([1.0 * scale, 2.0 * scale, 3.0 * scale], [True, False, True])
    assert fit.beta * scale == pytest.approx(fit_labels([1, 2, 3], [True, False, True]).beta, rel=1e-9)
    assert fit.ci[0] < fit.beta < fit.ci[1]
    assert math.isfinite(fit_labels([1e-99, 1e99, 1e100], [False, True, True]).beta)
