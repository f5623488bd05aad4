"""The fact types in force, as columns over a FactTable: which rate, quality and cardinality each row has.

A type that nobody declared or fitted takes the defaults of the kind of value that its rows state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.facttypes import FactKind, FactType, Priors, undeclared
from chronofy_kg.decay.families import Decay
from chronofy_kg.decay.validity import log_validity, validity
from chronofy_kg.facts.model import ValueKind
from chronofy_kg.facts.table import FactTable

__all__ = ["Rates", "TypeCatalog", "Which"]

Floats = NDArray[np.float64]
#: By the rates themselves, or by the ends of their intervals that make V low or high.
Which: TypeAlias = Literal["value", "low", "high"]
_STEEPEST = 1e300  # an interval of a rate may be open above


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Decay of n rows: float64[n] each; beta per day, quality q in (0, 1].

    `family` (int64[n]) is the number among `families` of the family by which a row decays, -1 for the
    exponential one. A family is declared, so it has no interval.
    """

    beta: Floats
    low: Floats
    high: Floats
    quality: Floats
    family: NDArray[np.int64]
    families: tuple[Decay, ...] = ()

    def take(self, rows: NDArray[np.int64]) -> Rates:
        """Return the rates of some rows."""
        beta, low, high, quality = (c[rows] for c in (self.beta, self.low, self.high, self.quality))
        return Rates(beta, low, high, quality, self.family[rows], self.families)

    def decay_of(self, row: int) -> Decay | None:
        """Return the family by which a row decays, None for the exponential one."""
        return None if self.family[row] < 0 else self.families[self.family[row]]

    def validity(self, age_days: Floats, which: Which = "value") -> Floats:
        """Return V of each row at an age, float64[n], or [b, n] for a batch of ages."""
        return self._weighed(validity, age_days, which)

    def log_validity(self, age_days: Floats) -> Floats:
        """Return the natural logarithm of V, by which very old rows keep their order."""
        return self._weighed(log_validity, age_days, "value")

    def _weighed(self, weigh: Callable[..., Floats], age_days: Floats, which: Which) -> Floats:
        rate = {"value": self.beta, "low": self.high, "high": self.low}[which]
        found = weigh(self.quality, np.minimum(rate, _STEEPEST), age_days)
        for number, decay in enumerate(self.families):
            own = np.flatnonzero(self.family == number)
            found[..., own] = weigh(self.quality[own], decay, age_days[..., own])
        return found


@dataclass(frozen=True, slots=True)
class TypeCatalog:
    """Fact types by name, with the defaults for those that are missing."""

    types: Mapping[str, FactType] = field(default_factory=dict)
    priors: Priors = field(default_factory=Priors)

    @staticmethod
    def of(types: Iterable[FactType], priors: Priors | None = None) -> TypeCatalog:
        """Return the catalog of some fact types."""
        return TypeCatalog({t.name: t for t in types}, priors if priors is not None else Priors())

    def type_of(self, name: str, kind: ValueKind) -> FactType:
        """Return a fact type by name, or the default for values of this kind.

        A type that nobody declared speaks for values of its own kind only, and the kind of each value decides
        its cardinality: else the first load of a name would decide what later loads mean.
        """
        known = self.types.get(name)
        if known is not None and known.declared:
            return known
        numeric = kind in (ValueKind.NUMBER, ValueKind.INTEGER)
        own: FactKind = "numeric" if numeric else "categorical"
        usual = undeclared(name, own, "many" if kind == ValueKind.OBJECT else "one", self.priors)
        if known is None or known.kind != own:
            return usual
        return (
            known if known.cardinality == usual.cardinality else replace(known, cardinality=usual.cardinality)
        )

    def with_types(self, types: Iterable[FactType]) -> TypeCatalog:
        """Return the catalog with some types declared anew."""
        return replace(self, types={**self.types, **{t.name: t for t in types}})

    def cardinality_differs(self, other: TypeCatalog, name: str) -> bool:
        """Whether a type has another cardinality in another catalog, for any kind of value."""
        return any(
            self.type_of(name, kind).cardinality != other.type_of(name, kind).cardinality
            for kind in ValueKind
        )

    def many(self, table: FactTable) -> NDArray[np.bool_]:
        """Return bool[n]: whether the fact type of each row has cardinality `many`."""
        types, which = self._per_row(table)
        return np.asarray([t.cardinality == "many" for t in types], dtype=bool)[which]

    def rates(self, table: FactTable) -> Rates:
        """Return the rates of each row. A stated quality counts before that of the type."""
        types, which = self._per_row(table)

        def column(name: str) -> Floats:
            return np.asarray([float(getattr(t, name)) for t in types], dtype=np.float64)[which]

        own = np.asarray([1.0 if t.quality is None else t.quality for t in types], dtype=np.float64)[which]
        stated = np.where(np.isnan(table.quality), own, table.quality)
        families = list(dict.fromkeys(t.decay for t in types if t.decay is not None))
        family = np.asarray(
            [-1 if t.decay is None else families.index(t.decay) for t in types], dtype=np.int64
        )
        return Rates(
            column("beta"), column("beta_low"), column("beta_high"), stated * column("q_noise"),
            family[which], tuple(families),
        )  # fmt: skip

    def _per_row(self, table: FactTable) -> tuple[list[FactType], NDArray[np.int64]]:
        """Return the distinct types of a table, and int64[n] which of them each row has."""
        pairs = table.pool.canonical(table.type).astype(np.int64) * len(ValueKind) + table.kind
        distinct, which = np.unique(pairs, return_inverse=True)
        kinds = len(ValueKind)
        types = [self.type_of(table.pool[int(p) // kinds], ValueKind(int(p) % kinds)) for p in distinct]
        return types, which
