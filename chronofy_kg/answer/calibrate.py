"""Calibration of validity: is what had validity V still true in a share V of the cases? Pure.

A backtest on any history. At each of some cuts the future is hidden, the rates are learned from the past
alone, and every fact in force is given its V at later instants at which the truth is known. Categorical: the
share of those still true. Numeric: the share of variance that the old value explains, 1 - squared error /
variance ("Chronofy", section III-E). What the claims add up to is `reliability`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.view import Moment, View, build_view
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import FactType
from chronofy_kg.decay.learn import learn_types
from chronofy_kg.errors import QueryError
from chronofy_kg.facts.history import History, fold, group_rows
from chronofy_kg.facts.model import ValueKind
from chronofy_kg.facts.plan import key_codes
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.time import DAY_US, OPEN_US

__all__ = ["Claims", "backtest", "past_of", "usual_cuts"]

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
_CUTS = 5
#: Validities at which spells are asked about, where nobody looks at set times.
_LEVELS = np.arange(0.95, 0.0, -0.1)
#: Readings from which a subject's own mean counts as known.
_LEAST_READINGS = 5
#: Instants, all of them whole steps apart, that make a calendar; what a step may be off.
_LEAST_STEPS, _LEAP = 5, 0.05
_COLUMNS = ("type", "cut", "at", "validity", "low", "high", "kept", "weight")
_NUMBERS = (ValueKind.NUMBER, ValueKind.INTEGER)


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """What was claimed of the future and what came of it; columns of n claims.

    Attributes:
        type: int64[n], number among `types`.
        types: names of the fact types.
        cut: int64[n], the instant (microseconds) up to which was known what the claim rests on.
        at: int64[n], the instant that it is about.
        validity, low, high: float64[n], V and its interval.
        kept: float64[n], 1 where the fact was still true, 0 where not; of a number how much of its squared
            distance from the mean the old value explained.
        weight: float64[n], what there was to keep: 1, or that squared distance.
    """

    type: Rows
    types: tuple[str, ...]
    cut: Rows
    at: Rows
    validity: Floats
    low: Floats
    high: Floats
    kept: Floats
    weight: Floats

    def __len__(self) -> int:
        return len(self.type)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Claims:
        """Return some of the claims."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _COLUMNS})


