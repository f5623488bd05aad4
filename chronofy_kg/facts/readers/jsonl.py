"""JSON Lines: one assertion a line, strict JSON, UTF-8. Blank lines are passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chronofy_kg.errors import FactFormatError
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.readers.base import RowError
from chronofy_kg.facts.rows import check_row
from chronofy_kg.facts.strict_json import JsonError, decode_json, locate

__all__ = ["read_jsonl"]

_BOM = b"\xef\xbb\xbf"


def read_jsonl(lines: Iterable[bytes], name: str, *, zone: str = "UTC") -> Iterator[Assertion | RowError]:
    """Yield an Assertion or a RowError for each line that is not blank.

    Args:
        lines: the lines as bytes, e.g. of a file opened in binary mode; a leading byte order mark is skipped.
        name: name of the file, for errors.
        zone: IANA name of the zone for times without an offset.
    """
    for number, raw in enumerate(lines, start=1):
        line = (raw.removeprefix(_BOM) if number == 1 else raw).rstrip(b"\r\n")
        if not line.strip():
            continue
        try:
            yield _row(line, zone)
        except JsonError as error:
            yield RowError(name, number, _json_column(error, line), error.message, raw)
        except FactFormatError as error:
            yield RowError(name, number, _column(line, error.pointer), error.message, raw)


def _row(line: bytes, zone: str) -> Assertion:
    fields = decode_json(line)
    if not isinstance(fields, dict):
        raise FactFormatError("a line must be a JSON object with the fields of an assertion")
    return check_row(fields, zone=zone)


def _json_column(error: JsonError, line: bytes) -> int:
    if error.problems:
        pointer, reason = error.problems[0]
        return _column(line, pointer, occurrence=int(reason == "duplicate key"))
    return error.column or 1


def _column(line: bytes, pointer: str | None, *, occurrence: int = 0) -> int:
    """Return the 1-based character at which the field of a pointer begins; 1 where it is absent."""
    return locate(line.decode("utf-8"), pointer, occurrence=occurrence) + 1 if pointer else 1
