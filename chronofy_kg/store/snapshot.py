"""The FactTable of one tenant in memory, kept level with the store by its change sequence.

Several processes may write: a write that was planned on an older state is refused by the store, the snapshot
is refreshed and the write planned again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts.plan import Plan
from chronofy_kg.facts.table import FactTable
from chronofy_kg.store.errors import StaleSnapshotError
from chronofy_kg.store.facts import Written
from chronofy_kg.store.graph import GraphStore
from chronofy_kg.store.materialise import Many

__all__ = ["Snapshot"]

_ATTEMPTS = 10


class Snapshot:
    """The assertions of a tenant, retired ones included; thread safe.

    Args:
        store: an open store.
        tenant: the tenant.
    """

    def __init__(self, store: GraphStore, tenant: str) -> None:
        self._store, self._tenant = store, tenant
        self._lock = threading.RLock()
        self._table, self._sequence = store.read(tenant)
        self._recorded_at = store.sequence(tenant)[1]

    @property
    def sequence(self) -> int:
        """Number of the last change that is in the table."""
        return self._sequence

    def current(self) -> tuple[FactTable, int]:
        """Return the table, level with the store, and the instant of its last change (microseconds)."""
        sequence, _ = self._store.sequence(self._tenant)
        with self._lock:
            if sequence != self._sequence:
                self._refresh()
            return self._table, self._recorded_at

    def _refresh(self) -> None:
        changes = self._store.changes(self._tenant, self._sequence, self._table.pool)
        self._table = changes.apply(self._table)
        self._sequence, self._recorded_at = changes.sequence, changes.recorded_at

    def write(
        self,
        plan: Callable[[FactTable], Plan],
        many: Callable[[FactTable], NDArray[np.bool_]],
        now: Callable[[], int],
    ) -> Plan:
        """Plan a change on the newest state and write it; return the plan that was written.

        Args:
            plan: makes the change from the table as it is; may be called again.
            many: bool[n] of a table, whether the fact type of each row has cardinality `many`.
            now: the clock, microseconds.
        """
        made: Plan | None = None

        def work(table: FactTable) -> Written | None:
            nonlocal made
            made = plan(table)
            if made.is_empty:
                return None
            return self._store.write(self._tenant, table, made, many, self._sequence, now())

        self._retried(work)
        assert made is not None
        return made

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

        def work(table: FactTable) -> Written:
            before, after = cardinalities()
            return self._store.declare(self._tenant, table, types, before, after, self._sequence, now())

        self._retried(work)

    def _retried(self, work: Callable[[FactTable], Written | None]) -> None:
        """Do a write on the newest state, again where somebody else was quicker, and keep its table."""
        with self._lock:
            for attempt in range(_ATTEMPTS):
                table, _ = self.current()
                try:
                    written = work(table)
                except StaleSnapshotError:
                    if attempt == _ATTEMPTS - 1:
                        raise
                    continue
                if written is not None:
                    self._table, self._sequence = written.table, written.sequence
                    self._recorded_at = written.recorded_at
                return
