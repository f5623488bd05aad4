"""Decay of categorical facts: the rate at which the asserted state is left.

Spells, where the changes themselves are known: changes / exposure with an exact Poisson interval. Visits,
where only the state at some instants is known: the likelihood of a uniform Markov chain over the states seen.
The same state again is exposure, never a change.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from chronofy_kg.decay.profile import profile
from chronofy_kg.decay.result import DecayFit, Origin, Status
from chronofy_kg.decay.series import read_codes, read_ticks
from chronofy_kg.errors import InputError

__all__ = ["exact_rate", "fit_panel", "fit_spells"]

Floats: TypeAlias = NDArray[np.float64]


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


def fit_spells(
    times: Any, ends: Any, changed: Any, subjects: Any, unit: str, prior: float, window: Any
) -> DecayFit:
    """Exit rate from spells; see `fit_decay` for the arguments.

    Raises:
        InputError: an end before its start, or an open spell without `window`.
    """
    starts, stops = read_ticks(times, unit), read_ticks(ends, unit)
    size = starts.values.size
    if stops.values.size != size:
        raise InputError(f"there are {size} times and {stops.values.size} ends")
    if (starts.values.dtype.kind, starts.length) != (stops.values.dtype.kind, stops.length):
        begin, end = starts.values * starts.length, stops.values * stops.length
        if starts.length != stops.length:
            raise InputError("times and ends must both be dates or both be numbers")
    else:
        begin, end = starts.values, stops.values
    codes = read_codes(subjects, size)
    left = ~stops.missing if changed is None else _flags(changed, size) & ~stops.missing
    if bool(np.any(stops.missing)):
        end = np.where(stops.missing, _horizon(window, unit, starts.length), end)
    use = ~starts.missing
    durations = (end - begin)[use].astype(np.float64) * starts.length
    if bool(np.any(durations < 0.0)):
        raise InputError(
            f"the spell at index {int(np.flatnonzero(use)[np.argmin(durations)])} ends before it starts"
        )
    notes = [] if bool(np.all(use)) else [f"{int(np.sum(~use))} row(s) without a time were dropped"]
    exposure, count = float(durations.sum()), int(np.sum(left[use]))
    subjects_used = int(np.unique(codes[use]).size) if subjects is not None else int(use.sum())
    if exposure <= 0.0:
        return _result(
            prior,
            (0.0, math.inf),
            (prior, prior),
            "insufficient",
            count,
            exposure,
            durations.size,
            subjects_used,
            unit,
            "prior",
            "prior",
            [*notes, _NOTHING],
        )
    rate, low, high = exact_rate(count, exposure)
    jeffreys = rate if count else 0.5 / exposure
    if not count:
        notes.append(f"no change in {exposure:.6g} {unit} observed; the interval bounds the exit rate")
    return _result(
        rate,
        (low, high),
        (rate, jeffreys),
        "ok" if count else "constant",
        count,
        exposure,
        durations.size,
        subjects_used,
        unit,
        "changes/exposure",
        "fitted",
        notes,
    )


_NOTHING = "insufficient data to learn a rate: beta is the prior"


def fit_panel(times: Any, values: Any, subjects: Any, unit: str, prior: float) -> DecayFit:
    """Exit rate from states seen at visits only; see `fit_decay` for the arguments.

    Uniform chain over the K states seen: P(same | d) = 1/K + (1 - 1/K) exp(-r K d / (K - 1)), so a state that
    was left and came back between two visits is allowed for. r = beta.
    """
    if values is None:
        raise InputError("categorical facts need values (states seen at times), or ends (spells)")
    gaps, same, states, notes, n, m = _pairs(times, values, subjects, unit)
    exposure, count = float(gaps.sum()), int(np.sum(~same))
    if not gaps.size:
        return _result(
            prior,
            (0.0, math.inf),
            (prior, prior),
            "insufficient",
            count,
            exposure,
            n,
            m,
            unit,
            "prior",
            "prior",
            [*notes, _NOTHING],
        )
    if not count:
        notes.append(f"no change in {exposure:.6g} {unit} observed; the interval bounds the exit rate")
        interval = exact_rate(0, exposure)[1:]
        return _result(
            0.0,
            interval,
            (0.0, 0.5 / exposure),
            "constant",
            0,
            exposure,
            n,
            m,
            unit,
            "no change",
            "fitted",
            notes,
        )
    share = (states - 1) / states

    def deviance(log_rate: float) -> float:
        gone = -np.expm1(-math.exp(log_rate) / share * gaps) * share
        terms = np.where(same, np.log1p(-gone), np.log(np.maximum(gone, 1e-300)))
        return -2.0 * float(terms.sum())

    at_infinity = -2.0 * float(np.sum(np.where(same, math.log(1.0 - share), math.log(share))))
    axis = np.linspace(math.log(1e-4 / exposure), math.log(50.0 / float(gaps.min())), 32)
    found = profile(deviance, [float(u) for u in axis], (math.inf, at_infinity))
    beta, corrected = found.rate, found.rate
    status: Status = "ok"
    if not math.isfinite(found.high):
        status, beta = "unresolved_fast", found.rate if math.isfinite(found.rate) else found.low
        corrected = beta
        notes.append("changes faster than it is visited: beta is a lower bound only")
    return _result(
        beta,
        (found.low, found.high),
        (found.rate, corrected),
        status,
        count,
        exposure,
        n,
        m,
        unit,
        f"panel of {states} states",
        "fitted",
        notes,
    )


def _pairs(
    times: Any, values: Any, subjects: Any, unit: str
) -> tuple[Floats, NDArray[np.bool_], int, list[str], int, int]:
    """Gaps between a subject's visits, same state or not, number of states, notes, n, subjects."""
    ticks = read_ticks(times, unit)
    size = ticks.values.size
    states = np.asarray(values)
    if states.shape != (size,):
        raise InputError(f"values have shape {states.shape}, times {(size,)}")
    unknown = np.array([value is None or value != value for value in states.tolist()], dtype=np.bool_)
    use = ~(ticks.missing | unknown)
    notes = (
        [] if bool(np.all(use)) else [f"{int(np.sum(~use))} row(s) with a missing time or state were dropped"]
    )
    clock, owner = ticks.values[use], read_codes(subjects, size)[use]
    code = read_codes(states[use], int(use.sum()))
    order = np.lexsort((code, clock, owner))
    clock, owner, code = clock[order], owner[order], code[order]
    mate = owner[1:] == owner[:-1]
    gaps = np.diff(clock).astype(np.float64) * ticks.length
    same = code[1:] == code[:-1]
    clash = int(np.sum(mate & (gaps == 0.0) & ~same))
    if clash:
        notes.append(f"{clash} visit(s) give two states for one time; they count as no time passed")
    keep = mate & (gaps > 0.0)
    kinds = max(int(np.unique(code).size), 2)
    return gaps[keep], same[keep], kinds, notes, int(use.sum()), int(np.unique(owner).size)


