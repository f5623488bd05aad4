"""What a plot of a fit shows: how much of a value was left at each age, beside the curve that was fitted.

Numbers only, so that any plotter will do. Numeric facts: correlation of two readings by their distance in
time. Categorical: share of spells that still last, or of visits that find the state of the visit before.
Events: share of gaps without a newer one. Labels: share of the labels that say valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.labels import read_labels
from chronofy_kg.decay.poisson import exact_rate
from chronofy_kg.decay.result import DecayFit
from chronofy_kg.decay.series import Rows, read_codes, read_rows, read_ticks
from chronofy_kg.decay.spells import spell_durations
from chronofy_kg.decay.visits import read_visits

__all__ = ["Curve", "curve_of_labels", "curve_of_series"]

Floats: TypeAlias = NDArray[np.float64]

_Z = 1.959963984540054
_BINS = 20
_MOST_PAIRS = 2_000_000
_LINE = 101


@dataclass(frozen=True, slots=True)
class Curve:
    """Points seen in the data, and the fitted curve with its interval; ages in the unit of the fit.

    Attributes:
        what: what the vertical axis is: autocorrelation, survival, share in the same state or share valid.
        unit: unit of the ages.
        age: ages of the points, rising.
        seen: what the data show there.
        low: lower 95 % end of that; NaN where it is not known.
        high: upper end.
        count: how many pairs, spells or labels stand behind each point.
        line_age: ages of the curve, from 0.
        line: the fitted curve.
        line_low: the curve at the upper end of beta's interval.
        line_high: the curve at the lower end.
    """

    what: str
    unit: str
    age: Floats
    seen: Floats
    low: Floats
    high: Floats
    count: NDArray[np.int64]
    line_age: Floats
    line: Floats
    line_low: Floats
    line_high: Floats

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what is not finite is None."""

        def rows(**columns: NDArray[Any]) -> list[dict[str, Any]]:
            lists = {name: column.tolist() for name, column in columns.items()}
            return [
                {name: one if math.isfinite(one) else None for name, one in zip(lists, row, strict=True)}
                for row in zip(*lists.values(), strict=True)
            ]

        points = rows(age=self.age, seen=self.seen, low=self.low, high=self.high, count=self.count)
        line = rows(age=self.line_age, value=self.line, low=self.line_low, high=self.line_high)
        return {"what": self.what, "unit": self.unit, "points": points, "line": line}


def curve_of_series(
    fit: DecayFit,
    times: Any,
    values: Any = None,
    subjects: Any = None,
    *,
    ends: Any = None,
    changed: Any = None,
    window: Any = None,
    bins: int = _BINS,
) -> Curve:
    """Points and curve of a fit of `fit_decay`.

    Numeric: the correlation of readings d apart, 1 - gamma(d) / total variance with the variogram gamma,
    which needs no means; against q exp(-theta d). (Validity is the share of variance: the square of that,
    over q.) Spells: Kaplan-Meier with Greenwood's interval against exp(-beta d). Visits: share of pairs in
    one state against 1/K + (1 - 1/K) exp(-r K d / (K - 1)). Events: gaps, against exp(-rate d).

    Args:
        fit: the fit, in the unit of numeric `times`.
        times: as they went into the fit, and so on.
        values: see `fit_decay`.
        subjects: see `fit_decay`.
        ends: see `fit_decay`.
        changed: see `fit_decay`.
        window: see `fit_decay`.
        bins: number of points at most.

    Raises:
        InputError: as `fit_decay`.

    >>> from chronofy_kg.decay import fit_decay
    >>> rows = {"times": [0, 0, 0], "ends": [1, 2, 3]}
    >>> fit = fit_decay(**rows, kind="categorical")
    >>> curve_of_series(fit, **rows).seen.round(3).tolist()
    [0.667, 0.333, 0.0]
    """
    if fit.kind == "event":
        return _of_events(fit, times, subjects, bins)
    if ends is not None:
        return _of_spells(fit, times, ends, changed, window, bins)
    if fit.kind == "categorical":
        return _of_visits(fit, times, values, subjects, bins)
    return _of_numbers(fit, read_rows(times, values, subjects, fit.unit), bins)


