"""Writing assertions and the facts that follow from them: one change, one transaction.

Which facts change, and how, is `chronofy_kg.store.materialise`, their properties are
`chronofy_kg.store.rows`; here is the order of the statements.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from neo4j import ManagedTransaction
from numpy.typing import NDArray

from chronofy_kg.facts import OPEN_US, FactTable
from chronofy_kg.facts.model import nfc
from chronofy_kg.facts.plan import Plan, plan_retract, sharing_keys
from chronofy_kg.store.connection import Connection, run, run_all
from chronofy_kg.store.errors import StaleSnapshotError
from chronofy_kg.store.facts import Position
from chronofy_kg.store.materialise import STATES, Delta, Many, Rows, difference, redifference
from chronofy_kg.store.rows import (
    Columns,
    assertion_columns,
    entity_columns,
    fact_columns,
    home_columns,
    object_columns,
)

__all__ = ["Batch", "Beside", "Written", "refold", "write_beside"]

#: Writes in a transaction, given the instant at which that is recorded.
Beside = Callable[[ManagedTransaction, int], object]


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


class Batch:
    """One write, worked out before its transaction begins, so that a retry repeats statements only.

    It looks at the assertions whose keys it touches, `near`, followed by the new ones; rows count in those.

    Args:
        tenant: whose facts they are.
        known: every assertion of the tenant as of the sequence number at which it will be written.
        plan: what to add and to retire.
        many: whether each row of a table belongs to a fact type of cardinality `many`.
        delta: what happens to the facts, where the plan does not tell it.

    Attributes:
        table: what is known once it is written; the times of the write itself are filled in by `commit`, and
            until then what it retires counts as retired at 0.
    """

    def __init__(
        self, tenant: str, known: FactTable, plan: Plan, many: Many, delta: Delta | None = None
    ) -> None:
        self.tenant, self.plan = tenant, plan
        self.fresh_identity = uuid.uuid4().hex  # of the tenant, if this is its first write
        self.table = known.append(plan.new)
        self._added = np.arange(len(known), len(self.table))
        self._retired = np.concatenate([plan.retire, self._added[plan.stillborn]])
        self.table.retired_at[self._added] = OPEN_US
        self.table.retired_at[self._retired] = 0
        if delta is None:
            near = np.append(
                sharing_keys(known, self.table.take(np.append(self._added, plan.retire))), self._added
            )
            self.first_new = len(near) - len(self._added)
            self.retire = np.searchsorted(near, plan.retire)
            delta = difference(self.table.take(near), self.first_new, self.retire, many)
        else:
            self.first_new, self.retire = len(known), plan.retire
        self.new_rows = np.arange(self.first_new, self.first_new + len(self._added))
        self.delta = delta
        self.entities = entity_columns(plan.new, known)
        self.sources = _distinct(_nfc_names(plan.new, plan.new.source))
        shown = delta.after.shown[np.concatenate([delta.created, delta.retyped])]
        self.types = _distinct(_nfc_names(delta.table, delta.table.type[shown]))

    def follow(self, known: FactTable) -> None:
        """Take over the times that the store gave to the known rows since this was worked out."""
        rows = len(known)
        self.table.recorded_at[:rows], self.table.retired_at[:rows] = known.recorded_at, known.retired_at
        self.table.retired_at[self._retired] = 0

    def commit(
        self,
        connection: Connection,
        expected: int,
        now_us: int,
        beside: Beside | None = None,
    ) -> Written:
        """Write it in one transaction.

        Args:
            connection: the open store.
            expected: the sequence number of the known table.
            now_us: the time of the caller's clock.
            beside: what else the transaction writes, at the instant that it gets.

        Raises:
            StaleSnapshotError: the tenant is not at `expected` any more; nothing was written.
        """

        def work(tx: ManagedTransaction) -> Position:
            taken = self._run(tx, expected, now_us)
            if beside is not None:
                beside(tx, taken.recorded_at)
            return taken

        at = connection.write(work)
        self.table.recorded_at[self._added] = at.recorded_at
        self.table.retired_at[self._retired] = at.recorded_at
        return Written(at.sequence, at.recorded_at, self.table, at.identity)

    def _run(self, tx: ManagedTransaction, expected: int, now_us: int) -> Position:
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
    batch = Batch(tenant, known, nothing, after, redifference(known, before, after))
    return batch.commit(connection, expected, now_us, beside)


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
