"""Turns the body of a load into assertions: a JSON batch, one JSON object, or NDJSON.

Every bad row is reported, by its JSON pointer or its line. The check of a row is that of files
(`chronofy_kg.facts.rows`).
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

from chronofy_kg.api.problems import ProblemError
from chronofy_kg.errors import FactFormatError
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.readers import RowError
from chronofy_kg.facts.readers.jsonl import read_jsonl
from chronofy_kg.facts.rows import FIELDS, RowRules, check_row
from chronofy_kg.facts.strict_json import JsonError, decode_json, escape_pointer

__all__ = ["Batch", "batch_from_json", "batch_from_ndjson", "batch_from_rows", "check_rows"]

_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Batch:
    """The good rows of a body and where the bad ones stand."""

    rows: list[Assertion] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)


def batch_from_json(raw: bytes, zone: str) -> Batch:
    """Read {"facts": [assertion, …]}, or one assertion.

    Raises:
        JsonError: the body is no strict JSON.
        ProblemError: it is neither of both.
    """
    body = decode_json(raw)
    if not isinstance(body, dict):
        _refuse("", 'send {"facts": [assertion, …]} or one assertion')
    if "facts" not in body:
        return _checked([("", body)], zone)
    for name in body:
        if name != "facts":
            _refuse(f"/{escape_pointer(name)}", "unknown field beside facts")
    rows = body["facts"]
    if not isinstance(rows, list):
        _refuse("/facts", "must be a JSON array")
    return batch_from_rows(rows, zone)


def batch_from_ndjson(raw: bytes, zone: str) -> Batch:
    """Read one assertion a line.

    Raises:
        JsonError: the body begins with a byte order mark, which files may and bodies may not.
    """
    if raw.startswith(_BOM):
        raise JsonError("starts with a byte order mark; send plain UTF-8", line=1, column=1)
    batch = Batch()
    for row in read_jsonl(io.BytesIO(raw), "body", rules=RowRules(zone, known=FIELDS)):
        if isinstance(row, RowError):
            batch.errors.append({"line": row.line, "column": row.column, "detail": row.message})
        elif isinstance(row, Assertion):
            batch.rows.append(row)
    return batch


def batch_from_rows(rows: list[Any], zone: str) -> Batch:
    """Check the rows of a body's `facts`."""
    return _checked([(f"/facts/{number}", row) for number, row in enumerate(rows)], zone)


def check_rows(batch: Batch, most: int) -> None:
    """Refuse a batch of more rows than a load may have.

    Raises:
        ProblemError: it has more.
    """
    rows = len(batch.rows) + len(batch.errors)
    if rows > most:
        raise ProblemError(
            "limit-exceeded",
            f"{rows:,} rows at once; the setting max_rows allows {most:,}, send them in parts",
        )


def _checked(rows: list[tuple[str, Any]], zone: str) -> Batch:
    batch = Batch()
    for pointer, row in rows:
        if not isinstance(row, dict):
            batch.errors.append({"pointer": pointer, "detail": "must be a JSON object"})
            continue
        try:
            batch.rows.append(check_row(row, zone=zone))
        except FactFormatError as error:
            batch.errors.append({"pointer": pointer + (error.pointer or ""), "detail": error.message})
    return batch


def _refuse(pointer: str, detail: str) -> Any:
    raise ProblemError("invalid-body", detail, errors=[{"pointer": pointer, "detail": detail}])
