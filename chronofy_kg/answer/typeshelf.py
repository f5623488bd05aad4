"""The fact types of one tenant: in force now or at an earlier instant, declared by specs, learned from facts.

Each fit and declaration is a version, recorded at a sequence number of its tenant, so what was in force at a
`known_at` is what was recorded by then. How a rate is learned is `chronofy_kg.decay.learn`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.calibrate import backtest, usual_cuts
from chronofy_kg.answer.reliability import Calibration, report
from chronofy_kg.answer.shelf import declared_changes
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.curves import Curve, curve_of_series
from chronofy_kg.decay.facttypes import FactType, Priors
from chronofy_kg.decay.fit import fit_decay
from chronofy_kg.decay.learn import learn_types, series_of_type, types_seen
from chronofy_kg.errors import QueryError, UnknownNameError
from chronofy_kg.facts.history import believed_rows
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.time import format_instant
from chronofy_kg.spec import SpecFile
from chronofy_kg.store import GraphStore, Snapshot
from chronofy_kg.store.facts import Position
from chronofy_kg.store.materialise import Many

__all__ = ["TypeShelf"]


@dataclass(frozen=True, slots=True)
class _Version:
    recorded_at: int
    row: FactType


class TypeShelf:
    """The fact types of one tenant.

    Args:
        store: an open store.
        tenant: the tenant.
        snapshot: of the same tenant; its position tells whether fact types have changed.
        priors: rates of types that nobody declared or fitted.
        clock: returns now in microseconds since 1970.
    """

    def __init__(
        self,
        store: GraphStore,
        tenant: str,
        snapshot: Snapshot,
        priors: Priors,
        clock: Callable[[], int],
    ) -> None:
        self._store, self._tenant, self._snapshot = store, tenant, snapshot
        self._priors, self._now = priors, clock
        self._read: tuple[Position, tuple[_Version, ...]] | None = None

    def catalog(self, known_at: int | None = None) -> TypeCatalog:
        """Return the fact types in force by what was recorded at an instant (microseconds); None for now."""
        newest = {
            version.row.name: version.row
            for version in self._versions()
            if known_at is None or version.recorded_at <= known_at
        }
        return TypeCatalog.of(newest.values(), self._priors)

    def _versions(self) -> tuple[_Version, ...]:
        """Return every version, oldest first; they are read again only when the tenant has moved on."""
        at = self._snapshot.position
        read = self._read
        if read is None or read[0] != at:
            rows = self._store.read_fact_type_versions(self._tenant)
            found = tuple(_Version(row.pop("recorded_at_us"), FactType.from_dict(row)) for row in rows)
            # Somebody may have written since: versions are never changed, so more of them do no harm.
            read = self._read = (at, found)
        return read[1]

    def all(self) -> list[dict[str, Any]]:
        """Return every fact type as a JSON-safe map, by name; also those that only turned up in facts."""
        rows = self._store.read_fact_types(self._tenant)
        return [FactType.from_dict(row).to_dict() for row in rows]

    def one(self, name: str) -> dict[str, Any]:
        """Return one fact type with its versions, oldest first; UnknownNameError for an unknown name."""
        found = [row for row in self.all() if row["name"] == name]
        if not found:
            raise UnknownNameError(f"no fact type {name!r} is known")
        self._snapshot.current()
        versions = [
            {"recorded_at": format_instant(v.recorded_at)} | _without_name(v.row.to_dict())
            for v in self._versions()
            if v.row.name == name
        ]
        return found[0] | {"versions": versions}

    def declare(self, file: SpecFile) -> None:
        """Put the declarations of a file into force; those that change nothing are no new version."""
        self._snapshot.current()
        catalog = self.catalog()
        changed = declared_changes(file, catalog, self._priors)
        if not changed:
            return
        after = catalog.with_types(changed)
        written = [row.to_dict() for row in changed]
        if any(catalog.cardinality_differs(after, row.name) for row in changed):

            def cardinalities() -> tuple[Many, Many]:
                newest = self.catalog()
                return newest.many, newest.with_types(changed).many

            self._snapshot.declare(written, cardinalities, self._now)
        else:
            self._store.record_fact_types(self._tenant, written, self._now())

    def fit(
        self,
        names: Sequence[str] | None,
        skew_us: int,
        on_type: Callable[[str, int, int], None] | None = None,
    ) -> list[dict[str, Any]]:
        """Learn the rates of the fact types in use, and record those that changed as new versions.

        Returns:
            The rows, each with `changed`: whether it is a new version.

        Raises:
            QueryError: a name is not a fact type of any fact.
        """
        table, rows, catalog = self._believed(skew_us)
        self._check_names(names, {t.name for t in types_seen(table, rows, catalog)})
        fitted = learn_types(table, rows, catalog, names, on_type=on_type)
        changed = {t.name: t for t in fitted if catalog.types.get(t.name) != t and t.n}
        if changed:
            written = [t.to_dict() for t in changed.values()]
            self._store.record_fact_types(self._tenant, written, self._now())
            self._snapshot.current()
        newest = self.catalog().types
        return [newest.get(t.name, t).to_dict() | {"changed": t.name in changed} for t in fitted]

    def explained(self, name: str, skew_us: int) -> tuple[dict[str, Any], Curve | None]:
        """Return one fact type as `one` does, and what its history shows against the fitted curve.

        Where the type has nothing that could be fitted there is no curve.
        """
        row = self.one(name)
        table, rows, catalog = self._believed(skew_us)
        own = rows[table.pool.canonical(table.type[rows]) == table.pool.find(name)]
        fact_type = next((t for t in types_seen(table, own, catalog) if t.name == name), None)
        told = None if fact_type is None else series_of_type(table, own, fact_type, catalog)
        if fact_type is None or told is None:
            return row, None
        kind: Literal["numeric", "categorical"] = "numeric" if fact_type.kind == "numeric" else "categorical"
        fit = fit_decay(**told, kind=kind, tolerance=fact_type.tolerance, prior=catalog.priors.beta(kind))
        return row, curve_of_series(fit, **told)

    def calibrated(
        self,
        names: Sequence[str] | None,
        skew_us: int,
        *,
        cuts: int,
        again: bool,
        tau: float,
        on_cut: Callable[[int, int], None] | None = None,
    ) -> tuple[Calibration, ...]:
        """Return the reliability tables of a backtest on the facts believed now; see `calibrate`."""
        table, rows, catalog = self._believed(skew_us)
        self._check_names(names, {t.name for t in types_seen(table, rows, catalog)})
        chosen = rows
        if names:
            codes = [table.pool.find(name) for name in names]
            chosen = rows[np.isin(table.pool.canonical(table.type[rows]), codes)]
        at = usual_cuts(table, chosen, cuts)
        claims = backtest(table, rows, catalog, cuts=at, names=names, again=again, on_cut=on_cut)
        return report(claims, tau=tau)

    def _believed(self, skew_us: int) -> tuple[FactTable, NDArray[np.int64], TypeCatalog]:
        """Return the table, the rows that tell how long things last, and the fact types in force."""
        table, known_at = self._snapshot.current()
        # A row dated in the future tells nothing of how long things last.
        return table, believed_rows(table, known_at, self._now() + skew_us), self.catalog()

    @staticmethod
    def _check_names(names: Sequence[str] | None, seen: set[str]) -> None:
        missing = sorted(set(names or ()) - seen)
        if missing:
            raise QueryError(
                f"no fact has type {missing[0]!r}; there are {', '.join(sorted(seen)) or 'none'}"
            )


def _without_name(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "name"}
