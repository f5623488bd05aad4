"""Validity of facts at an age: formula, guards, order of very old facts."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import skewnorm

from chronofy_kg.decay import (
    Decay,
    DelayedOnset,
    Exponential,
    HalfLife,
    Linear,
    PowerLaw,
    Weibull,
    half_life,
    log_validity,
    rate_from_half_life,
    validity,
    validity_interval,
)
from chronofy_kg.errors import InputError

BIG = 2_000 * 365.25


@pytest.mark.parametrize(
    ("q", "beta", "age", "expected"),
    [
        (0.95, 5.0, 1 / 24, 0.7713395288431032),
        (1.0, 0.5, 2.0, 0.36787944117144233),
        (0.7, 0.0, 12_345.0, 0.7),
        (0.7, 0.0, math.inf, 0.7),
        (0.8, math.log(2) / 7, 14.0, 0.2),
        (1.0, 0.5, 0.5, 0.7788007830714049),
        (1.0, 0.5, BIG, 0.0),
        (1.0, 1e308, BIG, 0.0),
        (1.0, 1.0, math.inf, 0.0),
        (0.9, 3.0, -1.0, 0.9),  # a fact from the future is as good as new, not better
        (0.8, Linear(0.1), 3.0, 0.56),
        (0.8, Linear(0.1), 15.0, 0.0),
        (1.0, PowerLaw(1.5), 3.0, 0.125),
        (0.9, Weibull(scale=7.0, shape=1.5), 3.5, 0.6319696511939037),
        (0.95, Exponential(5.0), 1 / 24, 0.7713395288431032),
        (0.8, HalfLife(7.0), 14.0, 0.2),
        (0.8, DelayedOnset(location=5.0, spread=2.0), 5.0, 0.8),
        (0.8, DelayedOnset(location=5.0, spread=2.0), 9.0, 0.8 * math.exp(-2.0)),
        (0.8, DelayedOnset(location=-3.0, spread=2.0), 0.0, 0.8),
    ],
)
def test_known_values(q: float, beta: object, age: float, expected: float) -> None:
    assert float(validity(q, beta, age)) == pytest.approx(expected, abs=1e-12)  # type: ignore[arg-type]


def test_a_filter_keeps_what_is_at_the_threshold() -> None:
    v = validity([1.0, 1.0, 1.0], 1.0, [1.0, 1.0001, 0.0])
    assert (v >= math.exp(-1.0)).tolist() == [True, False, True]


def test_scalars_and_columns_broadcast() -> None:
    assert validity(1.0, 1.0, 1.0).shape == ()
    assert validity([1.0, 0.5], [[1.0], [2.0]], 1.0).shape == (2, 2)
    assert validity([], 1.0, []).shape == (0,)


def test_very_old_facts_keep_their_order_in_log_space() -> None:
    ages = np.array([BIG, BIG + 1, BIG - 1])
    assert validity(1.0, 10.0, ages).tolist() == [0.0, 0.0, 0.0]
    assert np.argsort(log_validity(1.0, 10.0, ages)).tolist() == [1, 0, 2]


@pytest.mark.parametrize("q", [0.0, -0.1, 1.0000001, math.nan, math.inf])
def test_a_quality_outside_its_range_is_refused(q: float) -> None:
    with pytest.raises(InputError, match=r"quality must lie in \(0, 1\].* index 1"):
        validity([1.0, q], 1.0, 1.0)


@pytest.mark.parametrize("beta", [-1e-9, math.nan, math.inf, -math.inf])
def test_a_beta_that_is_no_rate_is_refused(beta: float) -> None:
    with pytest.raises(InputError, match="beta"):
        validity(1.0, beta, 1.0)
    with pytest.raises(InputError, match="beta"):
        log_validity(1.0, beta, 1.0)


def test_an_age_of_nan_is_refused() -> None:
    with pytest.raises(InputError, match="age is NaN; got nan at index 2"):
        validity(1.0, 1.0, [0.0, 1.0, math.nan])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Linear(-0.1),
        lambda: PowerLaw(math.nan),
        lambda: Weibull(scale=0.0, shape=1.0),
        lambda: Weibull(scale=1.0, shape=math.inf),
        lambda: Exponential(-1.0),
        lambda: HalfLife(0.0),
        lambda: DelayedOnset(location=math.nan, spread=1.0),
        lambda: DelayedOnset(location=0.0, spread=0.0),
        lambda: DelayedOnset(location=0.0, spread=1.0, skew=math.inf),
        lambda: DelayedOnset(location=1.7e308, spread=1.7e308, skew=1.0),
    ],
)
def test_families_refuse_bad_parameters(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "family",
    [
        Exponential(0.3),
        Linear(0.1),
        PowerLaw(0.7),
        Weibull(scale=30.0, shape=2.0),
        Exponential(0.0),
        HalfLife(9.0),
    ],
)
def test_families_start_at_one_and_never_rise(family: Decay) -> None:
    v = validity(1.0, family, np.linspace(0.0, 100.0, 101))
    assert v[0] == 1.0
    assert np.all(np.diff(v) <= 0.0)
    assert 0.0 <= float(validity(1.0, family, math.inf)) <= 1.0


@pytest.mark.parametrize("skew", [-4.0, 0.0, 0.5, 4.0, 50.0])
def test_a_delayed_onset_is_the_skew_normal_over_its_maximum(skew: float) -> None:
    family = DelayedOnset(location=20.0, spread=6.0, skew=skew)
    age = np.linspace(0.0, 80.0, 80_001)
    curve = skewnorm.pdf(age, skew, 20.0, 6.0)
    assert family.peak == pytest.approx(age[np.argmax(curve)], abs=2e-3)
    assert validity(1.0, family, age) == pytest.approx(curve / curve.max(), abs=1e-6)
    assert float(validity(0.7, family, family.peak)) == 0.7
    assert float(validity(1.0, family, math.inf)) == 0.0
    # far out, order is kept in log space
    far = log_validity(1.0, family, [1e4, 2e4, 1e6])
    assert np.all(np.diff(far) < 0.0)


def test_a_life_that_began_before_it_was_seen_only_fades() -> None:
    family = DelayedOnset(location=-10.0, spread=5.0, skew=1.0)
    assert family.peak == 0.0
    found = validity(1.0, family, np.linspace(0.0, 50.0, 51))
    assert found[0] == 1.0
    assert np.all(np.diff(found) < 0.0)


def test_an_interval_of_beta_gives_one_of_validity() -> None:
    low, high = validity_interval(
        [0.8, 0.8, 0.8], [0.1, 0.0, 0.0], [0.2, math.inf, math.inf], [5.0, 5.0, 0.0]
    )
    assert low == pytest.approx([0.8 * math.exp(-1.0), 0.0, 0.8])
    assert high == pytest.approx([0.8 * math.exp(-0.5), 0.8, 0.8])
    assert [end.shape for end in validity_interval(0.5, 0.0, [0.1, 0.2], 1.0)] == [(2,), (2,)]
    for ends in ((0.2, 0.1), (-0.1, 0.1), (0.1, math.nan), (math.nan, 0.1)):
        with pytest.raises(InputError, match="beta"):
            validity_interval(0.5, *ends, 1.0)


def test_half_lives() -> None:
    assert half_life(5.0) == pytest.approx(0.13862943611198905, abs=1e-15)
    assert half_life(0.0) is None
    assert half_life(1e-310) is None
    assert rate_from_half_life(math.inf) == 0.0
    for bad in (-1.0, math.nan):
        with pytest.raises(InputError):
            half_life(bad)
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(InputError):
            rate_from_half_life(bad)


def test_importing_the_package_loads_no_compiler() -> None:
    code = "import sys, chronofy_kg.decay; print(sorted({'numba', 'scipy'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
