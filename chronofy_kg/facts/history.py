"""The fold: which facts hold, given the assertions that are believed. Pure functions over a FactTable.

Per key (tenant, subject, predicate; for `many` the value too) the covering assertion with the latest
valid_from holds, then higher quality, later observed_at, id. A newer open statement ends the older one, a
bounded one interrupts it and the older value returns. Facts are the resulting half-open periods of one value.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts.model import fact_id
from chronofy_kg.facts.table import FactTable

__all__ = ["History", "believed_rows", "fold", "group_rows"]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class History:
    """Facts of a table: m effective periods, ordered by key and then by start.

    Attributes:
        table: the assertions behind them.
        rows: int64[k], the assertion rows that were folded.
        winner: int64[m], the assertion row that gives each fact its value.
        start, end: int64[m], the half-open period in microseconds.
        key: int64[m], number of the key; equal for facts that end one another.
        value: int64[m], number of key and value together.
        superseded_by: int64[m], index of the fact of another value that ended it; -1 where none did, as where
            nobody states the value any longer.
        row_value: int64[k], the number of key and value of each folded row.
        by_key: int64[k], the places in `rows`, ordered by key.
        sorted_key: int64[k], the keys in that order.
    """

    table: FactTable
    rows: Rows
    winner: Rows
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    key: Rows
    value: Rows
    superseded_by: Rows
    row_value: Rows
    by_key: Rows
    sorted_key: Rows

    def __len__(self) -> int:
        return len(self.winner)

    def holding(self, at: int) -> Rows:
        """Return the indexes of the facts whose period covers `at`: at most one per key."""
        holds: Rows = np.flatnonzero((self.start <= at) & (at < self.end))
        return holds

    def id(self, index: int) -> str:
        """Return the id of a fact."""
        return fact_id(self.table.statement(int(self.winner[index])), int(self.start[index]))

    def support(self, facts: Rows) -> tuple[Rows, Rows]:
        """Return the assertions that facts rest on: believed, of the same value, covering the whole period.

        Args:
            facts: int64[f], indexes of facts.

        Returns:
            offsets int64[f + 1] and rows int64: fact i rests on table rows ``rows[offsets[i]:offsets[i+1]]``.
        """
        order = np.argsort(self.row_value, kind="stable")
        sorted_values = self.row_value[order]
        low = np.searchsorted(sorted_values, self.value[facts], side="left")
        high = np.searchsorted(sorted_values, self.value[facts], side="right")
        owner = np.repeat(np.arange(len(facts)), high - low)
        inside = np.arange(len(owner)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
        rows = self.rows[order[np.repeat(low, high - low) + inside]]
        start, end = self.start[facts][owner], self.end[facts][owner]
        covers = (self.table.valid_from[rows] <= start) & (end <= self.table.valid_to[rows])
        owner, rows = owner[covers], rows[covers]
        offsets = np.zeros(len(facts) + 1, dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=len(facts)), out=offsets[1:])
        return offsets, rows

    def contradicting(self, index: int) -> Rows:
        """Return the rows that state another value of the same key from the same valid_from on, ascending."""
        low, high = (
            np.searchsorted(self.sorted_key, self.key[index], side=side) for side in ("left", "right")
        )
        places = np.sort(self.by_key[low:high])
        rows, start = self.rows[places], self.table.valid_from[self.winner[index]]
        differs = self.row_value[places] != self.value[index]
        others: Rows = rows[differs & (self.table.valid_from[rows] == start)]
        return others


def believed_rows(
    table: FactTable, known_at: int, observed_by: int | None = None, among: Rows | None = None
) -> Rows:
    """Return the rows believed at `known_at` and, if given, observed no later than `observed_by`.

    Args:
        table: the assertions.
        known_at, observed_by: instants in microseconds.
        among: the rows to look at, None for all.
    """
    chosen = slice(None) if among is None else among
    mask = (table.recorded_at[chosen] <= known_at) & (known_at < table.retired_at[chosen])
    if observed_by is not None:
        mask &= table.observed_at[chosen] <= observed_by
    return np.flatnonzero(mask) if among is None else among[mask]


def group_rows(columns: Sequence[NDArray[np.integer[Any]]]) -> Rows:
    """Return int64[n]: for each row the number of its group of equal columns, counted from 0."""
    count = len(columns[0])
    columns = [column for column in columns if count and (column != column[0]).any()]
    if not columns:
        return np.zeros(count, dtype=np.int64)
    order = np.lexsort(columns[::-1])
    changed = np.zeros(count, dtype=bool)
    for column in columns:
        ordered = column[order]
        changed[1:] |= ordered[1:] != ordered[:-1]
    groups = np.empty(count, dtype=np.int64)
    groups[order] = np.cumsum(changed)
    return groups


def fold(table: FactTable, rows: Rows, many: NDArray[np.bool_]) -> History:
    """Fold assertions into facts.

    Args:
        table: the assertions.
        rows: int64[k], ascending rows to fold: believed, observed and matched; keys are complete.
        many: bool[k], whether the fact type of each row has cardinality `many`.
    """
    part = table.take(rows)
    canonical = table.pool.canonical
    named = group_rows((part.tenant, canonical(part.subject), canonical(part.predicate)))
    row_value = group_rows((named, *part.value_columns()))
    count = len(rows)
    row_key = np.where(many, row_value, named + (row_value.max() + 1 if count else 0))
    quality = np.where(np.isnan(part.quality), 1.0, part.quality)
    id_words = np.ascontiguousarray(part.ids).view(">u8") if count else np.zeros((0, 2), dtype=np.uint64)
    order = np.lexsort((id_words[:, 1], id_words[:, 0], part.observed_at, quality, part.valid_from, row_key))
    segments = _sweep(row_key[order], part.valid_from[order], part.valid_to[order])
    winner = order[segments.owner]
    key, value = row_key[winner], row_value[winner]
    after = np.arange(1, len(winner) + 1) % max(len(winner), 1)
    ended = (key == key[after]) & (segments.end == segments.start[after]) & (value != value[after])
    if len(winner):
        ended[-1] = False
    # What ran out by itself was not superseded by what came, or came back, at that instant.
    ran_out = np.flatnonzero(ended & (segments.end == part.valid_to[winner]))
    ended[ran_out] = _stated_at(part, row_value, value[ran_out], segments.end[ran_out])
    return History(
        table=table,
        rows=rows,
        winner=rows[winner],
        start=segments.start,
        end=segments.end,
        key=key,
        value=value,
        superseded_by=np.where(ended, after, -1),
        row_value=row_value,
        by_key=order,
        sorted_key=row_key[order],
    )


def _stated_at(part: FactTable, row_value: Rows, value: Rows, at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return bool[f]: whether any row states value[i] over the instant at[i]."""
    if not len(value):
        return np.zeros(0, dtype=bool)
    asked = np.zeros(row_value.max() + 1, dtype=bool)
    asked[value] = True
    near = np.flatnonzero(asked[row_value])
    stating, valid_from, valid_to = row_value[near], part.valid_from[near], part.valid_to[near]
    starts, ends = np.sort(valid_from), np.sort(valid_to)
    start = stating * (len(starts) + 1) + np.searchsorted(starts, valid_from, side="right")
    order = np.argsort(start)
    # The latest end so far of each value: values rise along `order`, so a running maximum never mixes them.
    reach = np.maximum.accumulate((stating * len(ends) + np.searchsorted(ends, valid_to))[order])
    begun = value * (len(starts) + 1) + np.searchsorted(starts, at, side="right")
    last = np.searchsorted(start[order], begun, side="right") - 1
    stated: NDArray[np.bool_] = ends[reach[last] - value * len(ends)] > at
    return stated


