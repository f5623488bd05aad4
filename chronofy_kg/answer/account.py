"""What a fact rests on, what ended it and by which rule of the fold, and what a retraction changes.

Pure: the fold of one key at a moment. The id may be that of an effective period, or of a statement that
never holds (shadowed) or is not believed any more (retracted). Writing is `chronofy_kg.kb`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.resolve import Key, rows_of_keys
from chronofy_kg.answer.shape import fact_as_json, finite
from chronofy_kg.answer.view import Moment, View, build_view
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.errors import QueryError, UnknownFactError
from chronofy_kg.facts.model import Fact, fact_id
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.time import OPEN_US, format_instant

__all__ = ["Account", "changed_facts", "explain_fact", "history_of", "rows_to_retract"]

Rows = NDArray[np.int64]

_OPEN = "nothing ended it"
_RAN_OUT = "it ended at its own valid_to"
_SAME = "the same value holds by another statement"
_RETRACTED = "every statement of it was retracted or corrected"
_RULES = (
    "later valid_from: of two statements the one valid from later holds",
    "higher quality: of two statements valid from one instant the one of higher quality holds",
    "later observed_at: of two statements alike in valid_from and quality the one observed later holds",
    "id tie: of two statements alike in valid_from, quality and observed_at the greater id holds",
)


@dataclass(frozen=True, slots=True)
class Account:
    """Why a fact holds, or holds no more.

    Attributes:
        id: its id.
        state: in_force (a period of the fold), shadowed or retracted.
        fact: the period, None where there is none.
        ended_by: id of the fact that ended it or holds in its place.
        policy: the rule of the fold by which it did, in words.
        assertions: what was told of it, JSON-safe, by recorded_at and then id.
    """

    id: str
    state: str
    fact: Fact | None
    ended_by: str | None
    policy: str
    assertions: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-safe form."""
        return {
            "id": self.id,
            "state": self.state,
            "ended_by": self.ended_by,
            "policy": self.policy,
            "fact": None if self.fact is None else fact_as_json(self.fact),
            "assertions": list(self.assertions),
        }


@dataclass(frozen=True, slots=True)
class _Place:
    """One id in the fold of its key: the index of its period or -1, and the rows whose home it is."""

    view: View
    period: int
    told: Rows

    @property
    def rests_on(self) -> Rows:
        """The believed rows that the fact rests on."""
        view = self.view
        if self.period >= 0:
            return view.support[view.offsets[self.period] : view.offsets[self.period + 1]]
        return self.told[np.isin(self.told, view.history.rows)]


def _place(
    table: FactTable, catalog: TypeCatalog, moment: Moment, wanted: str, keys: Iterable[Key]
) -> _Place:
    rows = rows_of_keys(table, keys)
    rows = rows[table.recorded_at[rows] <= moment.known_at]
    if not len(rows):
        raise UnknownFactError(f"no fact {wanted!r} is known at that moment")
    view = build_view(table, catalog, moment, rows=rows, periods="all")
    period = next((i for i in range(len(view)) if view.id(i) == wanted), -1)
    told = [r for r in rows.tolist() if fact_id(table.statement(r), int(table.valid_from[r])) == wanted]
    return _Place(view, period, np.asarray(told, dtype=np.int64))


def rows_to_retract(
    table: FactTable,
    catalog: TypeCatalog,
    moment: Moment,
    wanted: str,
    keys: Iterable[Key],
    source: str | None,
) -> Rows:
    """Return the believed rows, ascending, that a fact rests on: all of them, or those of one source.

    None are left where all were retired before.

    Raises:
        UnknownFactError: no fact has this id.
        QueryError: the source never stated anything of the fact.
    """
    place = _place(table, catalog, moment, wanted, keys)
    rows = place.rests_on
    if source is None:
        return np.sort(rows)
    code, canonical = table.pool.find(source), table.pool.canonical
    own = np.union1d(rows, place.told)
    # A period that came back has no statement of its own: once it is gone, those of its key must do.
    own = own if len(own) else rows_of_keys(table, keys)
    if code < 0 or not np.any(canonical(table.source[own]) == code):
        raise QueryError(f"source {source!r} states nothing of fact {wanted!r}")
    return np.sort(rows[canonical(table.source[rows]) == code])


def changed_facts(
    table: FactTable, catalog: TypeCatalog, moment: Moment, retired: Rows, keys: Iterable[Key]
) -> list[str]:
    """Return the ids, sorted, of the facts that are not what they were once these rows are retired.

    Args:
        table: the assertions before.
        catalog: the fact types.
        moment: when it was retired, as known_at.
        retired: the rows that are retired.
        keys: (subject, predicate) of these rows.
    """
    if not len(retired):
        return []
    rows = rows_of_keys(table, keys)
    retired_at = table.retired_at.copy()
    retired_at[retired] = moment.known_at
    before, after = (
        {fact.id: fact for fact in _facts(told, catalog, moment, rows)}
        for told in (table, replace(table, retired_at=retired_at))
    )
    homes = {fact_id(table.statement(row), int(table.valid_from[row])) for row in retired.tolist()}
    differ = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return sorted(homes | differ)


