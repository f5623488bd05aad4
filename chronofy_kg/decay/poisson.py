"""Exact rates of counted things, and the counts themselves, which add up over adjoining windows.

A rate of exits or events needs no more than a count and an exposure. Exposure is kept in whole ticks where
times are whole (dates, integers), so sums are exact, in whatever order they are made.
"""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray
from scipy.special import gammaincinv

__all__ = ["NO_CHANGE_BOUND", "Amount", "exact_rate", "exact_sum"]

Amount = int | float
"""A sum of ticks: whole where the ticks are."""

NO_CHANGE_BOUND = -math.log(0.025)
"""Upper 97.5 % bound on the rate of changes times the exposure, where no change was seen (3.69)."""

_LOW_BITS = 24


def exact_rate(count: int, exposure: float) -> tuple[float, float, float]:
    """Poisson rate and its exact 95 % interval (Garwood 1936).

    rate = d / E; [chi2(.025; 2d) / 2E, chi2(.975; 2d + 2) / 2E].

    Args:
        count: number of events d.
        exposure: time at risk E > 0.

    >>> [round(x, 6) for x in exact_rate(193, 2000.0)]
    [0.0965, 0.083365, 0.111117]
    >>> [round(x, 7) for x in exact_rate(0, 8000.0)]
    [0.0, 0.0, 0.0004611]
    """
    low = float(gammaincinv(count, 0.025)) if count else 0.0
    return count / exposure, low / exposure, float(gammaincinv(count + 1, 0.975)) / exposure


def exact_sum(values: NDArray[Any]) -> Amount:
    """Sum without rounding (int64) or rounded once (floats), so the order of the values does not matter.

    >>> import numpy as np
    >>> exact_sum(np.full(5, 2**62))
    23058430092136939520
    >>> exact_sum(np.array([0.1] * 10))
    1.0
    """
    if values.dtype.kind == "f":
        return math.fsum(values.tolist())
    # two halves, for a sum of microseconds over many subjects outgrows int64
    high, low = values >> _LOW_BITS, values & ((1 << _LOW_BITS) - 1)
    return (int(high.sum()) << _LOW_BITS) + int(low.sum())
