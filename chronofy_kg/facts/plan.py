"""What a load changes: which rows are new, which are known already, which statements they correct. Pure.

A row identical to one ever stored, retired or not, changes nothing. When the same source restates the same
key and valid_from with another value or end, its earlier assertion is retired. Nothing is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts.history import group_rows
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.time import OPEN_US

__all__ = ["Plan", "key_codes", "plan_load", "plan_retract"]

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


def plan_load(known: FactTable, incoming: FactTable, many: NDArray[np.bool_]) -> Plan:
    """Plan the load of `incoming` into what is `known`.

    Args:
        known: every assertion stored so far, retired ones included.
        incoming: the rows of the load, in their order; may have a pool of its own.
        many: bool[len(incoming)], whether the fact type of each incoming row has cardinality `many`.
    """
    offset = len(known)
    both = known.append(incoming)
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
        retire=corrected[corrected < offset],
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
    last = np.append(slot[order][1:] != slot[order][:-1], True)
    latest = np.empty(len(rows), dtype=np.int64)
    latest[order] = order[np.flatnonzero(last)][np.cumsum(np.append(0, last[:-1].astype(np.int64)))]
    differs = (value != value[latest]) | (rows.valid_to != rows.valid_to[latest])
    # A statement without a source has nobody who could take it back.
    corrected: Rows = alive[differs & (source >= 0) & np.isin(alive[latest], fresh)]
    return corrected


def plan_retract(known: FactTable, rows: Rows) -> Plan:
    """Plan to stop believing rows of the known table."""
    none = known.take(np.empty(0, dtype=np.int64))
    return Plan(new=none, stillborn=np.empty(0, dtype=bool), retire=rows, unchanged=0)
