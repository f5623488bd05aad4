"""Learns the rates of fact types from a FactTable: which rows make up the history of a type, and the fit.

Numeric types are fitted on their readings, categorical ones on the spells of the fold, events on nothing:
what happened stays true. How a rate is estimated is `fit`, what a row of the result means `facttypes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.decay.facttypes import FEW_ROWS, FactKind, FactType, KindPrior, from_fit
from chronofy_kg.decay.fit import fit_decay
from chronofy_kg.decay.numeric import NumericOptions, fit_numeric
from chronofy_kg.decay.result import DecayFit
from chronofy_kg.decay.series import read_rows
from chronofy_kg.decay.shrink import learn_prior
from chronofy_kg.facts.history import fold, group_rows
from chronofy_kg.facts.model import ValueKind
from chronofy_kg.facts.plan import key_codes
from chronofy_kg.facts.table import FactTable

__all__ = ["learn_types", "series_of_type", "types_seen"]

Rows = NDArray[np.int64]


def types_seen(table: FactTable, rows: Rows, catalog: TypeCatalog) -> tuple[FactType, ...]:
    """Return the fact type of every type name that rows use, the undeclared ones with their defaults.

    Where values of several kinds share a name, the most frequent kind decides the default.
    """
    names = table.pool.canonical(table.type[rows])
    found = []
    for code in np.unique(names).tolist():
        kinds = np.bincount(table.kind[rows[names == code]], minlength=len(ValueKind))
        kinds[ValueKind.NUMBER] += kinds[ValueKind.INTEGER]  # 52 and 52.0 are one kind of value
        kinds[ValueKind.INTEGER] = 0
        found.append(catalog.type_of(table.pool[code], ValueKind(int(np.argmax(kinds)))))
    return tuple(found)


def learn_types(
    table: FactTable,
    rows: Rows,
    catalog: TypeCatalog,
    names: Sequence[str] | None = None,
    *,
    on_type: Callable[[str, int, int], None] | None = None,
) -> tuple[FactType, ...]:
    """Fit the rate of each fact type that rows use.

    A type whose rows are those of its last fit is not fitted again. Types with few rows borrow from the
    others of their kind, those of the catalog that are not fitted now included, so that it does not matter
    which are fitted together.

    Args:
        table: the assertions.
        rows: int64, the rows believed.
        catalog: the fact types so far; a declared rate stays and the fit is noted beside it.
        names: the types to fit; None for all.
        on_type: called with name, number and total before each fit.

    Returns:
        The refitted rows; one that did not change keeps its version.
    """
    wanted = [t for t in types_seen(table, rows, catalog) if names is None or t.name in names]
    types = table.pool.canonical(table.type[rows])
    fits: list[DecayFit | None] = []
    for number, fact_type in enumerate(wanted, start=1):
        if on_type is not None:
            on_type(fact_type.name, number, len(wanted))
        fits.append(_fit(table, rows[types == table.pool.find(fact_type.name)], fact_type, catalog))
    alone = [_renew(t, fit, catalog, {}) for t, fit in zip(wanted, fits, strict=True)]
    known = [*{**catalog.types, **{t.name: t for t in alone}}.values()]
    learned = {kind: learn_prior(known, kind, catalog.priors) for kind in _BORROWING}
    return tuple(_renew(t, fit, catalog, learned) for t, fit in zip(wanted, fits, strict=True))


_BORROWING: tuple[FactKind, ...] = ("numeric", "categorical")


def _renew(
    fact_type: FactType,
    fit: DecayFit | None,
    catalog: TypeCatalog,
    learned: Mapping[FactKind, KindPrior | None],
) -> FactType:
    """Return the row of a fit; the same row again where nothing changed or nothing was fitted."""
    if fit is None:
        return fact_type
    # A fit starts from what was declared or assumed, not from an earlier fit.
    start = fact_type
    if fact_type.beta_from in ("fitted", "prior"):
        low, high = catalog.priors.interval(fact_type.kind)
        beta = catalog.priors.beta(fact_type.kind)
        start = replace(fact_type, beta=beta, beta_low=low, beta_high=high, beta_from="prior")
    renewed = from_fit(fit, start, catalog.priors, learned.get(fact_type.kind))
    return fact_type if replace(renewed, version=fact_type.version) == fact_type else renewed


def _fit(table: FactTable, rows: Rows, fact_type: FactType, catalog: TypeCatalog) -> DecayFit | None:
    """Return the fit of one type, None where its kind has nothing to fit or its last fit still stands."""
    if fact_type.kind == "numeric":
        return _fit_numbers(table, rows, fact_type, catalog.priors.beta("numeric"))
    if fact_type.kind == "categorical":
        return _fit_spells(table, rows, catalog)
    return None


def series_of_type(
    table: FactTable, rows: Rows, fact_type: FactType, catalog: TypeCatalog
) -> dict[str, Any] | None:
    """Return what `fit_decay` and `curve_of_series` take of a type, by their names; None if nothing is there.

    Args:
        table: the assertions.
        rows: int64, the rows of this type that are believed.
        fact_type: the type.
        catalog: the fact types.
    """
    if fact_type.kind == "numeric":
        return _readings(table, rows)
    return _spells(table, rows, catalog) if fact_type.kind == "categorical" else None


def _readings(table: FactTable, rows: Rows) -> dict[str, Any] | None:
    own = rows[np.isin(table.kind[rows], (ValueKind.NUMBER, ValueKind.INTEGER))]
    if not len(own):
        return None
    # Predicates that share a type, or units, are series of their own.
    series = group_rows((key_codes(table.take(own)), table.pool.canonical(table.unit[own])))
    times = table.valid_from[own].astype("datetime64[us]")
    return {"times": times, "values": table.number[own], "subjects": series}


def _fit_numbers(table: FactTable, rows: Rows, fact_type: FactType, prior: float) -> DecayFit | None:
    told = _readings(table, rows)
    if told is None:
        return None
    readings = read_rows(told["times"], told["values"], told["subjects"], "d")
    options = NumericOptions(noise="auto", scale="auto", tolerance=fact_type.tolerance, prior=prior, unit="d")
    digest = options.digest(readings.digest)
    if digest == fact_type.data_hash and fact_type.n >= FEW_ROWS and fact_type.beta_from != "prior":
        return None
    return replace(fit_numeric(readings, options), data_hash=digest)


def _fit_spells(table: FactTable, rows: Rows, catalog: TypeCatalog) -> DecayFit | None:
    told = _spells(table, rows, catalog)
    if told is None:
        return None
    return fit_decay(**told, kind="categorical", prior=catalog.priors.beta("categorical"))


def _spells(table: FactTable, rows: Rows, catalog: TypeCatalog) -> dict[str, Any] | None:
    """Return the periods in which values held.

    A period that has not ended counts for as long as it was seen to hold: nobody watched it after that.
    """
    until = int(table.observed_at[rows].max())
    ordered = np.sort(rows)
    history = fold(table, ordered, catalog.many(table.take(ordered)))
    if not len(history):
        return None
    offsets, support = history.support(np.arange(len(history)))
    seen = np.maximum.reduceat(table.observed_at[support], offsets[:-1])
    goes_on = _continues(history.value, history.key, history.end, history.start)
    changed = (history.end <= until) & ~goes_on
    end = np.where(changed | goes_on, history.end, np.minimum(history.end, seen))
    counts = history.start < np.minimum(end, until)
    if not counts.any():
        return None
    return {
        "times": history.start[counts].astype("datetime64[us]"),
        "values": history.value[counts],
        "subjects": table.pool.canonical(table.subject[history.winner[counts]]),
        "ends": np.minimum(end, until)[counts].astype("datetime64[us]"),
        "changed": changed[counts],
    }


def _continues(value: Rows, key: Rows, end: Rows, start: Rows) -> NDArray[np.bool_]:
    """Return bool[m]: whether the same value goes on where a period ends."""
    result = np.zeros(len(value), dtype=bool)
    result[:-1] = (key[1:] == key[:-1]) & (value[1:] == value[:-1]) & (start[1:] == end[:-1])
    return result
