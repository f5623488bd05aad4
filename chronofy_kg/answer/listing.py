"""Lists facts page by page, in a total order that does not depend on the process: start, then assertion id.

A cursor pins both instants, so that a list does not shift under its reader; it is opaque.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.model import Pattern
from chronofy_kg.answer.select import matching_rows, whole_keys
from chronofy_kg.answer.view import Moment, build_view
from chronofy_kg.decay.catalog import TypeCatalog
from chronofy_kg.errors import CursorError
from chronofy_kg.facts.model import Fact
from chronofy_kg.facts.table import FactTable

__all__ = ["FactFilter", "FactPage", "list_facts", "pinned"]


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Which facts to list."""

    pattern: Pattern = field(default_factory=Pattern)
    type: str | None = None
    source: str | None = None
    history: bool = False


@dataclass(frozen=True, slots=True)
class FactPage:
    """One page of facts, and the cursor of the next or None."""

    items: tuple[Fact, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class _Place:
    start: int
    assertion: str
    at: int
    known_at: int
    filter: str


def pinned(moment: Moment, cursor: str | None, wanted: FactFilter) -> Moment:
    """Return the moment of a list: that of its cursor, where it goes on.

    Raises:
        CursorError: the cursor is not one of this list.
    """
    if cursor is None:
        return moment
    place = _decode(cursor, wanted)
    return replace(moment, at=place.at, known_at=place.known_at)


def list_facts(table: FactTable, catalog: TypeCatalog, wanted: FactFilter, moment: Moment, *,
               limit: int, cursor: str | None = None) -> FactPage:  # fmt: skip
    """Return a page of the facts that hold at a moment, or of all periods where history is wanted.

    Args:
        table: the assertions.
        catalog: the fact types.
        wanted: the filter; parts left open match all.
        moment: as returned by `pinned`.
        limit: most facts on the page.
        cursor: from the page before, None for the first.
    """
    rows = matching_rows(table, wanted.pattern, wanted.type, wanted.source)
    periods = "all" if wanted.history else "holding"
    view = build_view(table, catalog, moment, rows=whole_keys(table, rows), periods=periods)
    # Any assertion that a fact rests on may be the one asked for: two sources state one fact.
    held = np.concatenate([[0], np.cumsum(np.isin(view.support, rows))])[view.offsets]
    mine = np.flatnonzero(held[1:] > held[:-1])
    start = view.history.start[view.facts[mine]]
    words = np.ascontiguousarray(table.ids[view.winner[mine]]).view(">u8").reshape(-1, 2)
    order = np.lexsort((words[:, 1], words[:, 0], start))
    mine, start = mine[order], start[order]
    if cursor is not None:
        place = _decode(cursor, wanted)
        mine = mine[_after(table, view.winner[mine], start, place)]
    page = mine[:limit].tolist()
    items = tuple(view.fact(i) for i in page)
    if len(mine) <= limit:
        return FactPage(items, None)
    last = page[-1]
    place = _Place(
        int(view.history.start[view.facts[last]]), table.id_of(int(view.winner[last])),
        moment.at, moment.known_at, _digest(wanted),
    )  # fmt: skip
    return FactPage(items, _encode(place))


def _after(
    table: FactTable, winner: NDArray[np.int64], start: NDArray[np.int64], place: _Place
) -> NDArray[np.bool_]:
    """Return which facts, in order, come after a place."""
    after: NDArray[np.bool_] = start > place.start
    for number in np.flatnonzero(start == place.start).tolist():
        after[number] = table.id_of(int(winner[number])) > place.assertion
    return after


def _digest(wanted: FactFilter) -> str:
    return hashlib.blake2b(repr(wanted).encode(), digest_size=6).hexdigest()


def _encode(place: _Place) -> str:
    parts = [place.start, place.assertion, place.at, place.known_at, place.filter]
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def _decode(cursor: str, wanted: FactFilter) -> _Place:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        parts: Any = json.loads(raw)
        place = _Place(int(parts[0]), str(parts[1]), int(parts[2]), int(parts[3]), str(parts[4]))
    except (ValueError, binascii.Error, TypeError, LookupError, OverflowError):
        raise CursorError("the cursor is not one that this list gave out") from None
    if place.filter != _digest(wanted):
        raise CursorError("the cursor belongs to a list with another filter")
    return place
