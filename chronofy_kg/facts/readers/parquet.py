"""Parquet: the columns of CSV with types of their own, streamed by batches of rows through pyarrow.

Timestamps of any unit, zoned or not, and dates become times; nanoseconds are cut to microseconds. Decimals
and integers that no double holds exactly are refused by the row. Imported only when such a file is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from chronofy_kg.errors import FactFormatError, InputError
from chronofy_kg.facts.readers.base import HELPERS, META, RowError, Told, fields_of_cells
from chronofy_kg.facts.readers.files import Meter
from chronofy_kg.facts.readers.mapping import NO_MAPPING, ColumnMapping
from chronofy_kg.facts.rows import FILE_FIELDS, STORED_FIELDS, RowRules, check_told

__all__ = ["read_parquet"]

_BATCH = 8_192
_NO_RULES = RowRules()


def read_parquet(
    path: Path,
    *,
    rules: RowRules = _NO_RULES,
    mapping: ColumnMapping = NO_MAPPING,
    meter: Meter | None = None,
) -> Iterator[Told]:
    """Yield what each row tells, or its error, which names the row as `file:row N`.

    Args:
        path: the file.
        rules: zone, units of bare numbers, and whether transaction times are taken.
        mapping: which column is which field.
        meter: told how many of the rows are done.

    Raises:
        InputError: the file is no Parquet, or a column is unknown.
    """
    number = 0
    try:
        with path.open("rb") as stream, pq.ParquetFile(stream) as file:
            total = file.metadata.num_rows
            if meter is not None:
                meter.share = lambda: number / total if total else None
            columns = _check_columns(file.schema_arrow.names, str(path), rules, mapping)
            for batch in file.iter_batches(batch_size=_BATCH, columns=columns):
                names = batch.schema.names
                for cells in zip(*(_cells(column) for column in batch.columns), strict=True):
                    number += 1
                    yield _told(dict(zip(names, cells, strict=True)), str(path), number, rules, mapping)
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: cannot be read as Parquet: {reason}") from None


def _told(row: dict[str, Any], name: str, number: int, rules: RowRules, mapping: ColumnMapping) -> Told:
    try:
        fields = fields_of_cells(mapping.cells(row) if mapping else row)
        for field in ("value", "quality"):
            if isinstance(fields.get(field), Decimal):
                fields[field] = _exact(fields[field], field)
        return check_told(fields, rules)
    except FactFormatError as error:
        raw = json.dumps(row, default=str, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        return RowError(name, number, 1, error.message, raw, place="row")


def _check_columns(present: list[str], name: str, rules: RowRules, mapping: ColumnMapping) -> list[str]:
    """Return the columns that are read; refuse unknown ones where no mapping says what they are."""
    repeated = {column for column in present if present.count(column) > 1}
    if repeated:
        raise InputError(f"{name}: column {sorted(repeated)[0]!r} stands twice in the schema")
    known = (*FILE_FIELDS, *HELPERS, *(STORED_FIELDS if rules.restore else ()))
    mapping.check_columns(present)
    if mapping:
        named = {*mapping.fields.values(), *mapping.meta.values()}
        return [c for c in present if c in named or c in known or c in STORED_FIELDS or c.startswith(META)]
    for column in present:
        if column not in known and (column == META or not column.startswith(META)):
            hint = "a restore takes it, with --restore" if column in STORED_FIELDS else (
                f"columns are {', '.join(known)}, and meta.NAME; others need a mapping (--map)"
            )  # fmt: skip
            raise InputError(f"{name}: unknown column {column!r}; {hint}")
    return present


def _cells(column: pa.Array) -> list[Any]:
    """Return a column as Python values; times as ISO 8601 text, whatever their unit."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(column.dictionary_decode())
    if pa.types.is_timestamp(kind):
        suffix = "Z" if kind.tz is not None else ""
        return _instants(column.cast(pa.int64()), kind.unit, suffix)
    if pa.types.is_date(kind):
        return _instants(column.cast(pa.date32()).cast(pa.int32()), "D", "")
    if pa.types.is_map(kind):
        return [None if pairs is None else dict(pairs) for pairs in column.to_pylist()]
    cells: list[Any] = column.to_pylist()
    return cells


def _instants(ticks: pa.Array, unit: str, suffix: str) -> list[str | None]:
    present = ticks.is_valid().to_numpy(zero_copy_only=False)
    counts = ticks.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    texts = np.datetime_as_string(counts.view(f"datetime64[{unit}]")).tolist()
    return [text + suffix if known else None for text, known in zip(texts, present.tolist(), strict=True)]


def _exact(number: Decimal, field: str) -> float | int:
    """Return a decimal as the number that it is.

    Raises:
        FactFormatError: no double holds it exactly.
    """
    if number.is_finite() and number == number.to_integral_value() and number.as_tuple().exponent == 0:
        return int(number)
    nearest = float(number)
    if number.is_finite() and Decimal(repr(nearest)) != number:
        raise FactFormatError(
            f"{field} {number} has more digits than a number here holds; send it as text", pointer=f"/{field}"
        )
    return nearest
