"""Loading: rows of a table into the store in batches, and an export back as it once happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.learn import types_seen
from chronofy_kg.errors import ConflictError, InputError
from chronofy_kg.facts.plan import Plan, check_replay, key_codes, plan_load, plan_replay
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.time import format_instant
from chronofy_kg.store.graph import GraphStore
from chronofy_kg.store.snapshot import Snapshot

__all__ = ["Loaded", "Loader", "Progress"]

#: Called with what is done, rows done, and rows in all or None.
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many rows a load added, found known already, and corrected."""

    added: int
    unchanged: int
    corrected: int


class Loader:
    """Writes tables into the store of one tenant.

    Args:
        store: an open store.
        tenant: whose assertions they are.
        snapshot: of the same tenant; each batch is planned on its newest state.
        catalog: returns the fact types in force.
        clock: returns now in microseconds since 1970.
        batch: most rows that one transaction writes.
    """

    def __init__(
        self,
        store: GraphStore,
        tenant: str,
        snapshot: Snapshot,
        catalog: Callable[[], TypeCatalog],
        clock: Callable[[], int],
        batch: int = 10_000,
    ) -> None:
        self._store, self._tenant, self._snapshot = store, tenant, snapshot
        self._catalog, self._now, self._batch = catalog, clock, batch

    def load(self, told: FactTable, on_progress: Progress | None = None) -> Loaded:
        """Write rows in batches; each batch is acknowledged as a whole."""
        added = unchanged = corrected = 0
        told = self._snapshot.adopt(told)
        # A key's statements in one batch, in their order: its facts are then written once.
        order = np.argsort(key_codes(told), kind="stable")
        starts = range(0, len(told), self._batch)
        batches = (told.take(order[start : start + self._batch]) for start in starts)
        planners = (partial(self._plan, batch=batch) for batch in batches)
        for plan in self._snapshot.write_each(planners, self.many, self._now):
            added += len(plan.new)
            unchanged += plan.unchanged
            corrected += len(plan.retire) + int(plan.stillborn.sum())
            if on_progress is not None:
                on_progress("write", added + unchanged, len(told))
        self._note_types(told)
        return Loaded(added, unchanged, corrected)

    def restore(self, told: FactTable, skew_us: int, on_progress: Progress | None = None) -> Loaded:
        """Write an export as it happened: each instant one change, at that instant.

        Args:
            told: the rows of an export, with their transaction times.
            skew_us: how far the last of them may lie in the future, microseconds.
            on_progress: as of `load`.

        Raises:
            InputError: a transaction time lies in the future.
            ConflictError: something else is stored.
        """
        known, _ = self._snapshot.current()
        told = self._snapshot.adopt(told)  # one pool: instants may be many
        last = int(np.max(told.recorded_at, initial=0))
        if last > self._now() + skew_us:
            raise InputError(f"recorded_at {format_instant(last)} lies in the future")
        added = retired = 0
        for instant in check_replay(known, told).tolist():
            self._refuse_later_change(instant)
            plan = self._snapshot.write(
                partial(plan_replay, told=told, instant=instant), self.many, partial(int, instant)
            )
            added, retired = added + len(plan.new), retired + len(plan.retire) + int(plan.stillborn.sum())
            if on_progress is not None:
                on_progress("restore", len(known) + added, len(told))
        self._note_types(told)
        return Loaded(added, len(told) - added, retired)

    def _refuse_later_change(self, instant: int) -> None:
        """Refuse a replay at an instant that the tenant has passed: it would be recorded at another one."""
        _, last = self._snapshot.current()
        if last >= instant:
            raise ConflictError(
                f"the tenant changed at {format_instant(last)}, after what is to be restored; a fact type "
                "declared one or many is a change too: restore into a new tenant, then put its specs"
            )

    def many(self, table: FactTable) -> NDArray[np.bool_]:
        """Whether each row is of `many`; read anew for each write, as declarations take a sequence number."""
        return self._catalog().many(table)

    def _plan(self, known: FactTable, batch: FactTable) -> Plan:
        return plan_load(known, batch, self.many(batch))

    def _note_types(self, told: FactTable) -> None:
        """Give the types that turned up without a declaration their defaults in the graph."""
        catalog = self._catalog()  # not that of the beginning: some may be declared by now
        seen = types_seen(told, np.arange(len(told)), catalog)
        fresh = [t.to_dict() for t in seen if t.name not in catalog.types]
        if fresh:
            self._store.write_fact_types(self._tenant, fresh)
