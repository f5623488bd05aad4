"""The facts of one moment: a fold at (at, known_at) with the validity of each fact that holds.

Everything an answer says about a fact comes from here: its period, the assertion that gives V its maximum,
its rate and interval, who contradicts it. Nothing here knows the store or a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.catalog import Rates, TypeCatalog
from chronofy_kg.decay.declared import decay_text
from chronofy_kg.facts.history import History, believed_rows, fold
from chronofy_kg.facts.model import Contradiction, Fact, Source, Validity, ValueKind, fact_id
from chronofy_kg.facts.plan import key_codes
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.time import DAY_US

__all__ = ["Moment", "View", "build_view"]

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moment:
    """When a query looks at the world (`at`) and at the store (`known_at`), in microseconds.

    `skew_us` is how far an observation may lie in the future; with `hindsight` every observation counts, at
    age 0 where it is later than `at`.
    """

    at: int
    known_at: int
    skew_us: int = 0
    hindsight: bool = False

    @property
    def observed_by(self) -> int | None:
        """Latest observation that counts, None for all."""
        return None if self.hindsight else self.at + self.skew_us


@dataclass(frozen=True, slots=True)
class View:
    """The facts that hold at a moment.

    Attributes:
        moment: the two instants.
        history: the fold that they come from.
        facts: int64[f], their indexes in the history.
        winner: int64[f], the table row that gives each its value.
        best: int64[f], the table row whose assertion gives V its maximum.
        rates: rates of the rows in `best`.
        age_days: float64[f], age of that assertion at `at`.
        log_v: float64[f], natural logarithm of V; ranking by decay stays here.
        offsets, support: fact i rests on the table rows ``support[offsets[i]:offsets[i + 1]]``.
        support_rates, support_age: rates of those rows, and their age in days, below 0 where it lies ahead.
        contested: bool[f], whether another value of the same key is stated from the same instant on.
    """

    moment: Moment
    catalog: TypeCatalog
    history: History
    facts: Rows
    winner: Rows
    best: Rows
    rates: Rates
    age_days: Floats
    log_v: Floats
    offsets: Rows
    support: Rows
    support_rates: Rates
    support_age: Floats
    contested: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.facts)

    @property
    def table(self) -> FactTable:
        """The assertions behind the facts."""
        return self.history.table

    @property
    def validity(self) -> Floats:
        """V of each fact, float64[f] in [0, 1]."""
        # Not exp(log_v): at age 0 that would miss q by a rounding, and q = gamma would not be the boundary.
        return self.rates.validity(self.age_days)

    def validity_of(self, index: int) -> Validity:
        """Return V of one fact with its interval: each end is the greatest over all its assertions."""
        part = np.arange(self.offsets[index], self.offsets[index + 1])
        rates, age = self.support_rates.take(part), self.support_age[part]
        value, low, high = (float(rates.validity(age, which).max()) for which in ("value", "low", "high"))
        return Validity(value, low, high)

    def id(self, index: int) -> str:
        """Return the id of one fact."""
        return self.history.id(int(self.facts[index]))

    def fact(self, index: int) -> Fact:
        """Return the row view of one fact."""
        table, history = self.table, self.history
        winner, best, number = int(self.winner[index]), int(self.best[index]), int(self.facts[index])
        told = table.assertion(winner)
        kind = ValueKind(table.kind[winner])
        fact_type = self.catalog.type_of(told.type or told.predicate, kind)
        # Another assertion may give V its maximum, and be of another type.
        rated = self.catalog.type_of(table.pool[int(table.type[best])], ValueKind(table.kind[best]))
        supports = self.support[self.offsets[index] : self.offsets[index + 1]].tolist()
        ender = int(history.superseded_by[number])
        return Fact(
            id=self.id(index),
            subject=told.subject,
            predicate=told.predicate,
            object=told.object,
            value=told.value,
            unit=told.unit,
            datatype=told.datatype,
            lang=told.lang,
            type=fact_type.name,
            content=table.content_of(winner),
            meta=told.meta,
            valid_from=int(history.start[number]),
            valid_to=int(history.end[number]),
            observed_at=int(table.observed_at[best]),
            recorded_at=int(table.recorded_at[best]),
            quality=float(self.rates.quality[index]),
            sources=_sources(table, supports),
            superseded_by=history.id(ender) if ender >= 0 else None,
            contradicts=_contradictions(history, number) if self.contested[index] else (),
            age_days=float(self.age_days[index]),
            beta_per_day=float(self.rates.beta[index]),
            beta_from=rated.beta_from,
            type_declared=fact_type.declared,
            type_version=rated.version,
            decay=None if rated.decay is None else decay_text(rated.decay),
            validity=self.validity_of(index),
        )


def build_view(
    table: FactTable,
    catalog: TypeCatalog,
    moment: Moment,
    *,
    rows: Rows | None = None,
    periods: str = "holding",
) -> View:
    """Fold what was believed and observed at a moment, and weigh the facts that hold.

    Args:
        table: every assertion known, retired ones included.
        catalog: the fact types of that moment.
        moment: the two instants.
        rows: int64, ascending rows to look at, whole keys only; None for all.
        periods: "holding" for the facts whose period covers `at`, "all" for every period (a history).
    """
    chosen = believed_rows(table, moment.known_at, moment.observed_by, among=rows)
    history = fold(table, chosen, catalog.many(table.take(chosen)))
    facts = history.holding(moment.at) if periods == "holding" else np.arange(len(history))
    return weigh(history, facts, catalog, moment)


def weigh(history: History, facts: Rows, catalog: TypeCatalog, moment: Moment) -> View:
    """Return the view of some facts of a fold: for each the assertion of greatest validity, and V."""
    table = history.table
    offsets, support = history.support(facts)
    rates = catalog.rates(table.take(support))
    age = (moment.at - table.observed_at[support]) / DAY_US
    log_v = rates.log_validity(age)
    best = _segment_argmax(log_v, table.observed_at[support], offsets)
    return View(
        moment=moment,
        catalog=catalog,
        history=history,
        facts=facts,
        winner=history.winner[facts],
        best=support[best],
        rates=rates.take(best),
        age_days=np.maximum(age[best], 0.0),
        log_v=log_v[best],
        offsets=offsets,
        support=support,
        support_rates=rates,
        support_age=age,
        contested=_contested(history, facts),
    )


def _segment_argmax(values: Floats, later: Rows, offsets: Rows) -> Rows:
    """Return int64[f]: in each segment the index of the greatest value, the latest where values are equal."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((later, values, owner))
    return order[offsets[1:] - 1]


