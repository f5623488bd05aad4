"""Both likelihoods against a dense covariance matrix, and the search against known minima."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from chronofy_kg.decay.kalman import NoisyLikelihood
from chronofy_kg.decay.likelihood import CleanLikelihood
from chronofy_kg.decay.profile import CUT_95, profile
from chronofy_kg.decay.series import Series, read_rows, series_of

Floats = NDArray[np.float64]


def dense_deviance(series: Series, theta: float, ratio: float) -> float:
    """-2 log restricted likelihood from full correlation matrices."""
    log_det = log_mean = scale_part = total = 0.0
    for lo, hi in zip(series.starts[:-1], series.starts[1:], strict=True):
        t, y = np.cumsum(series.gaps[lo:hi]), series.values[lo:hi]
        matrix = np.exp(-theta * np.abs(t[:, None] - t)) + ratio * np.eye(t.size)
        one = np.ones(t.size)
        inverse = np.linalg.inv(matrix)
        a, b, c = one @ inverse @ one, one @ inverse @ y, y @ inverse @ y
        log_det += np.linalg.slogdet(matrix)[1]
        log_mean += math.log(a)
        squares = c - b * b / a
        scale_part += (t.size - 1) * math.log(squares / (t.size - 1))
        total += squares
    if not series.own_scale:
        scale_part = series.degrees * math.log(total / series.degrees)
    return float(log_det + log_mean + scale_part)


def sample(*, own: bool, ties: bool = False) -> Series:
    rng = np.random.default_rng(5)
    size = 24
    times = rng.integers(0, 12, size).astype(float) if ties else rng.uniform(0, 20, size)
    rows = read_rows(times, rng.normal(size=size).cumsum(), rng.integers(0, 3, size), "d")
    return series_of(rows, own_scale=own, step=0.7)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("theta", [1e-3, 0.2, 3.0])
def test_the_clean_deviance_is_exact(own: bool, theta: float) -> None:
    series = sample(own=own)
    assert CleanLikelihood(series).deviance(math.log(theta)) == pytest.approx(
        dense_deviance(series, theta, 0.0), abs=1e-7
    )


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize(("theta", "ratio"), [(1e-3, 0.4), (0.2, 1e-3), (3.0, 5.0)])
def test_the_noisy_deviance_is_exact(own: bool, ties: bool, theta: float, ratio: float) -> None:
    series = sample(own=own, ties=ties)
    w = np.array([math.log(ratio / -math.expm1(-2 * theta))])
    got = NoisyLikelihood(series).deviances(theta, w)[0]
    assert got == pytest.approx(dense_deviance(series, theta, ratio), abs=1e-7)


@pytest.mark.parametrize("own", [True, False])
def test_the_limits_are_those_of_the_deviance(own: bool) -> None:
    series = sample(own=own)
    clean = CleanLikelihood(series)
    walk, noise = clean.limits()
    assert clean.deviance(math.log(1e-9)) == pytest.approx(walk, abs=1e-5)
    assert clean.deviance(math.log(1e6)) == pytest.approx(noise, abs=1e-5)
    noisy = NoisyLikelihood(series)
    w = np.array([-1.0, 0.0, 2.0])
    assert noisy.deviances(1e-9, w) == pytest.approx(noisy.deviances(0.0, w), abs=1e-5)


def test_without_noise_both_agree() -> None:
    series = sample(own=False)
    got = NoisyLikelihood(series).deviances(0.3, np.array([-30.0]))[0]
    assert got == pytest.approx(CleanLikelihood(series).deviance(math.log(0.3)), abs=1e-7)


def test_the_best_noise_is_lower_than_any_on_a_fine_grid() -> None:
    series = sample(own=False, ties=True)
    likelihood = NoisyLikelihood(series)
    for log_theta in (-4.0, -1.0, 1.0):
        w, best = likelihood.best_noise(log_theta)
        grid = likelihood.deviances(math.exp(log_theta), np.linspace(-18, 8, 2_000))
        assert best <= grid.min() + 1e-6
        assert best == pytest.approx(likelihood.deviances(math.exp(log_theta), np.array([w]))[0], abs=1e-5)


class TestProfile:
    grid: ClassVar[list[float]] = [float(u) for u in np.linspace(-8, 8, 17)]

    def test_a_parabola_gives_its_minimum_and_ends(self) -> None:
        found = profile(lambda u: 4.0 * (u - 0.3) ** 2, self.grid, (60.0, 60.0))
        half = math.sqrt(CUT_95) / 2
        assert math.log(found.rate) == pytest.approx(0.3, abs=1e-6)
        assert math.log(found.low) == pytest.approx(0.3 - half, abs=1e-6)
        assert math.log(found.high) == pytest.approx(0.3 + half, abs=1e-6)

    def test_a_minimum_much_narrower_than_the_grid_keeps_its_ends(self) -> None:
        found = profile(lambda u: min(1e6 * (u - 0.31) ** 2, 1e5 + u * u), self.grid, (1e5, 1e5))
        assert math.log(found.high / found.low) == pytest.approx(2 * math.sqrt(CUT_95) / 1e3, rel=1e-3)

    def test_limits_within_the_cut_open_the_interval(self) -> None:
        found = profile(lambda u: 1.0 / (1.0 + math.exp(u)), self.grid, (1.0, 0.0))
        assert (found.rate, found.low, found.high) == (math.inf, 0.0, math.inf)

    def test_the_interval_is_the_hull_of_two_dips(self) -> None:
        found = profile(
            lambda u: min(9 * (u - 5) ** 2, 9 * (u + 5) ** 2 + 2.0, 30.0), self.grid, (30.0, 30.0)
        )
        assert math.log(found.rate) == pytest.approx(5.0, abs=1e-6)
        assert math.log(found.low) == pytest.approx(-5 - math.sqrt(CUT_95 - 2) / 3, abs=1e-5)
        assert math.log(found.high) == pytest.approx(5 + math.sqrt(CUT_95) / 3, abs=1e-5)
