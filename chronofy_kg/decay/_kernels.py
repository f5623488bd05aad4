"""The one module that is compiled: Kalman recursions of the Ornstein-Uhlenbeck model with measurement noise.

Imported on first use only (`kalman` does it), because numba takes a second to load. numba carries no types
that mypy could check, so callers go through the typed functions at the end.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["LANES", "filter_sums"]

Floats: TypeAlias = NDArray[np.float64]

LANES = 16
"""Noise ratios filtered at once: as many as the compiler turns into full vector registers."""


def _compiled(function: Any) -> Any:
    """The function compiled at its first call; kept on disk where there is a place for it."""
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # numba finds no writable folder: compile anew in each process
        return numba.njit(error_model="numpy")(function)


def _filter_rows(
    gaps: Any, values: Any, starts: Any, weights: Any, theta: Any, ratios: Any, own: Any, out: Any
) -> None:
    lanes = ratios.size
    var, state, rest = np.empty(lanes), np.empty(lanes), np.empty(lanes)
    aa, bb, cc, prod = np.empty(lanes), np.empty(lanes), np.empty(lanes), np.empty(lanes)
    out[:, :] = 0.0
    walk = theta == 0.0
    for i in range(starts.size - 1):
        lo, hi = starts[i], starts[i + 1]
        first = lo
        for k in range(lanes):
            # rest = 1 - (filtered constant): carried itself, for 1 - x loses its digits near the unit root
            var[k], state[k], rest[k] = 1.0, 0.0, 1.0
            aa[k], bb[k], cc[k], prod[k] = 0.0, 0.0, 0.0, 1.0
        if walk:  # diffuse start: the first row only sets the level
            first = lo + 1
            for k in range(lanes):
                var[k], state[k], rest[k], aa[k] = ratios[k], values[lo], 0.0, 1.0
        for j in range(first, hi):
            if walk:
                drop, spread = 0.0, gaps[j]
            else:
                drop = np.expm1(-theta * gaps[j]) if j > lo else 0.0  # a - 1
                spread = -drop * (2.0 + drop)  # 1 - a^2
            keep = 1.0 + drop
            y = values[j]
            for k in range(lanes):
                before = keep * keep * var[k] + spread
                left = keep * rest[k] - drop
                level = keep * state[k]
                total = before + ratios[k]
                inverse = 1.0 / total
                error = y - level
                weighted = left * inverse
                aa[k] += left * weighted
                bb[k] += weighted * error
                cc[k] += error * error * inverse
                prod[k] *= total
                state[k] = level + before * inverse * error
                shrink = ratios[k] * inverse
                rest[k] = left * shrink
                var[k] = before * shrink
            if (j - lo) & 7 == 7:  # one logarithm for eight rows; their product stays within range
                for k in range(lanes):
                    out[0, k] += np.log(prod[k])
                    prod[k] = 1.0
        degrees = hi - lo - 1
        for k in range(lanes):
            out[0, k] += np.log(prod[k])
            out[1, k] += np.log(aa[k])
            squares = max(cc[k] - bb[k] * bb[k] / aa[k], 1e-300)
            out[2, k] += degrees * np.log(squares / degrees) if own else squares
            out[3, k] += weights[i] * (squares / degrees if own else squares)


_filter = _compiled(_filter_rows)


def filter_sums(
    gaps: Floats,
    values: Floats,
    starts: NDArray[np.int64],
    weights: Floats,
    theta: float,
    ratios: Floats,
    own: bool,
) -> Floats:
    """Sums of the restricted likelihood for several noise ratios at once.

    Args:
        gaps: time since the previous row of the subject, 0 at its first row.
        values: centred values.
        starts: first row of each subject, then the number of rows; each subject has at least 2 rows.
        weights: weight of each subject in the last row of the result.
        theta: mean reversion rate; 0 means a random walk with unit variance per unit of time.
        ratios: noise variance over stationary variance (over the walk's variance per unit of time if theta is
            0).
        own: each subject has a variance of its own.

    Returns:
        Array (4, ratios): sum of log|R|; sum of log A; sum of (n-1) log(S/(n-1)) if `own` else sum of S;
        weighted sum of S/(n-1) if `own` else of S.
    """
    out = np.empty((4, ratios.size))
    _filter(gaps, values, starts, weights, theta, ratios, own, out)
    return out
