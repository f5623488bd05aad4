"""Writers: assertions with their transaction times, one a line, row or reifier; what a restore reads back.

`write_table` is the door: it picks the form by the file's ending. All forms are lossless but for what the
form cannot say (in CSV an empty content is an absent one). The libraries for Parquet and RDF are imported
only when such a file is written.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, cast

from chronofy_kg.errors import InputError
from chronofy_kg.facts.readers.files import missing_extra, plain_ending
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.writers.text import write_csv, write_jsonl

__all__ = ["ENDINGS", "Profile", "check_form", "write_csv", "write_file", "write_jsonl", "write_table"]

Profile = Literal["star", "plain"]
OnRow = Callable[[int], None]
_TEXT = (".jsonl", ".ndjson", ".csv", ".tsv")
_RDF = (".ttl", ".nt", ".nq", ".trig", ".jsonld")
ENDINGS = (*_TEXT, ".parquet", *_RDF)


def write_file(
    table: FactTable, path: Path, *, profile: Profile | None = None, on_row: OnRow | None = None
) -> None:
    """Write a table to a file in the form of its ending; it appears under its name when it is whole.

    Args:
        table: assertions with their transaction times, in the order in which they were recorded.
        path: the file; text forms may also end in .gz.
        profile: how RDF says what is known of a statement: `star` with reifiers of RDF 1.2, `plain` with
            rdf:Statement; by default star, and plain in JSON-LD, which has no reifiers.
        on_row: called with the number of rows written so far, now and then.

    Raises:
        InputError: the ending is unknown, the file cannot be written, a library is missing, or the profile
            does not fit the form.
    """
    form = check_form(path, profile)
    part = path.with_name(path.name + ".part")
    try:
        with _open(part, packed=path.suffix.lower() == ".gz") as stream:
            write_table(table, stream, form, profile=profile, on_row=on_row)
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def check_form(path: Path, profile: Profile | None = None) -> str:
    """Return the form of a file that is to be written, as its ending.

    Raises:
        InputError: no such form is written, or the profile does not fit it.
    """
    form = plain_ending(path)
    if form not in ENDINGS or path.name.lower().endswith(".parquet.gz"):
        raise InputError(f"{path}: unknown ending {form or '(none)'}; use one of {', '.join(ENDINGS)}")
    if profile is not None and form not in _RDF:
        raise InputError(f"{path}: an RDF profile applies to RDF only")
    if profile == "star" and form == ".jsonld":
        raise InputError(f"{path}: JSON-LD has no reifiers of RDF 1.2; use the plain profile, or .trig")
    return form


def write_table(
    table: FactTable,
    stream: IO[bytes],
    form: str,
    *,
    profile: Profile | None = None,
    on_row: OnRow | None = None,
) -> None:
    """Write a table to a stream of bytes.

    Args:
        table, profile, on_row: as for `write_file`.
        stream: where to; left open.
        form: an ending of `ENDINGS`.
    """
    if form in (".jsonl", ".ndjson"):
        write_jsonl(table, stream, on_row)
    elif form in (".csv", ".tsv"):
        write_csv(table, stream, on_row, delimiter="\t" if form == ".tsv" else ",")
    else:
        _write_with_library(table, stream, form, profile, on_row)


def _write_with_library(
    table: FactTable, stream: IO[bytes], form: str, profile: Profile | None, on_row: OnRow | None
) -> None:
    try:
        if form == ".parquet":
            from chronofy_kg.facts.writers.parquet import write_parquet
        else:
            from chronofy_kg.facts.writers.rdf import write_rdf
    except ModuleNotFoundError as error:
        what, extra = ("Parquet", "parquet") if form == ".parquet" else ("RDF", "rdf")
        raise missing_extra(what, extra, error) from None
    if form == ".parquet":
        write_parquet(table, stream, on_row)
    else:
        star = profile == "star" if profile is not None else form != ".jsonld"
        write_rdf(table, stream, form, on_row, star=star)


@contextmanager
def _open(path: Path, *, packed: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as raw:
        if not packed:
            yield raw
            return
        # No name and time inside: the same table gives the same bytes.
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as stream:
            yield cast("IO[bytes]", stream)
