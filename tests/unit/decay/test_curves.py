"""The points and lines of a plot: they agree with the fit where the model holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chronofy_kg.decay import Curve, curve_of_labels, curve_of_series, fit_decay, fit_labels


def check(curve: Curve, bins: int = 20) -> None:
    assert 0 < curve.age.size <= bins
    for column in (curve.seen, curve.low, curve.high, curve.count):
        assert column.shape == curve.age.shape
    assert np.all(np.diff(curve.age) > 0)
    for line in (curve.line, curve.line_low, curve.line_high):
        assert line.shape == curve.line_age.shape
        assert np.all(np.isfinite(line))
    assert np.all(curve.line_low <= curve.line + 1e-12)
    assert np.all(curve.line <= curve.line_high + 1e-12)


def series(theta: float, subjects: int, rows: int, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    gaps = rng.exponential(1.0, (subjects, rows))
    values = rng.normal(size=(subjects, rows))
    for j in range(1, rows):
        keep = np.exp(-theta * gaps[:, j])
        values[:, j] = keep * values[:, j - 1] + np.sqrt(1 - keep**2) * values[:, j]
    values += noise * rng.normal(size=values.shape) + 5.0 * rng.normal(size=(subjects, 1))
    return np.cumsum(gaps, axis=1).ravel(), values.ravel(), np.repeat(np.arange(subjects), rows)


def test_numbers_correlate_as_the_fit_says() -> None:
    rows = series(0.2, 60, 40, 0.5)
    fit = fit_decay(*rows)
    curve = curve_of_series(fit, *rows)
    check(curve)
    assert (curve.what, curve.unit) == ("autocorrelation", "d")
    fitted = fit.q * np.exp(-fit.theta * curve.age)
    near = curve.age < 10
    assert curve.seen[near] == pytest.approx(fitted[near], abs=0.06)
    assert curve.line[0] == pytest.approx(fit.q)
    assert int(curve.count.sum()) == 60 * 40 * 39 // 2


@pytest.mark.parametrize("tolerance", [None, 3.0])
def test_a_random_walk_has_a_curve_too(tolerance: float | None) -> None:
    walk = np.cumsum(np.random.default_rng(2).normal(size=150))
    fit = fit_decay(np.arange(150.0), walk, tolerance=tolerance)
    curve = curve_of_series(fit, np.arange(150.0), walk)
    check(curve)
    assert curve.seen[0] > curve.seen[10]


def test_spells_are_a_survival_curve() -> None:
    rng = np.random.default_rng(3)
    lasted, watched = rng.exponential(10.0, 400), rng.uniform(0.0, 40.0, 400)
    rows = {"times": np.zeros(400), "ends": np.minimum(lasted, watched), "changed": lasted <= watched}
    fit = fit_decay(**rows, kind="categorical")
    curve = curve_of_series(fit, **rows)
    check(curve)
    assert curve.what == "survival"
    inside = (curve.low <= np.exp(-curve.age / 10)) & (np.exp(-curve.age / 10) <= curve.high)
    assert np.mean(inside) >= 0.8
    assert curve.line == pytest.approx(np.exp(-fit.beta * curve.line_age))


def test_the_product_limit_is_the_textbook_one() -> None:
    # 6-MP arm of Freireich et al. 1963, the usual example: S(6) = .857, S(10) = .753, S(23) = .448
    weeks = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
    open_ = [0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1]
    rows = {"times": np.zeros(21), "ends": weeks, "changed": [not flag for flag in open_]}
    curve = curve_of_series(fit_decay(**rows, kind="categorical"), **rows)
    seen = dict(zip(curve.age.tolist(), curve.seen.tolist(), strict=True))
    assert seen == pytest.approx(
        {6: 0.857143, 7: 0.806723, 10: 0.752941, 13: 0.690196, 16: 0.627451, 22: 0.537815, 23: 0.448179},
        abs=1e-6,
    )  # fmt: skip


def test_visits_are_a_share_in_the_same_state() -> None:
    times, states = np.arange(30.0), list("aaabbbaaacccaaabbbbbaaaccccaaa")
    for reverting in (False, True):
        fit = fit_decay(times, states, kind="categorical", reverting=reverting)
        curve = curve_of_series(fit, times, states)
        check(curve)
        assert curve.seen == pytest.approx([21 / 29])
        assert curve.line[0] == 1.0
        rate = fit_decay(times, states, kind="categorical").beta
        assert curve.line[-1] == pytest.approx(1 / 3 + 2 / 3 * math.exp(-1.5 * rate))


def test_events_are_a_survival_of_the_gap() -> None:
    times = np.cumsum(np.random.default_rng(4).exponential(5.0, 200))
    fit = fit_decay(times, kind="event")
    curve = curve_of_series(fit, times)
    check(curve)
    assert curve.seen == pytest.approx(np.exp(-curve.age / 5), abs=0.12)
    assert curve.seen[-1] == 0.0


def test_labels_are_a_share_valid() -> None:
    rng = np.random.default_rng(5)
    ages = rng.exponential(10.0, 600)
    valid = rng.random(600) < np.exp(-0.1 * ages)
    fit = fit_labels(ages, valid)
    curve = curve_of_labels(fit, ages, valid, bins=8)
    check(curve, 8)
    assert curve.seen == pytest.approx(np.exp(-0.1 * curve.age), abs=0.15)
    assert np.all((curve.low <= curve.seen) & (curve.seen <= curve.high))


def test_a_fit_without_pairs_has_a_line_and_no_points() -> None:
    fit = fit_decay([1.0], [2.0])
    curve = curve_of_series(fit, [1.0], [2.0])
    assert curve.age.size == 0
    assert np.all(np.isfinite(curve.line))
