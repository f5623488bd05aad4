"""One check of what comes in: fields of a row or body become an Assertion, or a located FactFormatError.

Used by every reader and by the HTTP API, so that a row is refused for the same reason at every door. The
fields are those of the assertion shape; unknown fields are refused, nothing is guessed.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from chronofy_kg.errors import FactFormatError, TimeFormatError
from chronofy_kg.facts.model import Assertion, Value
from chronofy_kg.facts.strict_json import escape_pointer
from chronofy_kg.facts.time import OPEN_US, TimeUnit, parse_instant, parse_period

__all__ = [
    "FIELDS",
    "FILE_FIELDS",
    "STORED_FIELDS",
    "TIME_FIELDS",
    "Restored",
    "RowRules",
    "check_row",
    "check_told",
]

FIELDS = ("subject", "predicate", "object", "value", "unit", "datatype", "lang", "type", "content", "meta",
          "valid_from", "valid_to", "observed_at", "source", "quality")  # fmt: skip
#: Files may say the valid period in one text, such as 2024-05 or 2022/..
FILE_FIELDS = (*FIELDS, "during")
#: What the store adds; only a restore takes it back.
STORED_FIELDS = ("recorded_at", "retired_at")
TIME_FIELDS = ("valid_from", "valid_to", "observed_at", *STORED_FIELDS)
_NAMES = ("unit", "datatype", "lang", "type", "source")
_STORED_ONLY = {"id", *STORED_FIELDS}
_MAX_NAME = 2_000
_MAX_TEXT = 1_000_000
_MAX_EXACT_INTEGER = 2**53


@dataclass(frozen=True, slots=True)
class RowRules:
    """How the rows of a file are to be read.

    Attributes:
        zone: IANA name of the zone for times without an offset.
        units: for each time field that may be a bare number, its unit since 1970.
        restore: whether rows carry the transaction times of a store.
        known: the fields that a row may have; those of a body are fewer.
    """

    zone: str = "UTC"
    units: Mapping[str, TimeUnit] = field(default_factory=dict)
    restore: bool = False
    known: tuple[str, ...] = FILE_FIELDS


@dataclass(frozen=True, slots=True)
class Restored:
    """An assertion with the times at which a store learned it and, or OPEN_US, stopped believing it."""

    assertion: Assertion
    recorded_at: int
    retired_at: int


def check_row(fields: Mapping[str, Any], *, zone: str = "UTC") -> Assertion:
    """Turn the fields of one row into an Assertion.

    Args:
        fields: decoded JSON object, or cells by column name; None counts as absent.
        zone: IANA name of the zone for times without an offset.

    Raises:
        FactFormatError: `pointer` names the field that is wrong.
    """
    rules = RowRules(zone, known=FIELDS)
    _check_known(fields, rules)
    return _assertion(fields, rules)


def check_told(fields: Mapping[str, Any], rules: RowRules) -> Assertion | Restored:
    """Turn the fields of one row of a file into an Assertion, or where `rules` restore, a Restored.

    Raises:
        FactFormatError: `pointer` names the field that is wrong.
    """
    _check_known(fields, rules)
    told = _assertion(fields, rules)
    if not rules.restore:
        return told
    recorded, retired = _time(fields, "recorded_at", rules), _time(fields, "retired_at", rules)
    if recorded is None:
        raise FactFormatError(
            "recorded_at is missing; a restore takes what export wrote", pointer="/recorded_at"
        )
    if retired is not None and retired < recorded:
        raise FactFormatError("retired_at is before recorded_at", pointer="/retired_at")
    return Restored(told, recorded, OPEN_US if retired is None else retired)


def _assertion(fields: Mapping[str, Any], rules: RowRules) -> Assertion:
    subject = _name(fields, "subject", required=True)
    predicate = _name(fields, "predicate", required=True)
    related, value = _name(fields, "object"), fields.get("value")
    if (related is None) == (value is None):
        which = (
            "both object and value; give one of them" if related is not None else "neither object nor value"
        )
        raise FactFormatError(f"states {which}", pointer="/object" if related is not None else "/value")
    valid_from, valid_to, observed_at = _times(fields, rules)
    return Assertion(
        subject=subject or "",
        predicate=predicate or "",
        object=related,
        value=None if value is None else _value(value, exact_only=not rules.restore),
        content=_text(fields, "content", _MAX_TEXT),
        meta=_meta(fields.get("meta")),
        valid_from=valid_from,
        valid_to=valid_to,
        observed_at=observed_at,
        quality=_quality(fields.get("quality")),
        **{name: _name(fields, name) for name in _NAMES if fields.get(name) is not None},
    )


def _check_known(fields: Mapping[str, Any], rules: RowRules) -> None:
    known = (*rules.known, *STORED_FIELDS) if rules.restore else rules.known
    for name in fields:
        if name not in known:
            raise FactFormatError(_unknown(name, known), pointer=f"/{escape_pointer(name)}")


def _unknown(name: str, known: tuple[str, ...]) -> str:
    if name in _STORED_ONLY:
        restorable = name in STORED_FIELDS and "during" in known
        return f"{name} is given by the store; leave it out" + (", or use --restore" if restorable else "")
    close = difflib.get_close_matches(name[:60], known, n=1)
    return f"unknown field {name[:60]!r}" + (f"; did you mean {close[0]!r}?" if close else "")


def _text(fields: Mapping[str, Any], name: str, limit: int) -> str | None:
    text = fields.get(name)
    if text is None:
        return None
    if not isinstance(text, str):
        raise FactFormatError(f"{name} must be text, not {_kind(text)}", pointer=f"/{name}")
    if "\x00" in text:
        raise FactFormatError(f"{name} contains a NUL character", pointer=f"/{name}")
    if len(text) > limit:
        raise FactFormatError(f"{name} is longer than {limit:,} characters", pointer=f"/{name}")
    return text


def _name(fields: Mapping[str, Any], name: str, *, required: bool = False) -> str | None:
    if fields.get(name) is None:
        if required:
            raise FactFormatError(f"{name} is missing", pointer=f"/{name}")
        return None
    text = _text(fields, name, _MAX_NAME)
    if text is not None and not text.strip():
        raise FactFormatError(f"{name} is empty", pointer=f"/{name}")
    return text


def _value(value: Any, *, exact_only: bool) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        # An export may hold larger ones, if they are exact: Python callers are not checked.
        if abs(value) > _MAX_EXACT_INTEGER and (exact_only or not _is_exact(value)):
            raise FactFormatError(f"value {value} is beyond 2^53, not exact as a number; send it as text",
                                  pointer="/value")  # fmt: skip
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise FactFormatError(f"value is {value}; only finite numbers are facts", pointer="/value")
        return value
    if isinstance(value, str):
        return _text({"value": value}, "value", _MAX_TEXT) or ""
    raise FactFormatError(f"value must be a number, boolean or text, not {_kind(value)}", pointer="/value")


def _is_exact(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _meta(meta: Any) -> Mapping[str, Any]:
    if meta is None:
        return {}
    if not isinstance(meta, Mapping):
        raise FactFormatError(f"meta must be a map, not {_kind(meta)}", pointer="/meta")
    return meta


def _quality(quality: Any) -> float | None:
    if quality is None:
        return None
    if isinstance(quality, bool) or not isinstance(quality, int | float):
        raise FactFormatError(f"quality must be a number, not {_kind(quality)}", pointer="/quality")
    if not 0 < quality <= 1:
        raise FactFormatError(f"quality is {quality}; it must lie in (0, 1]", pointer="/quality")
    return float(quality)


def _times(fields: Mapping[str, Any], rules: RowRules) -> tuple[int, int, int]:
    """Return valid_from, valid_to and observed_at; each of the first and last stands in for the other."""
    valid_from, end = _valid_period(fields, rules)
    observed_at = _time(fields, "observed_at", rules)
    if valid_from is None and observed_at is None:
        raise FactFormatError("valid_from is missing, and there is no observed_at to stand for it",
                              pointer="/valid_from")  # fmt: skip
    start = valid_from if valid_from is not None else observed_at
    seen = observed_at if observed_at is not None else valid_from
    assert start is not None
    assert seen is not None
    for name, instant in (("valid_from", start), ("observed_at", seen)):
        if instant >= OPEN_US:
            raise FactFormatError(f"{name} is the open end of time", pointer=f"/{name}")
    if end <= start:
        raise FactFormatError("valid_to is not after valid_from; a period is half-open, [from, to)",
                              pointer="/valid_to")  # fmt: skip
    return start, end, seen


def _valid_period(fields: Mapping[str, Any], rules: RowRules) -> tuple[int | None, int]:
    during = _text(fields, "during", _MAX_NAME)
    if during is None:
        end = _time(fields, "valid_to", rules)
        return _time(fields, "valid_from", rules), OPEN_US if end is None else end
    for name in ("valid_from", "valid_to"):
        if fields.get(name) is not None:
            raise FactFormatError(f"gives both during and {name}; give one of them", pointer=f"/{name}")
    try:
        period = parse_period(during, zone=rules.zone)
    except TimeFormatError as error:
        raise FactFormatError(f"during: {error}", pointer="/during") from None
    return period.start, period.end


def _time(fields: Mapping[str, Any], name: str, rules: RowRules) -> int | None:
    value, unit = fields.get(name), rules.units.get(name)
    if value is None:
        return None
    try:
        text = value if isinstance(value, str) else _bare(value, unit)
        return parse_instant(text, zone=rules.zone, unit=unit).us
    except TimeFormatError as error:
        raise FactFormatError(f"{name}: {error}", pointer=f"/{name}") from None


def _bare(value: Any, unit: TimeUnit | None) -> str:
    """Return a number as the text of a time; without a unit it is refused, never guessed."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TimeFormatError(f"a time must be text, not {_kind(value)}")
    if unit is None or not math.isfinite(value):
        raise TimeFormatError(f"{value} is a bare number: write the time as text, like 2024-05-17T08:30:00Z")
    return format(Decimal(repr(value)), "f")


def _kind(value: Any) -> str:
    kinds = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "a map",
    }
    return kinds.get(type(value), type(value).__name__)