def _sources(table: FactTable, rows: Sequence[int]) -> tuple[Source, ...]:
    """Return who stated a fact, each source once with its latest observation, latest first."""
    latest: dict[str | None, Source] = {}
    for row in sorted(rows, key=lambda r: (int(table.observed_at[r]), r)):
        name, quality = table.pool.get(int(table.source[row])), float(table.quality[row])
        shown = None if np.isnan(quality) else quality
        latest[name] = Source(name, int(table.observed_at[row]), shown, table.id_of(row))
    return tuple(sorted(latest.values(), key=lambda s: (-s.observed_at, s.id or "")))


def _contested(history: History, facts: Rows) -> NDArray[np.bool_]:
    """Return bool[f]: whether anybody states another value of a fact's key from the same valid_from on."""
    rows = history.table.take(history.rows)
    key, valid_from, value = key_codes(rows), rows.valid_from, history.row_value
    order = np.lexsort((value, valid_from, key))
    same = (key[order][1:] == key[order][:-1]) & (valid_from[order][1:] == valid_from[order][:-1])
    differs = same & (value[order][1:] != value[order][:-1])
    slot = np.cumsum(np.concatenate([[False], ~same])) if len(order) else np.zeros(0, dtype=np.int64)
    clashes = np.zeros(int(slot.max(initial=-1)) + 1, dtype=bool)
    clashes[slot[1:][differs]] = True
    contested = np.zeros(len(order), dtype=bool)
    contested[order] = clashes[slot]
    # Of `many` values none contradicts another: each is a key of its own.
    single = history.key[facts] != history.value[facts]
    result: NDArray[np.bool_] = single & contested[np.searchsorted(history.rows, history.winner[facts])]
    return result


def _contradictions(history: History, number: int) -> tuple[Contradiction, ...]:
    """Return the other values stated from the same instant on, with who states them."""
    table = history.table
    said: dict[str, str] = {}
    sources: dict[str, set[str]] = {}
    for row in history.contradicting(number).tolist():
        other = fact_id(table.statement(row), int(table.valid_from[row]))
        said[other] = table.said(row)
        sources.setdefault(other, set()).update(filter(None, [table.pool.get(int(table.source[row]))]))
    return tuple(Contradiction(i, said[i], tuple(sorted(sources[i]))) for i in sorted(said))
