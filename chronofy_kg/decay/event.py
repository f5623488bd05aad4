"""Events: what happened at an instant stays true, so beta is 0; their rate is there for recency.

"The latest event of this kind" loses validity at the rate of new ones: exp(-rate * age). The rate is never
used unless asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chronofy_kg.decay.categorical import exact_rate
from chronofy_kg.decay.result import DecayFit
from chronofy_kg.decay.series import read_codes, read_ticks
from chronofy_kg.errors import InputError

__all__ = ["fit_events"]

_LEAST_EVENTS = 5
_BINS = 30
_CLUSTERED = 1.5


def fit_events(times: Any, subjects: Any, unit: str, window: Any) -> DecayFit:
    """Count events and their rate.

    Args:
        times: instants, see `fit_decay`.
        subjects: whom each concerns; the window holds for each of them.
        unit: time unit.
        window: (from, to) in which they were watched; None: from the first event to the last.

    Returns:
        beta = 0, the rate per subject in `rate` with its exact interval.

    Raises:
        InputError: the window ends before it starts, or events lie outside of it.
    """
    ticks = read_ticks(times, unit)
    use = ~ticks.missing
    notes = [] if bool(np.all(use)) else [f"{int(np.sum(~use))} event(s) without a time were dropped"]
    clock = ticks.values[use]
    subject_count = int(np.unique(read_codes(subjects, ticks.values.size)[use]).size) if clock.size else 1
    count = int(clock.size)
    counted, length, begin = _window(clock, ticks.length, unit, window)
    if count < _LEAST_EVENTS:
        notes.append(f"only {count} event(s): their rate is not to be trusted")
    elif length > 0.0:
        share = (clock - begin).astype(np.float64) * ticks.length / length
        bins = np.bincount(np.minimum((share * _BINS).astype(np.int64), _BINS - 1), minlength=_BINS)
        dispersion = float(np.var(bins, ddof=1) / np.mean(bins))
        if dispersion > _CLUSTERED:
            notes.append(f"events come in clusters (dispersion {dispersion:.1f}): one rate is a compromise")
    exposure = length * subject_count
    rate = exact_rate(counted, exposure) if exposure > 0.0 else None
    return DecayFit(
        beta=0.0,
        ci=(0.0, 0.0),
        theta=0.0,
        q=1.0,
        noise_ratio=0.0,
        status="ok" if count else "insufficient",
        method="events stay true",
        origin="fitted" if count else "prior",
        unit=unit,
        n=count,
        subjects=subject_count,
        span=exposure,
        warnings=tuple(notes),
        beta_raw=0.0,
        beta_corrected=0.0,
        ci_raw=(0.0, 0.0),
        changes=count,
        rate=None if rate is None else rate[0],
        rate_ci=None if rate is None else rate[1:],
    )


def _window(clock: Any, tick: float, unit: str, window: Any) -> tuple[int, float, Any]:
    """Number of events that the rate counts, length of the window in the unit, and its start in ticks."""
    if window is None:
        if not clock.size:
            return 0, 0.0, 0
        # the first event opens the window, so it is no outcome of it
        return int(clock.size) - 1, float(clock.max() - clock.min()) * tick, clock.min()
    edges = read_ticks(window, unit)
    if edges.values.size != 2 or bool(np.any(edges.missing)):
        raise InputError("window must be (from, to)")
    if clock.size and edges.length != tick:
        raise InputError("times and window must both be dates or both be numbers")
    begin, end = edges.values
    length = float(end - begin) * edges.length
    if not (length > 0.0 and math.isfinite(length)):
        raise InputError("the window ends before it starts")
    if clock.size and (clock.min() < begin or clock.max() > end):
        raise InputError("there are events outside of the window")
    return int(clock.size), length, begin
