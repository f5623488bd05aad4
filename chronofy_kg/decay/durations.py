"""Does the chance that a state ends depend on how long it has lasted? The Weibull shape of durations.

Shape 1 is the constant rate that beta stands for. Terms of office have a shape far above 1, states that
either go at once or stay have one below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.profile import profile

__all__ = ["Shape", "weibull_shape"]

Floats: TypeAlias = NDArray[np.float64]

_LEAST_ENDS = 5
_AXIS = [float(u) for u in np.linspace(-3.0, 4.0, 29)]


@dataclass(frozen=True, slots=True)
class Shape:
    """Weibull shape with its 95 % interval, and the likelihood ratio against shape 1."""

    shape: float
    low: float
    high: float
    ratio: float


def weibull_shape(
    durations: Floats, left: NDArray[np.bool_], states: NDArray[np.int64] | None = None
) -> Shape | None:
    """Shape of the durations of spells by maximum likelihood, the scale profiled out, one for each state.

    log L(k) = d log k + (k - 1) sum over ends of log t - sum over states of d_s log(sum of t^k); spells that
    were still open count in the last sum only (right censoring). States of different rates would otherwise
    look like one whose rate falls with time.

    Args:
        durations: how long each spell was seen, in any unit.
        left: did it end by a change?
        states: state of each spell; those with few ends share a scale.

    Returns:
        None below 5 ends of positive duration, which tell nothing of a shape.

    >>> found = weibull_shape(np.array([4.0, 4.1, 3.9, 4.2, 3.8, 4.0]), np.ones(6, dtype=bool))
    >>> found.low > 5.0
    True
    """
    use = durations > 0.0
    times, ends = durations[use] / max(float(durations.max(initial=0.0)), 1e-300), left[use]
    count = int(ends.sum())
    if count < _LEAST_ENDS:
        return None
    logs = np.log(np.maximum(times, 1e-300))
    of_ends = float(logs[ends].sum())
    group = np.zeros(times.size, dtype=np.int64) if states is None else states[use] + 1
    many = np.bincount(group, ends) >= _LEAST_ENDS
    group = np.where(many[group], group, 0)
    in_group = np.bincount(group, ends)

    def deviance(log_shape: float) -> float:
        shape = math.exp(log_shape)
        totals = np.bincount(group, np.exp(shape * logs))
        scales = float(np.dot(in_group, np.log(np.maximum(totals, 1e-300))))
        return -2.0 * (count * log_shape + (shape - 1.0) * of_ends - scales)

    found = profile(deviance, _AXIS, (math.inf, math.inf), tolerance=1e-6, precision=1e-6)
    return Shape(found.rate, found.low, found.high, max(deviance(0.0) - found.deviance, 0.0))