def _facts(table: FactTable, catalog: TypeCatalog, moment: Moment, rows: Rows) -> list[Fact]:
    view = build_view(table, catalog, moment, rows=rows, periods="all")
    return [view.fact(index) for index in range(len(view))]


def history_of(
    table: FactTable, catalog: TypeCatalog, moment: Moment, wanted: str, keys: Iterable[Key]
) -> list[tuple[Fact, str]]:
    """Return all periods of a fact's key, by start, each with what ended it in words.

    Under `many` the value belongs to the key, so only the periods of that value are returned.

    Raises:
        UnknownFactError: no fact has this id.
    """
    place = _place(table, catalog, moment, wanted, keys)
    view, history = place.view, place.view.history
    if place.period >= 0:
        chosen = np.flatnonzero(history.key == history.key[place.period])
    else:
        statements = {table.statement(row) for row in place.told.tolist()}
        values = {i for i in range(len(view)) if table.statement(int(view.winner[i])) in statements}
        many = bool(len(place.told)) and bool(catalog.many(table.take(place.told)).all())
        chosen = np.asarray(sorted(values) if many else range(len(view)), dtype=np.int64)
    order = chosen[np.argsort(history.start[chosen], kind="stable")]
    return [(view.fact(i), _ended(view, i)[1]) for i in order.tolist()]


def explain_fact(
    table: FactTable, catalog: TypeCatalog, moment: Moment, wanted: str, keys: Iterable[Key]
) -> Account:
    """Return why a fact holds, or what ended it and by which rule of the fold.

    Raises:
        UnknownFactError: no fact has this id.
    """
    place = _place(table, catalog, moment, wanted, keys)
    view, rests_on = place.view, place.rests_on
    told = np.union1d(rests_on, place.told)
    if not len(told):
        return Account(wanted, "retracted", None, None, _RETRACTED, ())
    fact: Fact | None = None
    if place.period >= 0:
        state, fact = "in_force", view.fact(place.period)
        ended_by, policy = _ended(view, place.period)
    elif len(rests_on):
        state, (ended_by, policy) = "shadowed", _shadowed(view, rests_on)
    else:
        state, ended_by, policy = "retracted", None, _RETRACTED
    shown = sorted((_told(table, row) for row in told.tolist()), key=lambda a: (a["recorded_at"], a["id"]))
    return Account(wanted, state, fact, ended_by, policy, tuple(shown))


def _ended(view: View, period: int) -> tuple[str | None, str]:
    """Return which fact ended a period, and the rule in words."""
    history, table = view.history, view.table
    end = int(history.end[period])
    ender = int(history.superseded_by[period])
    if ender < 0:
        return None, _OPEN if end == OPEN_US else _RAN_OUT
    same = history.rows[history.row_value == history.value[period]]
    stated = same[(table.valid_from[same] <= end) & (end < table.valid_to[same])]
    return history.id(ender), _rule(table, int(history.winner[ender]), _strongest(table, stated))


def _shadowed(view: View, rows: Rows) -> tuple[str | None, str]:
    """Return which fact holds in place of a statement that never does, and the rule in words."""
    history, table = view.history, view.table
    row = _strongest(table, rows)
    number = history.row_value[np.searchsorted(history.rows, row)]
    start = int(table.valid_from[row])
    holding = history.holding(start).tolist()
    # Under `many` only the same value can hold in its place; else one period of the key holds.
    same = [i for i in holding if history.value[i] == number]
    holder = (same or holding)[0]
    rule = _SAME if same else _rule(table, int(history.winner[holder]), row)
    return history.id(holder), rule


def _rank(table: FactTable, row: int) -> tuple[int, float, int, bytes]:
    quality = float(table.quality[row])
    return (
        int(table.valid_from[row]),
        1.0 if np.isnan(quality) else quality,
        int(table.observed_at[row]),
        table.ids[row].tobytes(),
    )


def _strongest(table: FactTable, rows: Rows) -> int:
    return max(map(int, rows), key=lambda row: _rank(table, row))


def _rule(table: FactTable, winner: int, loser: int) -> str:
    """Return, in words, the first rule of the fold that sets two rows apart."""
    pairs = zip(_rank(table, winner), _rank(table, loser), strict=True)
    return _RULES[next(i for i, (mine, other) in enumerate(pairs) if mine != other)]


def _told(table: FactTable, row: int) -> dict[str, Any]:
    return {
        "id": table.id_of(row),
        "source": table.pool.get(int(table.source[row])),
        "valid_from": format_instant(int(table.valid_from[row])),
        "valid_to": format_instant(int(table.valid_to[row])),
        "observed_at": format_instant(int(table.observed_at[row])),
        "quality": finite(float(table.quality[row])),
        "recorded_at": format_instant(int(table.recorded_at[row])),
        "retired_at": format_instant(int(table.retired_at[row])),
    }
