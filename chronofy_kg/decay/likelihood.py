"""Deviance of the Ornstein-Uhlenbeck model without measurement noise, exact for irregular gaps, in numpy.

dX = theta (mu - X) dt + sigma_W dW, each subject with a mean of its own that is integrated out (restricted
likelihood, REML), the variance profiled out. One evaluation is O(rows). With measurement noise: `kalman`.
Formulas: R = correlation matrix of a subject, a = exp(-theta d), v = 1 - a^2, e_j = y_{j+1} - a y_j,
A = 1'R^-1 1 = 1 + sum (1-a)/(1+a), B = 1'R^-1 y = y_1 + sum e/(1+a), C = y'R^-1 y = y_1^2 + sum e^2/v,
log|R| = sum log v, S = C - B^2/A; deviance = log|R| + log A + (n-1) log(S/(n-1)), up to a constant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.series import Series

__all__ = ["CleanLikelihood", "Terms", "deviance_of"]

Floats: TypeAlias = NDArray[np.float64]

_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Terms:
    """Sums of one likelihood evaluation: log|R|, log A, and the residual sum of squares of each subject."""

    log_det: float
    log_mean: float
    squares: Floats


def deviance_of(
    log_det: float, log_mean: float, squares: Floats, sizes: NDArray[np.int64], own: bool
) -> float:
    """-2 log restricted likelihood, up to a constant, from the sums of the subjects."""
    degrees = sizes - 1
    if own:
        scale_part = float(np.sum(degrees * np.log(np.maximum(squares, _TINY) / degrees)))
    else:
        total = int(degrees.sum())
        scale_part = total * float(np.log(max(float(squares.sum()), _TINY) / total))
    return log_det + log_mean + scale_part


@dataclass(slots=True)
class CleanLikelihood:
    """Restricted deviance as a function of log theta; times in steps, no two rows of a subject at one."""

    series: Series
    _after: NDArray[np.int64] = field(init=False)
    _gaps: Floats = field(init=False)
    _before: Floats = field(init=False)
    _change: Floats = field(init=False)
    _first: Floats = field(init=False)
    _heads: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        starts = self.series.starts
        inner = np.ones(self.series.values.size, dtype=np.bool_)
        inner[starts[:-1]] = False
        after = np.flatnonzero(inner)
        self._after = after
        self._gaps = self.series.gaps[after]
        self._before = self.series.values[after - 1]
        self._change = self.series.values[after] - self._before
        self._first = self.series.values[starts[:-1]]
        self._heads = starts[:-1] - np.arange(starts.size - 1)

    def terms(self, theta: float) -> Terms:
        """Sums at a mean reversion rate `theta` per step, 0 < theta < inf."""
        drop = np.expm1(-theta * self._gaps)  # a - 1: keeps its digits near the unit root
        one_plus = 2.0 + drop
        spread = -drop * one_plus  # v = 1 - a^2
        error = self._change - drop * self._before
        mean_weight = 1.0 + self._sums(-drop / one_plus)
        mean_part = self._first + self._sums(error / one_plus)
        squares = self._first**2 + self._sums(error * error / spread)
        return Terms(
            float(np.sum(np.log(spread))),
            float(np.sum(np.log(mean_weight))),
            squares - mean_part**2 / mean_weight,
        )

    def squares_of(self, theta: float, columns: Floats) -> tuple[float, list[float]]:
        """log|R| and the residual sum of squares of other columns of values, array (k, rows), at a theta."""
        drop = np.expm1(-theta * self._gaps)
        one_plus = 2.0 + drop
        spread = -drop * one_plus
        first, before = columns[:, self.series.starts[:-1]], columns[:, self._after - 1]
        error = columns[:, self._after] - before - drop * before
        mean_weight = 1.0 + self._sums(-drop / one_plus)
        mean_part = first + np.add.reduceat(error / one_plus, self._heads, axis=1)
        squares = first**2 + np.add.reduceat(error * error / spread, self._heads, axis=1)
        total = np.sum(squares - mean_part**2 / mean_weight, axis=1)
        return float(np.sum(np.log(spread))), [float(value) for value in total]

    def deviance(self, log_theta: float) -> float:
        """Restricted deviance at theta = exp(log_theta) per step."""
        return self._deviance(self.terms(float(np.exp(log_theta))))

    def variance(self, theta: float) -> float:
        """Mean stationary variance of the subjects (theta = 0: the walk's a step), in values squared."""
        if theta == 0.0:
            squares = self.walk_terms().squares
        else:
            squares = (self.noise_terms() if np.isinf(theta) else self.terms(theta)).squares
        weighted = squares * self.series.scales**2
        if self.series.own_scale:
            return float(np.mean(weighted / (self.series.sizes - 1)))
        return float(weighted.sum()) / self.series.degrees

    def walk_terms(self) -> Terms:
        """Sums of the limit theta -> 0, a random walk; squares are per unit of time."""
        squares = self._sums(self._change**2 / self._gaps)
        return Terms(float(np.sum(np.log(self._gaps))), 0.0, squares)

    def noise_terms(self) -> Terms:
        """Sums of the limit theta -> inf, white noise."""
        means = np.add.reduceat(self.series.values, self.series.starts[:-1]) / self.series.sizes
        residual = self.series.values - np.repeat(means, self.series.sizes)
        squares = np.add.reduceat(residual**2, self.series.starts[:-1])
        return Terms(0.0, float(np.sum(np.log(self.series.sizes))), squares)

    def limits(self) -> tuple[float, float]:
        """Deviance of the random walk and of white noise."""
        return self._deviance(self.walk_terms()), self._deviance(self.noise_terms())

    def _deviance(self, terms: Terms) -> float:
        return deviance_of(
            terms.log_det, terms.log_mean, terms.squares, self.series.sizes, self.series.own_scale
        )

    def _sums(self, terms: Floats) -> Floats:
        if self._heads.size == 1:
            return np.array([terms.sum()])
        return np.add.reduceat(terms, self._heads)
