"""Mean bias of the mean reversion rate, to be taken off: of short series, and of noise that is not there.

Both are expansions: good where theta * T >= 10, of no use where a series holds fewer than 30 rows and hardly
remembers the row before (theta * h near 1).
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.series import Series

__all__ = ["bias_of_theta", "pull_of_noise"]

Floats: TypeAlias = NDArray[np.float64]


def bias_of_theta(theta: float, span: float, gap: float) -> float:
    """Mean bias of the restricted estimate of theta: (3 + exp(2 theta h)) / (2 T).

    Delta method from Kendall's -(1 + 3 phi) / n; theta h is capped at 1.5, beyond which the expansion fails.

    Args:
        theta: estimated rate.
        span: T, observed time summed over subjects.
        gap: h, mean gap between rows.

    >>> round(2 * bias_of_theta(0.3125, 199.0, 1.0), 5)
    0.02446
    """
    return (3.0 + math.exp(min(2.0 * theta * gap, 3.0))) / (2.0 * span)


def pull_of_noise(series: Series, theta: float, noise_shown: float) -> float:
    """How far the noise term pulls theta down on average, in units of 1 / step.

    A noise ratio cannot be negative. Where there is no noise its estimate is half a normal variable, of mean
    sigma / sqrt(2 pi), and theta gives way by c of it: c = d theta / d ratio along the ridge. Seen from
    z = sqrt(likelihood ratio of the noise), the expected pull is c sigma (phi(z) - z (1 - Phi(z))), so it is
    gone where the noise is plain. c and sigma are those of the expected information at a ratio of 0.

    Args:
        series: columns without ties.
        theta: estimated rate per step.
        noise_shown: likelihood ratio of the noise term, 0 where the best ratio is 0.

    Returns:
        A number in [0, theta].
    """
    z = math.sqrt(max(noise_shown, 0.0))
    share = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi) - z * math.erfc(z / math.sqrt(2.0)) / 2.0
    if not (share > 1e-6 and 0.0 < theta < math.inf):
        return 0.0
    rate_rate, rate_ratio, ratio_ratio = _information(series, theta)
    left = ratio_ratio - rate_ratio**2 / rate_rate
    if not left > 1e-12 * ratio_ratio:  # the two cannot be told apart at all
        return share * theta
    return min(abs(rate_ratio) / rate_rate / math.sqrt(left), theta) * share


def _information(series: Series, theta: float) -> tuple[float, float, float]:
    """Expected information on (theta, noise ratio) at ratio 0, the variances profiled out.

    R^-1 of a subject is tridiagonal: 1 / v + a^2 / v of the next gap on the diagonal, -a / v beside it.
    """
    first = series.starts[:-1]
    inner = np.ones(series.values.size, dtype=np.bool_)
    inner[first] = False
    gaps = series.gaps[inner]
    keep = np.exp(-2.0 * theta * gaps)  # a^2
    spread = -np.expm1(-2.0 * theta * gaps)  # v
    diagonal = np.ones(series.values.size)
    diagonal[inner] = 1.0 / spread
    diagonal[:-1][inner[1:]] += keep / spread
    trace = np.add.reduceat(diagonal, first)
    squares = np.add.reduceat(diagonal**2, first) + 2.0 * _sums(series, keep / spread**2)
    slope = _sums(series, -4.0 * gaps * keep / spread**2)  # d trace / d theta
    on_rate = _sums(series, gaps**2 * keep * (1.0 + keep) / spread**2)
    with_scale = _sums(series, gaps * keep / spread)
    degrees = (series.sizes - 1) / 2.0
    if not series.own_scale:
        sums = (trace, squares, slope, on_rate, with_scale, degrees)
        trace, squares, slope, on_rate, with_scale, degrees = (np.array([part.sum()]) for part in sums)
    return (
        float(np.sum(on_rate - with_scale**2 / degrees)),
        float(np.sum(-slope / 2.0 - with_scale * trace / 2.0 / degrees)),
        float(np.sum(squares / 2.0 - trace**2 / 4.0 / degrees)),
    )


def _sums(series: Series, per_gap: Floats) -> Floats:
    """Sums by subject of one number a gap."""
    heads = series.starts[:-1] - np.arange(series.starts.size - 1)
    return np.add.reduceat(per_gap, heads)
