"""The one JSON decoder: RFC 8259 without leniency, for JSONL files and HTTP bodies alike.

Refused with their place: duplicate keys, NaN and infinities, numbers out of range, lone surrogates, a byte
order mark, anything but UTF-8, and nesting that is too deep.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from chronofy_kg.errors import InputError

__all__ = ["JsonError", "decode_json", "escape_pointer", "locate"]

_MAX_DIGITS = 400
_MAX_DEPTH = 100
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]')


class JsonError(InputError):
    """Text that is no strict JSON.

    Args:
        message: what is wrong, without its place.
        line, column: 1-based place of a syntax error, else None.
        problems: (JSON pointer, what is wrong there) for values that are refused.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        problems: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.message, self.line, self.column, self.problems = message, line, column, problems
        super().__init__(message if line is None else f"{message} (line {line}, column {column})")


class _RefusedError(Exception):
    """Ends a decoding that cannot mark what it refuses."""


class _Refused:
    """Marks a refused value until the walk finds its pointer."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def decode_json(raw: bytes | str) -> Any:
    """Decode one strict JSON text.

    Raises:
        JsonError: with line and column for bad syntax, with JSON pointers for refused values.

    >>> decode_json('{"a": [1, 2.5, true]}')
    {'a': [1, 2.5, True]}
    """
    text = _text(raw)
    if _is_plain(text, raw):
        # Most texts: nothing in them needs a walk, and whatever is refused is told by the walk below.
        with suppress(_RefusedError, json.JSONDecodeError):
            return _PLAIN.decode(text)
    try:
        value = _MARKING.decode(text)
        problems = tuple(_walk(value, "", 0))
    except json.JSONDecodeError as error:
        raise JsonError(_syntax_message(error), line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise JsonError(f"nested too deeply: more than {_MAX_DEPTH} levels") from None
    if problems:
        pointer, reason = problems[0]
        raise JsonError(f"{reason} at {pointer or 'the top'}", problems=problems)
    return value


def escape_pointer(key: str) -> str:
    """Escape one key for a JSON pointer (RFC 6901); a lone surrogate is spelt out."""
    if not key.isascii():
        key = key.encode("utf-8", "backslashreplace").decode("utf-8")
    return key.replace("~", "~0").replace("/", "~1")


def locate(text: str, pointer: str, *, occurrence: int = 0) -> int:
    """Return the offset at which the key of a pointer begins in a JSON text that is well-formed.

    Args:
        text: the JSON text.
        pointer: JSON pointer of a member; for an array item, or where it is absent, the nearest member above.
        occurrence: which of the keys, where one stands several times.

    >>> locate('{"meta": {"unit": 1}, "unit": 2}', "/unit")
    22
    """
    places: dict[str, list[int]] = {}
    for found, offset in _members(text):
        places.setdefault(found, []).append(offset)
    while pointer and pointer not in places:
        pointer = pointer.rpartition("/")[0]
    offsets = places.get(pointer, [0])
    return offsets[min(occurrence, len(offsets) - 1)]


def _members(text: str) -> Iterator[tuple[str, int]]:
    """Yield pointer and offset of every key of every object."""
    frames: list[tuple[str, int]] = []  # of each open object or list: pointer, and number of the item or -1
    child, awaits_key = "", False  # child: pointer of the next value
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "{[":
            frames.append((child, -1 if sign == "{" else 0))
            child, awaits_key = (child, True) if sign == "{" else (f"{child}/0", False)
        elif sign in "}]":
            frames.pop()
            awaits_key = False
        elif sign == ",":
            parent, item = frames.pop()
            awaits_key = item < 0
            frames.append((parent, item if awaits_key else item + 1))
            child = f"{parent}/{item + 1}"
        elif awaits_key:
            child, awaits_key = f"{frames[-1][0]}/{escape_pointer(json.loads(sign))}", False
            yield child, token.start()


def _text(raw: bytes | str) -> str:
    if isinstance(raw, bytes):
        if raw.startswith(b"\xef\xbb\xbf"):
            raise JsonError("starts with a byte order mark; send plain UTF-8", line=1, column=1)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            before = raw[: error.start].decode("utf-8")
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            raise JsonError(f"not UTF-8 at byte {error.start}", line=line, column=column) from None
    return raw


def _syntax_message(error: json.JSONDecodeError) -> str:
    return f"not valid JSON: {error.msg[0].lower()}{error.msg[1:]}"


def _is_plain(text: str, raw: bytes | str) -> bool:
    """Whether a text can hold neither a lone surrogate nor deep nesting, seen without decoding it."""
    encoded = isinstance(raw, bytes) or text.isascii()  # UTF-8 has no surrogates
    return encoded and "\\u" not in text and text.count("{") + text.count("[") <= _MAX_DEPTH


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        result[key] = _Refused("duplicate key") if key in result else value
    return result


def _plain_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _RefusedError
    return result


def _float(digits: str) -> float | _Refused:
    value = float(digits)
    return value if math.isfinite(value) else _Refused("number out of range")


def _plain_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _RefusedError
    return value


def _int(digits: str) -> int | _Refused:
    return int(digits) if len(digits) < _MAX_DIGITS else _Refused("number out of range")


def _plain_int(digits: str) -> int:
    if len(digits) >= _MAX_DIGITS:
        raise _RefusedError
    return int(digits)


def _plain_constant(word: str) -> Any:
    raise _RefusedError(word)


_PLAIN = json.JSONDecoder(
    object_pairs_hook=_plain_pairs,
    parse_float=_plain_float,
    parse_int=_plain_int,
    parse_constant=_plain_constant,
)
_MARKING = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_float=_float,
    parse_int=_int,
    parse_constant=lambda word: _Refused(f"{word} is not JSON"),
)


def _walk(value: Any, pointer: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _MAX_DEPTH:
        raise RecursionError
    if isinstance(value, _Refused):
        yield pointer, value.reason
    elif isinstance(value, str):
        if not value.isascii() and _SURROGATE.search(value):
            yield pointer, "lone surrogate"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{pointer}/{index}", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(key, pointer, depth + 1)
            yield from _walk(item, f"{pointer}/{escape_pointer(key)}", depth + 1)
