"""Signs that the mean-reverting model does not fit: spikes, a common trend, a level shift.

Spikes are left out of a fit, trend and shift are only told. All of it works on the same columns as the
likelihoods; what to do with the findings is decided in `numeric`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from chronofy_kg.decay.kalman import NoisyLikelihood
from chronofy_kg.decay.likelihood import CleanLikelihood
from chronofy_kg.decay.series import Rows, Series

__all__ = ["Drift", "drift", "spikes"]

Floats: TypeAlias = NDArray[np.float64]

_SPIKE = 6.0  # robust standard deviations from both neighbours
_SPIKE_SHARE = 0.02  # more than this is no accident but a heavy tail
_LEAST_FOR_SPIKES = 12
_SPIKE_FEW = 10.0  # a spread learned from n rows is uncertain: the limit is wider by the factor 1 + 10 / n
_TREND_RATIO = 12.0  # 95 % point under a random walk is 12-14, under mean reversion 4-9
_SHIFT_RATIO = 20.0  # its place is chosen from the data, so it needs more
_LEAST_SHARE = 0.1  # of the variance within subjects: in a million rows everything is significant


@dataclass(frozen=True, slots=True)
class Drift:
    """A trend or level shift: the warning, its likelihood ratio, and theta around it per unit of time."""

    text: str
    ratio: float
    theta: float


def spikes(rows: Rows, *, own_scale: bool) -> NDArray[np.bool_]:
    """Rows that jump away from both neighbours, to the same side, by more than 6 robust standard deviations.

    Args:
        rows: clean rows.
        own_scale: judge each subject by its own spread (those with at least 12 rows), else all by the common
            one.

    Returns:
        Boolean mask; all False where there are more of them than 2 % (and more than one).
    """
    mask = np.zeros(rows.values.size, dtype=np.bool_)
    if rows.values.size < _LEAST_FOR_SPIKES:
        return mask
    away = np.abs(rows.values - np.repeat(_medians(rows.values, rows.starts), rows.sizes))
    if own_scale:
        spread = np.where(rows.sizes >= _LEAST_FOR_SPIKES, _medians(away, rows.starts), np.inf)
        limit = np.repeat(spread * (1.0 + _SPIKE_FEW / rows.sizes), rows.sizes)
    else:
        few = 1.0 + _SPIKE_FEW / rows.values.size
        limit = np.full(rows.values.size, few * float(np.median(away)))
    limit = np.where(limit > 0.0, 1.4826 * _SPIKE * limit, np.inf)
    owners = rows.owners
    step = np.diff(rows.values)
    same = owners[1:] == owners[:-1]
    up = np.minimum(step[:-1], -step[1:])
    down = np.minimum(-step[:-1], step[1:])
    mask[1:-1] = (np.maximum(up, down) > limit[1:-1]) & same[:-1] & same[1:]
    return mask if int(mask.sum()) <= max(1, int(_SPIKE_SHARE * mask.size)) else np.zeros_like(mask)


def drift(series: Series, w: float | None) -> Drift | None:
    """A linear trend or a level shift that explains much of the variance within subjects.

    Likelihood ratio (maximum likelihood, generalised least squares) of one slope shared by all subjects, or,
    for a single subject, of one step at its best place.

    Args:
        series: columns of the fit; with ties only if `w` is given.
        w: noise level of the fit (see `NoisyLikelihood`), None for none.

    Returns:
        The one with the greater ratio, None where neither stands out.
    """
    total = float(np.sum(series.values**2))
    time = _centred(np.cumsum(series.gaps), series)
    candidates = [("trend", time, _TREND_RATIO)]
    if series.starts.size == 2 and series.values.size >= _LEAST_FOR_SPIKES:
        candidates.append(("level shift", _best_step(series.values), _SHIFT_RATIO))
    found: list[Drift] = []
    for name, shape, least in candidates:
        share = float(np.dot(shape, series.values)) ** 2 / max(float(np.dot(shape, shape)) * total, 1e-300)
        if share < _LEAST_SHARE:
            continue
        ratio, theta = _gain(series, shape / math.sqrt(float(np.mean(shape**2))), w)
        if ratio > least:
            text = (
                f"{name}: explains {share:.0%} of the variance within subjects (likelihood ratio "
                f"{ratio:.1f}); around it, beta would be about {2.0 * theta / series.step:.3g}"
            )
            found.append(Drift(text, ratio, theta / series.step))
    return max(found, key=lambda one: one.ratio, default=None)


def _gain(series: Series, shape: Floats, w: float | None) -> tuple[float, float]:
    """Likelihood ratio of a regressor, each side at its own best rate; and the rate per step with it."""
    size = series.values.size
    gaps = series.gaps[series.gaps > 0.0]
    grid = np.linspace(math.log(1e-3 / series.longest), math.log(30.0 / float(np.median(gaps))), 12)
    squares = _squares(series, np.stack((series.values, shape, series.values + shape)), w)

    def levels(log_theta: float) -> tuple[float, float]:
        theta = math.exp(log_theta)
        log_det, (plain, shaped, both) = squares(theta)
        cross = (both - plain - shaped) / 2.0
        left = max(plain - cross * cross / max(shaped, 1e-300), 1e-12 * plain, 1e-300)
        return log_det + size * math.log(max(plain, 1e-300)), log_det + size * math.log(left)

    table = [levels(u) for u in grid]
    best = []
    for side in (0, 1):
        i = int(np.argmin([row[side] for row in table]))
        bounds = (grid[max(i - 1, 0)], grid[min(i + 1, grid.size - 1)])
        found = minimize_scalar(
            lambda u, side=side: levels(float(u))[side],
            bounds=bounds,
            method="bounded",
            options={"xatol": 1e-2},
        )
        best.append(min((float(found.fun), float(found.x)), (table[i][side], float(grid[i]))))
    return max(best[0][0] - best[1][0], 0.0), math.exp(best[1][1])


def _squares(
    series: Series, columns: Floats, w: float | None
) -> Callable[[float], tuple[float, list[float]]]:
    """log|R| and the residual sum of squares of each column, rows of `columns`, as a function of theta."""
    if w is None:
        likelihood = CleanLikelihood(series)
        return lambda theta: likelihood.squares_of(theta, columns)
    level = np.array([w])
    each = [NoisyLikelihood(replace(series, values=values, own_scale=False)) for values in columns]

    def of_noisy(theta: float) -> tuple[float, list[float]]:
        sums = [noisy.sums(theta, level) for noisy in each]
        return float(sums[0][0, 0]), [float(found[2, 0]) for found in sums]

    return of_noisy


def _centred(column: Floats, series: Series) -> Floats:
    means = np.add.reduceat(column, series.starts[:-1]) / series.sizes
    return column - np.repeat(means, series.sizes)


def _best_step(values: Floats) -> Floats:
    """The centred step function, with at least 4 rows a side, that fits the values best."""
    size = values.size
    left = np.arange(1, size)
    gain = np.cumsum(values)[:-1] ** 2 * size / (left * (size - left))
    gain[:3], gain[-3:] = 0.0, 0.0
    step = (np.arange(size) > int(np.argmax(gain))).astype(np.float64)
    return np.asarray(step - step.mean(), dtype=np.float64)


def _medians(values: Floats, starts: NDArray[np.int64]) -> Floats:
    """Median of each subject's rows."""
    sizes = np.diff(starts)
    order = np.lexsort((values, np.repeat(np.arange(sizes.size), sizes)))
    ranked = values[order]
    return np.asarray(
        (ranked[starts[:-1] + (sizes - 1) // 2] + ranked[starts[:-1] + sizes // 2]) / 2.0, dtype=np.float64
    )
