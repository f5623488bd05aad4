"""Readers: files of assertions, streamed row by row; a bad row is an error with its place, never lost.

`read_table` is the door: it picks the reader by the file's ending and returns a FactTable and every error.
The forms themselves live in the modules beside this one; what a row must look like is `facts.rows`. The
libraries for Parquet and RDF are imported only when such a file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chronofy_kg.errors import InputError
from chronofy_kg.facts.readers.base import RowError, Told
from chronofy_kg.facts.readers.delimited import read_csv
from chronofy_kg.facts.readers.files import Meter, missing_extra, open_bytes, plain_ending, reading
from chronofy_kg.facts.readers.jsonl import read_jsonl
from chronofy_kg.facts.readers.mapping import NO_MAPPING, ColumnMapping, as_mapping, load_mapping
from chronofy_kg.facts.rows import Restored, RowRules
from chronofy_kg.facts.table import FactTable, TableBuilder

__all__ = [
    "ENDINGS",
    "NO_MAPPING",
    "ColumnMapping",
    "ReadOptions",
    "ReadResult",
    "RowError",
    "as_mapping",
    "load_mapping",
    "read_csv",
    "read_jsonl",
    "read_rows",
    "read_table",
]

_RDF = (".ttl", ".nt", ".nq", ".trig", ".jsonld")
ENDINGS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", *_RDF)
_TELL_EVERY = 1_000


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file is read.

    Attributes:
        zone: IANA name of the zone for times without an offset; that of the mapping comes before it.
        encoding: of CSV and TSV; the other forms are UTF-8 or binary.
        mapping: which column is which field, with constants.
        restore: take the transaction times that an export holds.
    """

    zone: str = "UTC"
    encoding: str = "utf-8"
    mapping: ColumnMapping = NO_MAPPING
    restore: bool = False

    @property
    def rules(self) -> RowRules:
        """The rules for one row."""
        return RowRules(self.mapping.zone or self.zone, self.mapping.units, self.restore)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What a file held: the good rows as a table, and an error for each of the others."""

    table: FactTable
    errors: tuple[RowError, ...]


_DEFAULTS = ReadOptions()


def read_rows(path: Path, options: ReadOptions = _DEFAULTS, *, meter: Meter | None = None) -> Iterator[Told]:
    """Stream a file of assertions; its form is told by its ending, text forms may also end in .gz.

    Args:
        path: the file.
        options: zone, encoding, mapping, and whether transaction times are taken.
        meter: told how far the file has been read.

    Raises:
        InputError: there is no such file, its ending is unknown, its header is unusable, or the library for
            its form is not installed.
        FactFormatError: the mapping does not fit the file; its place is named.
        FileEncodingError: a CSV file is not in its encoding; the byte offset is named.
    """
    form = plain_ending(path)
    if form not in ENDINGS or path.name.lower().endswith(".parquet.gz"):
        raise InputError(f"{path}: unknown ending {form or '(none)'}; use one of {', '.join(ENDINGS)}")
    rules, mapping = options.rules, options.mapping
    with reading(path):
        if form == ".parquet" or form in _RDF:
            yield from _with_library(form)(path, rules=rules, mapping=mapping, meter=meter)
            return
        with open_bytes(path, meter) as stream:
            if form in (".jsonl", ".ndjson"):
                yield from read_jsonl(stream, str(path), rules=rules, mapping=mapping)
            else:
                encoding = options.encoding
                yield from read_csv(stream, str(path), rules=rules, mapping=mapping, encoding=encoding)


def _with_library(form: str) -> Callable[..., Iterator[Told]]:
    """Return the reader of a form whose library is an extra, imported only now."""
    try:
        if form == ".parquet":
            from chronofy_kg.facts.readers.parquet import read_parquet

            return read_parquet
        from chronofy_kg.facts.readers.rdf import read_rdf
    except ModuleNotFoundError as error:
        what, extra = ("Parquet", "parquet") if form == ".parquet" else ("RDF", "rdf")
        raise missing_extra(what, extra, error) from None
    return read_rdf


def read_table(
    path: Path,
    options: ReadOptions = _DEFAULTS,
    *,
    tenant: str = "default",
    on_row: Callable[[int, int | None], None] | None = None,
) -> ReadResult:
    """Read a whole file into a FactTable, in bounded memory per row.

    Args:
        path, options: as for `read_rows`.
        tenant: the tenant that the rows belong to.
        on_row: called every 1,000 rows with the number of rows read so far and about how many there are in
            all, or None where nobody can tell, for a progress display.
    """
    builder, errors, meter = TableBuilder(tenant), [], Meter()
    for number, row in enumerate(read_rows(path, options, meter=meter), start=1):
        if isinstance(row, RowError):
            errors.append(row)
        elif isinstance(row, Restored):
            builder.add(row.assertion, recorded_at=row.recorded_at, retired_at=row.retired_at)
        else:
            builder.add(row)
        if on_row is not None and number % _TELL_EVERY == 0:
            share = meter.share()
            on_row(number, None if not share else max(number, round(number / share)))
    return ReadResult(builder.build(), tuple(errors))
