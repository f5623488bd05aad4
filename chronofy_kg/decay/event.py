"""Events: what happened at an instant stays true, so beta is 0; their rate is there for recency.

"The latest event of this kind" loses validity at the rate of new ones: exp(-rate * age). The rate is
beta only where recency is asked for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.hashing import hash_rows
from chronofy_kg.decay.poisson import Amount, exact_rate
from chronofy_kg.decay.result import DecayFit
from chronofy_kg.decay.series import read_names, read_ticks
from chronofy_kg.decay.tally import EventTally
from chronofy_kg.errors import InputError

__all__ = ["fit_event_tally", "fit_events", "tally_events"]

_LEAST_EVENTS = 5
_BINS = 30
_CLUSTERED = 1.5


def tally_events(times: Any, window: Any, subjects: Any = None, unit: str = "d") -> EventTally:
    """Count the events of a window; tallies of adjoining windows, or of other subjects, add up.

    Args:
        times: n instants, see `fit_decay`.
        window: (from, to) in which every subject was watched.
        subjects: n names, or None for one subject.
        unit: unit of numeric times, and of the rates to come.

    Raises:
        InputError: the window ends before it starts, or events lie outside of it.

    >>> fit_event_tally(tally_events([1, 2, 5], (0, 10)) + tally_events([12], (10, 30))).rate
    0.13333333333333333
    """
    clock, codes, names, tick, _ = _read(times, subjects, unit)
    return _tally(clock, codes, names, tick, unit, window)[0]


def fit_event_tally(tally: EventTally, unit: str = "d", recency: bool = False) -> DecayFit:
    """The fit that a tally stands for; the same numbers as one of all its events.

    Args:
        tally: see `tally_events`.
        unit: unit of the tally.
        recency: beta is the rate, see `fit_decay`.
    """
    exposure = float(tally.exposure) * tally.tick
    rate = exact_rate(tally.count, exposure) if exposure > 0.0 else None
    fit = DecayFit(
        beta=0.0,
        ci=(0.0, 0.0),
        theta=0.0,
        q=1.0,
        noise_ratio=0.0,
        status="ok" if tally.count else "insufficient",
        method="events stay true",
        origin="fitted" if tally.count else "prior",
        unit=unit,
        n=tally.count,
        subjects=max(len(tally.subjects), 1),
        span=exposure,
        beta_raw=0.0,
        beta_corrected=0.0,
        ci_raw=(0.0, 0.0),
        kind="event",
        changes=tally.count,
        rate=None if rate is None else rate[0],
        rate_ci=None if rate is None else rate[1:],
    )
    return _of_recency(fit) if recency else fit


def fit_events(times: Any, subjects: Any, unit: str, window: Any, recency: bool = False) -> DecayFit:
    """Count events and their rate.

    Args:
        times: instants, see `fit_decay`.
        subjects: whom each concerns; the window holds for each of them.
        unit: time unit.
        window: (from, to) in which they were watched; None: from the first event to the last.
        recency: beta is the rate of new events instead of 0.

    Returns:
        beta = 0, the rate per subject in `rate` with its exact interval.

    Raises:
        InputError: the window ends before it starts, or events lie outside of it.
    """
    clock, codes, names, tick, notes = _read(times, subjects, unit)
    tally, length, begin = _tally(clock, codes, names, tick, unit, window)
    dispersion = None
    if clock.size < _LEAST_EVENTS:
        notes.append(f"only {clock.size} event(s): their rate is not to be trusted")
    elif length > 0.0:
        share = (clock - begin).astype(np.float64) * tick / length
        bins = np.bincount(np.minimum((share * _BINS).astype(np.int64), _BINS - 1), minlength=_BINS)
        dispersion = float(np.var(bins, ddof=1) / np.mean(bins))
        if dispersion > _CLUSTERED:
            notes.append(f"events come in clusters (dispersion {dispersion:.1f}): one rate is a compromise")
    fit = fit_event_tally(tally, unit, recency)
    some = bool(clock.size)
    return replace(
        fit,
        status=fit.status if recency else "ok" if some else "insufficient",
        origin=fit.origin if recency else "fitted" if some else "prior",
        n=int(clock.size),
        subjects=len(names) if some else 1,
        changes=int(clock.size),
        warnings=(*notes, *fit.warnings),
        dispersion=dispersion,
        data_hash=hash_rows(clock, codes),
    )


def _of_recency(fit: DecayFit) -> DecayFit:
    """The fit whose beta is the rate of new events."""
    if fit.rate is None or fit.rate_ci is None:
        note = "no window and no events: their rate is not known, beta stays 0"
        return replace(fit, ci=(0.0, math.inf), ci_raw=(0.0, math.inf), warnings=(*fit.warnings, note))
    seen = fit.rate > 0.0
    return replace(
        fit,
        beta=fit.rate,
        ci=fit.rate_ci,
        theta=fit.rate / 2.0,
        beta_raw=fit.rate,
        beta_corrected=fit.rate if seen else 0.5 / fit.span,
        ci_raw=fit.rate_ci,
        status="ok" if seen else "constant",
        origin="fitted",
        method="rate of newer events",
    )


def _read(
    times: Any, subjects: Any, unit: str
) -> tuple[NDArray[Any], NDArray[np.int64], list[Any], float, list[str]]:
    """Instants, whose they are, the names of subjects with events, length of a tick, notes."""
    ticks = read_ticks(times, unit)
    use = ~ticks.missing
    notes = [] if bool(np.all(use)) else [f"{int(np.sum(~use))} event(s) without a time were dropped"]
    codes, names = read_names(subjects, ticks.values.size, "subjects")
    present, codes = np.unique(codes[use], return_inverse=True)
    return ticks.values[use], codes.astype(np.int64), [names[i] for i in present], ticks.length, notes


def _tally(
    clock: NDArray[Any], codes: NDArray[np.int64], names: list[Any], tick: float, unit: str, window: Any
) -> tuple[EventTally, float, Any]:
    """The tally, the length of the window in the unit, and its start in ticks."""
    counted, ticks, length, begin = _window(clock, tick, unit, window)
    return (
        EventTally(length, counted, ticks * max(len(names), 1), frozenset(names)),
        float(ticks) * length,
        begin,
    )


def _window(clock: Any, tick: float, unit: str, window: Any) -> tuple[int, Amount, float, Any]:
    """Number of events that the rate counts, ticks of the window, length of a tick, its start in ticks."""
    if window is None:
        if not clock.size:
            return 0, 0, tick, 0
        # the first event opens the window, so it is no outcome of it
        return int(clock.size) - 1, clock.max().item() - clock.min().item(), tick, clock.min()
    edges = read_ticks(window, unit)
    if edges.values.size != 2 or bool(np.any(edges.missing)):
        raise InputError("window must be (from, to)")
    if clock.size and edges.length != tick:
        raise InputError("times and window must both be dates or both be numbers")
    begin, end = edges.values.tolist()
    if not (end > begin and math.isfinite(end - begin)):
        raise InputError("the window ends before it starts")
    if clock.size and (clock.min() < begin or clock.max() > end):
        raise InputError("there are events outside of the window")
    return int(clock.size), end - begin, edges.length, begin
