"""Reading assertions from the graph: a consistent table, what changed since, and where a tenant stands.

Writing them is `chronofy_kg.store.writing`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from neo4j import ManagedTransaction
from numpy.typing import NDArray

from chronofy_kg.facts import OPEN_US, FactTable, StringPool
from chronofy_kg.store.connection import Connection, run
from chronofy_kg.store.rows import (
    READ_COLUMNS,
    Columns,
    table_from_records,
)

__all__ = [
    "Changes",
    "Position",
    "position",
    "read_changes",
    "read_table",
]

_PAGE_ROWS = 4_000  # the embedded engine ends a statement after 30 s, however slow its reader is
_PASSES = 5  # over a store that is being written to; the last is taken as it is


@dataclass(frozen=True, slots=True)
class Position:
    """Where a tenant stands: its last sequence number, when that was recorded, how many assertions it has.

    `identity` was drawn at the tenant's first write; empty before that.
    """

    sequence: int = 0
    recorded_at: int = 0
    rows: int = 0
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to a tenant's assertions after a sequence number.

    Attributes:
        sequence: the sequence number up to which this tells.
        recorded_at: when that was recorded.
        added: new assertions, in order; those retired again meanwhile say so.
        retired_ids: uint8[r, 16], assertions from before that were retired.
        retired_at: int64[r], when.
    """

    sequence: int
    recorded_at: int
    added: FactTable
    retired_ids: NDArray[np.uint8]
    retired_at: NDArray[np.int64]

    def apply(self, known: FactTable) -> FactTable:
        """Return the known table, brought up to date."""
        if len(self.retired_ids):
            words, wanted = (_words(ids) for ids in (known.ids, self.retired_ids))
            order = np.argsort(words, kind="stable")
            rows = order[np.searchsorted(words[order], wanted)]
            retired_at = known.retired_at.copy()
            retired_at[rows] = self.retired_at
            known = replace(known, retired_at=retired_at)
        return known.append(self.added) if len(self.added) else known


def _words(ids: NDArray[np.uint8]) -> NDArray[np.void]:
    """Return one comparable item for each row of ids."""
    words: NDArray[np.void] = np.ascontiguousarray(ids).view("V16").ravel()
    return words


def position(connection: Connection, tenant: str) -> Position:
    """Return where a tenant stands; zeros for a new one."""
    return connection.read(lambda tx: _position(tx, tenant))


def _position(tx: ManagedTransaction, tenant: str) -> Position:
    for record in run(tx, "sequence_read", tenant=tenant):
        return Position(
            record["sequence"], record["recorded_at_us"], record["rows"], record["identity"] or ""
        )
    return Position()


def read_table(connection: Connection, tenant: str, pool: StringPool | None) -> tuple[FactTable, Position]:
    """Return all assertions of a tenant as of its last sequence number, and that number.

    They come in pages by ranges of fact ids. What is written meanwhile is left out again by its sequence
    number, so the table is that of one instant.
    """
    start = position(connection, tenant)
    columns: Columns = {name: [] for name in READ_COLUMNS}
    pages = max(1, -(-start.rows // _PAGE_ROWS))
    borders = [f"f_{(page << 32) // pages:08x}" for page in range(pages)] + ["f_g"]
    for span in pairwise(borders):
        found = connection.read(
            partial(_page, name="assertions_page", tenant=tenant, low=span[0], high=span[1])
        )
        for name, column in found.items():
            columns[name] += column
    table, _, _ = _table_at(tenant, columns, start, pool if pool is not None else StringPool())
    return table, start


def _page(tx: ManagedTransaction, name: str, **parameters: object) -> Columns:
    """Run a statement that returns assertions, and return its columns."""
    rows = run(tx, name, **parameters)[0]["rows"]
    if not rows:
        return {name: [] for name in READ_COLUMNS}
    return dict(zip(READ_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))


def _table_at(
    tenant: str, columns: Columns, at: Position, pool: StringPool
) -> tuple[FactTable, NDArray[np.int64], NDArray[np.int64]]:
    """Return the assertions as of a position in their order, with their seq and added_seq."""
    table = table_from_records(tenant, columns, pool)
    row, seq, added = (np.asarray(columns[name], dtype=np.int64) for name in ("row", "seq", "added_seq"))
    # What is not retired by then was retired, if at all, after the position.
    table = replace(table, retired_at=np.where(seq > at.sequence, OPEN_US, table.retired_at))
    order = np.lexsort((row, table.recorded_at))
    order = order[added[order] <= at.sequence]
    return table.take(order), seq[order], added[order]


def read_changes(connection: Connection, tenant: str, since: int, pool: StringPool | None) -> Changes:
    """Return which assertions were added or retired after a sequence number."""
    at = position(connection, tenant)
    columns: Columns = {name: [] for name in READ_COLUMNS}
    for _ in range(_PASSES if at.sequence > since else 0):
        columns = connection.read(partial(_page, name="assertions_since", tenant=tenant, since=since))
        # A fact that changes again while its index is read could be missed: then read again.
        before, at = at, position(connection, tenant)
        if at == before:
            break
        at = before
    table, seq, added = _table_at(tenant, columns, at, pool if pool is not None else StringPool())
    retired = np.flatnonzero((added <= since) & (seq > since) & (seq <= at.sequence))
    return Changes(
        sequence=at.sequence,
        recorded_at=at.recorded_at,
        added=table.take(np.flatnonzero(added > since)),
        retired_ids=table.ids[retired],
        retired_at=table.retired_at[retired],
    )
