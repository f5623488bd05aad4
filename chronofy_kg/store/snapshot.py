"""The FactTable of one tenant in memory, kept level with the store by its change sequence.

Several processes may write: a write that was planned on an older state is refused by the store, the snapshot
is refreshed and the write planned again. A saved table (`chronofy_kg.store.saved`) spares most of a start.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts.plan import Plan
from chronofy_kg.facts.table import FactTable
from chronofy_kg.store.errors import StaleSnapshotError
from chronofy_kg.store.facts import Position
from chronofy_kg.store.graph import GraphStore
from chronofy_kg.store.materialise import Many
from chronofy_kg.store.saved import SavedSnapshot, advance
from chronofy_kg.store.shared import SharedRead
from chronofy_kg.store.writing import Batch, Written

__all__ = ["Snapshot"]

_ATTEMPTS = 10
#: Below this many changes a table is not saved again: catching up takes a fraction of a second.
_LEAST_CHANGED = 2_000
#: Catching up is one statement, and the embedded engine ends a statement after 30 s: beyond, all is read.
_MOST_BEHIND = 50_000


Planner = Callable[[FactTable], Plan]


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A change that is being written: how it was planned, what it will be, and the store's answer to come."""

    planner: Planner
    plan: Plan
    batch: Batch
    expected: int
    answer: Future[Written]


