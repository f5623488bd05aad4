"""The row views at the edges: what is told (Assertion) and what holds (Fact).

Hot paths never build these per row; they work on the columns of `chronofy_kg.facts.table`. Here too are the
identities: which value is the same value, and the ids of facts and assertions.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

__all__ = [
    "Assertion",
    "Contradiction",
    "Fact",
    "Source",
    "Validity",
    "Value",
    "ValueKind",
    "assertion_id",
    "fact_id",
    "nfc",
]

Value = float | int | bool | str
_SEPARATOR = "\x1f"
#: Parts that hold the separator themselves are escaped, so that no two lists of parts are joined to one text.
_ESCAPES = str.maketrans({"\x1e": "\x1e0", "\x1f": "\x1e1"})


class ValueKind(IntEnum):
    """What stands on the right of a statement."""

    OBJECT = 0
    NUMBER = 1
    INTEGER = 2
    BOOLEAN = 3
    TEXT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """What one source told: subject, predicate and a value or object, with its times.

    Times are microseconds since 1970 in UTC; [valid_from, valid_to) is half-open. Exactly one of `object`
    and `value` is set. `quality` lies in (0, 1], or is None where nobody stated it.
    """

    subject: str
    predicate: str
    object: str | None = None
    value: Value | None = None
    unit: str | None = None
    datatype: str | None = None
    lang: str | None = None
    type: str | None = None
    content: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    valid_from: int
    valid_to: int
    observed_at: int
    source: str | None = None
    quality: float | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Who stated a fact, with when it was seen by them."""

    id: str | None
    observed_at: int
    quality: float | None
    assertion: str


@dataclass(frozen=True, slots=True)
class Validity:
    """Validity V of a fact at an instant, with the interval that comes from that of beta."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Another value stated of the same key from the same instant on, which the fold did not pick."""

    id: str
    said: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One statement over one effective period, as an answer shows it.

    `observed_at` and `quality` are those of the assertion that gives V its maximum; `beta_from` says where
    the rate comes from (fitted, declared, prior or none), `type_version` which version of the fact type was
    used, and `decay` the declared family where it is not the exponential one.
    """

    id: str
    subject: str
    predicate: str
    object: str | None
    value: Value | None
    unit: str | None
    datatype: str | None
    lang: str | None
    type: str
    content: str
    meta: Mapping[str, Any]
    valid_from: int
    valid_to: int
    observed_at: int
    recorded_at: int
    quality: float
    sources: tuple[Source, ...]
    superseded_by: str | None
    contradicts: tuple[Contradiction, ...]
    age_days: float
    beta_per_day: float
    beta_from: str
    type_declared: bool
    type_version: int = 0
    decay: str | None = None
    validity: Validity


def nfc(text: str) -> str:
    """Return the form of a string that decides identity (Unicode NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def value_key(kind: ValueKind, value: str | float) -> str:
    """Return the text that stands for a value in ids: 52 and 52.0 are one value, "52" is another."""
    if kind in (ValueKind.NUMBER, ValueKind.INTEGER):
        return f"n{float(value) + 0.0!r}"
    return _PREFIX[kind] + nfc(str(value))


_PREFIX = {ValueKind.OBJECT: "o", ValueKind.BOOLEAN: "b", ValueKind.TEXT: "t"}


def _digest(parts: tuple[str, ...]) -> bytes:
    joined = _SEPARATOR.join(parts)
    if joined.count(_SEPARATOR) >= len(parts) or "\x1e" in joined:
        joined = _SEPARATOR.join(part.translate(_ESCAPES) for part in parts)
    return hashlib.blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def fact_id(statement: tuple[str, ...], start: int) -> str:
    """Return the id of a fact: a hash of its key, value and first instant.

    Args:
        statement: the identity of key and value, from `FactTable.statement`.
        start: first microsecond of the effective period.
    """
    return "f_" + _digest((*statement, str(start))).hex()


def assertion_id(statement: tuple[str, ...], told: tuple[str, ...]) -> bytes:
    """Return the 16-byte id of an assertion: a hash of everything that was told."""
    return _digest((*statement, *told))
