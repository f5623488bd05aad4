"""Which facts the graph must hold after a write, and how that differs from before. Pure functions.

The graph holds the fold of what is believed now. An assertion hangs on its home, the fact of its own value
and valid_from; homes stay for ever, as in_force, shadowed or retracted. A value that returns after an
interruption is a fact of its own, which RESUMES a home. Only keys that a write touches are folded, before
and after it, and only the difference goes to the store (`chronofy_kg.store.facts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts import FactTable, History, fold
from chronofy_kg.facts.history import group_rows
from chronofy_kg.facts.model import fact_id
from chronofy_kg.facts.plan import key_codes
from chronofy_kg.facts.time import OPEN_US

__all__ = [
    "IN_FORCE",
    "RETRACTED",
    "SHADOWED",
    "STATES",
    "Delta",
    "FactStates",
    "Many",
    "difference",
    "materialise",
    "redifference",
]

Rows = NDArray[np.int64]
Many = Callable[[FactTable], NDArray[np.bool_]]

IN_FORCE, SHADOWED, RETRACTED = 0, 1, 2
STATES = ("in_force", "shadowed", "retracted")
_SUPPORT_PAIRS = 4_000_000  # (fact, assertion) pairs looked at in one go


@dataclass(frozen=True, slots=True)
class FactStates:
    """The facts of some keys as the graph holds them: m rows, ordered by value and start.

    Attributes:
        value: int64[m], number of key and value together, the same for states of one `_Scope`.
        start, end: int64[m], the period in microseconds; of a fact that is not in force, as last told.
        state: int64[m], index into STATES.
        shown: int64[m], the row of the table that gives value, type and content.
        seen: int64[m], the row that gives observed_at and quality: the latest observed support.
        resumed: int64[m], index of the home that a fact resumes, -1 for none.
        superseded_by: int64[m], index of the fact of another value that ended it, -1 for none.
    """

    value: Rows
    start: Rows
    end: Rows
    state: Rows
    shown: Rows
    seen: Rows
    resumed: Rows
    superseded_by: Rows

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, slots=True)
class Delta:
    """What a write does to the facts of the graph; indexes are into `after`, pairs are fact ids.

    Attributes:
        table: the assertions, those of the write included.
        after: the facts of the touched keys after the write.
        ids: the id of each fact of `after`; None where nothing needs it.
        created, updated: int64, facts that were not there before, and facts that changed.
        perhaps: bool, per `created`: its key is not new, so that a returning fact that the fold once lost
        may be
            there under its id.
        retyped: int64, those of `updated` whose type is now told otherwise.
        gone: (id, state) of returning facts that the fold no longer yields.
        supersedes, not_supersedes, resumes, not_resumes: pairs of ids of relationships to make and to remove.
        homes: for each row asked for, the id of the fact on which it hangs.
    """

    table: FactTable
    after: FactStates
    ids: list[str | None]
    created: Rows
    perhaps: NDArray[np.bool_]
    updated: Rows
    retyped: Rows
    gone: list[tuple[str, int]]
    supersedes: list[tuple[str, str]]
    not_supersedes: list[tuple[str, str]]
    resumes: list[tuple[str, str]]
    not_resumes: list[tuple[str, str]]
    homes: dict[int, str]


@dataclass(frozen=True, slots=True)
class _Scope:
    """The rows of the touched keys, with one numbering of their values for before and after."""

    table: FactTable
    rows: Rows  # ascending
    number: Rows  # of key and value, per row
    many: NDArray[np.bool_]


def _scope(table: FactTable, changed: Rows, many: Many) -> _Scope:
    """Return every row, believed or not, that shares a key with a changed row."""
    keys = key_codes(table)
    rows = np.flatnonzero(np.isin(keys, keys[changed]))
    part = table.take(rows)
    is_many = many(part)
    number = group_rows((keys[rows], *part.value_columns()))
    # Under `many` the value belongs to the key: other values of the predicate are not touched.
    touched = np.isin(number, number[np.searchsorted(rows, changed)])
    kept = ~is_many | touched
    return _Scope(table, rows[kept], number[kept], is_many[kept])


def materialise(scope: _Scope, present: NDArray[np.bool_], believed: NDArray[np.bool_]) -> FactStates:
    """Return the facts that the graph holds for a scope.

    Args:
        scope: the rows of complete keys.
        present: bool[k], rows that are in the store.
        believed: bool[k], rows of those that are believed.
    """
    table, told = scope.table, np.flatnonzero(present)
    folded = np.flatnonzero(believed)
    history = fold(table, scope.rows[folded], scope.many[folded])
    place = np.searchsorted(scope.rows, history.winner)
    value, start = scope.number[place], history.start
    home_rows = scope.rows[told]
    home_value, home_start = scope.number[told], table.valid_from[home_rows]
    groups = group_rows((np.concatenate([value, home_value]), np.concatenate([start, home_start])))
    count = int(groups.max()) + 1 if len(groups) else 0
    states = FactStates(*(np.full(count, -1, dtype=np.int64) for _ in range(8)))
    _fill_homes(states, table, groups[len(value) :], home_rows, home_value, believed[told])
    at = groups[: len(value)]
    states.value[at], states.start[at], states.end[at] = value, start, history.end
    states.state[at], states.shown[at] = IN_FORCE, history.winner
    states.seen[at] = _latest_support(history)
    ended = np.flatnonzero(history.superseded_by >= 0)
    states.superseded_by[at[ended]] = at[history.superseded_by[ended]]
    returning = np.flatnonzero(start != table.valid_from[history.winner])
    home_of_row = dict(zip(home_rows.tolist(), groups[len(value) :].tolist(), strict=True))
    states.resumed[at[returning]] = [home_of_row[row] for row in history.winner[returning].tolist()]
    return states


def _fill_homes(
    states: FactStates, table: FactTable, group: Rows, rows: Rows, value: Rows, believed: NDArray[np.bool_]
) -> None:
    """Fill in every home as it is where it is not in force: shadowed, or retracted."""
    last = _last_of_group(group, believed.astype(np.int64), table, rows)
    home, row = group[last], rows[last]
    states.value[home], states.start[home], states.end[home] = (
        value[last],
        table.valid_from[row],
        table.valid_to[row],
    )
    states.state[home] = np.where(believed[last], SHADOWED, RETRACTED)
    states.shown[home], states.seen[home] = row, row


def _last_of_group(group: Rows, first: Rows, table: FactTable, rows: Rows) -> Rows:
    """Return, per group, the position with the greatest (first, observed_at, quality, -row)."""
    quality = np.where(np.isnan(table.quality[rows]), 1.0, table.quality[rows])
    order = np.lexsort((-rows, quality, table.observed_at[rows], first, group))
    ordered = group[order]
    last: Rows = order[np.append(ordered[1:] != ordered[:-1], True)] if len(order) else order
    return last


def _latest_support(history: History) -> Rows:
    """Return for each fact the row of its latest observed support."""
    seen = np.empty(len(history), dtype=np.int64)
    rows_per_value = np.bincount(history.row_value, minlength=1)
    pairs = np.cumsum(rows_per_value[history.value]) if len(history) else np.empty(0, dtype=np.int64)
    begin = 0
    while begin < len(history):
        before = int(pairs[begin - 1]) if begin else 0
        stop = max(begin + 1, int(np.searchsorted(pairs, before + _SUPPORT_PAIRS, side="right")))
        offsets, rows = history.support(np.arange(begin, stop))
        owner = np.repeat(np.arange(stop - begin), np.diff(offsets))
        # Every fact has a support: its winner covers its whole period.
        seen[begin:stop] = rows[
            _last_of_group(owner, np.zeros(len(owner), dtype=np.int64), history.table, rows)
        ]
        begin = stop
    return seen


def difference(table: FactTable, known: int, retired: Rows, many: Many) -> Delta:
    """Return what a write does to the facts of the graph.

    Args:
        table: known rows followed by new ones, with retired_at as it will be.
        known: how many rows were there before.
        retired: rows of those that this write retires.
        many: whether each row of a table belongs to a fact type of cardinality `many`.
    """
    changed = np.concatenate([retired, np.arange(known, len(table))])
    scope = _scope(table, changed, many)
    old = scope.rows < known
    believed = table.retired_at[scope.rows] == OPEN_US
    was_believed = old & (believed | np.isin(scope.rows, retired))
    before = materialise(scope, old, was_believed)
    after = materialise(scope, np.ones(len(scope.rows), dtype=bool), believed)
    return _compare(scope, before, after, _home_index(scope, after, changed), scope.rows[old])


def redifference(table: FactTable, before: Many, after: Many) -> Delta | None:
    """Return what other cardinalities do to the facts of the graph; None where they change no row.

    Args:
        table: every assertion.
        before, after: whether each row of a table belongs to a fact type of cardinality `many`.
    """
    was, will = before(table), after(table)
    keys = key_codes(table)
    rows = np.flatnonzero(np.isin(keys, keys[was != will]))
    if not len(rows):
        return None
    part = table.take(rows)
    number = group_rows((keys[rows], *part.value_columns()))
    present = np.ones(len(rows), dtype=bool)
    believed = part.retired_at == OPEN_US
    scope = _Scope(table, rows, number, will[rows])
    old = materialise(_Scope(table, rows, number, was[rows]), present, believed)
    return _compare(scope, old, materialise(scope, present, believed), {}, rows)


def _home_index(scope: _Scope, after: FactStates, changed: Rows) -> dict[int, int]:
    """Return, for each changed row, the index of its home in `after`."""
    place = np.searchsorted(scope.rows, changed)
    wanted = (scope.number[place], scope.table.valid_from[changed])
    return dict(zip(changed.tolist(), _find(after, *wanted).tolist(), strict=True))


def _find(states: FactStates, value: Rows, start: Rows) -> Rows:
    """Return the index of the facts with these values and starts, -1 where there is none."""
    both = group_rows((np.concatenate([states.value, value]), np.concatenate([states.start, start])))
    index = np.full(int(both.max()) + 1 if len(both) else 0, -1, dtype=np.int64)
    index[both[: len(states)]] = np.arange(len(states))
    found: Rows = index[both[len(states) :]]
    return found


class _Ids:
    """Fact ids, hashed only where they are needed."""

    def __init__(self, table: FactTable, states: FactStates) -> None:
        self.table, self.states = table, states
        self.known: list[str | None] = [None] * len(states)

    def __call__(self, index: int) -> str:
        known = self.known[index]
        if known is None:
            row, start = int(self.states.shown[index]), int(self.states.start[index])
            known = self.known[index] = fact_id(self.table.statement(row), start)
        return known


def _compare(
    scope: _Scope, before: FactStates, after: FactStates, homes: dict[int, int], old_rows: Rows
) -> Delta:
    table = scope.table
    old_of_new = _find(before, after.value, after.start)
    new_of_old = _find(after, before.value, before.start)
    both = np.flatnonzero(old_of_new >= 0)
    matched = old_of_new[both]
    same = np.ones(len(both), dtype=bool)
    for name in ("end", "state", "shown", "seen"):
        same &= getattr(after, name)[both] == getattr(before, name)[matched]
    types = table.pool.canonical(table.type)
    retyped = types[after.shown[both]] != types[before.shown[matched]]
    ids, old_ids = _Ids(table, after), _Ids(table, before)

    def pairs(
        states: FactStates, others: FactStates, column: str, mapped: Rows, name: _Ids
    ) -> list[tuple[str, str]]:
        target = getattr(states, column)
        sources = _unmatched(target, getattr(others, column), mapped)
        return [(name(source), name(int(target[source]))) for source in sources.tolist()]

    created = _named(np.flatnonzero(old_of_new < 0), ids)
    keys = key_codes(table)
    return Delta(
        table=table,
        after=after,
        ids=ids.known,
        created=created,
        perhaps=np.isin(keys[after.shown[created]], keys[old_rows]),
        updated=_named(both[~same], ids),
        retyped=_named(both[retyped], ids),
        gone=_gone(before, after, np.flatnonzero(new_of_old < 0), old_ids, table),
        supersedes=_turn(pairs(after, before, "superseded_by", old_of_new, ids)),
        not_supersedes=_turn(pairs(before, after, "superseded_by", new_of_old, old_ids)),
        resumes=pairs(after, before, "resumed", old_of_new, ids),
        not_resumes=pairs(before, after, "resumed", new_of_old, old_ids),
        homes={row: ids(index) for row, index in homes.items()},
    )


def _named(indexes: Rows, ids: _Ids) -> Rows:
    for index in indexes.tolist():
        ids(index)
    return indexes


def _unmatched(target: Rows, others: Rows, mapped: Rows) -> Rows:
    """Return the facts whose relationship to their target the other states do not hold."""
    sources = np.flatnonzero(target >= 0)
    there = mapped[sources]
    their_target = np.where(there >= 0, others[there], -1) if len(others) else np.full(len(sources), -1)
    missing: Rows = sources[(their_target < 0) | (their_target != mapped[target[sources]])]
    return missing


def _turn(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(newer, older) for older, newer in pairs]


def _gone(
    before: FactStates, after: FactStates, lost: Rows, ids: _Ids, table: FactTable
) -> list[tuple[str, int]]:
    """Return the returning facts that are no more: shadowed while their value is told, else retracted."""
    told: dict[int, list[int]] = {}
    for index in np.flatnonzero(after.state != RETRACTED).tolist():
        told.setdefault(int(after.value[index]), []).append(index)
    result = []
    for index in lost.tolist():
        start = int(before.start[index])
        rows = after.seen[told.get(int(before.value[index]), [])]
        covered = bool(np.any((table.valid_from[rows] <= start) & (start < table.valid_to[rows])))
        result.append((ids(index), SHADOWED if covered else RETRACTED))
    return result
