"""What every reader shares: the error of one row, with its place and its text, and the cells of a row.

A reader yields `Told`: an Assertion, a Restored where the file is restored, or a RowError.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from chronofy_kg.errors import FactFormatError
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.rows import Restored
from chronofy_kg.facts.strict_json import JsonError, decode_json

__all__ = ["HELPERS", "META", "Place", "RowError", "Told", "fields_of_cells", "typed_cell"]

Place = Literal["line", "row"]
#: Columns of an export that together say a value exactly, whatever the form of the file.
HELPERS = ("value_kind", "value_number", "value_text")
META = "meta."
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?|[+-]?\.\d+([eE][+-]?\d+)?", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_LONGEST_NUMBER = 400  # digits; beyond, a double is infinite
_AS_TEXT = ("string", "xsd:string")


@dataclass(frozen=True, slots=True)
class RowError:
    """A row that is no assertion.

    Attributes:
        file: name of the file or stream.
        line: 1-based line on which the row begins; in forms without lines, the 1-based number of the row.
        column: 1-based character in `place_line` at which the wrong part begins.
        message: what is wrong.
        raw: the row as it stood in the file, with its line end; as JSON in forms without lines.
        place_line: 1-based line of the wrong part, for rows that span lines.
        place: whether `line` counts lines or rows.
    """

    file: str
    line: int
    column: int
    message: str
    raw: bytes
    place_line: int = 0
    place: Place = "line"

    @property
    def excerpt(self) -> str:
        """The beginning of the row, at most 80 characters of its first line."""
        return self.raw[:400].decode("utf-8", "replace").split("\n", 1)[0].rstrip("\r")[:80]

    def __str__(self) -> str:
        if self.place == "row":
            return f"{self.file}:row {self.line}: {self.message}"
        return f"{self.file}:{self.place_line or self.line}:{self.column}: {self.message}"


Told = Assertion | Restored | RowError


def fields_of_cells(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an assertion from the cells of a table's row, absent ones left out.

    `meta.NAME` columns and the JSON text of `meta` become one map; `value_kind`, with `value_number` and
    `value_text` where a column has one type only, say which value is meant.

    Raises:
        FactFormatError: a cell cannot be what its column says.
    """
    fields = {name: cell for name, cell in cells.items() if cell is not None and name not in HELPERS}
    meta = _meta(fields.pop("meta", None))
    for name in [name for name in fields if name.startswith(META)]:
        meta[name.removeprefix(META)] = fields.pop(name)
    if meta:
        fields["meta"] = meta
    kind = cells.get("value_kind")
    if kind is not None:
        value = _value_of_kind(kind, cells)
        fields.pop("value", None)
        if value is not None:
            fields["value"] = value
    return fields


def _meta(meta: Any) -> dict[str, Any]:
    """Return the map of a meta cell: JSON text in CSV, JSON text or a struct in Parquet."""
    if isinstance(meta, str):
        try:
            meta = decode_json(meta)
        except JsonError as error:
            raise FactFormatError(f"meta: {error.message}", pointer="/meta") from None
    if meta is None:
        return {}
    if not isinstance(meta, dict):
        raise FactFormatError("meta must be a map", pointer="/meta")
    return dict(meta)


def _value_of_kind(kind: Any, cells: Mapping[str, Any]) -> Any:
    """Return the value that the kind of an export names, None where the row states an object."""
    number = cells.get("value_number", cells.get("value"))
    text = cells.get("value_text", cells.get("value"))
    if kind == "object":
        return None
    if kind == "text":
        return "" if text is None else text
    if isinstance(number, str):
        number = typed_cell(number)
    if isinstance(number, bool) and kind == "boolean":
        return number
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise FactFormatError(f"value is no number, but value_kind says {kind!r}", pointer="/value")
    if kind == "number":
        return float(number)
    if kind in ("integer", "boolean") and float(number).is_integer():
        return int(number) if kind == "integer" else bool(number)
    raise FactFormatError(
        f"value_kind {kind!r} does not fit; it is object, number, integer, boolean or text",
        pointer="/value_kind",
    )


def typed_cell(cell: str, field: str = "value", datatype: Any = None) -> float | int | bool | str:
    """Return a text cell as the number or boolean that it is written as, else as text.

    Raises:
        FactFormatError: it is written as a number that is not finite, or perhaps with a decimal comma.
    """
    if datatype in _AS_TEXT:
        return cell
    match = _NUMBER.fullmatch(cell)
    if match:
        whole = match[1] is not None and match[2] is None and match[3] is None
        return int(cell) if whole and len(cell) < _LONGEST_NUMBER else float(cell)
    if _NOT_FINITE.fullmatch(cell):
        raise FactFormatError(
            f"{field} is {cell}; leave the row out where there is no number", pointer=f"/{field}"
        )
    if _DECIMAL_COMMA.fullmatch(cell):
        raise FactFormatError(
            f"{field} {cell!r} may be a number with a decimal comma: write a point, or set datatype = string",
            pointer=f"/{field}",
        )
    return {"true": True, "false": False}.get(cell, cell)
