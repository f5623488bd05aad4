"""FactTable: assertions as numpy columns plus interned strings, the central shape in memory.

Readers make it, pure functions over it fold, fit, mine and score, the store saves and restores it. A
string column holds codes into the table's pool, -1 where absent. Row views are built only at the edges.
"""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.facts.model import Assertion, Value, ValueKind, assertion_id, nfc, value_key
from chronofy_kg.facts.time import OPEN_US

__all__ = ["FactTable", "StringPool", "TableBuilder"]

Codes = NDArray[np.int32]
Times = NDArray[np.int64]
ABSENT = -1
_CHUNK = 65_536
_KINDS = tuple(ValueKind)

_CODES = ("tenant", "subject", "predicate", "object", "text", "unit", "datatype", "lang", "type", "source",
          "content", "meta")  # fmt: skip
_TIMES = ("valid_from", "valid_to", "observed_at", "recorded_at", "retired_at")


class StringPool:
    """Interned strings. `canonical[code]` is the code of the same string in NFC, which decides identity."""

    __slots__ = ("_all_nfc", "_canonical", "_codes", "_lock", "strings")

    def __init__(self, strings: Iterable[str] = ()) -> None:
        self.strings: list[str] = []
        self._codes: dict[str, int] = {}
        self._canonical = array("i")
        self._all_nfc = True  # then the canonical code of each string is its own
        # Queries read the pool while a load adds to it; an array that is being read cannot grow.
        self._lock = threading.RLock()
        for string in strings:
            self.add(string)

    @classmethod
    def restored(cls, strings: list[str], canonical: Codes) -> StringPool:
        """Return the pool that has these strings under the codes 0, 1, …

        Args:
            strings: distinct strings.
            canonical: int32[len(strings)], the code of the NFC form of each.

        Raises:
            ValueError: a string comes twice, or a code is out of range.
        """
        pool = cls()
        pool.strings, pool._codes = strings, dict(zip(strings, range(len(strings)), strict=True))
        pool._canonical = array("i", canonical.astype(np.intc).tobytes())
        pool._all_nfc = np.array_equal(canonical, np.arange(len(canonical)))
        if len(pool._codes) != len(canonical) or not ((canonical >= 0) & (canonical < len(strings))).all():
            raise ValueError("these strings are no pool")
        return pool

    def __len__(self) -> int:
        return len(self.strings)

    def __getitem__(self, code: int) -> str:
        return self.strings[code]

    def add(self, string: str | None) -> int:
        """Return the code of a string, new or known; -1 for None."""
        if string is None:
            return ABSENT
        code = self._codes.get(string)
        return self._added(string) if code is None else code

    def _added(self, string: str) -> int:
        with self._lock:
            known = self._codes.get(string)
            if known is not None:
                return known  # another thread was first
            code = len(self.strings)
            self.strings.append(string)
            self._canonical.append(code)
            same = nfc(string)
            if same != string:
                self._all_nfc = False
                self._canonical[code] = self.add(same)
            self._codes[string] = code
        return code

    def find(self, string: str | None) -> int:
        """Return the code of a string in NFC, or -1 if no such string was ever added."""
        return ABSENT if string is None else self._codes.get(nfc(string), ABSENT)

    def get(self, code: int) -> str | None:
        """Return the string of a code, None for -1."""
        return None if code < 0 else self.strings[code]

    def canonical(self, codes: Codes) -> Codes:
        """Map codes to the codes of their NFC form (int32, same shape); -1 stays -1.

        The result is not to be written to: it may be `codes` itself.
        """
        if self._all_nfc:
            return codes
        with self._lock:
            table = np.full(len(self._canonical) + 1, ABSENT, dtype=np.int32)
            table[:-1] = self._canonical
        return table[codes]


