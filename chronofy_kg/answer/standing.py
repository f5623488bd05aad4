"""How statements stand at a moment: in use, or left out and why. Columns in, columns out.

A statement is told by a home: the assertions of one key, value and valid_from. It is in use if one of its
assertions covers the instant and its value is the one that holds; else the first reason applies of retracted,
not_yet_observed, not_yet_valid, superseded (another value holds, or took over before it ran out) and expired.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.trace import CitedStatus
from chronofy_kg.answer.view import View
from chronofy_kg.facts.history import History, group_rows
from chronofy_kg.facts.plan import key_codes

__all__ = ["REASONS", "count_left_out", "standing"]

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: Why a statement is not in use; the first that applies counts.
REASONS: tuple[CitedStatus, ...] = (
    "retracted", "not_yet_observed", "not_yet_valid", "superseded", "expired",
)  # fmt: skip
_EARLIEST = np.iinfo(np.int64).min


def standing(view: View, rows: Rows) -> tuple[Rows, Rows]:
    """Return how the statements of some rows stand.

    Args:
        view: the facts that hold, of all keys that the rows touch.
        rows: int64[r], table rows recorded by `known_at`; homes are complete.

    Returns:
        home int64[r], the number of each row's home; and int64[h], for each home its place in REASONS, or -1
        where it is in use.
    """
    part, moment, history = view.table.take(rows), view.moment, view.history
    home = group_rows((key_codes(part), *part.value_columns(), part.valid_from))
    count = int(home.max(initial=-1)) + 1
    believed = part.retired_at > moment.known_at
    seen = believed if moment.observed_by is None else believed & (part.observed_at <= moment.observed_by)
    begin, end, value = (np.full(count, first, dtype=np.int64) for first in (_EARLIEST, _EARLIEST, -1))
    begin[home] = part.valid_from
    np.maximum.at(end, home[seen], part.valid_to[seen])
    value[home[seen]] = _value_numbers(history, rows[seen])
    covers = (begin <= moment.at) & (moment.at < end)
    in_force = np.isin(value, history.value[view.facts])
    reasons = np.select(
        [
            np.bincount(home[believed], minlength=count) == 0,
            np.bincount(home[seen], minlength=count) == 0,
            begin > moment.at,
            covers & in_force,
            covers | _displaced(history, value, begin, end),
        ],
        [0, 1, 2, -1, 3],
        default=4,
    )
    return home, reasons.astype(np.int64)


def count_left_out(view: View, rows: Rows) -> dict[str, int]:
    """Return how many statements of some rows are left out, by reason; arguments as of `standing`."""
    _, reasons = standing(view, rows)
    return {name: int((reasons == number).sum()) for number, name in enumerate(REASONS)}


def _displaced(history: History, value: Rows, begin: Rows, end: Rows) -> Mask:
    """Return bool[h]: whether another value holds, or held, before a statement of value[i] ran out at end[i].

    True too for a statement that never held, because another did over all of its period.
    """
    if not len(history):
        return np.zeros(len(value), dtype=bool)
    starts = np.unique(history.start)
    width = len(starts) + 1
    place = history.value * width + np.searchsorted(starts, history.start)
    order = np.argsort(place)
    sought = value * width + np.searchsorted(starts, end)
    last = order[np.maximum(np.searchsorted(place[order], sought) - 1, 0)]
    held = (history.value[last] == value) & (begin <= history.start[last]) & (history.start[last] < end)
    displaced: Mask = ~held | (history.end[last] < end)
    return displaced


def _value_numbers(history: History, rows: Rows) -> Rows:
    """Return the number of key and value of folded rows."""
    numbers: Rows = history.row_value[np.searchsorted(history.rows, rows)]
    return numbers
