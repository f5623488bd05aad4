"""Deviance of the Ornstein-Uhlenbeck model with measurement noise, profiled over the noise.

y = x + e, noise ratio lambda = var(e) / stationary variance. The filter runs over y and over the constant 1
with one gain, which gives the same A, B, C and log|R| as `likelihood`, so the means are integrated out
exactly. Rows at one instant are welcome. The recursion itself is compiled, in `_kernels`.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.series import Series

__all__ = ["NoisyLikelihood"]

Floats: TypeAlias = NDArray[np.float64]

_LANES = 16
_LOWEST = -18.0
_PASSES = 6
_MOST_FANS = 16


@dataclass(slots=True)
class NoisyLikelihood:
    """Restricted deviance of (log theta, w), times in steps.

    w = log(lambda / v), where v = 1 - exp(-2 theta) is the variance that a gap of one step brings: it keeps
    its meaning where theta goes to 0 (noise over the walk's variance a step) and to infinity (lambda itself).
    """

    series: Series
    precision: float = 1e-7
    passes: int = 2
    _bounds: tuple[float, float] = field(init=False)
    _weights: Floats = field(init=False)
    _known: list[tuple[float, float]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._weights = self.series.scales**2
        gaps = self.series.gaps[self.series.gaps > 0.0]
        shortest = math.log(float(gaps.min())) if gaps.size else 0.0
        # noise matters from the variance of the shortest gap up to where a walk over all rows drowns in it
        most = 2.0 * math.log(float(self.series.sizes.max())) + 4.0
        self._bounds = (min(_LOWEST, shortest - 9.0), most)

    def sums(self, theta: float, w: Floats) -> Floats:
        """Likelihood sums (4, w.size), see `_kernels.filter_sums`; theta may be 0."""
        from chronofy_kg.decay._kernels import filter_sums  # numba loads when a noise term is first fitted

        step = 1.0 if theta == 0.0 else -math.expm1(-2.0 * theta)
        ratios = np.exp(w) * step
        it = self.series
        return filter_sums(it.gaps, it.values, it.starts, self._weights, theta, ratios, it.own_scale)

    def variance(self, theta: float, w: float) -> float:
        """Mean stationary variance of the subjects (theta = 0: the walk's a step), in values squared."""
        total = float(self.sums(theta, np.array([w]))[3, 0])
        return total / (self.series.scales.size if self.series.own_scale else self.series.degrees)

    def deviances(self, theta: float, w: Floats) -> Floats:
        """Deviance at each noise level w."""
        sums = self.sums(theta, w)
        if self.series.own_scale:
            scale_part = sums[2]
        else:
            degrees = self.series.degrees
            scale_part = degrees * np.log(np.maximum(sums[2], 1e-300) / degrees)
        return np.asarray(sums[0] + sums[1] + scale_part, dtype=np.float64)

    def deviance(self, log_theta: float) -> float:
        """Deviance at exp(log_theta), the least over all noise levels."""
        return self.best_noise(log_theta)[1]

    def best_noise(self, log_theta: float) -> tuple[float, float]:
        """Best noise level w at a rate, and its deviance."""
        theta = math.exp(log_theta)
        found = self._descend(theta, *self._start(log_theta)) if self._known else self.limit(theta)
        bisect.insort(self._known, (log_theta, found[0]))
        return found

    def limits(self) -> tuple[float, float]:
        """Deviance of a random walk with noise, and of rows without memory."""
        gaps = self.series.gaps[self.series.gaps > 0.0]
        memoryless = 50.0 / float(gaps.min()) if gaps.size else 50.0
        return self.limit(0.0)[1], self.limit(memoryless)[1]

    def limit(self, theta: float) -> tuple[float, float]:
        """Best noise level and deviance at any theta, 0 included, found without a starting point."""
        return self._descend(theta, *self._scan(theta))

    def polish(self, log_theta: float) -> tuple[float, float]:
        """Newton steps in (log theta, w) from near the optimum; gives log theta and the deviance there."""
        w, best = self.best_noise(log_theta)
        point = np.array([log_theta, w])
        for reach in (0.02, 0.004, 0.001):
            if not self._bounds[0] + reach < point[1] < self._bounds[1] - reach:
                break
            square = np.array(
                [
                    self.deviances(
                        math.exp(point[0] + i * reach), point[1] + np.array([-1.0, 0.0, 1.0]) * reach
                    )
                    for i in (-1, 0, 1)
                ]
            )
            step = _newton_step(square, reach)
            if step is None or float(np.max(np.abs(step))) > 1.0:
                break
            point = point + step
        refined = float(self.deviances(math.exp(point[0]), point[1:])[0])
        if refined <= best:
            bisect.insort(self._known, (float(point[0]), float(point[1])))
            return float(point[0]), refined
        return log_theta, best

    def rough(self, log_theta: float) -> float:
        """`deviance` for a grid: less exact, and whatever is known of the neighbouring rates."""
        theta = math.exp(log_theta)
        found = self._descend(theta, *self._scan(theta), passes=self.passes)
        bisect.insort(self._known, (log_theta, found[0]))
        return found[1]

    def _start(self, log_theta: float) -> tuple[float, float]:
        """Where to look for the noise: on the line through what is known of the neighbouring rates."""
        rates = [pair[0] for pair in self._known]
        place = bisect.bisect(rates, log_theta)
        distance = min(abs(self._known[i][0] - log_theta) for i in (place - 1, place) if 0 <= i < len(rates))
        w = float(np.interp(log_theta, rates, [pair[1] for pair in self._known]))
        low, high = self._bounds
        return min(max(w, low), high), max(0.03, min(1.5, 2.0 * distance))

    def _scan(self, theta: float) -> tuple[float, float]:
        w = np.linspace(*self._bounds, _LANES)
        return float(w[int(np.argmin(self.deviances(theta, w)))]), float(w[1] - w[0])

    def _descend(
        self, theta: float, centre: float, half: float, passes: int = _PASSES
    ) -> tuple[float, float]:
        """Minimum over w by ever closer fans of 16 levels and a quartic through the lowest five.

        `passes` limits the fans that hold the minimum; one that slopes to its end is moved instead.
        """
        low, high = self._bounds
        predicted = math.inf
        found = (centre, math.inf)
        searched = half >= (high - low) / _LANES
        for _ in range(_MOST_FANS):
            w = np.linspace(max(centre - half, low), min(centre + half, high), _LANES)
            levels = self.deviances(theta, w)
            i = int(np.argmin(levels))
            if i in (0, _LANES - 1):
                found = (float(w[i]), float(levels[i]))
                if w[i] not in (low, high):
                    centre, half = float(w[i]), 1.5 * half
                elif searched:
                    return found
                else:  # at the end of all levels a fan is flat, and says nothing of a dip further in
                    (centre, half), searched = self._scan(theta), True
                continue
            i = min(max(i, 2), _LANES - 3)
            width = float(w[1] - w[0])
            shift, level = _vertex(levels[i - 2 : i + 3])
            centre = float(w[i]) + shift * width
            found = (centre, level)
            passes -= 1
            if passes == 0 or abs(level - predicted) <= self.precision:
                break
            predicted, half = level, 2.0 * width
        return found


def _vertex(y: Floats) -> tuple[float, float]:
    """Lowest point of the quartic through five equally spaced values.

    Gives its distance from the middle one in spacings, and the value there.
    """
    a, b, c, d, e = (float(value) for value in y)
    one = (a - 8.0 * b + 8.0 * d - e) / 12.0
    two = (-a + 16.0 * b - 30.0 * c + 16.0 * d - e) / 12.0
    three = (-a + 2.0 * b - 2.0 * d + e) / 2.0
    four = a - 4.0 * b + 6.0 * c - 4.0 * d + e
    s = 0.0
    for _ in range(6):
        slope = one + s * (two + s * (three / 2.0 + s * four / 6.0))
        bend = two + s * (three + s * four / 2.0)
        if bend <= 0.0:
            break
        s = min(max(s - slope / bend, -2.0), 2.0)
    level = c + s * (one + s * (two / 2.0 + s * (three / 6.0 + s * four / 24.0)))
    lowest = int(np.argmin(y))
    return (s, level) if level <= float(y[lowest]) else (float(lowest - 2), float(y[lowest]))


def _newton_step(square: Floats, reach: float) -> Floats | None:
    """Newton step from the 3 x 3 values around a point, or None where they do not form a bowl."""
    slope_u = (square[2, 1] - square[0, 1]) / 2.0
    slope_w = (square[1, 2] - square[1, 0]) / 2.0
    uu = square[2, 1] - 2.0 * square[1, 1] + square[0, 1]
    ww = square[1, 2] - 2.0 * square[1, 1] + square[1, 0]
    uw = (square[2, 2] - square[2, 0] - square[0, 2] + square[0, 0]) / 4.0
    determinant = uu * ww - uw * uw
    if uu <= 0.0 or determinant <= 0.0:
        return None
    step = np.array([ww * slope_u - uw * slope_w, uu * slope_w - uw * slope_u], dtype=np.float64)
    return np.asarray(-reach * step / determinant, dtype=np.float64)
