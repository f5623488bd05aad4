"""Decay of categorical facts that are only seen at visits, where changes between two visits stay unseen.

beta is the exit rate of a uniform Markov chain over the states seen, which allows for a state that was left
and came back. The same state again is exposure, never a change. Where the changes are known: see `spells`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.chain import Gap, fit_generator
from chronofy_kg.decay.hashing import hash_rows
from chronofy_kg.decay.poisson import NO_CHANGE_BOUND, exact_rate, exact_sum
from chronofy_kg.decay.profile import profile
from chronofy_kg.decay.result import DecayFit, StateRate, Status
from chronofy_kg.decay.series import as_array, read_codes, read_names, read_ticks, without_specks
from chronofy_kg.decay.spells import with_gap
from chronofy_kg.decay.states import differ, insufficient
from chronofy_kg.errors import InputError

__all__ = ["Visits", "fit_visits", "read_visits"]

Floats: TypeAlias = NDArray[np.float64]

_MOST_STATES = 6  # of a matrix with all its rates
_MOST_WORK = 2_000_000
_LEAST_CHANGES = 5
_MOST_RATIO = 1e4  # of the ends of an interval: beyond, a rate is not known at all


@dataclass(frozen=True, slots=True)
class Visits:
    """Pairs of successive visits of a subject.

    Attributes:
        gaps: time between the two, > 0.
        start: state at the first, as an index into `states`.
        end: state at the second.
        states: the states seen.
        exposure: the sum of the gaps.
        rows: visits used.
        subjects: subjects used.
        notes: warnings.
        digest: hash of the visits.
    """

    gaps: Floats
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    states: list[Any]
    exposure: float
    rows: int
    subjects: int
    notes: tuple[str, ...]
    digest: str

    @property
    def same(self) -> NDArray[np.bool_]:
        """Whether each pair gives one state twice."""
        return np.asarray(self.start == self.end)

    @property
    def kinds(self) -> int:
        """Number of states, at least 2."""
        return max(len(self.states), 2)


def fit_visits(
    times: Any, values: Any, subjects: Any, unit: str, prior: float, reverting: bool = False
) -> DecayFit:
    """Exit rate from states seen at visits only; see `fit_decay` for the arguments.

    Uniform chain over the K states seen: P(same | d) = 1/K + (1 - 1/K) exp(-r K d / (K - 1)), so a state that
    was left and came back between two visits is allowed for. r = beta; the spectral gap is r K / (K - 1).
    """
    if values is None:
        raise InputError("categorical facts need values (states seen at times), or ends (spells)")
    visits = read_visits(times, values, subjects, unit)
    count = int(np.sum(~visits.same))
    if not visits.gaps.size:
        fit = insufficient(prior, count, visits.exposure, visits.rows, visits.subjects, unit, visits.notes)
        return replace(fit, data_hash=visits.digest)
    fit = _changing(visits, count, unit) if count else _unchanged(visits, unit)
    by_state = _by_state(visits)
    known = [one for one in by_state if one.changes >= _LEAST_CHANGES and one.ci[1] < _MOST_RATIO * one.ci[0]]
    fit = replace(
        fit, by_state=by_state, data_hash=visits.digest, warnings=(*fit.warnings, *_differences(known))
    )
    if not reverting:
        return fit
    factor = visits.kinds / (visits.kinds - 1.0)
    return with_gap(fit, Gap(*(factor * rate for rate in (fit.beta, *fit.ci))), visits.kinds)


def read_visits(times: Any, values: Any, subjects: Any, unit: str) -> Visits:
    """Pairs of successive visits; see `fit_decay` for the arguments.

    Raises:
        InputError: lengths differ, or times are none.
    """
    ticks = read_ticks(times, unit)
    size = ticks.values.size
    states = as_array("values", values)
    if states.shape != (size,):
        raise InputError(f"values have shape {states.shape}, times {(size,)}")
    unknown = np.array([value is None or value != value for value in states.tolist()], dtype=np.bool_)
    use = ~(ticks.missing | unknown)
    notes = (
        [] if bool(np.all(use)) else [f"{int(np.sum(~use))} row(s) with a missing time or state were dropped"]
    )
    clock, owner = ticks.values[use], read_codes(subjects, size)[use]
    code, names = read_names(states[use], int(use.sum()), "values")
    order = np.lexsort((code, clock, owner))
    clock, owner, code = clock[order], owner[order], code[order]
    mate = owner[1:] == owner[:-1]
    steps = np.where(mate, np.diff(clock), 0)
    if steps.dtype.kind == "f":
        steps = without_specks(steps)
    clash = int(np.sum(mate & (steps == 0) & (code[1:] != code[:-1])))
    if clash:
        notes.append(f"{clash} visit(s) give two states for one time; they count as no time passed")
    keep = mate & (steps > 0)
    return Visits(
        gaps=steps[keep].astype(np.float64) * ticks.length,
        start=code[:-1][keep],
        end=code[1:][keep],
        states=names,
        exposure=float(exact_sum(steps[keep])) * ticks.length,
        rows=int(use.sum()),
        subjects=int(np.unique(owner).size),
        notes=tuple(notes),
        digest=hash_rows(code, clock, owner, ordered=True),
    )


def _unchanged(visits: Visits, unit: str) -> DecayFit:
    interval = exact_rate(0, visits.exposure)[1:]
    note = f"no change in {visits.exposure:.6g} {unit} observed; the interval bounds the exit rate"
    return _result(visits, unit, 0.0, 0.5 / visits.exposure, interval, "constant", "no change", note)


def _changing(visits: Visits, count: int, unit: str) -> DecayFit:
    states, gaps, same = visits.kinds, visits.gaps, visits.same
    share = (states - 1) / states

    def deviance(log_rate: float) -> float:
        gone = -np.expm1(-math.exp(log_rate) / share * gaps) * share
        terms = np.where(same, np.log1p(-gone), np.log(np.maximum(gone, 1e-300)))
        return -2.0 * float(terms.sum())

    at_infinity = -2.0 * float(np.sum(np.where(same, math.log(1.0 - share), math.log(share))))
    axis = np.linspace(math.log(1e-4 / visits.exposure), math.log(50.0 / float(gaps.min())), 32)
    found = profile(deviance, [float(u) for u in axis], (math.inf, at_infinity))
    interval = (found.low, found.high)
    method = f"panel of {states} states"
    if math.isfinite(found.high):
        return _result(visits, unit, found.rate, found.rate, interval, "ok", method)
    beta = found.rate if math.isfinite(found.rate) else found.low
    note = "changes faster than it is visited: beta is a lower bound only"
    fit = _result(visits, unit, beta, beta, interval, "unresolved_fast", method, note)
    return replace(fit, beta_raw=found.rate, theta=found.rate / 2.0)


def _by_state(visits: Visits) -> tuple[StateRate, ...]:
    """Exit rate of each state, where the chain is small enough for a matrix of its own rates."""
    states = len(visits.states)
    if not 2 <= states <= _MOST_STATES or visits.gaps.size * states**2 > _MOST_WORK:
        return ()
    found = fit_generator(visits.start, visits.end, visits.gaps, states)
    if found is None:
        return ()
    result = []
    for i, state in enumerate(visits.states):
        here = visits.start == i
        exposure = float(visits.gaps[here].sum())
        if exposure <= 0.0:
            continue
        rate, spread = float(found.exits[i]), math.exp(min(1.96 * float(found.log_errors[i]), 700.0))
        interval = (rate / spread, rate * spread) if rate > 0.0 else (0.0, NO_CHANGE_BOUND / exposure)
        changes = int(np.sum(here & ~visits.same))
        result.append(StateRate(state=state, changes=changes, exposure=exposure, rate=rate, ci=interval))
    return tuple(sorted(result, key=lambda one: (-one.exposure, repr(one.state))))


def _differences(known: list[StateRate]) -> list[str]:
    """A warning where the exit rates are not one: chi-square of their logarithms around the mean."""
    if len(known) < 2:
        return []
    logs = np.log([one.rate for one in known])
    errors = np.array([math.log(one.ci[1] / one.ci[0]) / (2.0 * 1.96) for one in known])
    weights = 1.0 / np.maximum(errors, 1e-6) ** 2
    spread = float(np.sum(weights * (logs - np.average(logs, weights=weights)) ** 2))
    return differ(spread, len(known) - 1, [one.rate for one in known])


def _result(
    visits: Visits,
    unit: str,
    beta: float,
    corrected: float,
    interval: tuple[float, float],
    status: Status,
    method: str,
    *notes: str,
) -> DecayFit:
    return DecayFit(
        beta=beta,
        ci=interval,
        theta=beta / 2.0,
        q=1.0,
        noise_ratio=0.0,
        status=status,
        method=method,
        origin="fitted",
        unit=unit,
        n=visits.rows,
        subjects=visits.subjects,
        span=visits.exposure,
        warnings=(*visits.notes, *notes),
        beta_raw=beta,
        beta_corrected=corrected,
        ci_raw=interval,
        kind="categorical",
        changes=int(np.sum(~visits.same)),
    )
