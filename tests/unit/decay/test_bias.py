"""Bias that is taken off: formulas against numbers, and what is left in the mean of many fits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from chronofy_kg.decay import fit_decay
from chronofy_kg.decay.bias import _information, bias_of_theta, pull_of_noise
from chronofy_kg.decay.series import Series, read_rows, series_of


def columns(subjects: int = 1, *, own: bool = True) -> Series:
    rng = np.random.default_rng(1)
    t = np.cumsum(rng.exponential(size=(subjects, 9)), axis=1)
    y = rng.normal(size=(subjects, 9))
    rows = read_rows(t.ravel(), y.ravel(), np.repeat(np.arange(subjects), 9), "d")
    return series_of(rows, own_scale=own, step=1.0)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("theta", [0.05, 0.4, 2.0])
def test_the_information_is_that_of_the_dense_covariance(theta: float, own: bool) -> None:
    series = columns(3, own=own)

    def blocks(rate: float, ratio: float) -> list[np.ndarray]:
        found = []
        for lo, hi in zip(series.starts[:-1], series.starts[1:], strict=True):
            clock = np.cumsum(series.gaps[lo:hi])
            found.append(np.exp(-rate * np.abs(clock[:, None] - clock)) + ratio * np.eye(hi - lo))
        return found

    step = 1e-5
    total = np.zeros((3, 3))
    profiled = np.zeros((2, 2))
    for base, up, down in zip(
        blocks(theta, 0.0), blocks(theta + step, 0.0), blocks(theta - step, 0.0), strict=True
    ):
        inverse = np.linalg.inv(base)
        by_rate, by_ratio = inverse @ (up - down) / (2 * step), inverse
        size = len(base)
        parts = [by_rate, by_ratio, np.eye(size)]
        matrix = np.array([[np.trace(a @ b) / 2 for b in parts] for a in parts])
        matrix[2, 2] = (size - 1) / 2  # one degree of freedom goes to the mean
        total += matrix
        profiled += matrix[:2, :2] - np.outer(matrix[:2, 2], matrix[2, :2]) / matrix[2, 2]
    if not own:
        profiled = total[:2, :2] - np.outer(total[:2, 2], total[2, :2]) / total[2, 2]
    rate_rate, rate_ratio, ratio_ratio = _information(series, theta)
    # the expected information of theta is that of the transitions, in which the first row has no part
    assert rate_ratio == pytest.approx(profiled[0, 1], rel=1e-6)
    assert ratio_ratio == pytest.approx(profiled[1, 1], rel=1e-9)
    assert rate_rate == pytest.approx(profiled[0, 0], rel=1e-6)


def test_the_pull_ends_where_the_noise_is_plain() -> None:
    series = columns()
    pulls = [pull_of_noise(series, 0.4, ratio) for ratio in (0.0, 1.0, 4.0, 30.0)]
    assert pulls == sorted(pulls, reverse=True)
    assert 0.0 < pulls[0] <= 0.4
    assert pulls[-1] == 0.0
    assert pull_of_noise(series, 0.0, 0.0) == pull_of_noise(series, math.inf, 0.0) == 0.0


def test_no_pull_is_given_back_without_a_noise_term_or_with_ties() -> None:
    rng = np.random.default_rng(3)
    y = np.convolve(rng.normal(size=120), 0.7 ** np.arange(20), "valid")
    t = np.arange(float(y.size))
    clean = fit_decay(t, y, noise=False)
    assert clean.beta_corrected == pytest.approx(
        clean.beta_raw - 2 * bias_of_theta(clean.theta, clean.span, 1.0)
    )
    noisy = fit_decay(t, y)
    shown = noisy.lr_noise
    assert shown is not None
    assert 0.0 < shown < 2.71
    assert noisy.beta_corrected > noisy.beta_raw - 2 * bias_of_theta(noisy.theta, noisy.span, 1.0)
    twice = fit_decay(np.append(t, t[5]), np.append(y, y[5] + 1e-3))
    assert twice.beta_corrected <= twice.beta_raw


@pytest.mark.parametrize(("theta", "regular"), [(0.1, True), (0.4, True), (0.4, False)])
def test_the_mean_of_many_fits_is_near_the_truth(theta: float, regular: bool) -> None:
    """A short form of `benchmarks/decay.py`, whose bars are narrower and need more repeats."""
    rng = np.random.default_rng(5)
    found, covered = [], []
    for _ in range(120):
        gaps = np.ones(101) if regular else rng.exponential(size=101)
        x, keep = rng.normal(size=101), np.exp(-theta * gaps)
        for j in range(1, 101):
            x[j] = keep[j] * x[j - 1] + math.sqrt(1 - keep[j] ** 2) * x[j]
        fit = fit_decay(np.cumsum(gaps), x, prior=1e-9)
        found.append(fit.beta_corrected)
        covered.append(fit.ci_raw[0] <= 2 * theta <= fit.ci_raw[1])
    assert np.mean(found) == pytest.approx(2 * theta, rel=0.15)
    assert 0.9 <= np.mean(covered) <= 1.0
