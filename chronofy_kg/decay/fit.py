"""`fit_decay`: one door to the fits of all kinds; checks the arguments and hands over to the kind.

Numeric facts are in `numeric`, categorical ones in `spells` and `visits`, events in `event`. Pairs of (age,
still valid) have a door of their own, `labels.fit_labels`.
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from chronofy_kg.decay.event import fit_events
from chronofy_kg.decay.numeric import NumericOptions, Scale, fit_numeric
from chronofy_kg.decay.result import DecayFit, unit_in_days
from chronofy_kg.decay.series import read_rows
from chronofy_kg.decay.spells import fit_spells
from chronofy_kg.decay.validity import rate_from_half_life
from chronofy_kg.decay.visits import fit_visits
from chronofy_kg.errors import FitError, InputError

__all__ = ["DEFAULT_HALF_LIFE_DAYS", "Kind", "fit_decay", "prepare"]

Kind: TypeAlias = Literal["numeric", "categorical", "event"]

DEFAULT_HALF_LIFE_DAYS: dict[str, float] = {"numeric": 90.0, "categorical": 365.0}
"""Half-life of validity assumed for a kind of which nothing is known."""


def fit_decay(
    times: Any,
    values: Any = None,
    subjects: Any = None,
    kind: Kind = "numeric",
    unit: str = "d",
    noise: Literal["auto"] | bool = "auto",
    scale: Scale = "auto",
    tolerance: float | None = None,
    prior: float | None = None,
    ends: Any = None,
    changed: Any = None,
    window: Any = None,
    *,
    reverting: bool = False,
    recency: bool = False,
) -> DecayFit:
    """Learn how fast facts of one type go stale, from their history.

    Numeric: exact restricted likelihood of an Ornstein-Uhlenbeck process at irregular times, pooled over
    subjects, each with a mean of its own, with measurement noise; beta = 2 theta at its optimum
    (`beta_corrected` has the small-sample bias taken off) with the 95 % profile interval, whose ends may be 0
    or inf. Not shown to revert (status unit_root): beta = sigma_W^2 / v_ref, with v_ref from `tolerance`,
    else the variance between subjects (or the fitted variance, if smaller), else the optimum if it exceeds
    its own bias, else the prior; `method` names it. Categorical: the exit rate, from spells (`ends`) or from
    visits, with the rates of single states beside it. Event: 0, for what happened stays true; the rate of
    events is in `rate`.

    Args:
        times: n instants: datetime64 (or datetimes), else numbers in `unit`; any order.
        values: n numbers, or states for categorical; NaN is dropped with a warning.
        subjects: n names of what each row is about; None means one subject.
        kind: numeric, categorical or event.
        unit: us, ms, s, m, h, d or w: of numeric times, and of the rates that come out.
        noise: "auto" or True fits a noise term, False holds it at 0 (rows at one instant are then averaged).
        scale: a variance for each subject, one for all, or "auto": own where the median subject has 5 rows.
        tolerance: numeric, not reverting: the deviation at which a value is of no more use.
        prior: rate per `unit` where the data cannot tell; default: half-life 90 d numeric, 365 d categorical.
        ends: categorical: rows are spells from `times` to `ends` (missing: still open, needs `window`).
        changed: with `ends`: n booleans, did the spell end by a change; default: all that have an end.
        window: (from, to) in which events were watched, or at whose end open spells are cut.
        reverting: categorical: a status that comes back is as good as one that stayed. beta is then the
            spectral gap of the chain, at which the chance of the same state falls to that of any moment.
        recency: event: "the latest of this kind" is what is asked for. beta is then the rate of new ones.

    Returns:
        The fit; `beta` is finite and >= 0 whatever the status.

    Raises:
        InputError: lengths differ, an infinity, an unknown unit, kind or option.
        FitError: no rows at all.

    >>> import numpy as np
    >>> t = np.arange(40.0)
    >>> fit = fit_decay(t, np.sin(t * t), noise=False)
    >>> fit.status, fit.n, fit.ci[0] > 0
    ('unresolved_fast', 40, True)
    """
    _check("kind", kind, get_args(Kind))
    _check("scale", scale, get_args(Scale))
    if noise not in ("auto", True, False):
        raise InputError(f"noise is {noise!r}; expected 'auto', True or False")
    days = unit_in_days(unit)
    _positive("tolerance", tolerance)
    _positive("prior", prior)
    if prior is None and kind != "event":
        prior = rate_from_half_life(DEFAULT_HALF_LIFE_DAYS[kind]) * days
    if kind == "event":
        return fit_events(times, subjects, unit, window, recency)
    assert prior is not None
    if len(times) == 0:
        raise FitError("no rows: nothing to learn a decay rate from")
    if kind == "categorical":
        if ends is not None:
            return fit_spells(times, ends, changed, values, subjects, unit, prior, window, reverting)
        return fit_visits(times, values, subjects, unit, prior, reverting)
    if values is None:
        raise InputError("numeric facts need values")
    options = NumericOptions(noise=noise, scale=scale, tolerance=tolerance, prior=prior, unit=unit)
    return fit_numeric(read_rows(times, values, subjects, unit), options)


def prepare() -> None:
    """Load the compiled kernel, and compile it where it never was, so that the first fit does not wait.

    numba takes about a second to load in each process; compiling takes another few, once for an installation.
    Meant for a thread at the start of a server.
    """
    fit_decay(np.arange(6.0), [0.0, 1.0, 0.5, 0.2, 0.9, 0.4], noise=True)


def _check(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name} is {value!r}; expected one of {', '.join(allowed)}")


def _positive(name: str, value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value > 0.0):
        raise InputError(f"{name} is {value}; expected a finite number > 0")
