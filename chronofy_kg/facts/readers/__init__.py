"""Readers: files of assertions, streamed row by row; a bad row is an error with its place, never lost.

`read_table` is the door: it picks the reader by the file's ending and returns a FactTable and every error.
The forms themselves live in `jsonl` and `delimited`; what a row must look like is `facts.rows`.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from chronofy_kg.errors import InputError
from chronofy_kg.facts.model import Assertion
from chronofy_kg.facts.readers.base import RowError
from chronofy_kg.facts.readers.delimited import read_csv
from chronofy_kg.facts.readers.jsonl import read_jsonl
from chronofy_kg.facts.table import FactTable, TableBuilder

__all__ = ["ReadResult", "RowError", "read_csv", "read_jsonl", "read_rows", "read_table"]

ENDINGS = (".jsonl", ".ndjson", ".csv", ".tsv")


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What a file held: the good rows as a table, and an error for each of the others."""

    table: FactTable
    errors: tuple[RowError, ...]


def read_rows(path: Path, *, zone: str = "UTC", encoding: str = "utf-8") -> Iterator[Assertion | RowError]:
    """Stream a file of assertions: .jsonl, .ndjson, .csv or .tsv, each also as .gz.

    Args:
        path: the file.
        zone: IANA name of the zone for times without an offset.
        encoding: of CSV and TSV; JSON is always UTF-8.

    Raises:
        InputError: there is no such file, its ending is unknown, or its header is unusable.
        FileEncodingError: a CSV file is not in `encoding`; the byte offset is named.
    """
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    if plain.suffix.lower() not in ENDINGS:
        raise InputError(
            f"{path}: unknown ending {plain.suffix or '(none)'}; use one of {', '.join(ENDINGS)}"
        )
    try:
        with _open(path) as stream:
            if plain.suffix.lower() in (".jsonl", ".ndjson"):
                yield from read_jsonl(stream, str(path), zone=zone)
            else:
                yield from read_csv(stream, str(path), zone=zone, encoding=encoding)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be read: {reason}") from None


def _open(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def read_table(
    path: Path,
    *,
    tenant: str = "default",
    zone: str = "UTC",
    encoding: str = "utf-8",
    on_row: Callable[[int], None] | None = None,
) -> ReadResult:
    """Read a whole file into a FactTable, in bounded memory per row.

    Args:
        path, zone, encoding: as for `read_rows`.
        tenant: the tenant that the rows belong to.
        on_row: called with the number of rows read so far, every 1,000 rows, for a progress display.
    """
    builder, errors = TableBuilder(tenant), []
    for number, row in enumerate(read_rows(path, zone=zone, encoding=encoding), start=1):
        if isinstance(row, RowError):
            errors.append(row)
        else:
            builder.add(row)
        if on_row is not None and number % 1_000 == 0:
            on_row(number)
    return ReadResult(builder.build(), tuple(errors))