@dataclass(frozen=True, slots=True)
class FactTable:
    """Assertions in columns, all of one length n.

    Attributes:
        pool: the strings behind the codes; shared by every table derived from this one.
        tenant … meta: int32[n] codes, -1 where absent; `object` for relations, `text` for text values,
            `meta` is JSON text.
        kind: uint8[n] of ValueKind.
        number: float64[n], NaN where the value is no number; booleans are 0 and 1.
        valid_from … retired_at: int64[n] microseconds UTC; the open end is OPEN_US.
        quality: float64[n], NaN where not stated.
        ids: uint8[n, 16] assertion ids.
    """

    pool: StringPool
    tenant: Codes
    subject: Codes
    predicate: Codes
    object: Codes
    text: Codes
    unit: Codes
    datatype: Codes
    lang: Codes
    type: Codes
    source: Codes
    content: Codes
    meta: Codes
    kind: NDArray[np.uint8]
    number: NDArray[np.float64]
    valid_from: Times
    valid_to: Times
    observed_at: Times
    recorded_at: Times
    retired_at: Times
    quality: NDArray[np.float64]
    ids: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.subject)

    @staticmethod
    def empty(pool: StringPool | None = None) -> FactTable:
        """Return a table without rows."""
        return TableBuilder(pool=pool).build()

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return every column by name, the pool left out."""
        return {name: getattr(self, name) for name in _ALL}

    def take(self, rows: NDArray[Any]) -> FactTable:
        """Return the rows of an index or mask array, in its order, over the same pool."""
        taken: dict[str, Any] = {name: column[rows] for name, column in self.columns().items()}
        return replace(self, **taken)

    def append(self, other: FactTable) -> FactTable:
        """Return this table followed by the rows of another; its strings join this table's pool."""
        mine, theirs = self.columns(), other.columns()
        if other.pool is not self.pool:
            recode = np.asarray([*(self.pool.add(s) for s in other.pool.strings), ABSENT], dtype=np.int32)
            theirs |= {name: recode[theirs[name]] for name in _CODES}
        joined: dict[str, Any] = {name: np.concatenate([mine[name], theirs[name]]) for name in _ALL}
        return replace(self, **joined)

    def value(self, row: int) -> Value | None:
        """Return the value of a row as a Python value, None where it states an object."""
        kind = self.kind[row]
        if kind == ValueKind.TEXT:
            return self.pool[self.text[row]]
        number = self.number[row]
        if kind == ValueKind.NUMBER:
            return float(number)
        if kind == ValueKind.INTEGER:
            return int(number)
        return bool(number) if kind == ValueKind.BOOLEAN else None

    def statement(self, row: int) -> tuple[str, ...]:
        """Return the identity of key and value of a row: what two assertions of one statement share."""
        pool, kind = self.pool, ValueKind(self.kind[row])
        if kind == ValueKind.OBJECT:
            shown: str | float = pool[self.object[row]]
        elif kind == ValueKind.TEXT:
            shown = pool[self.text[row]]
        else:
            shown = float(self.number[row])
        qualifiers = (pool.get(self.unit[row]), pool.get(self.datatype[row]), pool.get(self.lang[row]))
        return (
            pool.get(self.tenant[row]) or "",
            nfc(pool[self.subject[row]]),
            nfc(pool[self.predicate[row]]),
            value_key(kind, shown),
            *(nfc(text or "") for text in qualifiers),
        )

    def content_of(self, row: int) -> str:
        """Return the text form of a row: its content, or "subject predicate object-or-value unit"."""
        pool = self.pool
        stated = pool.get(self.content[row])
        if stated is not None:
            return stated
        return f"{pool[self.subject[row]]} {pool[self.predicate[row]]} {self.said(row)}"

    def said(self, row: int) -> str:
        """Return what a row says of its subject and predicate: its object, or its value and unit."""
        shown = self.pool.get(self.object[row])
        words = (show_value(self.value(row)) if shown is None else shown, self.pool.get(self.unit[row]))
        return " ".join(word for word in words if word)

    def meta_of(self, row: int) -> dict[str, Any]:
        """Return the flat map that came with a row."""
        text = self.pool.get(self.meta[row])
        meta: dict[str, Any] = json.loads(text) if text else {}
        return meta

    def id_of(self, row: int) -> str:
        """Return the assertion id of a row as text."""
        digest: bytes = self.ids[row].tobytes()
        return "a_" + digest.hex()

    def assertion(self, row: int) -> Assertion:
        """Return a row as it was told."""
        pool, quality = self.pool, float(self.quality[row])
        names = {name: pool.get(getattr(self, name)[row]) for name in ("unit", "datatype", "lang", "source")}
        return Assertion(
            subject=pool[self.subject[row]],
            predicate=pool[self.predicate[row]],
            object=pool.get(self.object[row]),
            value=self.value(row),
            type=pool.get(self.type[row]),
            content=pool.get(self.content[row]),
            meta=self.meta_of(row),
            valid_from=int(self.valid_from[row]),
            valid_to=int(self.valid_to[row]),
            observed_at=int(self.observed_at[row]),
            quality=None if np.isnan(quality) else quality,
            **names,
        )

    def value_columns(self) -> tuple[NDArray[np.int64], ...]:
        """Return int64[n] columns that are equal exactly where the values are the same value."""
        numeric = np.where(self.kind == ValueKind.INTEGER, np.uint8(ValueKind.NUMBER), self.kind)
        bits = np.where(np.isnan(self.number), 0.0, self.number + 0.0).view(np.int64)
        canonical = self.pool.canonical
        codes = (self.object, self.text, self.unit, self.datatype, self.lang)
        return (numeric.astype(np.int64), bits, *(canonical(code).astype(np.int64) for code in codes))


_ALL = (*_CODES, "kind", "number", *_TIMES, "quality", "ids")


