"""Numeric fits: reference cases, invariances, statuses and fallbacks."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from chronofy_kg.decay import DecayFit, fit_decay
from chronofy_kg.decay.bias import bias_of_theta
from chronofy_kg.errors import FitError, InputError

CASES_DIR = Path(__file__).parents[2] / "cases"
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for case in json.loads((CASES_DIR / "decay_cases.json").read_text())["cases"]
}
NUMERIC = [case for case in CASES.values() if case["kind"] == "numeric"]
CLEAN = [case for case in NUMERIC if case.get("reference", {}).get("noise") is False]
WITH_NOISE = [case for case in NUMERIC if case.get("reference", {}).get("noise") is True]

Floats = NDArray[np.float64]


def column(values: list[Any]) -> Floats:
    return np.array([math.nan if value is None else float(value) for value in values])


def fit_case(case: dict[str, Any], **options: Any) -> DecayFit:
    return fit_decay(column(case["t"]), column(case["y"]), case["subject"], **options)


def simulate(theta: float, n: int, seed: int, noise: float = 0.0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.exponential(size=n))
    x = np.empty(n)
    x[0] = rng.normal()
    for j in range(1, n):
        a = math.exp(-theta * (t[j] - t[j - 1]))
        x[j] = a * x[j - 1] + math.sqrt(1 - a * a if theta else t[j] - t[j - 1]) * rng.normal()
    return t, x + noise * rng.normal(size=n)


def warned(fit: DecayFit, word: str) -> bool:
    return any(word in text.lower() for text in fit.warnings)


class TestReferenceCases:
    @pytest.mark.parametrize("case", CLEAN, ids=lambda case: case["id"])
    def test_without_noise(self, case: dict[str, Any]) -> None:
        reference = case["reference"]
        fit = fit_case(case, noise=False, scale=reference["scale"])
        assert fit.beta_raw == pytest.approx(reference["reml"]["beta"], rel=1e-6)
        assert fit.beta == fit.beta_raw
        assert 2 * fit.theta == fit.beta_raw
        assert fit.ci_raw == pytest.approx(reference["reml"]["ci95_profile"], rel=1e-5)
        assert fit.beta_corrected == pytest.approx(reference["reml_bias_corrected_beta"], rel=1e-6)
        assert fit.lr_random_walk == pytest.approx(reference["lr_rw"], abs=1e-5)
        assert fit.status == reference["proto_status"]
        assert (fit.q, fit.noise_ratio) == (1.0, 0.0)

    @pytest.mark.parametrize(
        "case", [c for c in CLEAN if "reml_with_noise_model" in c["reference"]], ids=lambda case: case["id"]
    )
    def test_a_noise_term_changes_nothing_where_there_is_no_noise(self, case: dict[str, Any]) -> None:
        reference = case["reference"]["reml_with_noise_model"]
        fit = fit_case(case, scale=case["reference"]["scale"])
        rel = 1e-6 if reference["lr_noise"] > 1e-3 else 5e-5  # an optimum on the edge is known less well
        assert fit.beta_raw == pytest.approx(reference["beta"], rel=rel)
        assert fit.ci_raw == pytest.approx(reference["ci95_profile"], rel=1e-4)
        assert fit.noise_ratio == pytest.approx(reference["lam"], abs=1e-6)
        assert fit.lr_noise == pytest.approx(reference["lr_noise"], abs=1e-5)
        assert fit.status == reference["status"]

    @pytest.mark.parametrize("case", WITH_NOISE, ids=lambda case: case["id"])
    def test_with_noise(self, case: dict[str, Any]) -> None:
        reference = case["reference"]
        fit = fit_case(case)
        assert fit.beta == pytest.approx(reference["reml"]["beta"], rel=1e-5)
        assert fit.ci == pytest.approx(reference["reml"]["ci95_profile"], rel=1e-5)
        assert fit.noise_ratio == pytest.approx(reference["reml"]["lam"], rel=1e-4)
        assert fit.q == pytest.approx(reference["q"], rel=1e-5)
        assert fit.beta_corrected == pytest.approx(reference["reml_bias_corrected_beta"], rel=1e-5)
        assert fit.status == "ok"
        clean = fit_case(case, noise=False)
        assert clean.beta == pytest.approx(reference["reml_without_noise_model_beta"], rel=1e-5)

    @pytest.mark.parametrize(
        "case", [c for c in NUMERIC if c["expect"].get("ci_contains_truth")], ids=lambda case: case["id"]
    )
    def test_the_interval_holds_the_truth(self, case: dict[str, Any]) -> None:
        fit = fit_case(case)
        assert fit.ci[0] <= case["true_beta"] <= fit.ci[1]
        if case["expect"].get("not_ml"):
            assert fit.beta < 0.7 * case["reference"]["ml"]["beta"]

    def test_missing_values_are_dropped_and_said(self) -> None:
        fit = fit_case(CASES["nan_values"])
        assert fit.n == 117
        assert warned(fit, "nan")

    def test_exact_duplicates_change_nothing(self) -> None:
        fit, base = fit_case(CASES["exact_duplicates"]), fit_case(CASES["unsorted"])
        assert fit.beta == pytest.approx(base.beta, rel=1e-9)
        assert fit.n == base.n == 120


class TestInvariances:
    @pytest.mark.parametrize("noise", [False, "auto"])
    @pytest.mark.parametrize(
        ("name", "rel"),
        [("affine", 1e-6), ("large offset", 1e-4), ("order", 1e-9), ("shift", 1e-6), ("reversed", 1e-6),
         ("huge", 1e-6), ("tiny", 1e-6), ("enormous", 1e-6), ("duplicates", 1e-9)],
    )  # fmt: skip
    @pytest.mark.parametrize("case", ["reg_mid", "noise_irr"])
    def test_what_must_not_matter(self, case: str, name: str, rel: float, noise: Any) -> None:
        t, y = column(CASES[case]["t"]), column(CASES[case]["y"])
        order = np.random.default_rng(1).permutation(t.size)
        twice = np.concatenate((np.arange(t.size), order[:20]))
        changed = {
            "affine": (t, 3.0 - 7.0 * y),
            "large offset": (t, 1e6 + 1e-3 * y),
            "order": (t[order], y[order]),
            "shift": (t + 1e5, y),
            "reversed": (-t, y),
            "huge": (t, 1e12 * y),
            "tiny": (t, 1e-12 * y),
            "enormous": (t, 1e200 * y),
            "duplicates": (t[twice], y[twice]),
        }[name]
        base, fit = fit_decay(t, y, noise=noise), fit_decay(*changed, noise=noise)
        assert fit.beta == pytest.approx(base.beta, rel=rel)
        assert fit.ci == pytest.approx(base.ci, rel=rel)
        assert fit.q == pytest.approx(base.q, rel=rel)
        assert fit.status == base.status

    def test_units(self) -> None:
        t, y = column(CASES["noise_irr"]["t"]), column(CASES["noise_irr"]["y"])
        day = fit_decay(t, y)
        second = fit_decay(t * 86_400, y, unit="s")
        assert second.beta * 86_400 == pytest.approx(day.beta, rel=1e-6)
        back = second.per_day()
        assert back.unit == "d"
        assert back.beta == pytest.approx(day.beta, rel=1e-6)
        assert back.span == pytest.approx(day.span)
        assert back.sigma2_w == pytest.approx(day.sigma2_w, rel=1e-5)
        assert back.half_life == pytest.approx(math.log(2) / day.beta, rel=1e-6)

    def test_dates_numbers_and_epoch_seconds_agree(self) -> None:
        days = np.arange(200)
        y = column(CASES["reg_mid"]["y"])
        by_number = fit_decay(days, y)
        by_date = fit_decay(np.datetime64("2026-01-01") + days.astype("timedelta64[D]"), y)
        by_epoch = fit_decay(1_767_225_600 + 86_400 * days, y, unit="s").per_day()
        assert by_date.beta == pytest.approx(by_number.beta, rel=1e-12)
        assert by_epoch.beta == pytest.approx(by_number.beta, rel=1e-9)

    def test_interleaved_subjects_are_no_trouble(self) -> None:
        case = CASES["pooled_hetero"]
        order = np.argsort(column(case["t"]), kind="stable")
        t, y, s = column(case["t"])[order], column(case["y"])[order], np.array(case["subject"])[order]
        assert fit_decay(t, y, s).beta == pytest.approx(fit_case(case).beta, rel=1e-9)


class TestStatuses:
    def test_a_random_walk_is_not_called_stable(self) -> None:
        fit = fit_case(CASES["random_walk"])
        assert fit.status == "unit_root"
        assert warned(fit, "not mean reverting")
        assert fit.ci[0] == 0.0
        assert (fit.beta, fit.origin) == (pytest.approx(math.log(2) / 90), "prior")
        assert "prior" in fit.method

    def test_a_tolerance_turns_a_random_walk_into_a_rate(self) -> None:
        fit = fit_case(CASES["random_walk"], tolerance=2.0)
        assert fit.origin == "diffusion"
        assert fit.sigma2_w is not None
        assert fit.beta == pytest.approx(fit.sigma2_w / 4.0)
        assert fit.v_ref == 4.0
        y = column(CASES["random_walk"]["y"])
        quadratic = np.sum(np.diff(y) ** 2 / np.diff(column(CASES["random_walk"]["t"]))) / (y.size - 1)
        clean = fit_case(CASES["random_walk"], tolerance=2.0, noise=False)
        if clean.theta == 0.0:
            assert clean.sigma2_w == pytest.approx(quadratic, rel=1e-9)

    def test_a_prior_is_per_unit(self) -> None:
        assert fit_case(CASES["random_walk"], prior=0.25).beta == 0.25
        hourly = fit_case(CASES["random_walk"], unit="h")
        assert hourly.beta == pytest.approx(math.log(2) / (90 * 24))

    def test_random_walks_of_many_subjects_are_measured_against_their_spread(self) -> None:
        rng = np.random.default_rng(3)
        t = np.tile(np.arange(12.0), 50)
        y = (10.0 * rng.normal(size=(50, 1)) + np.cumsum(rng.normal(size=(50, 12)), axis=1)).ravel()
        fit = fit_decay(t, y, np.repeat(np.arange(50), 12))
        assert fit.status == "unit_root"
        assert fit.origin == "diffusion"
        assert fit.beta == pytest.approx(1.0 / 100.0, rel=0.4)
        assert fit.ci[0] <= fit.beta <= fit.ci[1]

    def test_an_estimate_beyond_its_own_bias_is_kept(self) -> None:
        fit = fit_case(CASES["n30"])
        assert (fit.status, fit.origin) == ("unit_root", "fitted")
        assert fit.beta == pytest.approx(CASES["n30"]["reference"]["reml"]["beta"], rel=1e-6)
        assert "unit root not rejected" in fit.method

    @pytest.mark.parametrize("noise", [False, True, "auto"])
    def test_white_noise_gives_a_lower_bound(self, noise: Any) -> None:
        fit = fit_case(CASES["white_noise"], noise=noise)
        assert fit.status == "unresolved_fast"
        assert 0.0 < fit.ci[0] <= fit.beta < math.inf
        assert fit.ci[1] == math.inf

    def test_alternating_values_give_a_lower_bound(self) -> None:
        fit = fit_decay(np.arange(40.0), np.where(np.arange(40) % 2, 1.0, -1.0))
        assert fit.status == "unresolved_fast"
        assert fit.theta == math.inf
        assert 0.0 < fit.beta < math.inf

    def test_a_constant_does_not_decay_but_has_a_bound(self) -> None:
        fit = fit_case(CASES["constant"])
        assert (fit.beta, fit.status) == (0.0, "constant")
        assert fit.ci == pytest.approx((0.0, -math.log(0.025) / 49.0))
        assert fit.half_life is None
        assert warned(fit, "constant")
        assert fit_decay([0.0, 10.0], [0.1 + 0.2, 0.3]).status == "constant"

    def test_a_trend_is_told(self) -> None:
        fit = fit_case(CASES["trend_plus_ou"])
        assert warned(fit, "trend")
        text = next(text for text in fit.warnings if text.startswith("trend"))
        around = float(text.rsplit(" ", 1)[1])
        truth = CASES["trend_plus_ou"]["expect"]["detrended_true_beta"]
        assert truth / 2 < around < truth * 2
        assert fit.beta_robust == pytest.approx(around, rel=5e-3)
        assert fit.lr_trend is not None
        assert fit.lr_trend > 12.0
        assert fit.to_unit("w").beta_robust == pytest.approx(7 * fit.beta_robust)

    def test_a_level_shift_is_told(self) -> None:
        t, x = simulate(0.5, 200, seed=11)
        plain = fit_decay(t, x)
        assert (plain.warnings, plain.beta_robust, plain.lr_trend) == ((), None, None)
        fit = fit_decay(t, x + 6.0 * (np.arange(200) >= 120))
        assert warned(fit, "level shift")
        assert fit.beta_robust is not None
        assert plain.beta / 2 < fit.beta_robust < 2 * plain.beta

    def test_an_outlier_is_left_out_and_said(self) -> None:
        t, x = simulate(0.25, 120, seed=2)
        clean = fit_decay(t, x)
        x[60] += 45.0
        fit = fit_decay(t, x)
        assert warned(fit, "outlier")
        assert fit.n == 119
        assert clean.beta / 2 < fit.beta < 2 * clean.beta

    def test_many_outliers_are_a_heavy_tail_and_stay(self) -> None:
        t, x = simulate(0.25, 120, seed=2)
        x[::10] += 45.0
        assert fit_decay(t, x).n == 120

    @pytest.mark.parametrize(
        ("t", "y", "s"),
        [
            ([0.0], [1.0], None),
            ([0.0, 1.0], [1.0, 2.0], None),
            ([3.0, 3.0, 3.0], [1.0, 2.0, 3.0], None),
            ([0.0, 1.0, 2.0], [math.nan] * 3, None),
            ([0.0, 1.0, 2.0], [1.0, 2.0, 3.0], ["a", "b", "c"]),
            ([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 1.0, 2.0], ["a", "a", "b", "b"]),
            ([0.0, 1.0, 2.0], [1.0, 5.0, 2.0], None),
        ],
    )
    @pytest.mark.parametrize("noise", [False, "auto"])
    def test_too_little_is_said_to_be_too_little(self, t: Any, y: Any, s: Any, noise: Any) -> None:
        fit = fit_decay(t, y, s, noise=noise)
        assert fit.status in ("insufficient", "unresolved_fast")
        assert math.isfinite(fit.beta)
        assert fit.beta > 0
        if fit.status == "insufficient":
            assert fit.beta == pytest.approx(math.log(2) / 90)
            assert fit.ci == (0.0, math.inf)
            assert warned(fit, "prior")

    def test_two_points_are_insufficient(self) -> None:
        assert fit_case(CASES["two_points"]).status == "insufficient"

    def test_no_rows_are_an_error(self) -> None:
        with pytest.raises(FitError, match="no rows"):
            fit_case(CASES["empty"])

    def test_ties_need_the_noise_term_or_are_averaged(self) -> None:
        t, x = simulate(0.3, 150, seed=4)
        rng = np.random.default_rng(9)
        twice = np.repeat(x, 2) + 0.5 * rng.normal(size=300)
        fit = fit_decay(np.repeat(t, 2), twice)
        assert fit.status == "ok"
        assert fit.noise_ratio == pytest.approx(0.25, rel=0.5)
        assert fit.ci[0] < 0.6 < fit.ci[1]
        averaged = fit_decay(np.repeat(t, 2), twice, noise=False)
        assert averaged.n == 150

    def test_conflicting_ties_and_nothing_else_do_not_break_it(self) -> None:
        fit = fit_decay([0.0, 0.0, 1.0, 1.0, 2.0, 2.0], [1.0, 2.0, 1.5, 1.7, 1.2, 2.2])
        assert math.isfinite(fit.beta)
        assert warned(fit, "another value for the same time")


class TestArguments:
    @pytest.mark.parametrize(
        "options",
        [
            {"kind": "numerical"},
            {"scale": "own"},
            {"noise": "yes"},
            {"unit": "month"},
            {"tolerance": 0.0},
            {"tolerance": math.nan},
            {"prior": -1.0},
            {"prior": math.inf},
        ],
    )
    def test_unknown_options_are_refused(self, options: dict[str, Any]) -> None:
        with pytest.raises(InputError):
            fit_decay([0.0, 1.0, 2.0], [1.0, 2.0, 1.5], **options)

    def test_times_out_of_all_range_are_refused_and_specks_are_one_instant(self) -> None:
        with pytest.raises(InputError, match="times hold 1e\\+101 at index 1"):
            fit_decay([0.0, 1e101, 2.0], [1.0, 2.0, 1.5])
        with pytest.raises(InputError, match="times are no column"):
            fit_decay([0.0, [1.0]], [1.0, 2.0])
        fit = fit_decay([0.0, 1e-160, 1.0, 2.0, 3.0], [0.0, 1.0, 0.5, 0.2, 0.9])
        assert warned(fit, "another value for the same time")

    def test_a_tolerance_far_from_all_values_is_no_overflow(self) -> None:
        for tolerance in (1e-300, 1e300):
            assert math.isfinite(fit_case(CASES["random_walk"], tolerance=tolerance).beta)

    def test_infinities_and_missing_values_are_refused(self) -> None:
        with pytest.raises(InputError, match="infinity at index 1"):
            fit_decay([0.0, 1.0], [1.0, math.inf])
        with pytest.raises(InputError, match="need values"):
            fit_decay([0.0, 1.0])


def test_never_nan_never_negative_never_an_exception() -> None:
    rng = np.random.default_rng(0)
    for trial in range(150):
        n = int(rng.choice([1, 2, 3, 5, 12, 30]))
        t = [
            np.arange(n), 10.0 ** rng.uniform(-12, 6, n), rng.integers(0, 4, n),
            1.7e9 + rng.integers(0, 99, n),
        ][trial % 4]  # fmt: skip
        y = [
            rng.normal(size=n), rng.integers(0, 2, n), 10.0 ** rng.uniform(-300, 300, n),
            1e6 + 1e-9 * rng.normal(size=n), rng.choice([1e308, -1e308, 5e-324, 0.0], n),
        ][trial % 5]  # fmt: skip
        subjects = rng.integers(0, 4, n) if trial % 3 else None
        fit = fit_decay(
            t, y, subjects, noise=("auto", False, True)[trial % 3 - 1], tolerance=(None, 0.5)[trial % 2]
        )
        assert math.isfinite(fit.beta)
        assert fit.beta >= 0.0
        assert fit.beta > 0.0 or fit.status == "constant"
        assert fit.ci[0] <= fit.beta <= fit.ci[1]
        assert 0.0 < fit.q <= 1.0
        assert not math.isnan(fit.theta)


@pytest.mark.parametrize("subjects", [1, 40])
@pytest.mark.parametrize(("theta", "noise"), [(0.3, 0.5), (0.3, 0.0), (0.0, 0.5), (0.01, 1.0)])
def test_the_way_for_many_rows_ends_where_the_way_for_few_does(
    monkeypatch: pytest.MonkeyPatch, theta: float, noise: float, subjects: int
) -> None:
    t, y = simulate(theta, 1200, seed=8, noise=noise)
    names = np.arange(1200) * subjects // 1200
    few = fit_decay(t, y, names)
    monkeypatch.setattr("chronofy_kg.decay.numeric._MANY_ROWS", 1000)
    many = fit_decay(t, y, names)
    assert many.status == few.status
    assert many.beta == pytest.approx(few.beta, rel=1e-4)
    assert many.ci == pytest.approx(few.ci, rel=1e-3)
    assert many.q == pytest.approx(few.q, rel=1e-4)


def test_the_bias_formula_is_the_one_of_a_known_mean() -> None:
    # dense sampling: 2 / T
    assert bias_of_theta(0.1, 1e3, 1e-6) == pytest.approx(2 / 1e3, rel=1e-6)
    # beyond theta h = 1.5 it stays what it was there
    assert bias_of_theta(9.0, 1e3, 1.0) == bias_of_theta(1.5, 1e3, 1.0)


class TestRealSeries:
    def test_weekly_counts_of_publishers(self) -> None:
        with (CASES_DIR / "weekly_by_publisher.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        weeks = np.array([row["week_start"] for row in rows], dtype="datetime64[D]")
        fit = fit_decay(weeks, [float(row["log_cves"]) for row in rows], [row["publisher"] for row in rows])
        assert (fit.status, fit.n, fit.subjects, fit.unit) == ("ok", 969, 12, "d")
        assert fit.beta_corrected == pytest.approx(0.0093, rel=0.01)
        assert fit.beta == pytest.approx(0.0094, rel=0.01)
        assert fit.ci == pytest.approx((0.0053, 0.0146), rel=0.01)
        assert fit.q == pytest.approx(0.70, abs=0.01)
        assert fit.half_life == pytest.approx(75.0, rel=0.03)
        assert fit.lr_noise == pytest.approx(200.0, rel=0.01)
        assert warned(fit, "trend")

    @pytest.mark.parametrize(
        ("name", "clean", "noisy", "high", "q"),
        [
            ("infl", 3.3, 0.36, 1.1, 0.73),
            ("unemp", 0.0, 0.0, 0.34, 1.0),
            ("tbilrate", 0.19, 0.19, 0.65, 1.0),
            ("realgdp", 0.0, 0.0, 0.01, 1.0),
        ],
    )
    def test_quarterly_series(self, name: str, clean: float, noisy: float, high: float, q: float) -> None:
        with (CASES_DIR / "macro_quarterly.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        t = [float(row["year"]) + (float(row["quarter"]) - 1.0) / 4.0 for row in rows]
        y = np.array([float(row[name]) for row in rows])
        y = np.log(y) if name == "realgdp" else y
        # a year stands for the unit here; a prior that small keeps the fallback out of the comparison
        without, fit = fit_decay(t, y, noise=False, prior=1e-9), fit_decay(t, y, prior=1e-9)
        assert without.beta_corrected == pytest.approx(clean, abs=0.02)
        mean_gap = fit.span / (fit.n - 1)
        short = max(fit.theta - bias_of_theta(fit.theta, fit.span, mean_gap), 0.0)
        assert 2 * short == pytest.approx(noisy, abs=0.01)
        # a noise term that was not shown pulls the rate down on average; that is given back
        assert 2 * short <= fit.beta_corrected <= 1.4 * fit.beta_raw + 1e-9
        assert fit.status == "unit_root"
        assert fit.beta > 0.0
        assert fit.ci_raw == (0.0, pytest.approx(high, abs=0.01))
        assert fit.q == pytest.approx(q, abs=0.01)
        assert without.status == ("ok" if name == "infl" else "unit_root")
        assert warned(fit, "trend") == (name == "realgdp")
