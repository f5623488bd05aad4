"""Minimum and interval of a deviance that depends on one rate, on a logarithmic axis with two finite ends.

Shared by all fits: the rate may be 0 or infinite, each of these limits has a deviance of its own, and the
interval {deviance <= minimum + 3.84} may reach either of them. Nothing here knows what the deviance is of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

__all__ = ["CUT_95", "Profile", "profile"]

CUT_95 = 3.841458820694124
"""95 % point of chi-square with one degree of freedom."""

_TIE = 1e-7


@dataclass(frozen=True, slots=True)
class Profile:
    """Optimum and 95 % interval of a rate; `rate`, `low` and `high` may be 0 or inf."""

    rate: float
    deviance: float
    low: float
    high: float
    at_zero: float
    at_infinity: float

    @property
    def against_zero(self) -> float:
        """Likelihood ratio against the limit of a zero rate, >= 0."""
        return max(self.at_zero - self.deviance, 0.0)

    @property
    def against_infinity(self) -> float:
        """Likelihood ratio against the limit of an infinite rate, >= 0."""
        return max(self.at_infinity - self.deviance, 0.0)


def profile(
    deviance: Callable[[float], float],
    grid: list[float],
    limits: tuple[float, float],
    *,
    rough: Callable[[float], float] | None = None,
    polish: Callable[[float], tuple[float, float]] | None = None,
    tolerance: float = 1e-8,
    precision: float = 1e-8,
    interval: bool = True,
) -> Profile:
    """Minimise a deviance over log rate and find its 95 % interval.

    Args:
        deviance: function of log rate.
        grid: rising log rates that span all that the data can tell apart.
        limits: deviance at rate 0 and at infinity.
        rough: a cheaper, less exact form of `deviance`, used on the grid only.
        polish: takes a log rate near the optimum, gives a better one and its deviance.
        tolerance: of the minimisation, on log rate.
        precision: of the ends of the interval, on log rate.
        interval: False leaves out the search for the interval, which is then [0, inf].

    Returns:
        The optimum (a limit where none inside is lower) and the hull of all rates with deviance <= minimum +
        3.84.
    """
    levels = [(rough or deviance)(u) for u in grid]
    best_u, best = _minimum(deviance, grid, levels, tolerance)
    if polish is not None:
        best_u, best = min((best_u, best), polish(best_u), key=lambda pair: pair[1])
    at_zero, at_infinity = limits
    rate = math.exp(best_u)
    if min(at_zero, at_infinity) <= best + _TIE:
        rate = 0.0 if at_zero <= at_infinity else math.inf
    floor = min(best, at_zero, at_infinity)
    if not interval:
        return Profile(rate, floor, 0.0, math.inf, at_zero, at_infinity)
    nodes = sorted({*zip(grid, levels, strict=True), (best_u, best)})
    known = {best_u: best} if rough else dict(nodes)

    def remembered(u: float) -> float:
        if u not in known:
            known[u] = deviance(u)
        return known[u]

    low, high = _interval(remembered, nodes, floor, precision)
    return Profile(
        rate=rate,
        deviance=floor,
        low=0.0 if at_zero <= floor + CUT_95 else low,
        high=math.inf if at_infinity <= floor + CUT_95 else high,
        at_zero=at_zero,
        at_infinity=at_infinity,
    )


def _minimum(
    deviance: Callable[[float], float], grid: list[float], levels: list[float], tolerance: float
) -> tuple[float, float]:
    """Lowest point, from every dip of the grid that could hold it."""
    last = len(grid) - 1
    dips = [
        i
        for i in range(last + 1)
        if levels[i] <= levels[max(i - 1, 0)] and levels[i] <= levels[min(i + 1, last)]
    ]
    dips = sorted(dips, key=lambda i: levels[i])[:3]
    best = (grid[dips[0]], levels[dips[0]])
    for i in dips:
        if levels[i] > levels[dips[0]] + 20.0:
            continue
        found = minimize_scalar(
            deviance,
            bounds=(grid[max(i - 1, 0)], grid[min(i + 1, last)]),
            method="bounded",
            options={"xatol": tolerance},
        )
        best = min(best, (float(found.x), float(found.fun)), key=lambda pair: pair[1])
    return best


def _interval(
    deviance: Callable[[float], float], nodes: list[tuple[float, float]], floor: float, precision: float
) -> tuple[float, float]:
    """Outermost crossings of floor + 3.84, as rates; the ends of the axis where there is none."""
    level = floor + CUT_95
    inside = [i for i, (_, value) in enumerate(nodes) if value <= level]
    if not inside:  # only a limit lies below the level, and its neighbour on the axis is its stand-in
        inside = [int(np.argmin([value for _, value in nodes]))]

    def crossing(inner: int, way: int) -> float:
        """Where the deviance passes the level between a node below it and the next one outwards (`way`)."""
        while deviance(nodes[inner][0]) > level and 0 <= inner - way < len(nodes):
            inner -= way  # the grid's levels may be rough
        outer = inner + way
        while 0 <= outer < len(nodes) and deviance(nodes[outer][0]) <= level:
            inner, outer = outer, outer + way
        if not 0 <= outer < len(nodes) or deviance(nodes[inner][0]) > level:
            return math.exp(nodes[inner][0])
        # on the scale of standard errors the deviance is nearly straight, which spares evaluations
        root = brentq(
            lambda u: math.sqrt(max(deviance(u) - floor, 0.0)) - math.sqrt(CUT_95),
            *sorted((nodes[inner][0], nodes[outer][0])),
            xtol=precision,
            rtol=1e-12,
        )
        return math.exp(float(root))

    return crossing(inside[0], -1), crossing(inside[-1], 1)