def show_value(value: Value | None) -> str:
    """Return a value as a person writes it: 3.2, 52, true, none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return "" if value is None else str(value)


class TableBuilder:
    """Collects assertions and turns them into a FactTable.

    Args:
        tenant: the tenant that the rows belong to.
        pool: a pool to share, or a new one.
    """

    def __init__(self, tenant: str = "default", pool: StringPool | None = None) -> None:
        self.pool = pool if pool is not None else StringPool()
        self._tenant = self.pool.add(tenant) if tenant else ABSENT
        # Packed arrays, row after row: a list of tuples would take five times the memory of the table.
        self._codes, self._times = array("i"), array("q")
        self._kinds, self._numbers, self._quality = array("B"), array("d"), array("d")

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, row: Assertion, *, recorded_at: int = 0, retired_at: int = OPEN_US) -> None:
        """Add one assertion, with its transaction times where they are known."""
        intern = self.pool.add
        kind, number, text = _split(row)
        meta = json.dumps(dict(row.meta), sort_keys=True, ensure_ascii=False) if row.meta else None
        # An empty qualifier says nothing: it is the same as an absent one.
        strings = (row.subject, row.predicate, row.object, text, row.unit or None, row.datatype or None,
                   row.lang or None, row.type or row.predicate, row.source or None, row.content,
                   meta)  # fmt: skip
        self._codes.extend((self._tenant, *map(intern, strings)))
        self._kinds.append(kind)
        self._numbers.append(number)
        self._times.extend((row.valid_from, row.valid_to, row.observed_at, recorded_at, retired_at))
        self._quality.append(np.nan if row.quality is None else row.quality)

    def extend(self, rows: Iterable[Assertion]) -> None:
        """Add several assertions."""
        for row in rows:
            self.add(row)

    def build(self) -> FactTable:
        """Return the table of all rows added so far; ids are computed from what was told."""
        count = len(self)
        codes = np.frombuffer(self._codes, dtype=np.int32).reshape(count, len(_CODES))
        times = np.frombuffer(self._times, dtype=np.int64).reshape(count, len(_TIMES))
        # Copies throughout: a view would forbid the builder's arrays to grow.
        split: dict[str, Any] = {name: codes[:, i].copy() for i, name in enumerate(_CODES)}
        split |= {name: times[:, i].copy() for i, name in enumerate(_TIMES)}
        table = FactTable(
            pool=self.pool,
            kind=np.array(self._kinds, dtype=np.uint8),
            number=np.array(self._numbers, dtype=np.float64),
            quality=np.array(self._quality, dtype=np.float64),
            ids=np.zeros((count, 16), dtype=np.uint8),
            **split,
        )
        return replace(table, ids=_assertion_ids(table))


def _split(row: Assertion) -> tuple[ValueKind, float, str | None]:
    """Return kind, number and text of what an assertion states."""
    value = row.value
    if row.object is not None:
        return ValueKind.OBJECT, np.nan, None
    if isinstance(value, bool):
        return ValueKind.BOOLEAN, float(value), None
    if isinstance(value, int):
        return ValueKind.INTEGER, float(value), None
    if isinstance(value, float):
        return ValueKind.NUMBER, value, None
    if value is None:
        raise ValueError("an assertion states an object or a value")
    return ValueKind.TEXT, np.nan, value


def _assertion_ids(table: FactTable) -> NDArray[np.uint8]:
    """Return uint8[n, 16]: the hash of everything told in each row; tenant and transaction times left out."""
    raw = bytearray()
    for low in range(0, len(table), _CHUNK):
        for statement, told in _told(table, slice(low, low + _CHUNK)):
            # Without the tenant: what wins between equals must not depend on whose store it is.
            raw += assertion_id(statement[1:], told)
    return np.frombuffer(bytes(raw), dtype=np.uint8).reshape(len(table), 16)


def _told(table: FactTable, rows: slice) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield for each row its statement, as `FactTable.statement` gives it, and the rest of what was told."""
    strings, canonical = table.pool.strings, table.pool.canonical

    def texts(codes: Codes) -> list[str]:
        return [strings[code] if code >= 0 else "" for code in codes[rows].tolist()]

    def same(codes: Codes) -> list[str]:
        return [strings[code] if code >= 0 else "" for code in canonical(codes[rows]).tolist()]

    kinds = [_KINDS[kind] for kind in table.kind[rows].tolist()]
    columns = zip(kinds, same(table.object), same(table.text), table.number[rows].tolist(), strict=True)
    values = [
        value_key(kind, related if kind is ValueKind.OBJECT else text if kind is ValueKind.TEXT else number)
        for kind, related, text, number in columns
    ]
    statements = zip(texts(table.tenant), same(table.subject), same(table.predicate), values,
                     same(table.unit), same(table.datatype), same(table.lang), strict=True)  # fmt: skip
    times = (
        map(str, column[rows].tolist()) for column in (table.valid_from, table.valid_to, table.observed_at)
    )
    rest = zip(same(table.type), same(table.source), same(table.content), same(table.meta), *times,
               map(repr, table.quality[rows].tolist()), strict=True)  # fmt: skip
    yield from zip(statements, rest, strict=True)
