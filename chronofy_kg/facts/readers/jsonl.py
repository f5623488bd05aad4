"""JSON Lines: one assertion a line, strict JSON, UTF-8. Blank lines are passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chronofy_kg.errors import FactFormatError
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.readers.base import RowError, Told, fields_of_cells
from chronofy_kg.facts.readers.mapping import NO_MAPPING, ColumnMapping
from chronofy_kg.facts.rows import Restored, RowRules, check_told
from chronofy_kg.facts.strict_json import JsonError, decode_json, escape_pointer, locate

__all__ = ["read_jsonl"]

_BOM = b"\xef\xbb\xbf"
_NO_RULES = RowRules()


def read_jsonl(
    lines: Iterable[bytes], name: str, *, rules: RowRules = _NO_RULES, mapping: ColumnMapping = NO_MAPPING
) -> Iterator[Told]:
    """Yield what each line that is not blank tells, or its error.

    Args:
        lines: the lines as bytes, e.g. of a file opened in binary mode; a leading byte order mark is skipped.
        name: name of the file, for errors.
        rules: zone, units of bare numbers, and whether transaction times are taken.
        mapping: which key is which field; keys that it does not name are then passed over.
    """
    for number, raw in enumerate(lines, start=1):
        line = (raw.removeprefix(_BOM) if number == 1 else raw).rstrip(b"\r\n")
        if not line.strip():
            continue
        try:
            yield _row(line, rules, mapping)
        except JsonError as error:
            yield RowError(name, number, _json_column(error, line), error.message, raw)
        except FactFormatError as error:
            pointer = _pointer(error.pointer, mapping)
            yield RowError(name, number, _column(line, pointer), error.message, raw)


def _row(line: bytes, rules: RowRules, mapping: ColumnMapping) -> Assertion | Restored:
    fields = decode_json(line)
    if not isinstance(fields, dict):
        raise FactFormatError("a line must be a JSON object with the fields of an assertion")
    if mapping:
        # In JSON a field's own null is absence; a mapped value needs no kind beside it.
        fields = fields_of_cells(mapping.cells(fields))
    return check_told(fields, rules)


def _pointer(pointer: str | None, mapping: ColumnMapping) -> str | None:
    """Return the place of a field in the line, which a mapping may have under another key."""
    if pointer is None or not mapping:
        return pointer
    first, slash, rest = pointer.removeprefix("/").partition("/")
    return f"/{escape_pointer(mapping.column_of(first))}{slash}{rest}"


def _json_column(error: JsonError, line: bytes) -> int:
    if error.problems:
        pointer, reason = error.problems[0]
        return _column(line, pointer, occurrence=int(reason == "duplicate key"))
    return error.column or 1


def _column(line: bytes, pointer: str | None, *, occurrence: int = 0) -> int:
    """Return the 1-based character at which the field of a pointer begins; 1 where it is absent."""
    return locate(line.decode("utf-8"), pointer, occurrence=occurrence) + 1 if pointer else 1
