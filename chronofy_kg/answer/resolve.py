"""Resolves cited fact ids at a moment: what holds, what is restated under another id, and why the rest fails.

The store says which keys the ids belong to; everything else is the fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.model import Pattern
from chronofy_kg.answer.select import excluded, matching_rows
from chronofy_kg.answer.trace import Cited, CitedStatus, cite, not_counting
from chronofy_kg.answer.view import Moment, View, build_view, weigh
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.facts.model import Fact, fact_id
from chronofy_kg.facts.table import FactTable

__all__ = ["find_fact", "resolve"]

Rows = NDArray[np.int64]
Key = tuple[str, str]
_REASONS: tuple[CitedStatus, ...] = (
    "retracted", "not_yet_observed", "not_yet_valid", "superseded", "expired",
)  # fmt: skip


def resolve(
    table: FactTable, catalog: TypeCatalog, moment: Moment, ids: Sequence[str], keys: Iterable[Key]
) -> dict[str, Cited]:
    """Return each id as cited at a moment.

    Args:
        table: the assertions.
        catalog: the fact types.
        moment: the two instants.
        ids: fact ids, known or not.
        keys: (subject, predicate) of the facts among them that the store knows.
    """
    rows = _rows_of(table, keys)
    rows = rows[table.recorded_at[rows] <= moment.known_at]
    view = build_view(table, catalog, moment, rows=rows)
    homes = _homes(table, rows)
    periods = {view.history.id(i): i for i in range(len(view.history))}
    holding = {int(view.history.value[number]): i for i, number in enumerate(view.facts.tolist())}
    numbers = dict(zip(view.history.rows.tolist(), view.history.row_value.tolist(), strict=True))
    return {i: _cited(i, view, homes.get(i), periods.get(i), holding, numbers) for i in ids}


def _cited(
    cited_id: str,
    view: View,
    home: Rows | None,
    period: int | None,
    holding: dict[int, int],
    numbers: dict[int, int],
) -> Cited:
    """Return one id as cited, given its home rows and its period in the fold, where it has them."""
    if home is None and period is None:
        return not_counting(cited_id, "unknown")
    rows = home if home is not None else view.history.winner[np.asarray([period])]
    values = {numbers[row] for row in rows.tolist() if row in numbers}
    values |= set() if period is None else {int(view.history.value[period])}
    for value in values:
        if value in holding:
            return cite(view, holding[value], cited_id)
    counts = excluded(view.table, view, rows, view.moment, 0)
    status: CitedStatus = next(name for name in _REASONS if counts[name])
    shown = (
        weigh(view.history, np.asarray([period]), view.catalog, view.moment).fact(0)
        if period is not None
        else None
    )
    return not_counting(cited_id, status, shown)


def find_fact(
    table: FactTable, catalog: TypeCatalog, moment: Moment, wanted: str, keys: Iterable[Key]
) -> Fact | None:
    """Return a fact by its id, whether it holds or not; None where the fold has no such period."""
    view = build_view(table, catalog, moment, rows=_rows_of(table, keys), periods="all")
    return next((view.fact(i) for i in range(len(view)) if view.id(i) == wanted), None)


def _rows_of(table: FactTable, keys: Iterable[Key]) -> Rows:
    parts = [matching_rows(table, Pattern(subject, predicate)) for subject, predicate in sorted(set(keys))]
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)


def _homes(table: FactTable, rows: Rows) -> dict[str, Rows]:
    """Return the rows told for each home: the fact of their own value and valid_from."""
    found: dict[str, list[int]] = {}
    for row in rows.tolist():
        found.setdefault(fact_id(table.statement(row), int(table.valid_from[row])), []).append(row)
    return {key: np.asarray(value, dtype=np.int64) for key, value in found.items()}
