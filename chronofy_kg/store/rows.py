"""FactTable rows as columns of Cypher parameters, and back. Pure; no statement is built here.

Parameters travel as one list per property: a map per row costs the embedded engine ten times as much. What an
assertion told otherwise than its fact shows it (strings before NFC, a negative zero) is kept beside it as
told_….
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts import OPEN_US, FactTable, StringPool, ValueKind
from chronofy_kg.facts.model import Value, nfc
from chronofy_kg.store.materialise import STATES, Delta, FactStates, Rows

__all__ = [
    "READ_COLUMNS",
    "Columns",
    "assertion_columns",
    "entity_columns",
    "fact_columns",
    "home_columns",
    "object_columns",
    "table_from_records",
]

Columns = dict[str, list[Any]]

_KIND_NAMES = {kind.value: kind.name.lower() for kind in ValueKind}
_KIND_OF = {kind.name.lower(): kind for kind in ValueKind}


def fact_columns(delta: Delta, indexes: Rows) -> Columns:
    """Return the properties of facts: one list per property, in the order of `indexes`."""
    table, states = delta.table, delta.after
    shown = states.shown[indexes].tolist()
    pool = table.pool
    columns: Columns = {
        "id": [delta.ids[index] for index in indexes.tolist()],
        "subject": [nfc(pool[table.subject[row]]) for row in shown],
        "predicate": [nfc(pool[table.predicate[row]]) for row in shown],
        "type": [nfc(pool[table.type[row]]) for row in shown],
        "content": [table.content_of(row) for row in shown],
        "value": _shown_values(table, states.shown[indexes]),
        "value_kind": [_KIND_NAMES[kind] for kind in table.kind[states.shown[indexes]].tolist()],
        **{name: [_nfc(pool.get(getattr(table, name)[row])) for row in shown] for name in _QUALIFIERS},
    }
    return columns | _state_columns(table, states, indexes)


def _state_columns(table: FactTable, states: FactStates, indexes: Rows) -> Columns:
    start, end, seen = states.start[indexes], states.end[indexes], states.seen[indexes]
    observed = table.observed_at[seen]
    return {
        "state": [STATES[state] for state in states.state[indexes].tolist()],
        "valid_from_us": start.tolist(),
        "valid_to_us": end.tolist(),
        "observed_at_us": observed.tolist(),
        # Text that the engine parses: ten times cheaper to send than a Bolt DateTime.
        "valid_from": _instants(start),
        "valid_to": _instants(end),
        "observed_at": _instants(observed),
        "quality": _numbers(table.quality[seen].tolist()),
    }


def object_columns(delta: Delta, indexes: Rows) -> Columns:
    """Return the links from facts to the entity that they state."""
    table = delta.table
    shown = delta.after.shown[indexes]
    stating = np.flatnonzero(table.object[shown] >= 0)
    return {
        "id": [delta.ids[index] for index in indexes[stating].tolist()],
        "object": [nfc(table.pool[code]) for code in table.object[shown[stating]].tolist()],
    }


def entity_columns(table: FactTable, known: FactTable) -> Columns:
    """Return the entities that a table names and a known one (of the same pool) does not.

    Their id is in NFC, their name as first told.
    """
    canonical = table.pool.canonical
    codes = np.column_stack([table.subject, table.object]).ravel()
    fresh = ~np.isin(canonical(codes), canonical(np.concatenate([known.subject, known.object])))
    names: dict[str, str] = {}
    for code in dict.fromkeys(codes[fresh & (codes >= 0)].tolist()):
        name = table.pool[code]
        names.setdefault(nfc(name), name)
    return {"id": list(names), "name": list(names.values())}


def home_columns(delta: Delta, indexes: Rows, first_new: int) -> Columns:
    """Return the properties of new homes together with those of the assertion that each shows."""
    rows = delta.after.shown[indexes]
    told = assertion_columns(delta, rows, first_new)
    names = ("source", "meta", "row", *(f"told_{name}" for name in ("value", *_NAMES)))
    renamed = {"assertion": "id", "told_content": "content", "told_valid_to_us": "valid_to_us"}
    pool, objects = delta.table.pool, delta.table.object[rows].tolist()
    return (
        fact_columns(delta, indexes)
        | {name: told[name] for name in names}
        | {name: told[column] for name, column in renamed.items()}
        | {"object": [_nfc(pool.get(code)) for code in objects]}
    )


def assertion_columns(delta: Delta, rows: Rows, first_new: int) -> Columns:
    """Return the properties of new assertions, as they were told; `first_new` is the first new row."""
    table, pool = delta.table, delta.table.pool
    listed = rows.tolist()
    told = {name: [pool.get(code) for code in getattr(table, name)[rows].tolist()] for name in _TOLD}
    return {
        "fact": [delta.homes[row] for row in listed],
        "id": [table.id_of(row) for row in listed],
        "source": [nfc(source or "") for source in told["source"]],
        "type": told["type"],
        "content": told["content"],
        "meta": told["meta"],
        "value_kind": [_KIND_NAMES[kind] for kind in table.kind[rows].tolist()],
        "valid_from_us": table.valid_from[rows].tolist(),
        "valid_to_us": table.valid_to[rows].tolist(),
        "observed_at_us": table.observed_at[rows].tolist(),
        "quality": _numbers(table.quality[rows].tolist()),
        "row": (rows - first_new).tolist(),
        "stillborn": (table.retired_at[rows] != OPEN_US).tolist(),
        "told_value": _told_values(table, rows),
        **{f"told_{name}": [_told_otherwise(text) for text in told[name]] for name in _NAMES},
    }


_QUALIFIERS = ("unit", "datatype", "lang")
#: What a fact or its neighbours show in NFC, and an assertion may have told in another form.
_NAMES = ("subject", "predicate", "object", "source", *_QUALIFIERS)
_TOLD = (*_NAMES, "type", "content", "meta")


def _instants(us: NDArray[np.int64]) -> list[str | None]:
    """Return instants as text, None for the open end."""
    texts = np.datetime_as_string(us.view("datetime64[us]"), timezone="UTC").tolist()
    return [
        None if open_end else text for text, open_end in zip(texts, (us >= OPEN_US).tolist(), strict=True)
    ]


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [None if value != value else value for value in values]


def _nfc(text: str | None) -> str | None:
    return None if text is None else nfc(text)


def _told_otherwise(text: str | None) -> str | None:
    """Return text only where the graph shows it otherwise: not in NFC, or empty (an absent unit …)."""
    return text if text is not None and (not text or nfc(text) != text) else None


def _shown_values(table: FactTable, rows: Rows) -> list[Value | None]:
    strings = table.pool.strings
    columns = (table.kind[rows].tolist(), table.number[rows].tolist(), table.text[rows].tolist())
    return [
        nfc(strings[text]) if kind == ValueKind.TEXT else _shown_number(kind, number)
        for kind, number, text in zip(*columns, strict=True)
    ]


def _shown_number(kind: int, number: float) -> Value | None:
    if kind == ValueKind.NUMBER:
        return number + 0.0  # 0.0 and -0.0 are one value
    if kind == ValueKind.INTEGER:
        return int(number)
    return bool(number) if kind == ValueKind.BOOLEAN else None


def _told_values(table: FactTable, rows: Rows) -> list[Value | None]:
    strings, numbers = table.pool.strings, table.number[rows]
    negative = ((numbers == 0.0) & np.signbit(numbers)).tolist()
    return [
        (strings[text] if nfc(strings[text]) != strings[text] else None)
        if text >= 0
        else (-0.0 if is_negative else None)
        for text, is_negative in zip(table.text[rows].tolist(), negative, strict=True)
    ]


#: What one row of ``cypher/store/assertions_*.cypher`` holds, in its order.
READ_COLUMNS = (
    "predicate", "value", "unit", "datatype", "lang", "subject", "object", "source", "id", "type", "content",
    "meta", "value_kind", "valid_from_us", "valid_to_us", "observed_at_us", "recorded_at_us", "retired_at_us",
    "quality", "row", "seq", "added_seq", "told_subject", "told_predicate", "told_object", "told_value",
    "told_source", "told_unit", "told_datatype", "told_lang",
)  # fmt: skip


def table_from_records(tenant: str, records: Columns, pool: StringPool) -> FactTable:
    """Return the table of assertions read from the store, bit for bit as they were told.

    Args:
        tenant: whose assertions they are.
        records: one list per name of `READ_COLUMNS`.
        pool: the pool to intern into.
    """
    count = len(records["id"])
    add = pool.add
    kinds = [_KIND_OF[name] for name in records["value_kind"]]
    values = _preferred(records["told_value"], records["value"])
    strings: dict[str, list[Any]] = {
        "tenant": [tenant] * count,
        "text": [
            value if kind is ValueKind.TEXT else None for value, kind in zip(values, kinds, strict=True)
        ],
        **{name: _preferred(records[f"told_{name}"], records[name]) for name in _NAMES},
        **{name: records[name] for name in ("type", "content", "meta")},
    }
    # The node with the empty id stands for "no source", unless a source of that name was told.
    strings["source"] = [
        told if told is not None else source or None
        for told, source in zip(records["told_source"], records["source"], strict=True)
    ]
    columns: dict[str, Any] = {
        name: np.fromiter((add(text) for text in column), dtype=np.int32, count=count)
        for name, column in strings.items()
    }
    columns |= {name: np.asarray(records[name + "_us"], dtype=np.int64) for name in _TIMES}
    numeric = [
        float(value) if kind not in (ValueKind.TEXT, ValueKind.OBJECT) else np.nan
        for value, kind in zip(values, kinds, strict=True)
    ]
    quality = [np.nan if value is None else value for value in records["quality"]]
    return replace(
        FactTable.empty(pool),
        **columns,
        kind=np.asarray(kinds, dtype=np.uint8),
        number=np.asarray(numeric, dtype=np.float64),
        quality=np.asarray(quality, dtype=np.float64),
        ids=ids_from_text(records["id"]),
    )


_TIMES = ("valid_from", "valid_to", "observed_at", "recorded_at", "retired_at")


def ids_from_text(ids: Sequence[str]) -> NDArray[np.uint8]:
    """Return uint8[n, 16] of assertion ids such as a_0f…."""
    raw = bytes.fromhex("".join(text[2:] for text in ids))
    return np.frombuffer(raw, dtype=np.uint8).reshape(len(ids), 16).copy()


def _preferred(told: list[Any], shown: list[Any]) -> list[Any]:
    return [
        shown_one if told_one is None else told_one for told_one, shown_one in zip(told, shown, strict=True)
    ]