@dataclass(frozen=True, slots=True)
class _Segments:
    owner: Rows
    start: NDArray[np.int64]
    end: NDArray[np.int64]


def _sweep(key: Rows, start: NDArray[np.int64], end: NDArray[np.int64]) -> _Segments:
    """Cut statements, sorted by key and rising priority, into the periods in which each holds."""
    count = len(key)
    if not count:
        return _Segments(np.empty(0, np.int64), start, end)
    last = np.append(key[1:] != key[:-1], True)
    until = np.minimum(end, np.where(last, end, np.append(start[1:], 0)))
    # Where ends never fall in order of priority, nothing returns after an interruption.
    falls = np.zeros(count, dtype=bool)
    falls[1:] = (key[1:] == key[:-1]) & (end[1:] < end[:-1])
    key_number = np.cumsum(np.append(True, key[1:] != key[:-1])) - 1
    returning = np.zeros(key_number[-1] + 1, dtype=bool)
    returning[key_number[falls]] = True
    plain = np.flatnonzero(~returning[key_number] & (start < until))
    owners, starts, ends = [plain], [start[plain]], [until[plain]]
    edges = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    for number in np.flatnonzero(returning):
        low = int(edges[number])
        high = int(edges[number + 1]) if number + 1 < len(edges) else count
        found = _interrupt(start[low:high].tolist(), end[low:high].tolist())
        pieces = np.asarray(found, dtype=np.int64).reshape(-1, 3)
        owners.append(pieces[:, 0] + low)
        starts.append(pieces[:, 1])
        ends.append(pieces[:, 2])
    owner, begin, finish = np.concatenate(owners), np.concatenate(starts), np.concatenate(ends)
    order = np.lexsort((begin, key[owner]))
    return _Segments(owner[order], begin[order], finish[order])


def _interrupt(start: list[int], end: list[int]) -> list[tuple[int, int, int]]:
    """Return (index, from, to) for one key whose statements interrupt one another; index is priority."""
    pieces: list[tuple[int, int, int]] = []
    waiting: list[int] = []  # max-heap of the priorities that have begun
    begins = sorted(range(len(start)), key=lambda i: start[i])
    borders = sorted({*start, *end})
    position = 0
    for low, high in pairwise(borders):
        while position < len(begins) and start[begins[position]] <= low:
            heapq.heappush(waiting, -begins[position])
            position += 1
        while waiting and end[-waiting[0]] <= low:
            heapq.heappop(waiting)
        if not waiting:
            continue
        holder = -waiting[0]
        if pieces and pieces[-1][0] == holder and pieces[-1][2] == low:
            pieces[-1] = (holder, pieces[-1][1], high)
        else:
            pieces.append((holder, low, high))
    return pieces