def _result(
    beta: float,
    interval: tuple[float, float],
    raw_corrected: tuple[float, float],
    status: Status,
    changes: int,
    span: float,
    n: int,
    subjects: int,
    unit: str,
    method: str,
    origin: Origin,
    notes: list[str],
) -> DecayFit:
    raw, corrected = raw_corrected
    return DecayFit(
        beta=beta,
        ci=interval,
        theta=raw / 2.0,
        q=1.0,
        noise_ratio=0.0,
        status=status,
        method=method,
        origin=origin,
        unit=unit,
        n=n,
        subjects=subjects,
        span=span,
        warnings=tuple(notes),
        beta_raw=raw,
        beta_corrected=corrected,
        ci_raw=interval,
        changes=changes,
    )


def _flags(changed: Any, size: int) -> NDArray[np.bool_]:
    flags = np.asarray(changed)
    if flags.shape != (size,) or not bool(np.all(np.isin(flags, (False, True)))):
        raise InputError(f"changed must be {size} booleans")
    return flags.astype(np.bool_)


def _horizon(window: Any, unit: str, length: float) -> Any:
    """End of the window, at which open spells are cut."""
    if window is None:
        raise InputError("a spell without an end needs window=(from, to): where does what was seen stop?")
    edges = read_ticks(window, unit)
    if edges.length != length:
        raise InputError("times and window must both be dates or both be numbers")
    return edges.values[1]