def curve_of_labels(fit: DecayFit, ages: Any, valid: Any, *, bins: int = _BINS) -> Curve:
    """Points and curve of a fit of `fit_labels`: share of valid labels by age against exp(-beta age).

    Args:
        fit: the fit, in the unit of numeric `ages`.
        ages: as they went into the fit.
        valid: as they went into the fit.
        bins: number of points at most.
    """
    numbers, flags, _, _, _ = read_labels(ages, valid, None, fit.unit)
    age, share, count = _binned(numbers, flags.astype(np.float64), bins)
    low, high = _wilson(share, count)
    return _with_line(fit, "share valid", (age, share, low, high, count), _exponential(fit.beta, fit.ci))


def _of_numbers(fit: DecayFit, rows: Rows, bins: int) -> Curve:
    # near 1, so that squares of the largest floats stay within range
    peak = float(np.max(np.abs(rows.values), initial=0.0)) or 1.0
    near = rows.values / peak
    distance, square = _pairs(rows, near)
    total = math.inf if fit.variance is None else fit.variance * (1.0 + fit.noise_ratio) / peak / peak
    if not (math.isfinite(total) and total > 1e-300):
        # a random walk has no variance of its own: measured against what it was compared with, or the rows
        against = fit.v_ref / peak / peak if fit.v_ref else 0.0
        total = (
            against
            if math.isfinite(against) and against > 1e-300
            else (float(np.var(near)) if near.size else 0.0) or 1.0
        )
    age, mean, count = _binned(distance, square / (2.0 * total), bins)
    # squares of normal differences: the spread of a mean of n is sqrt(2 / n) of it, were they independent
    spread = _Z * mean * np.sqrt(2.0 / np.maximum(count, 1))
    points = (age, 1.0 - mean, 1.0 - mean - spread, 1.0 - mean + spread, count)
    if fit.variance is not None and math.isfinite(fit.variance):
        half = (fit.beta_raw / 2.0, (fit.ci_raw[0] / 2.0, fit.ci_raw[1] / 2.0))
        return _with_line(fit, "autocorrelation", points, _exponential(*half, scale=fit.q))
    return _with_line(fit, "autocorrelation", points, _exponential(fit.beta / 2.0, (0.0, fit.ci[1] / 2.0)))