class Snapshot:
    """The assertions of a tenant, retired ones included; thread safe.

    Args:
        store: an open store.
        tenant: the tenant.
        folder: where snapshots are saved, so that the next start is quick; None saves none.
    """

    def __init__(self, store: GraphStore, tenant: str, folder: Path | None = None) -> None:
        self._store, self._tenant = store, tenant
        self._lock = threading.RLock()  # of the table and its position
        self._writing = threading.RLock()  # of one writer at a time, so that readers need not wait for it
        self._position = SharedRead(lambda: store.position(tenant))
        self._saved = None if folder is None else SavedSnapshot(folder, store.address, tenant)
        self._saved_at = Position()
        found = self._from_file()
        if found is None:
            self._read_all()
        else:
            self._table, self._at = found

    @property
    def sequence(self) -> int:
        """Number of the last change that is in the table."""
        return self._at.sequence

    @property
    def position(self) -> Position:
        """Where the tenant stood after the last change that is in the table."""
        return self._at

    def close(self) -> None:
        """Save the table where it has changed enough since it was read or saved; the store is not asked."""
        with self._lock:
            if self._saved is not None and self._saved.path.parent.parent.is_dir():
                self._save(self._saved)

    def _from_file(self) -> tuple[FactTable, Position] | None:
        """Return the saved table, level with the store; None where everything is to be read."""
        if self._saved is None:
            return None
        now = self._store.position(self._tenant)
        found = self._saved.load(now.identity)
        if found is None:
            return None
        table, at = found
        if at.sequence > now.sequence or now.rows - at.rows > _MOST_BEHIND:
            return None
        self._saved_at = at
        if at == now:
            return table, at
        changes = self._store.changes(self._tenant, at.sequence - 1, table.pool)
        beside = self._store.recorded_fact_types(self._tenant, at.recorded_at)
        level = advance(table, at, changes, beside=beside)
        if level is None:
            return None
        reached = Position(changes.sequence, changes.recorded_at, len(level), now.identity)
        # Somebody may have written since `now`; without that the store's own count must agree.
        return None if reached.sequence == now.sequence and reached != now else (level, reached)

    def _read_all(self) -> None:
        self._table, self._at = self._store.read_at(self._tenant)
        self._saved_at = Position()
        if self._saved is not None:
            self._save(self._saved)

    def _save(self, saved: SavedSnapshot) -> None:
        at, before = self._at, self._saved_at
        changed = max(at.rows - before.rows, at.sequence - before.sequence)
        if changed >= max(_LEAST_CHANGED, at.rows // 50) and saved.save(self._table, at):
            self._saved_at = at

    def current(self) -> tuple[FactTable, int]:
        """Return the table, level with the store, and the instant of its last change (microseconds)."""
        now = self._position()
        with self._lock:
            if now.sequence != self._at.sequence or now.identity != self._at.identity:
                self._refresh()
            return self._table, self._at.recorded_at

    def _level(self) -> tuple[FactTable, int]:
        """Return the newest table together with its sequence number."""
        with self._lock:
            self.current()
            return self._table, self._at.sequence

    def _refresh(self) -> None:
        now = self._store.position(self._tenant)  # asked again, since the lock may have been waited for
        if self._at.identity and now.identity != self._at.identity:
            self._read_all()  # another store answers at this address
            return
        changes = self._store.changes(self._tenant, self._at.sequence, self._table.pool)
        self._table = changes.apply(self._table)
        self._at = Position(changes.sequence, changes.recorded_at, len(self._table), now.identity)

    def adopt(self, told: FactTable) -> FactTable:
        """Return rows over the pool of this table, so that writing them in parts recodes no string again."""
        with self._lock:
            return self._table.take(np.empty(0, dtype=np.int64)).append(told)

    def write(
        self, plan: Planner, many: Callable[[FactTable], NDArray[np.bool_]], now: Callable[[], int]
    ) -> Plan:
        """Plan a change on the newest state and write it; return the plan that was written.

        Args:
            plan: makes the change from the table as it is; may be called again.
            many: bool[n] of a table, whether the fact type of each row has cardinality `many`.
            now: the clock, microseconds.
        """
        made: Plan | None = None

        def work(table: FactTable, sequence: int) -> Written | None:
            nonlocal made
            made = plan(table)
            if made.is_empty:
                return None
            return self._store.write(self._tenant, table, made, many, sequence, now())

        self._retried(work)
        assert made is not None
        return made

    def write_each(
        self,
        plans: Iterable[Planner],
        many: Callable[[FactTable], NDArray[np.bool_]],
        now: Callable[[], int],
    ) -> Iterator[Plan]:
        """Write changes as `write` does, one after the other; yield each plan once it is written.

        While the store works on one, the next is worked out on what it will leave. Where somebody else
        was quicker that is thrown away, and both are planned anew.
        """
        ahead: _Ahead | None = None
        with ThreadPoolExecutor(max_workers=1) as worker, self._writing:
            for planner in plans:
                following = self._worked_out(planner, many, ahead)
                if ahead is not None:
                    plan, level = self._finish(ahead, many, now)
                    yield plan
                    if not level:
                        following = self._worked_out(planner, many, None)
                    elif following[1] is not None:
                        following[1].follow(ahead.batch.table)
                ahead = self._begun(worker, planner, following, now)
                if ahead is None:
                    yield following[0]
            if ahead is not None:
                yield self._finish(ahead, many, now)[0]

    def _worked_out(
        self, planner: Planner, many: Callable[[FactTable], NDArray[np.bool_]], ahead: _Ahead | None
    ) -> tuple[Plan, Batch | None, int]:
        """Return a change, and at which sequence number, on the newest state or what a change will leave."""
        if ahead is None:
            table, expected = self._level()
        else:
            table, expected = ahead.batch.table, ahead.expected + 1
        plan = planner(table)
        return plan, None if plan.is_empty else Batch(self._tenant, table, plan, many), expected

    def _begun(
        self,
        worker: ThreadPoolExecutor,
        planner: Planner,
        following: tuple[Plan, Batch | None, int],
        now: Callable[[], int],
    ) -> _Ahead | None:
        plan, batch, expected = following
        if batch is None:
            return None
        answer = worker.submit(self._store.commit, batch, expected, now())
        return _Ahead(planner, plan, batch, expected, answer)

    def _finish(
        self, ahead: _Ahead, many: Callable[[FactTable], NDArray[np.bool_]], now: Callable[[], int]
    ) -> tuple[Plan, bool]:
        """Wait until a change is written; return its plan, and whether it was the one worked out before."""
        try:
            written = ahead.answer.result()
        except StaleSnapshotError:
            return self.write(ahead.planner, many, now), False
        self._keep(written)
        return ahead.plan, True

    def declare(
        self,
        types: Sequence[Mapping[str, Any]],
        cardinalities: Callable[[], tuple[Many, Many]],
        now: Callable[[], int],
    ) -> None:
        """Write fact types whose cardinality changes, and the facts that follow from it.

        Args:
            types: as for `GraphStore.write_fact_types`.
            cardinalities: returns, on the newest state, which rows are of `many` before and after.
            now: the clock, microseconds.
        """

        def work(table: FactTable, sequence: int) -> Written:
            before, after = cardinalities()
            return self._store.declare(self._tenant, table, types, before, after, sequence, now())

        self._retried(work)

    def _retried(self, work: Callable[[FactTable, int], Written | None]) -> None:
        """Do a write on the newest state, again where somebody else was quicker, and keep its table."""
        with self._writing:
            for attempt in range(_ATTEMPTS):
                table, sequence = self._level()
                try:
                    written = work(table, sequence)
                except StaleSnapshotError:
                    if attempt == _ATTEMPTS - 1:
                        raise
                    continue
                if written is not None:
                    self._keep(written)
                return

    def _keep(self, written: Written) -> None:
        """Take over the table of a write, unless a reader has caught up with it from the store already."""
        with self._lock:
            if written.sequence > self._at.sequence or written.identity != self._at.identity:
                self._table = written.table
                self._at = Position(
                    written.sequence, written.recorded_at, len(written.table), written.identity
                )
