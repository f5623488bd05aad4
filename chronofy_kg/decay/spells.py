"""Decay of categorical facts whose changes are known: spells, each with its end or still open.

beta is the rate at which the asserted state is left: changes / exposure with an exact Poisson interval;
spells that are still open are exposure (right censoring). Beside it: the rate of each state, whether one
rate fits all, and whether it depends on how long a state has lasted. Visits only: see `visits`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.chain import Gap, gap_of_moves
from chronofy_kg.decay.durations import weibull_shape
from chronofy_kg.decay.hashing import hash_rows
from chronofy_kg.decay.poisson import NO_CHANGE_BOUND, exact_rate
from chronofy_kg.decay.result import DecayFit, StateRate
from chronofy_kg.decay.series import as_array, read_names, read_ticks, without_specks
from chronofy_kg.decay.states import insufficient, states_warning
from chronofy_kg.decay.tally import SpellTally, by_code
from chronofy_kg.errors import InputError

__all__ = ["fit_spell_tally", "fit_spells", "spell_durations", "tally_spells", "with_gap"]

Floats: TypeAlias = NDArray[np.float64]

_SHAPE_RATIO = 6.63  # 1 % point of chi-square with one degree of freedom
_SHAPE_FAR = 1.25  # in a million spells everything is significant
_MOST_STATES = 50
_LEAST_SHARE = 1e-12  # of the exposure: a state that took less has no rate to speak of
_MOST_FOR_GAP = 100  # states of a matrix whose eigenvalues are still quick


@dataclass(frozen=True, slots=True)
class _Spells:
    """Clean spells sorted by subject and time: ticks from begin to end, and was it left?"""

    begin: NDArray[Any]
    end: NDArray[Any]
    ticks: NDArray[Any]
    left: NDArray[np.bool_]
    owner: NDArray[np.int64]
    state: NDArray[np.int64]
    owners: list[Any]
    states: list[Any]
    tick: float
    notes: tuple[str, ...]
    by_row: bool
    stated: bool


def tally_spells(
    times: Any,
    ends: Any,
    changed: Any = None,
    values: Any = None,
    subjects: Any = None,
    unit: str = "d",
    window: Any = None,
) -> SpellTally:
    """Count the exits and the exposure of spells; tallies of adjoining windows add up.

    Args:
        times: n starts, see `fit_decay`.
        ends: n ends; missing where still open, then `window` says where they are cut.
        changed: n booleans, did the spell end by a change; default: all that have an end.
        values: n states, or None.
        subjects: n names, or None: each spell is a subject of its own.
        unit: unit of numeric times, and of the rates to come.
        window: (from, to), at whose end open spells are cut.

    Raises:
        InputError: an end before its start, or an open spell without `window`.

    >>> first = tally_spells([0], [10], changed=[False], values=["on"], subjects=["pump"])
    >>> second = tally_spells([10], [14], values=["on"], subjects=["pump"])
    >>> fit_spell_tally(first + second).beta == 1 / 14
    True
    """
    return _tally(_read(times, ends, changed, values, subjects, unit, window))


def fit_spell_tally(
    tally: SpellTally, unit: str = "d", prior: float = math.log(2.0) / 365.0, reverting: bool = False
) -> DecayFit:
    """The exit rate that a tally stands for; the same numbers as a fit of all its spells.

    Args:
        tally: see `tally_spells`.
        unit: unit of the tally.
        prior: rate per unit where nothing was observed.
        reverting: beta is the spectral gap, see `fit_decay`.

    Raises:
        InputError: `reverting` without states.
    """
    count, exposure = tally.total_changes, tally.total_exposure
    stated = set(tally.exposure) != {None}
    if reverting and not stated:
        raise InputError("reverting needs values: the state of each spell")
    subjects = len(tally.subjects) or tally.rows
    if exposure <= 0.0:
        return insufficient(prior, count, exposure, tally.rows, subjects, unit, ())
    rate, low, high = exact_rate(count, exposure)
    by_state = _by_state(tally) if stated else ()
    notes = []
    if not count:
        notes.append(f"no change in {exposure:.6g} {unit} observed; the interval bounds the exit rate")
    notes.extend(states_warning([(one.changes, one.exposure) for one in by_state]))
    fit = DecayFit(
        beta=rate,
        ci=(low, high),
        theta=rate / 2.0,
        q=1.0,
        noise_ratio=0.0,
        status="ok" if count else "constant",
        method="changes/exposure",
        origin="fitted",
        unit=unit,
        n=tally.rows,
        subjects=subjects,
        span=exposure,
        warnings=tuple(notes),
        beta_raw=rate,
        beta_corrected=rate if count else 0.5 / exposure,
        ci_raw=(low, high),
        kind="categorical",
        changes=count,
        by_state=by_state[:_MOST_STATES],
    )
    return with_gap(fit, _gap(tally), len(tally.exposure)) if reverting else fit


def with_gap(fit: DecayFit, gap: Gap, states: int) -> DecayFit:
    """The fit with the spectral gap of its chain as beta: "is it true again" counts."""
    interval = (gap.low, gap.high)
    return replace(
        fit,
        beta=gap.rate,
        ci=interval,
        theta=gap.rate / 2.0,
        beta_raw=gap.rate,
        beta_corrected=gap.rate if fit.status != "constant" else fit.beta_corrected,
        ci_raw=interval,
        method=f"{fit.method}, spectral gap of {states} states",
        spectral_gap=gap.rate,
        spectral_gap_ci=interval,
    )


def fit_spells(
    times: Any,
    ends: Any,
    changed: Any,
    values: Any,
    subjects: Any,
    unit: str,
    prior: float,
    window: Any,
    reverting: bool,
) -> DecayFit:
    """Exit rate from spells; see `fit_decay` for the arguments.

    Raises:
        InputError: an end before its start, or an open spell without `window`.
    """
    spells = _read(times, ends, changed, values, subjects, unit, window)
    fit = fit_spell_tally(_tally(spells), unit, prior, reverting)
    notes = [*spells.notes, *fit.warnings]
    shape = weibull_shape(spells.ticks.astype(np.float64), spells.left, spells.state)
    if shape is not None and shape.ratio > _SHAPE_RATIO:
        far = max(shape.shape, 1.0 / shape.shape) > _SHAPE_FAR
        way = (
            "the longer a spell has lasted, the " + ("sooner" if shape.shape > 1.0 else "later") + " it ends"
        )
        if far:
            notes.append(
                f"{way} (Weibull shape {shape.shape:.2g}, likelihood ratio {shape.ratio:.1f}): one rate is a "
                "compromise"
            )
    digest = hash_rows(spells.begin, spells.ticks, spells.left, spells.state, spells.owner)
    fit = replace(fit, warnings=tuple(notes), data_hash=digest)
    if shape is None:
        return fit
    return replace(fit, shape=shape.shape, shape_ci=(shape.low, shape.high), lr_shape=shape.ratio)


def spell_durations(
    times: Any, ends: Any, changed: Any, unit: str, window: Any
) -> tuple[Floats, NDArray[np.bool_]]:
    """How long each spell was seen, in `unit`, and whether it ended by a change; see `fit_decay`."""
    spells = _read(times, ends, changed, None, None, unit, window)
    return spells.ticks.astype(np.float64) * spells.tick, spells.left


def _read(times: Any, ends: Any, changed: Any, values: Any, subjects: Any, unit: str, window: Any) -> _Spells:
    starts, stops = read_ticks(times, unit), read_ticks(ends, unit)
    size = starts.values.size
    if stops.values.size != size:
        raise InputError(f"there are {size} times and {stops.values.size} ends")
    if starts.length != stops.length:
        raise InputError("times and ends must both be dates or both be numbers")
    begin, end = starts.values, stops.values
    left = ~stops.missing if changed is None else _flags(changed, size) & ~stops.missing
    if bool(np.any(stops.missing)):
        end = np.where(stops.missing, _horizon(window, unit, starts.length), end)
    owner, owners = read_names(subjects, size, "subjects")
    state, states = read_names(values, size, "values")
    use = ~starts.missing
    notes = () if bool(np.all(use)) else (f"{int(np.sum(~use))} row(s) without a time were dropped",)
    if begin.size and float(max(begin.max(), end.max())) - float(min(begin.min(), end.min())) > 2.0**62:
        begin, end = begin.astype(np.float64), end.astype(np.float64)  # whole ticks would wrap round
    ticks = end - begin
    if bool(np.any(ticks[use] < 0)):
        index = int(np.flatnonzero(use & (ticks < 0))[0])
        raise InputError(f"the spell at index {index} ends before it starts")
    if ticks.dtype.kind == "f":
        ticks = without_specks(ticks)
    order = np.lexsort((state, ticks, begin, owner))
    order = order[use[order]]
    return _Spells(
        begin[order], end[order], ticks[order], left[order], owner[order], state[order], owners, states,
        starts.length, notes, subjects is None, values is not None,
    )  # fmt: skip


def _tally(spells: _Spells) -> SpellTally:
    exits = by_code(spells.left.astype(np.int64), spells.state, spells.states)
    follows = (
        (spells.owner[1:] == spells.owner[:-1])
        & (spells.begin[1:] == spells.end[:-1])
        & spells.left[:-1]
        & (spells.state[1:] != spells.state[:-1])
    )
    pairs, times = np.unique(
        np.stack((spells.state[:-1][follows], spells.state[1:][follows])), axis=1, return_counts=True
    )
    names = spells.states
    return SpellTally(
        tick=spells.tick,
        rows=spells.ticks.size,
        subjects=frozenset()
        if spells.by_row
        else frozenset(spells.owners[i] for i in np.unique(spells.owner)),
        changes={name: int(count) for name, count in exits.items()},
        exposure=by_code(spells.ticks, spells.state, names),
        moves={
            (names[i], names[j]): int(count)
            for i, j, count in zip(*pairs.tolist(), times.tolist(), strict=True)
        },
    )


def _by_state(tally: SpellTally) -> tuple[StateRate, ...]:
    """Rates of the states that took time, the longest exposure first."""
    found = []
    for state, ticks in tally.exposure.items():
        exposure = float(ticks) * tally.tick
        if exposure > 0.0:
            count = tally.changes.get(state, 0)
            rate, low, high = exact_rate(count, exposure)
            found.append(StateRate(state=state, changes=count, exposure=exposure, rate=rate, ci=(low, high)))
    return tuple(sorted(found, key=lambda one: (-one.exposure, repr(one.state))))


def _gap(tally: SpellTally) -> Gap:
    """Spectral gap of the chain that the moves between states make up."""
    count, exposure = tally.total_changes, tally.total_exposure
    exposed = [one for one in _by_state(tally) if one.exposure > _LEAST_SHARE * exposure]
    factor = len(exposed) / (len(exposed) - 1.0) if len(exposed) > 1 else 2.0
    if not count:
        return Gap(0.0, 0.0, factor * NO_CHANGE_BOUND / exposure)
    if not 2 <= len(exposed) <= _MOST_FOR_GAP:
        # so many states that a chain hardly ever comes back, or a single one: as for equal rates
        rate, low, high = exact_rate(count, exposure)
        return Gap(factor * rate, factor * low, factor * high)
    place = {one.state: i for i, one in enumerate(exposed)}
    moves = np.zeros((len(exposed), len(exposed)))
    for (source, target), times in tally.moves.items():
        if source in place and target in place:
            moves[place[source], place[target]] = times
    exits = np.array([float(one.changes) for one in exposed])
    return gap_of_moves(moves, exits, np.array([one.exposure for one in exposed]))


def _flags(changed: Any, size: int) -> NDArray[np.bool_]:
    flags = as_array("changed", changed)
    if flags.shape != (size,) or not bool(np.all(np.isin(flags, (False, True)))):
        raise InputError(f"changed must be {size} booleans")
    return flags.astype(np.bool_)


def _horizon(window: Any, unit: str, length: float) -> Any:
    """End of the window, at which open spells are cut."""
    if window is None:
        raise InputError("a spell without an end needs window=(from, to): where does what was seen stop?")
    edges = read_ticks(window, unit)
    if edges.values.size != 2 or bool(np.any(edges.missing)):
        raise InputError("window must be (from, to)")
    if edges.length != length:
        raise InputError("times and window must both be dates or both be numbers")
    return edges.values[1]
