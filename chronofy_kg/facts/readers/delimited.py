"""CSV and TSV: a header with the fields of an assertion, one row each; `meta.NAME` columns fill meta.

The delimiter (comma, semicolon or tab) is read off the header. An empty cell is absent; an empty text as a
value needs `value_kind` = text beside it. A cell of `value` is a number or boolean where it is written as
one, else text; `datatype` = string keeps it text, and `value_kind`, which exports have, says what it is.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from chronofy_kg.errors import FactFormatError, FileEncodingError, InputError
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.readers.base import META, RowError, Told, fields_of_cells, typed_cell
from chronofy_kg.facts.readers.mapping import NO_MAPPING, ColumnMapping
from chronofy_kg.facts.rows import FILE_FIELDS, STORED_FIELDS, Restored, RowRules, check_told

__all__ = ["read_csv"]

_BOM = "\ufeff"
_NO_RULES = RowRules()
_COLUMNS = (*FILE_FIELDS, "value_kind")
_CELL = {
    sign: re.compile(rf'(?:(?P<open>")[^"]*(?:""[^"]*)*(?P<close>")?)?(?P<rest>[^{sign}]*)')
    for sign in ",;\t"
}
# Process-wide in the csv module, whose own limit of 131,072 characters is below that of a text.
csv.field_size_limit(max(csv.field_size_limit(), 1_000_001))


class _Lines:
    """Decodes lines and keeps those of the record that is being read."""

    def __init__(self, lines: Iterable[bytes], name: str, encoding: str) -> None:
        _check_encoding(encoding)
        self._lines, self._name, self._encoding = iter(lines), name, encoding
        self._returned: deque[bytes] = deque()
        self._offset = 0
        self.number = 0
        self.taken: list[bytes] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = self._returned.popleft() if self._returned else next(self._lines)
        try:
            text = raw.decode(self._encoding)
        except UnicodeDecodeError as error:
            place = f"{self._name}: not {self._encoding} at byte {self._offset + error.start}"
            raise FileEncodingError(
                f"{place} (line {self.number + 1}); name its encoding with --encoding"
            ) from None
        self._offset += len(raw)
        self.number += 1
        self.taken.append(raw)
        return text.removeprefix(_BOM) if self.number == 1 else text

    def give_back(self) -> None:
        """Keep the first line of the record that is being read; the others will be read again."""
        rest = self.taken[1:]
        del self.taken[1:]
        self._returned.extendleft(reversed(rest))
        self.number -= len(rest)
        self._offset -= sum(map(len, rest))

    def record(self) -> bytes:
        """Return the bytes of the record just read, and begin the next."""
        raw = b"".join(self.taken)
        self.taken.clear()
        return raw


def read_csv(
    lines: Iterable[bytes],
    name: str,
    *,
    rules: RowRules = _NO_RULES,
    mapping: ColumnMapping = NO_MAPPING,
    encoding: str = "utf-8",
) -> Iterator[Told]:
    """Yield what each record tells, or its error.

    Args:
        lines: the lines as bytes, e.g. a file opened in binary mode.
        name: name of the file, for errors.
        rules: zone, units of bare numbers, and whether transaction times are taken.
        mapping: which column is which field.
        encoding: of the file; a byte order mark at the start is skipped.

    Raises:
        InputError: the header is missing or names unknown columns, or the mapping one that is not there.
        FileEncodingError: the bytes are not in `encoding`.
    """
    source = _Lines(lines, name, encoding)
    try:
        first = next(source)
    except StopIteration:
        raise InputError(f"{name}: is empty; the first line must name the columns") from None
    delimiter = max(",;\t", key=first.count)
    try:
        header = next(csv.reader([first], delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"{name}:1: the header is not valid CSV: {error}") from None
    _check_header(header, name, rules, mapping)
    source.record()
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    while True:
        line = source.number + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            # A stray quote runs on over good rows: only the line on which it stands is refused.
            source.give_back()
            raw = source.record()
            column, problem = _quote_problem(raw.decode(encoding), delimiter) or (1, str(error))
            yield RowError(name, line, column, f"not valid CSV: {problem}", raw)
            continue
        raw = source.record()
        if not cells:
            continue
        try:
            yield _row(header, cells, rules, mapping)
        except FactFormatError as error:
            field = mapping.column_of((error.pointer or "/").removeprefix("/"))
            index = header.index(field) if field in header else 0
            down, column = _place(raw.decode(encoding), delimiter, index)
            yield RowError(name, line, column, error.message, raw, line + down)


def _check_encoding(encoding: str) -> None:
    """Refuse an encoding that is unknown, or whose files cannot be cut into lines before they are decoded."""
    try:
        plain = b"\n,".decode(encoding) == "\n,"
    except UnicodeDecodeError:
        plain = False
    except (LookupError, ValueError):
        raise InputError(f"unknown encoding {encoding!r}") from None
    if not plain:
        raise InputError(f"encoding {encoding!r} cannot be read line by line; convert the file to UTF-8")


def _check_header(header: list[str], name: str, rules: RowRules, mapping: ColumnMapping) -> None:
    if not header:
        raise InputError(f"{name}:1: is blank; the first line must name the columns")
    known = (*_COLUMNS, *STORED_FIELDS) if rules.restore else _COLUMNS
    for column in () if mapping else header:
        if column not in known and (column == META or not column.startswith(META)):
            hint = "a restore takes it, with --restore" if column in STORED_FIELDS else (
                f"columns are {', '.join(known)}, and meta.NAME; others need a mapping (--map)"
            )  # fmt: skip
            raise InputError(f"{name}:1: unknown column {column!r}; {hint}")
    repeated = {column for column in header if header.count(column) > 1}
    if repeated:
        raise InputError(f"{name}:1: column {sorted(repeated)[0]!r} stands twice in the header")
    mapping.check_columns(header)


def _row(
    header: list[str], cells: list[str], rules: RowRules, mapping: ColumnMapping
) -> Assertion | Restored:
    if len(cells) != len(header):
        raise FactFormatError(f"has {len(cells)} cells, the header has {len(header)}")
    row: dict[str, Any] = {column: cell or None for column, cell in zip(header, cells, strict=True)}
    fields = fields_of_cells(mapping.cells(row) if mapping else row)
    value, quality = fields.get("value"), fields.get("quality")
    if isinstance(value, str) and row.get("value_kind") is None and "value" not in mapping.constants:
        fields["value"] = typed_cell(value, datatype=fields.get("datatype"))
    if isinstance(quality, str):
        fields["quality"] = typed_cell(quality, "quality")
    return check_told(fields, rules)


def _place(record: str, delimiter: str, index: int) -> tuple[int, int]:
    """Return how many lines down, and at which 1-based character, a cell of a record begins."""
    cell = next(islice(_cells(record, delimiter), index, None), None)
    start = cell.start() if cell else 0
    return record.count("\n", 0, start), start - record.rfind("\n", 0, start)


def _quote_problem(line: str, delimiter: str) -> tuple[int, str] | None:
    """Return the 1-based character at which the quoting of a line goes wrong, and what is wrong there."""
    for cell in _cells(line, delimiter):
        if cell["open"] is not None and cell["close"] is None:
            return cell.start() + 1, "this quote is never closed, or text follows where it is closed"
        if cell["close"] and cell["rest"].rstrip("\r\n"):
            return cell.start("rest") + 1, "text follows a closing quote; write a quote inside quotes twice"
    return None


def _cells(record: str, delimiter: str) -> Iterator[re.Match[str]]:
    """Yield the cells of a record, as the csv module cuts them."""
    pattern, position = _CELL[delimiter], 0
    while True:
        cell = pattern.match(record, position)
        assert cell is not None
        yield cell
        position = cell.end() + 1
        if position > len(record):
            return
