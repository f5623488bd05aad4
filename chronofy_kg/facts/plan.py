"""What a load changes: which rows are new, which are known already, which statements they correct. Pure.

A row identical to one ever stored, retired or not, changes nothing. When the same source restates the same
key and valid_from with another value or end, its earlier assertion is retired. Nothing is deleted.

A restore is a replay: for each instant at which the exported store learned or retired something, one write
with the clock at that instant. So transaction times enter through the same door as any other, and in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.errors import ConflictError
from chronofy_kg.facts.history import group_rows
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.time import OPEN_US

__all__ = [
    "Plan",
    "check_replay",
    "key_codes",
    "plan_load",
    "plan_replay",
    "plan_retract",
    "replay_instants",
    "sharing_keys",
]

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Plan:
    """The change that a write makes.

    Attributes:
        new: rows to add, over the pool of the known table.
        stillborn: bool[n], new rows that a later row of the same load corrects: stored as already retired.
        retire: int64[r], rows of the known table to retire.
        unchanged: number of incoming rows that were known already.
    """

    new: FactTable
    stillborn: NDArray[np.bool_]
    retire: Rows
    unchanged: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not len(self.new) and not len(self.retire)


def key_codes(table: FactTable) -> NDArray[np.int64]:
    """Return int64[n]: equal where tenant, subject and predicate are equal (for tables of one pool)."""
    canonical = table.pool.canonical
    subject, predicate = canonical(table.subject), canonical(table.predicate)
    width = np.int64(max(len(table.pool), 1))
    return (table.tenant.astype(np.int64) * width + subject) * width + predicate


def sharing_keys(known: FactTable, others: FactTable) -> Rows:
    """Return the rows of a table, ascending, whose key a row of another has; the tables share a pool.

    All that a write may correct, end or repeat is among them, so that the work of a load follows what it
    brings and not what is known.
    """
    if not len(known) or not len(others):
        return np.empty(0, dtype=np.int64)
    keys, wanted = key_codes(known), np.unique(key_codes(others))
    place = np.searchsorted(wanted, keys)
    place[place == len(wanted)] = 0
    found: Rows = np.flatnonzero(wanted[place] == keys)
    return found


def plan_load(known: FactTable, incoming: FactTable, many: NDArray[np.bool_]) -> Plan:
    """Plan the load of `incoming` into what is `known`.

    Args:
        known: every assertion stored so far, retired ones included.
        incoming: the rows of the load, in their order; may have a pool of its own.
        many: bool[len(incoming)], whether the fact type of each incoming row has cardinality `many`.
    """
    incoming = known.take(np.empty(0, dtype=np.int64)).append(incoming)  # over the pool of the known
    near = sharing_keys(known, incoming)
    offset = len(near)
    both = known.take(near).append(incoming)
    ids = np.ascontiguousarray(both.ids).view(">u8").astype(np.uint64)
    tenant = both.tenant.astype(np.int64)
    order = np.lexsort((np.arange(len(both)), ids[:, 1], ids[:, 0], tenant)) if len(both) else tenant
    repeated = np.zeros(len(both), dtype=bool)
    if len(both) > 1:
        same = (ids[order][1:] == ids[order][:-1]).all(axis=1)
        same &= tenant[order][1:] == tenant[order][:-1]
        repeated[order[1:][same]] = True
    fresh = np.flatnonzero(~repeated[offset:]) + offset
    corrected = _corrected(both, np.concatenate([np.arange(offset), fresh]), fresh, many[fresh - offset])
    return Plan(
        new=both.take(fresh),
        stillborn=np.isin(fresh, corrected),
        retire=near[corrected[corrected < offset]],
        unchanged=len(incoming) - len(fresh),
    )


def _corrected(both: FactTable, stored: Rows, fresh: Rows, many: NDArray[np.bool_]) -> Rows:
    """Return the believed rows that a fresh row of the same source, key and valid_from restates otherwise.

    Args:
        both: known and incoming rows.
        stored: the rows that are stored once the load is done; repeated rows of the load are not.
        fresh: those of them that the load brings.
        many: bool[len(fresh)], whether their fact type has cardinality `many`.
    """
    if not len(fresh):
        return fresh
    keys = key_codes(both)
    near = stored[np.isin(keys[stored], keys[fresh])]
    alive = near[both.retired_at[near] == OPEN_US]
    rows = both.take(alive)
    value = group_rows(rows.value_columns())
    many_keys = np.isin(keys[alive], keys[fresh[many]])
    source = both.pool.canonical(rows.source).astype(np.int64)
    slot = group_rows((keys[alive], source, rows.valid_from, np.where(many_keys, value, -1)))
    order = np.lexsort((np.arange(len(rows)), slot))
    said = group_rows((value, rows.valid_to))[order]
    slots = slot[order]
    ends = np.append(slots[1:] != slots[:-1], True)
    last = np.flatnonzero(ends)[np.cumsum(np.append(0, ends[:-1].astype(np.int64)))]
    begins = np.append(True, (slots[1:] != slots[:-1]) | (said[1:] != said[:-1]))
    # Who says at last what was said before took it back meanwhile, by what stands before that last word.
    between = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))[last] - 1
    against = np.where(said != said[last], last, between)
    later = (against > np.arange(len(order))) & (slots[against] == slots)
    later &= np.isin(alive[order[against]], fresh)
    # A statement without a source has nobody who could take it back.
    corrected: Rows = np.sort(alive[order[later & (source[order] >= 0)]])
    return corrected


def plan_retract(known: FactTable, rows: Rows) -> Plan:
    """Plan to stop believing rows of the known table."""
    none = known.take(np.empty(0, dtype=np.int64))
    return Plan(new=none, stillborn=np.empty(0, dtype=bool), retire=rows, unchanged=0)


def replay_instants(told: FactTable) -> NDArray[np.int64]:
    """Return the instants (microseconds, ascending) at which a restored table learned or retired a row."""
    retired = told.retired_at[told.retired_at != OPEN_US]
    return np.unique(np.concatenate([told.recorded_at, retired]))


def check_replay(known: FactTable, told: FactTable) -> NDArray[np.int64]:
    """Return the instants that are still to be replayed.

    Args:
        known: every assertion stored so far: none, or what an interrupted restore of the same table left.
        told: the rows of an export, with their transaction times.

    Raises:
        ConflictError: something else is stored.
    """
    instants = replay_instants(told)
    if not len(known):
        return instants
    done = _last_change(known)
    so_far = told.take(np.flatnonzero(told.recorded_at <= done))
    retired_at = np.where(so_far.retired_at > done, OPEN_US, so_far.retired_at)
    mine = _sorted_events(known.ids, known.recorded_at, known.retired_at)
    theirs = _sorted_events(so_far.ids, so_far.recorded_at, retired_at)
    if not np.array_equal(mine, theirs):
        raise ConflictError(
            "a restore needs an empty tenant, or one that holds the beginning of the same export; "
            "give another with --tenant"
        )
    return instants[instants > done]


def _last_change(table: FactTable) -> int:
    return int(max(table.recorded_at.max(), np.where(table.retired_at == OPEN_US, 0, table.retired_at).max()))


def _sorted_events(ids: NDArray[np.uint8], recorded: Rows, retired: Rows) -> NDArray[np.int64]:
    """Return int64[n, 4]: each distinct assertion with its transaction times, in one order."""
    words = np.ascontiguousarray(ids).view(np.int64).reshape(len(ids), 2)
    return np.unique(np.column_stack([words, recorded, retired]), axis=0)


def plan_replay(known: FactTable, told: FactTable, instant: int) -> Plan:
    """Plan what a restored table learned and retired at one of its instants.

    Args:
        known: every assertion stored so far; what was known before `instant`.
        told: the rows of an export, with their transaction times.
        instant: microseconds.

    Raises:
        ConflictError: something was stored at or after `instant` already.
    """
    if len(known) and _last_change(known) >= instant:
        raise ConflictError("something else was written to the tenant while it was being restored")
    ids = np.ascontiguousarray(told.ids).view("V16").ravel()
    learned = np.flatnonzero(told.recorded_at == instant)
    _, first = np.unique(ids[learned], return_index=True)
    fresh = learned[np.sort(first)]
    ended = ids[(told.retired_at == instant) & (told.recorded_at < instant)]
    retire = np.empty(0, dtype=np.int64)
    if len(ended):
        known_ids = np.ascontiguousarray(known.ids).view("V16").ravel()
        retire = np.flatnonzero(np.isin(known_ids, ended) & (known.retired_at == OPEN_US))
    joined = known.append(told.take(fresh))
    return Plan(
        new=joined.take(np.arange(len(known), len(joined))),
        stillborn=told.retired_at[fresh] == instant,
        retire=retire,
        unchanged=len(learned) - len(fresh),
    )