def usual_cuts(table: FactTable, rows: Rows, count: int = _CUTS) -> list[int]:
    """Return instants at which to hide the future: between quantiles of when something was seen.

    Each lies half-way between two instants of the history: of things known by the day or the year, all would
    else change just at the cut.
    """
    if count < 1:
        raise QueryError(f"{count} cuts; there must be 1 or more")
    seen = _seen_until(table)[rows]
    known = np.unique(np.concatenate([seen, table.valid_from[rows]]))
    if len(known) < 2:
        return []
    wanted = np.sort(seen)[(np.arange(1, count + 1) * len(seen)) // (count + 1)]
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 2)
    return sorted({int(c) for c in known[place] + (known[place + 1] - known[place]) // 2})


def past_of(table: FactTable, rows: Rows, cut: int) -> tuple[FactTable, Rows]:
    """Return what was known of some rows at a cut, and which of the rows it comes from.

    A period that goes on at the cut is open, and was last seen at the cut; what begins later is not there.
    """
    kept = rows[table.valid_from[rows] <= cut]
    part = table.take(kept)
    seen, goes_on = np.minimum(_seen_until(part), cut), part.valid_to > cut
    return replace(part, valid_to=np.where(goes_on, OPEN_US, part.valid_to), observed_at=seen), kept


def _seen_until(table: FactTable) -> Rows:
    """Return until when each row's statement was watched: its end, or when it was last seen."""
    ended = table.valid_to < OPEN_US
    return np.where(ended, table.valid_to, np.maximum(table.observed_at, table.valid_from))


def backtest(
    table: FactTable,
    rows: Rows,
    catalog: TypeCatalog,
    *,
    cuts: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    again: bool = False,
    on_cut: Callable[[int, int], None] | None = None,
) -> Claims:
    """Return what would have been claimed at each cut, and what came of it.

    Args:
        table: the assertions.
        rows: int64, those believed.
        catalog: the fact types; declared rates are tested as they are, all others are learned anew.
        cuts: instants in microseconds at which the future is hidden; None for `usual_cuts`.
        names: the fact types to test, None for all.
        again: count a value that was left and came back as true; else a fact ends when its value is left.
        on_cut: called with number and total before each cut.
    """
    rows = np.sort(rows)
    chosen = usual_cuts(table, rows) if cuts is None else sorted(set(cuts))
    start = _unlearned(catalog)
    truth = _Truth(table, rows, start, again)
    found = []
    for number, cut in enumerate(chosen, start=1):
        if on_cut is not None:
            on_cut(number, len(chosen))
        past, origin = past_of(table, rows, cut)
        if len(past):
            learned = start.with_types(learn_types(past, np.arange(len(past)), start, names))
            view = build_view(past, learned, Moment(cut, OPEN_US - 1))
            found.append(truth.of_categories(view, origin, cut))
            found.append(truth.of_numbers(view, origin, cut))
    return _joined(found, names)


def _unlearned(catalog: TypeCatalog) -> TypeCatalog:
    """Return the catalog as it was declared, without what was learned from facts that are the future now."""

    def bare(row: FactType) -> FactType:
        if row.beta_from not in ("fitted", "prior"):
            return row
        low, high = catalog.priors.interval(row.kind)
        return replace(
            row, beta=catalog.priors.beta(row.kind), beta_low=low, beta_high=high, beta_from="prior",
            status="unfitted", method="", q_noise=1.0, n=0, subjects=0, span_days=0.0, warnings=(),
            data_hash="",
        )  # fmt: skip

    return replace(catalog, types={name: bare(row) for name, row in catalog.types.items()})


class _Truth:
    """What the whole history says of any statement at any instant."""

    def __init__(self, table: FactTable, rows: Rows, catalog: TypeCatalog, again: bool) -> None:
        self.table, self.rows, self.again = table, rows, again
        part = table.take(rows)
        self.history: History = fold(table, rows, catalog.many(part))
        history = self.history
        offsets, support = history.support(np.arange(len(history)))
        seen = _seen_until(table)
        watched = np.maximum.reduceat(seen[support], offsets[:-1]) if len(history) else np.zeros(0, np.int64)
        # Neighbouring periods of one value are one run: nothing ended it in between.
        heads = np.flatnonzero(~continues(history))
        run = np.searchsorted(heads, np.arange(len(history)), side="right") - 1
        self.value, self.start = history.value[heads], history.start[heads]
        self.end = history.end[np.append(heads[1:], len(history)) - 1] if len(history) else history.end
        self.watched = np.maximum.reduceat(watched, heads) if len(history) else watched
        self.run_of_period = run
        self.starts = np.unique(self.start)
        place = self._place(self.value, np.searchsorted(self.starts, self.start))
        self.order = np.argsort(place)
        self.places = place[self.order]
        self.until = int(seen[rows].max(initial=0))
        self.series = group_rows((key_codes(part), part.pool.canonical(part.unit)))

    def _place(self, value: Rows, rank: Rows) -> Rows:
        return value * (len(self.starts) + 1) + rank

    def _run(self, value: Rows, at: Rows) -> tuple[Rows, NDArray[np.bool_]]:
        """Return the run of a value that covers an instant, and whether there is one."""
        rank = np.searchsorted(self.starts, at, side="right")
        last = np.searchsorted(self.places, self._place(value, rank), side="left") - 1
        run = self.order[np.maximum(last, 0)]
        return run, (last >= 0) & (self.value[run] == value) & (at < self.end[run])

    def holds(self, value: Rows, since: int, at: Rows) -> Floats:
        """Return 1 where a value that holds at `since` still does at an instant, 0 where not, NaN if unknown.

        With `again` it need not have held all the time.
        """
        run, covers = self._run(value, at if self.again else np.full(len(at), since))
        covers &= at < self.end[run]
        known = np.where(covers, at <= self.watched[run], at <= self.until)
        return np.where(known, covers.astype(np.float64), np.nan)

    def of_categories(self, view: View, origin: Rows, cut: int) -> Claims:
        """Return the claims about facts that are no numbers."""
        table, history = view.table, self.history
        facts = np.flatnonzero(~np.isin(table.kind[view.winner], _NUMBERS))
        row = origin[view.winner[facts]]
        place = np.searchsorted(history.rows, row)
        value = history.row_value[place]
        visited = self._visits(row, cut)
        owner, at = self._spell_instants(view, facts[~visited], cut)
        parts = [(np.flatnonzero(~visited)[owner], at)]
        parts.append(self._visit_instants(row, np.flatnonzero(visited), cut))
        owner, at = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        kept = self.holds(value[owner], cut, at)
        return _claims(view, facts[owner], cut, at, kept, np.ones(len(at)))

    def _visits(self, row: Rows, cut: int) -> NDArray[np.bool_]:
        """Whether the keys of rows are seen at visits only: no statement tells how long it held."""
        seen = _seen_until(self.table)[self.rows]
        spell = seen > self.table.valid_from[self.rows]
        key = _key_of_rows(self.history)
        watched = np.bincount(key, weights=spell) > 0
        types = self.table.pool.canonical(self.table.type)
        # one type is of one sort: else what is asked about would depend on how a subject ends
        of_type = np.unique(types[self.rows], return_inverse=True)[1]
        sort = np.bincount(of_type, weights=watched[key]) > 0.5 * np.bincount(of_type)
        found: NDArray[np.bool_] = ~sort[of_type[np.searchsorted(self.rows, row)]]
        return found

    def _visit_instants(self, row: Rows, places: Rows, cut: int) -> tuple[Rows, Rows]:
        """Return all later visits of the keys of some facts: number of the fact, instant."""
        return _later(_key_of_rows(self.history), self.table.valid_from[self.rows],
                      np.searchsorted(self.rows, row[places]), cut, places)[:2]  # fmt: skip

    def _spell_instants(self, view: View, facts: Rows, cut: int) -> tuple[Rows, Rows]:
        """Return instants at which the facts are claimed to be valid to set degrees.

        They lie whole steps of their type's calendar after the cut: of what is known by the year, nobody can
        say what held three months later.
        """
        beta = view.rates.beta[facts]
        with np.errstate(divide="ignore", over="ignore"):
            age = -np.log(_LEVELS)[np.newaxis] / beta[:, np.newaxis] * DAY_US
        code = view.table.pool.canonical(view.table.type[view.winner[facts]])
        types, which = np.unique(code, return_inverse=True)
        step = np.asarray([_step(view.table, one) for one in types.tolist()], dtype=np.float64)[
            which, np.newaxis
        ]
        # What does not decay is asked about all along.
        age = np.where(np.isfinite(age), age, (1.0 - _LEVELS) * max(self.until - cut, 0))
        count = np.maximum(np.rint(np.minimum(age, 4.0 * max(self.until - cut, 1)) / step), 1.0)
        at = cut + (count * step).astype(np.int64)
        fresh = np.ones(at.shape, dtype=bool)
        fresh[:, 1:] = at[:, 1:] != at[:, :-1]
        keep = (fresh & (at <= self.until)).ravel()
        return np.repeat(np.arange(len(facts)), len(_LEVELS))[keep], at.ravel()[keep]

    def of_numbers(self, view: View, origin: Rows, cut: int) -> Claims:
        """Return the claims about numbers: each later reading against the last one before the cut."""
        table, rows = self.table, self.rows
        facts = self._judged(
            view, np.flatnonzero(np.isin(view.table.kind[view.winner], _NUMBERS)), origin, cut
        )
        place = np.searchsorted(rows, origin[view.winner[facts]])
        clock, number = table.valid_from[rows], table.number[rows]
        owner, at, later = _later(self.series, clock, place, cut, np.arange(len(facts)))
        mean, spread = self._means(view, facts, place, cut)
        q_noise = _noise(view, facts)
        rate = view.rates.take(facts).take(owner)
        age = (at - table.observed_at[rows][place[owner]]) / DAY_US
        bare = replace(rate, quality=np.ones(len(owner)))
        forecast = mean[owner] + q_noise[owner] * np.sqrt(bare.validity(age)) * (
            number[place[owner]] - mean[owner]
        )
        error, weight = ((number[later] - one) ** 2 / spread[owner] for one in (forecast, mean[owner]))
        # Noise of the later reading can never be explained: the share is that of the variance without it.
        return _claims(view, facts[owner], cut, at, (weight - error) / q_noise[owner], weight)

    def _judged(self, view: View, facts: Rows, origin: Rows, cut: int) -> Rows:
        """Return the facts whose mean was known by the cut: few readings tell of none."""
        past = self.table.valid_from[self.rows] <= cut
        count = np.bincount(self.series[past], minlength=self.series.max(initial=-1) + 1)
        place = np.searchsorted(self.rows, origin[view.winner[facts]])
        return facts[(count[self.series[place]] >= _LEAST_READINGS) | ~_reverts(view, facts)]

    def _means(self, view: View, facts: Rows, place: Rows, cut: int) -> tuple[Floats, Floats]:
        """Return, for each fact, the mean that one would go by without it, and the variance around it.

        The subject's own mean where the type returns to it; the mean of all subjects where it was not shown
        to (then validity is measured against the spread between subjects).
        """
        past = self.table.valid_from[self.rows] <= cut
        number, series = self.table.number[self.rows], self.series
        count = np.bincount(series[past], minlength=series.max(initial=-1) + 1)
        own = np.bincount(series[past], number[past], minlength=len(count)) / np.maximum(count, 1)
        types = self.table.pool.canonical(self.table.type[self.rows])
        unit = self.table.pool.canonical(self.table.unit[self.rows])
        group = group_rows((types, unit))
        size = np.maximum(np.bincount(group[past], minlength=group.max(initial=-1) + 1), 1)
        whole = np.bincount(group[past], number[past], minlength=len(size)) / size
        reverts = _reverts(view, facts)
        mean = np.where(reverts, own[series[place]], whole[group[place]])
        own_square = np.bincount(group[past], (number[past] - own[series[past]]) ** 2, minlength=len(size))
        all_square = np.bincount(group[past], (number[past] - whole[group[past]]) ** 2, minlength=len(size))
        heads = group[past][np.unique(series[past], return_index=True)[1]]
        free = np.maximum(size - np.bincount(heads, minlength=len(size)), 1)
        spread = np.where(reverts, (own_square / free)[group[place]], (all_square / size)[group[place]])
        return mean, np.where(spread > 0, spread, 1.0)


def continues(history: History) -> NDArray[np.bool_]:
    """Return bool[m]: whether each period only goes on with the value of the one before."""
    value, start, end = history.value, history.start, history.end
    found = np.zeros(len(history), dtype=bool)
    found[1:] = (value[1:] == value[:-1]) & (start[1:] == end[:-1])
    return found


def _key_of_rows(history: History) -> Rows:
    """Return the number of the key of each folded row."""
    key = np.empty(len(history.rows), dtype=np.int64)
    key[history.by_key] = np.unique(history.sorted_key, return_inverse=True)[1]
    return key


def _later(group: Rows, clock: Rows, place: Rows, cut: int, numbers: Rows) -> tuple[Rows, Rows, Rows]:
    """Return for each of some rows all rows of its group after the cut: number, instant and place of each."""
    after = np.flatnonzero(clock > cut)
    after = after[np.lexsort((clock[after], group[after]))]
    low, high = (np.searchsorted(group[after], group[place], side=side) for side in ("left", "right"))
    owner = np.repeat(np.arange(len(place)), high - low)
    inside = np.arange(len(owner)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
    later = after[np.repeat(low, high - low) + inside]
    return numbers[owner], clock[later], later


def _step(past: FactTable, type_code: int) -> int:
    """Return the step of the calendar by which facts of a type begin and end, microseconds; 1 for none."""
    own = past.pool.canonical(past.type) == type_code
    known = np.unique(np.concatenate([past.valid_from[own], past.valid_to[own & (past.valid_to < OPEN_US)]]))
    if len(known) < _LEAST_STEPS:
        return 1
    gaps = np.diff(known)
    steps = gaps / gaps.min()
    # leap days make a year a little longer than another
    return int(gaps.min()) if bool(np.all(np.abs(steps - np.rint(steps)) < _LEAP)) else 1


def _types_of(view: View, facts: Rows) -> list[FactType]:
    table, rows = view.table, view.best[facts]
    pairs = zip(table.pool.canonical(table.type[rows]).tolist(), table.kind[rows].tolist(), strict=True)
    known: dict[tuple[int, int], FactType] = {}
    found = []
    for pair in pairs:
        if pair not in known:
            known[pair] = view.catalog.type_of(table.pool[pair[0]], ValueKind(pair[1]))
        found.append(known[pair])
    return found


def _noise(view: View, facts: Rows) -> Floats:
    return np.asarray([t.q_noise for t in _types_of(view, facts)], dtype=np.float64)


def _reverts(view: View, facts: Rows) -> NDArray[np.bool_]:
    return np.asarray([t.status in ("ok", "unresolved_fast") for t in _types_of(view, facts)], dtype=np.bool_)


def _claims(view: View, facts: Rows, cut: int, at: Rows, kept: Floats, weight: Floats) -> Claims:
    known = ~np.isnan(kept)
    facts, at, kept, weight = facts[known], at[known], kept[known], weight[known]
    table = view.table
    codes, which = np.unique(table.pool.canonical(table.type[view.winner[facts]]), return_inverse=True)
    rates = view.rates.take(facts)
    age = (at - table.observed_at[view.best[facts]]) / DAY_US
    value, low, high = rates.validity(age), rates.validity(age, "low"), rates.validity(age, "high")
    names = tuple(table.pool[code] for code in codes.tolist())
    return Claims(which.astype(np.int64), names, np.full(len(at), cut), at, value, low, high, kept, weight)


def _joined(parts: Sequence[Claims], names: Sequence[str] | None) -> Claims:
    """Return the claims of several parts as one."""
    every = sorted({name for part in parts for name in part.types if names is None or name in names})
    number = {name: place for place, name in enumerate(every)}
    moved = []
    for part in parts:
        to = np.asarray([number.get(name, -1) for name in part.types], dtype=np.int64)
        renumbered = replace(part, type=to[part.type] if len(part) else part.type)
        moved.append(renumbered.take(renumbered.type >= 0))

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in moved]) if moved else np.zeros(0)

    columns: dict[str, Any] = {name: column(name) for name in _COLUMNS}
    columns |= {name: columns[name].astype(np.int64) for name in ("type", "cut", "at")}
    return Claims(types=tuple(every), **columns)
