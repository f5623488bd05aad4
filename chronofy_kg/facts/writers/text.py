"""JSON Lines and CSV: one assertion a line, as the readers take it, with its transaction times.

In CSV an empty cell is an absent field; an empty text as a value is told by `value_kind`, which also keeps
"52" apart from 52. An empty content cannot be told from an absent one there, and becomes absent.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import IO, Any

from chronofy_kg.facts.rows import FIELDS, STORED_FIELDS
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.writers.rows import KINDS, chunks, rows_of

__all__ = ["write_csv", "write_jsonl"]

_ORDER = (*FIELDS, *STORED_FIELDS)
_CSV_COLUMNS = (*FIELDS[: FIELDS.index("value") + 1], "value_kind", *FIELDS[FIELDS.index("value") + 1 :],
                *STORED_FIELDS)  # fmt: skip


def write_jsonl(table: FactTable, stream: IO[bytes], on_row: Callable[[int], None] | None = None) -> None:
    """Write one strict JSON object a line, UTF-8; doubles have the digits that give the same bits back."""
    for part in chunks(table, on_row):
        lines = [
            json.dumps(_ordered(row), ensure_ascii=False, allow_nan=False) + "\n" for row in rows_of(part)
        ]
        stream.write("".join(lines).encode("utf-8"))


def _ordered(row: dict[str, Any]) -> dict[str, Any]:
    if "meta" in row:
        row["meta"] = json.loads(row["meta"])
    return {name: row[name] for name in _ORDER if name in row}


def write_csv(
    table: FactTable,
    stream: IO[bytes],
    on_row: Callable[[int], None] | None = None,
    *,
    delimiter: str = ",",
) -> None:
    """Write a header and one record a row, UTF-8; `meta` is JSON text."""
    text = io.StringIO(newline="")
    # With this line end the csv module also quotes a cell that holds a carriage return.
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(_CSV_COLUMNS)
    for part in chunks(table, on_row):
        for row, kind in zip(rows_of(part), part.kind.tolist(), strict=True):
            row["value_kind"] = KINDS[kind]
            if isinstance(row.get("value"), bool):
                row["value"] = "true" if row["value"] else "false"
            writer.writerow([row.get(name, "") for name in _CSV_COLUMNS])
        stream.write(text.getvalue().encode("utf-8"))
        text.seek(0)
        text.truncate()
    stream.write(text.getvalue().encode("utf-8"))