def _of_spells(fit: DecayFit, times: Any, ends: Any, changed: Any, window: Any, bins: int) -> Curve:
    durations, left = spell_durations(times, ends, changed, fit.unit, window)
    ages, at = np.unique(durations[left], return_inverse=True)
    exits = np.bincount(at, minlength=ages.size)
    risk = durations.size - np.searchsorted(np.sort(durations), ages, side="left")
    share = np.cumprod(1.0 - exits / risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(exits / (risk * (risk - exits)))
        # on the scale log(-log S), which keeps the ends within [0, 1] (Kalbfleisch & Prentice)
        width = _Z * np.sqrt(greenwood) / np.abs(np.log(share))
        low, high = share ** np.exp(width), share ** np.exp(-width)
    pick = np.unique(np.linspace(0, max(ages.size - 1, 0), min(bins, ages.size)).astype(np.int64))
    points = (ages[pick], share[pick], low[pick], high[pick], risk[pick].astype(np.int64))
    rate, interval = fit.beta, fit.ci
    if fit.spectral_gap is not None and fit.changes:  # what is drawn is "still", not "again"
        rate, low_rate, high_rate = exact_rate(fit.changes, fit.span)
        interval = (low_rate, high_rate)
    return _with_line(fit, "survival", points, _exponential(rate, interval))


def _of_visits(fit: DecayFit, times: Any, values: Any, subjects: Any, bins: int) -> Curve:
    visits = read_visits(times, values, subjects, fit.unit)
    age, share, count = _binned(visits.gaps, visits.same.astype(np.float64), bins)
    low, high = _wilson(share, count)
    states = visits.kinds
    factor = 1.0 if fit.spectral_gap is not None else states / (states - 1.0)
    line = _exponential(factor * fit.beta, (factor * fit.ci[0], factor * fit.ci[1]))

    def same(ages: Floats) -> tuple[Floats, Floats, Floats]:
        middle, bottom, top = (1.0 / states + (1.0 - 1.0 / states) * part for part in line(ages))
        return middle, bottom, top

    return _with_line(fit, "share in the same state", (age, share, low, high, count), same)


def _of_events(fit: DecayFit, times: Any, subjects: Any, bins: int) -> Curve:
    ticks = read_ticks(times, fit.unit)
    codes = read_codes(subjects, ticks.values.size)[~ticks.missing]
    clock = ticks.values[~ticks.missing]
    order = np.lexsort((clock, codes))
    gaps = np.diff(clock[order])[np.diff(codes[order]) == 0].astype(np.float64) * ticks.length
    ages = np.sort(gaps)
    pick = np.unique(np.linspace(0, max(ages.size - 1, 0), min(bins, ages.size)).astype(np.int64))
    share = 1.0 - (pick + 1.0) / max(ages.size, 1)
    low, high = _wilson(share, np.full(pick.size, ages.size))
    points = (ages[pick], share, low, high, np.full(pick.size, ages.size, dtype=np.int64))
    rate, interval = fit.rate or 0.0, fit.rate_ci or (0.0, math.inf)
    return _with_line(fit, "survival", points, _exponential(rate, interval))


def _pairs(rows: Rows, values: Floats) -> tuple[Floats, Floats]:
    """Distance in time and squared difference of pairs of readings of one subject, 2 million at most."""
    clock, owners = np.cumsum(rows.gaps), rows.owners
    distances, squares, left = [np.zeros(0)], [np.zeros(0)], _MOST_PAIRS
    for lag in range(1, int(rows.sizes.max(initial=1))):
        mate = np.flatnonzero(owners[lag:] == owners[:-lag])[: max(left, 0)]
        if not mate.size:
            break
        distances.append(clock[mate + lag] - clock[mate])
        squares.append((values[mate + lag] - values[mate]) ** 2)
        left -= mate.size
    return np.concatenate(distances), np.concatenate(squares)


def _binned(x: Floats, y: Floats, bins: int) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Mean x and mean y of bins with about the same number of rows; rows of one x stay together."""
    if not x.size:
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64)
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    fresh = np.concatenate(([True], np.diff(x) > 0.0))
    group = np.searchsorted(np.flatnonzero(fresh), np.arange(x.size), side="right") - 1
    rank = np.flatnonzero(fresh)[group]
    cell = (rank * min(bins, x.size)) // x.size
    _, cell = np.unique(cell, return_inverse=True)
    count = np.bincount(cell)
    return np.bincount(cell, x) / count, np.bincount(cell, y) / count, count.astype(np.int64)


def _wilson(share: Floats, count: NDArray[Any]) -> tuple[Floats, Floats]:
    """Interval of a share of `count` (Wilson 1927)."""
    n = np.maximum(count, 1).astype(np.float64)
    middle = share + _Z**2 / (2.0 * n)
    width = _Z * np.sqrt(share * (1.0 - share) / n + _Z**2 / (4.0 * n * n))
    bottom = 1.0 + _Z**2 / n
    return np.maximum((middle - width) / bottom, 0.0), np.minimum((middle + width) / bottom, 1.0)


def _exponential(rate: float, interval: tuple[float, float], scale: float = 1.0) -> Any:
    """Function of ages: the curve, and the curves at the upper and the lower end of the rate."""

    def curve(ages: Floats, at: float) -> Floats:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return np.asarray(scale * np.exp(-np.where(ages > 0.0, at * ages, 0.0)), dtype=np.float64)

    return lambda ages: (curve(ages, rate), curve(ages, interval[1]), curve(ages, interval[0]))


def _with_line(fit: DecayFit, what: str, points: Any, line: Any) -> Curve:
    age, seen, low, high, count = points
    last = float(age.max()) if age.size else 1.0
    ages = np.linspace(0.0, last, _LINE)
    middle, bottom, top = line(ages)
    return Curve(what, fit.unit, age, seen, low, high, count, ages, middle, bottom, top)
