"""Decay from labelled pairs: facts of some age, and whether each was found to be still valid.

P(valid | age) = exp(-beta age), so beta is a hazard, as for categorical facts; log L = -beta sum of the ages
of the valid + sum over the others of log(1 - exp(-beta age)). It is concave in beta: there is one optimum,
and its place can be bracketed. Series of values or states need no labels: see `fit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from chronofy_kg.decay.hashing import hash_rows
from chronofy_kg.decay.poisson import NO_CHANGE_BOUND
from chronofy_kg.decay.profile import CUT_95
from chronofy_kg.decay.result import DecayFit, Status, unit_in_days
from chronofy_kg.decay.series import FARTHEST, LEAST_GAP, as_array, read_names
from chronofy_kg.decay.states import insufficient
from chronofy_kg.errors import FitError, InputError

__all__ = ["fit_labels", "read_labels"]

Floats: TypeAlias = NDArray[np.float64]


def fit_labels(
    ages: Any, valid: Any, subjects: Any = None, unit: str = "d", prior: float | None = None
) -> DecayFit:
    """Learn how fast facts of one type go stale, from labels: was a fact of this age still valid?

    Maximum likelihood of P(valid | age) = exp(-beta age) with the 95 % interval {deviance <= minimum + 3.84}.
    All valid: beta 0 (status constant), the upper bound is where that had a chance of 2.5 %. None valid: only
    a lower bound is known (status unresolved_fast), and beta is that bound. Labels of age 0 say nothing of a
    rate; so do missing ages or labels. They are dropped with a warning.

    Args:
        ages: n ages in `unit` (or timedeltas), >= 0, finite.
        valid: n labels, True or False (or 1 and 0); None and NaN are missing.
        subjects: n names of what was labelled, only counted.
        unit: us, ms, s, m, h, d or w: of numeric ages, and of the rates that come out.
        prior: rate per `unit` where the labels say nothing; default: half-life 365 d.

    Returns:
        The fit; `changes` counts the labels "no longer valid", `span` sums the ages.

    Raises:
        InputError: lengths differ, an age below 0 or infinite, a label that is neither.
        FitError: no labels at all.

    >>> fit = fit_labels([1, 5, 10, 30, 60], [True, True, True, False, False])
    >>> round(fit.beta, 8), fit.status
    (0.04340166, 'ok')
    """
    days = unit_in_days(unit)
    if prior is not None and not (math.isfinite(prior) and prior > 0.0):
        raise InputError(f"prior is {prior}; expected a finite number > 0")
    numbers, flags, names, notes, known = read_labels(ages, valid, subjects, unit)
    if not numbers.size and known == 0:
        raise FitError("no labels: nothing to learn a decay rate from")
    span, invalid = math.fsum(numbers.tolist()), int(np.sum(~flags))
    if not numbers.size:
        rate = math.log(2.0) / 365.0 * days if prior is None else prior
        fit = insufficient(rate, invalid, span, 0, 0, unit, notes, "labels")
        return replace(fit, data_hash=hash_rows(numbers, flags))
    beta, interval, status, method = _estimate(numbers, flags, span, notes)
    raw = math.inf if status == "unresolved_fast" else beta
    return DecayFit(
        beta=beta,
        ci=interval,
        theta=raw / 2.0,
        q=1.0,
        noise_ratio=0.0,
        status=status,
        method=method,
        origin="fitted",
        unit=unit,
        n=numbers.size,
        subjects=names,
        span=span,
        warnings=tuple(notes),
        beta_raw=raw,
        beta_corrected=beta if invalid else 0.5 / span,
        ci_raw=interval,
        kind="labels",
        changes=invalid,
        data_hash=hash_rows(numbers, flags),
    )


def read_labels(
    ages: Any, valid: Any, subjects: Any, unit: str
) -> tuple[Floats, NDArray[np.bool_], int, list[str], int]:
    """Ages > 0 and their labels, number of subjects, notes, and how many pairs were told in all."""
    numbers = _read_ages(ages, unit)
    flags, missing = _read_flags(valid, numbers.size)
    codes, _ = read_names(subjects, numbers.size, "subjects")
    missing |= np.isnan(numbers)
    notes = []
    if bool(np.any(missing)):
        notes.append(f"{int(missing.sum())} label(s) without an age or an answer (NaN) were dropped")
    bad = np.flatnonzero(~missing & ~((numbers >= 0.0) & (numbers <= FARTHEST)))
    if bad.size:
        where = f"age {numbers[bad[0]]} at index {int(bad[0])}"
        raise InputError(f"{where}; an age is a number >= 0 and at most {FARTHEST:g}")
    fresh = ~missing & (numbers < LEAST_GAP)
    never = int(np.sum(fresh & ~flags))
    if never:
        notes.append(f"{never} label(s) of age 0 say invalid: no rate explains that, they were left out")
    use = ~missing & ~fresh
    count = int(use.sum()) if subjects is None else int(np.unique(codes[use]).size)
    return numbers[use], flags[use], count, notes, numbers.size


def _estimate(
    ages: Floats, valid: NDArray[np.bool_], span: float, notes: list[str]
) -> tuple[float, tuple[float, float], Status, str]:
    """beta, its interval, status and method; times are scaled by the mean age, so squares stay in range."""
    scale = span / ages.size
    gone = ages[~valid] / scale
    kept = math.fsum((ages[valid] / scale).tolist())
    if not gone.size:
        notes.append("every label says valid: the interval bounds the rate")
        return 0.0, (0.0, NO_CHANGE_BOUND / span), "constant", "labels, all valid"

    def log_likelihood(beta: float) -> float:
        return -beta * kept + float(np.log(-np.expm1(-beta * gone)).sum())

    if kept == 0.0:
        # all had gone at a chance of 2.5 %: the mirror of the bound where none had
        low = _crossing(lambda beta: log_likelihood(beta) - math.log(0.025), 1.0) / scale
        notes.append("no label says valid: beta is a lower bound only")
        return low, (low, math.inf), "unresolved_fast", "labels, none valid, lower bound"

    def slope(log_beta: float) -> float:
        # the logarithm of both sides of the score equation is nearly straight
        terms = gone / np.expm1(np.minimum(math.exp(log_beta) * gone, 700.0))
        return math.log(max(float(terms.sum()), 1e-300) / kept)

    # 1/b - g < g / expm1(b g) < 1/b brackets the root
    ends = (math.log(gone.size / ages.size), math.log(gone.size / kept))
    beta = math.exp(float(brentq(slope, ends[0] - 1e-9, ends[1] + 1e-9, xtol=1e-15, rtol=1e-14)))
    level = log_likelihood(beta) - CUT_95 / 2.0
    low, high = (_crossing(lambda rate: log_likelihood(rate) - level, beta, way) for way in (-1.0, 1.0))
    return beta / scale, (low / scale, high / scale), "ok", "labels, maximum likelihood"


def _crossing(function: Callable[[float], float], start: float, way: float = 0.0) -> float:
    """Where a function of a rate changes sign: up or down (`way`) of `start`; 0: where its sign leads."""
    sign = function(start) > 0.0
    inner, step = math.log(start), 0.5
    way = way or (-1.0 if sign else 1.0)
    outer = inner + way * step
    while (function(math.exp(outer)) > 0.0) == sign:
        step *= 2.0
        inner, outer = outer, max(min(outer + way * step, 700.0), -700.0)
    ends = sorted((inner, outer))
    return math.exp(float(brentq(lambda u: function(math.exp(u)), *ends, xtol=1e-14, rtol=1e-13)))


def _read_ages(ages: Any, unit: str) -> Floats:
    """Ages as float64 in the unit, NaN where missing."""
    array = as_array("ages", ages)
    if array.ndim != 1:
        raise InputError(f"ages must be one-dimensional, got shape {array.shape}")
    if array.dtype == object and any(hasattr(item, "total_seconds") for item in array.tolist()):
        array = array.astype("timedelta64[us]")
    if array.dtype.kind == "m":
        micros = array.astype("timedelta64[us]")
        days = micros.astype(np.int64).astype(np.float64) / 86_400e6
        return np.where(np.isnat(micros), np.nan, days / unit_in_days(unit))
    if array.dtype.kind in "SUMV":
        raise InputError(f"ages are text or dates where numbers were expected (dtype {array.dtype})")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"ages are not numbers: {error}") from None


def _read_flags(valid: Any, size: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Labels, and which are missing."""
    array = as_array("valid", valid)
    if array.shape != (size,):
        raise InputError(f"valid has shape {array.shape}, ages {(size,)}")
    missing = np.array([item is None or item != item for item in array.tolist()], dtype=np.bool_)
    known = [item in (0, 1) for item in array[~missing].tolist()]
    if not all(known):
        index = int(np.flatnonzero(~missing)[known.index(False)])
        raise InputError(f"the label at index {index} is {array[index]!r}; expected True or False")
    flags = np.zeros(size, dtype=np.bool_)
    flags[~missing] = array[~missing].astype(np.bool_)
    return flags, missing
