"""Assertions and facts in the graph: one write in one transaction, a consistent read, what changed since.

Everything that needs no store (which facts change, and how) is in `chronofy_kg.store.materialise` and
`chronofy_kg.store.rows`; here is only the order of the statements.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from neo4j import ManagedTransaction
from numpy.typing import NDArray

from chronofy_kg.facts import OPEN_US, FactTable, StringPool
from chronofy_kg.facts.model import nfc
from chronofy_kg.facts.plan import Plan, plan_retract, sharing_keys
from chronofy_kg.store.connection import Connection, run, run_all
from chronofy_kg.store.errors import StaleSnapshotError
from chronofy_kg.store.materialise import STATES, Delta, Many, Rows, difference, redifference
from chronofy_kg.store.rows import (
    READ_COLUMNS,
    Columns,
    assertion_columns,
    entity_columns,
    fact_columns,
    home_columns,
    object_columns,
    table_from_records,
)

__all__ = [
    "Beside",
    "Changes",
    "Position",
    "Written",
    "position",
    "read_changes",
    "read_table",
    "refold",
    "write_beside",
    "write_plan",
]

#: Writes in a transaction, given the instant at which that is recorded.
Beside = Callable[[ManagedTransaction, int], object]
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
class Written:
    """What a write did.

    Attributes:
        sequence: the tenant's sequence number now.
        recorded_at: when the write was recorded, microseconds.
        table: the known table with what was retired and added.
        identity: what tells this tenant from one of the same name in another store.
    """

    sequence: int
    recorded_at: int
    table: FactTable
    identity: str


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


def write_plan(
    connection: Connection, tenant: str, known: FactTable, plan: Plan, many: Many, expected: int, now_us: int
) -> Written:
    """Write a plan in one transaction: assertions, retirements and the facts that follow from them.

    Args:
        connection: the open store.
        tenant: whose facts they are.
        known: every assertion of the tenant as of `expected`.
        plan: what to add and to retire.
        many: whether each row of a table belongs to a fact type of cardinality `many`.
        expected: the sequence number of `known`.
        now_us: the time of the caller's clock.

    Raises:
        StaleSnapshotError: the tenant is not at `expected` any more; nothing was written.
    """
    if plan.is_empty:
        at = position(connection, tenant)
        if at.sequence != expected:
            raise StaleSnapshotError(tenant, expected, at.sequence)
        return Written(at.sequence, at.recorded_at, known, at.identity)
    batch = _Batch(tenant, known, plan, many)
    at = connection.write(lambda tx: batch.write(tx, expected, now_us))
    return Written(at.sequence, at.recorded_at, batch.recorded(at.recorded_at), at.identity)


def refold(
    connection: Connection,
    tenant: str,
    known: FactTable,
    before: Many,
    after: Many,
    expected: int,
    now_us: int,
    beside: Beside,
) -> Written:
    """Bring the facts up to date with other cardinalities, in one transaction.

    Args:
        connection: the open store.
        tenant: whose facts they are.
        known: every assertion of the tenant as of `expected`.
        before, after: whether each row of a table belongs to a fact type of cardinality `many`.
        expected: the sequence number of `known`.
        now_us: the time of the caller's clock.
        beside: what else the transaction writes, at the instant that it gets: the declaration.

    Raises:
        StaleSnapshotError: the tenant is not at `expected` any more; nothing was written.
    """
    nothing = plan_retract(known, np.empty(0, dtype=np.int64))
    batch = _Batch(tenant, known, nothing, after, redifference(known, before, after))

    def work(tx: ManagedTransaction) -> Position:
        taken = batch.write(tx, expected, now_us)
        beside(tx, taken.recorded_at)
        return taken

    at = connection.write(work)
    return Written(at.sequence, at.recorded_at, known, at.identity)


def write_beside(connection: Connection, tenant: str, now_us: int, beside: Beside) -> Position:
    """Take the tenant's next sequence number, and write what belongs to it but is no assertion.

    Args:
        connection: the open store.
        tenant: whose number it is.
        now_us: the time of the caller's clock.
        beside: what the transaction writes, at the instant that it gets.
    """
    fresh = uuid.uuid4().hex

    def work(tx: ManagedTransaction) -> Position:
        taken = run(tx, "sequence_take", tenant=tenant, count=0, now_us=now_us, fresh=fresh)[0]
        beside(tx, taken["recorded_at_us"])
        return Position(taken["sequence"], taken["recorded_at_us"], taken["first_row"], taken["identity"])

    return connection.write(work)


class _Batch:
    """One write, worked out before its transaction begins, so that a retry repeats statements only.

    It looks at the assertions whose keys it touches, `near`, followed by the new ones; rows count in those.
    """

    def __init__(
        self, tenant: str, known: FactTable, plan: Plan, many: Many, delta: Delta | None = None
    ) -> None:
        self.tenant, self.plan, self.known = tenant, plan, known
        self.fresh_identity = uuid.uuid4().hex  # of the tenant, if this is its first write
        if delta is None:
            near = sharing_keys(known, plan.new.append(known.take(plan.retire)))
            table = known.take(near).append(plan.new)
        else:
            near, table = np.arange(len(known)), delta.table
        self.first_new = len(near)
        self.new_rows = np.arange(len(near), len(table))
        self.retire = np.searchsorted(near, plan.retire)
        if delta is None:
            table = replace(table, retired_at=self._retired_at(table))
            delta = difference(table, len(near), self.retire, many)
        self.delta = delta
        self.entities = entity_columns(plan.new, known)
        self.sources = _distinct(_nfc_names(plan.new, plan.new.source))
        shown = delta.after.shown[np.concatenate([delta.created, delta.retyped])]
        self.types = _distinct(_nfc_names(table, table.type[shown]))

    def _retired_at(self, table: FactTable) -> NDArray[np.int64]:
        """Return when each row is retired, with 0 for those that this write retires."""
        retired = table.retired_at.copy()
        retired[self.new_rows] = OPEN_US
        retired[np.concatenate([self.retire, self.new_rows[self.plan.stillborn]])] = 0
        return retired

    def recorded(self, recorded_at: int) -> FactTable:
        """Return the whole table with the time that the store gave to this write."""
        table, plan, first = self.known.append(self.plan.new), self.plan, len(self.known)
        table.recorded_at[first:], table.retired_at[first:] = recorded_at, OPEN_US
        table.retired_at[np.concatenate([plan.retire, first + np.flatnonzero(plan.stillborn)])] = recorded_at
        return table

    def write(self, tx: ManagedTransaction, expected: int, now_us: int) -> Position:
        """Run the statements; the sequence number comes first, since it locks the tenant."""
        taken = run(
            tx,
            "sequence_take",
            tenant=self.tenant,
            count=len(self.new_rows),
            now_us=now_us,
            fresh=self.fresh_identity,
        )[0]
        sequence, recorded_at = taken["sequence"], taken["recorded_at_us"]
        if sequence - 1 != expected:
            raise StaleSnapshotError(self.tenant, expected, sequence - 1)
        recorded = {"sequence": sequence, "recorded_at_us": recorded_at}
        added = recorded | {"first_row": taken["first_row"], "open_us": OPEN_US}
        self._write_nodes(tx)
        fresh, again = self._split_created(tx)
        homes = self._is_plain_home(fresh)
        self._write_homes(tx, fresh[homes], added)
        self._write_facts(tx, fresh[~homes], again, sequence)
        rest = np.setdiff1d(self.new_rows, self.delta.after.shown[fresh[homes]])
        told = assertion_columns(self.delta, rest, self.first_new)
        run_all(tx, "assertions_create", told, tenant=self.tenant, **added)
        self._retire(tx, {self.delta.ids[index] for index in fresh.tolist()}, recorded)
        self._link(tx)
        return Position(sequence, recorded_at, taken["first_row"] + len(self.new_rows), taken["identity"])

    def _write_nodes(self, tx: ManagedTransaction) -> None:
        """Make the entities, sources and fact types that the facts hang on."""
        ids = {"id": self.entities["id"]}
        known = {record["id"] for record in run_all(tx, "entities_known", ids, tenant=self.tenant)}
        run_all(tx, "entities_create", _without(self.entities, known), tenant=self.tenant)
        run_all(tx, "sources_merge", {"id": self.sources}, tenant=self.tenant)
        run_all(tx, "fact_types_merge", {"name": self.types}, tenant=self.tenant)

    def _split_created(self, tx: ManagedTransaction) -> tuple[Rows, Rows]:
        """Return which facts are to be made, and which the fold lost once and yields again."""
        created, perhaps = self.delta.created, self.delta.created[self.delta.perhaps]
        names: Columns = {"id": [self.delta.ids[index] for index in perhaps.tolist()]}
        known = {record["id"] for record in run_all(tx, "facts_known", names, tenant=self.tenant)}
        again = perhaps[np.asarray([name in known for name in names["id"]], dtype=bool)]
        return np.setdiff1d(created, again), again

    def _is_plain_home(self, facts: Rows) -> NDArray[np.bool_]:
        """Whether each new fact shows, in all that it shows, one new assertion that is believed."""
        after, table = self.delta.after, self.delta.table
        row = after.shown[facts]
        plain: NDArray[np.bool_] = (
            (row >= self.first_new)
            & (after.seen[facts] == row)
            & (table.valid_from[row] == after.start[facts])
            & (table.retired_at[row] == OPEN_US)
            & (table.pool.canonical(table.type[row]) == table.type[row])
        )
        return plain

    def _write_homes(self, tx: ManagedTransaction, facts: Rows, added: dict[str, int]) -> None:
        states_object = self.delta.table.object[self.delta.after.shown[facts]] >= 0
        for name, part in (
            ("homes_create_value", facts[~states_object]),
            ("homes_create_object", facts[states_object]),
        ):
            columns = home_columns(self.delta, part, self.first_new)
            run_all(tx, name, columns, tenant=self.tenant, **added)

    def _write_facts(self, tx: ManagedTransaction, fresh: Rows, again: Rows, sequence: int) -> None:
        """Make the other new facts, and bring those that changed up to date."""
        delta, tenant = self.delta, self.tenant
        run_all(tx, "facts_create", fact_columns(delta, fresh), tenant=tenant, sequence=sequence)
        run_all(tx, "facts_link_object", object_columns(delta, fresh), tenant=tenant)
        changed = fact_columns(delta, np.concatenate([delta.updated, again]))
        run_all(tx, "facts_update", changed, tenant=tenant)
        retyped = fact_columns(delta, np.concatenate([delta.retyped, again]))
        run_all(tx, "facts_retype", {name: retyped[name] for name in ("id", "type")}, tenant=tenant)
        gone: Columns = {
            "id": [name for name, _ in delta.gone],
            "state": [STATES[state] for _, state in delta.gone],
        }
        run_all(tx, "facts_gone", gone, tenant=tenant)

    def _retire(self, tx: ManagedTransaction, created: set[str | None], recorded: dict[str, int]) -> None:
        """Retire assertions, and note on each older fact that one of its assertions changed."""
        delta = self.delta
        retired: Columns = {
            "fact": [delta.homes[row] for row in self.retire.tolist()],
            "id": [delta.table.id_of(row) for row in self.retire.tolist()],
        }
        run_all(tx, "assertions_retire", retired, tenant=self.tenant, **recorded)
        touched = [name for name in _distinct(delta.homes.values()) if name not in created]
        run_all(tx, "facts_touch", {"id": touched}, tenant=self.tenant, sequence=recorded["sequence"])

    def _link(self, tx: ManagedTransaction) -> None:
        delta = self.delta
        for name, pairs in (
            ("supersedes_delete", delta.not_supersedes),
            ("resumes_delete", delta.not_resumes),
            ("supersedes_create", delta.supersedes),
            ("resumes_create", delta.resumes),
        ):
            columns: Columns = {"source": [a for a, _ in pairs], "target": [b for _, b in pairs]}
            run_all(tx, name, columns, tenant=self.tenant)


def _without(columns: Columns, known: set[str]) -> Columns:
    """Return the columns without the rows of known ids."""
    if not known:
        return columns
    kept = [index for index, name in enumerate(columns["id"]) if name not in known]
    return {name: [column[index] for index in kept] for name, column in columns.items()}


def _nfc_names(table: FactTable, codes: NDArray[np.int32]) -> list[str]:
    """Return the distinct strings of codes in NFC; "" stands for an absent one."""
    return [nfc(table.pool.get(code) or "") for code in np.unique(codes).tolist()]


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
