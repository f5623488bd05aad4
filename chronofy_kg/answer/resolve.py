"""Resolves cited fact ids at a moment: what holds, what is restated under another id, and why the rest fails.

The store says which keys the ids belong to; everything else is the fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.standing import REASONS, standing
from chronofy_kg.answer.trace import Cited, CitedStatus, cite, not_counting
from chronofy_kg.answer.view import Moment, View, build_view, weigh
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.facts.model import Fact, fact_id
from chronofy_kg.facts.table import FactTable

__all__ = ["find_fact", "resolve", "rows_of_keys"]

Rows = NDArray[np.int64]
Key = tuple[str, str]


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
    rows = rows_of_keys(table, keys)
    rows = rows[table.recorded_at[rows] <= moment.known_at]
    view = build_view(table, catalog, moment, rows=rows)
    homes = _homes(view, rows, set(ids))
    periods = {view.history.id(i): i for i in range(len(view.history))}
    holding = {table.statement(row): i for i, row in enumerate(view.winner.tolist())}
    asked = np.asarray(sorted(periods[i] for i in set(ids) & periods.keys()), dtype=np.int64)
    # One view of every period that is asked for: a fact that holds no more is shown as it was.
    told = weigh(view.history, asked, catalog, moment)
    return {i: _cited(i, view, homes.get(i), periods.get(i), holding, told) for i in ids}


def _cited(
    cited_id: str,
    view: View,
    home: _Home | None,
    period: int | None,
    holding: Mapping[tuple[str, ...], int],
    told: View,
) -> Cited:
    """Return one id as cited, given its home and its period in the fold, where it has them."""
    if home is None and period is None:
        return not_counting(cited_id, "unknown")
    row = home.row if home is not None else int(view.history.winner[period])
    held = holding.get(view.table.statement(row))
    if held is not None:
        return cite(view, held, cited_id)
    # The period in which a value came back has no home of its own.
    status = home.status if home is not None else _of_period(view, period or 0)
    shown = None if period is None else told.fact(int(np.searchsorted(told.facts, period)))
    return not_counting(cited_id, status, shown)


def _of_period(view: View, period: int) -> CitedStatus:
    """Return why a period of the fold does not hold."""
    history = view.history
    if history.start[period] > view.moment.at:
        return "not_yet_valid"
    return "superseded" if history.superseded_by[period] >= 0 else "expired"


def find_fact(
    table: FactTable, catalog: TypeCatalog, moment: Moment, wanted: str, keys: Iterable[Key]
) -> Fact | None:
    """Return a fact by its id, whether it holds or not; None where the fold has no such period."""
    view = build_view(table, catalog, moment, rows=rows_of_keys(table, keys), periods="all")
    return next((view.fact(i) for i in range(len(view)) if view.id(i) == wanted), None)


def rows_of_keys(table: FactTable, keys: Iterable[Key]) -> Rows:
    """Return the rows, ascending, of all these keys, in one pass over the table."""
    pool = table.pool
    pairs = [(pool.find(subject), pool.find(predicate)) for subject, predicate in set(keys)]
    known = [(subject, predicate) for subject, predicate in pairs if subject >= 0 and predicate >= 0]
    width = np.int64(max(len(pool), 1))
    sought = np.asarray([subject * width + predicate for subject, predicate in known], dtype=np.int64)
    subjects = np.zeros(width + 1, dtype=bool)  # the last stands for no subject
    subjects[[subject for subject, _ in known]] = True
    near = np.flatnonzero(subjects[pool.canonical(table.subject)])
    subject, predicate = pool.canonical(table.subject[near]), pool.canonical(table.predicate[near])
    rows: Rows = near[np.isin(subject.astype(np.int64) * width + predicate, sought)]
    return rows


@dataclass(frozen=True, slots=True)
class _Home:
    row: int
    status: CitedStatus


def _homes(view: View, rows: Rows, ids: Set[str]) -> dict[str, _Home]:
    """Return, for each id among some that is a home, one of its rows and why it is not in use."""
    table = view.table
    home, reasons = standing(view, rows)
    first = np.unique(home, return_index=True)[1]
    found: dict[str, _Home] = {}
    for row, reason in zip(rows[first].tolist(), reasons.tolist(), strict=True):
        name = fact_id(table.statement(row), int(table.valid_from[row]))
        if name in ids:
            found[name] = _Home(row, REASONS[reason] if reason >= 0 else "in_force")
    return found
