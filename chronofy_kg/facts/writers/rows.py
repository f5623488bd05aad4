"""Rows of a table in the shape in which they came in, with their transaction times, for every writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chronofy_kg.facts.model import ValueKind
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.time import OPEN_US

__all__ = ["KINDS", "chunks", "rows_of", "time_texts"]

_CHUNK = 8_192
_TEXTS = ("subject", "predicate", "object", "unit", "datatype", "lang", "type", "content", "meta", "source")
_TIMES = ("valid_from", "valid_to", "observed_at", "recorded_at", "retired_at")
#: Names of the kinds of values, as `value_kind` has them.
KINDS = tuple(kind.name.lower() for kind in ValueKind)


def chunks(table: FactTable, on_row: Callable[[int], None] | None) -> Iterator[FactTable]:
    """Yield a table in parts of some thousand rows, and tell how many rows have been written."""
    for start in range(0, len(table), _CHUNK):
        yield table.take(np.arange(start, min(start + _CHUNK, len(table))))
        if on_row is not None:
            on_row(min(start + _CHUNK, len(table)))


def rows_of(part: FactTable) -> Iterator[dict[str, Any]]:
    """Yield each row as fields, absent ones left out; times as RFC 3339 text, meta as JSON text.

    `type` is left out where it is the predicate, which it is by default.
    """
    pool = part.pool
    columns: dict[str, list[Any]] = {
        name: [pool.get(code) for code in getattr(part, name).tolist()] for name in _TEXTS
    }
    columns["value"] = [part.value(row) for row in range(len(part))]
    columns |= {name: time_texts(getattr(part, name)) for name in _TIMES}
    columns["quality"] = [None if q != q else q for q in part.quality.tolist()]
    columns["type"] = [
        None if kind == predicate else kind
        for kind, predicate in zip(columns["type"], columns["predicate"], strict=True)
    ]
    names = tuple(columns)
    for cells in zip(*columns.values(), strict=True):
        yield {name: cell for name, cell in zip(names, cells, strict=True) if cell is not None}


def time_texts(times: np.ndarray[Any, np.dtype[np.int64]]) -> list[str | None]:
    """Return instants as RFC 3339 text in UTC, None for the open end."""
    texts = np.datetime_as_string(times.view("datetime64[us]"), timezone="UTC").tolist()
    return [
        None if end else text.replace(".000000Z", "Z")
        for text, end in zip(texts, (times >= OPEN_US).tolist(), strict=True)
    ]
