"""RDF: Turtle, N-Triples, N-Quads, TriG and JSON-LD, with reifiers of RDF 1.2 and plain rdf:Statement.

Statements stream through pyoxigraph, each with its line. The file is read twice where it has reifiers: what
a reifier says of a statement may stand before or after it. Which terms are read is in `facts.rdfterms`, how
they become rows in `rdf_rows`. A remote JSON-LD context is refused; nothing here opens a socket. Imported
only when such a file is read.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import pyoxigraph as ox

from chronofy_kg.errors import InputError
from chronofy_kg.facts.readers.base import RowError, Told
from chronofy_kg.facts.readers.files import Meter, open_bytes, plain_ending
from chronofy_kg.facts.readers.mapping import NO_MAPPING, ColumnMapping
from chronofy_kg.facts.readers.rdf_rows import Names, Statement, Survey, rows_of
from chronofy_kg.facts.rows import RowRules
from chronofy_kg.facts.strict_json import JsonError, decode_json

__all__ = ["read_rdf"]

_FORMATS = {
    ".ttl": ox.RdfFormat.TURTLE,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".trig": ox.RdfFormat.TRIG,
    ".jsonld": ox.RdfFormat.JSON_LD,
}
_LINE_FORMS = (".nt", ".nq")
_BLOCK = 4_096
_BOM = b"\xef\xbb\xbf"
#: Without one of these, N-Quads hold no reifier; an escape could hide them.
_MARKS = (b"22-rdf-syntax-ns#reifies>", b"22-rdf-syntax-ns#subject>", b"\\u", b"\\U")
_NO_RULES = RowRules()


def read_rdf(
    path: Path,
    *,
    rules: RowRules = _NO_RULES,
    mapping: ColumnMapping = NO_MAPPING,
    meter: Meter | None = None,
) -> Iterator[Told]:
    """Yield what each statement tells, or its error.

    Args:
        path: the file; its ending is the form, text may also end in .gz.
        rules: zone of times without one, and whether transaction times are taken.
        mapping: its constants fill what a statement does not say, such as valid_from; it has no columns here.
        meter: told how far the file has been read.

    Raises:
        InputError: JSON-LD is no JSON or names a remote context.
    """
    mapping.refuse_columns("RDF")
    form = plain_ending(path)
    names = Names(path.name, by_label=form in _LINE_FORMS)
    survey = Survey(names)
    if form not in _LINE_FORMS or _has_reifiers(path):
        survey.read(_statements(path, form, None))
    yield from rows_of(_statements(path, form, meter), survey, str(path), rules, mapping.constants)


def _has_reifiers(path: Path) -> bool:
    with open_bytes(path) as stream:
        return any(mark in line for line in stream for mark in _MARKS)


def _statements(path: Path, form: str, meter: Meter | None) -> Iterator[Statement | RowError]:
    """Yield the statements of a file, numbered from 0, and an error for what is none."""
    with open_bytes(path, meter) as stream:
        if form in _LINE_FORMS:
            found = _from_lines(stream, str(path), form)
        elif form == ".jsonld":
            found = _from_json(stream, str(path))
        else:
            found = _from_text(stream, str(path), form)
        number = 0
        for item in found:
            if isinstance(item, RowError):
                yield item
            else:
                yield Statement(number, *item)
                number += 1


Found = tuple[int, ox.Quad, bytes | None]


def _from_lines(stream: IO[bytes], name: str, form: str) -> Iterator[Found | RowError]:
    """Read N-Triples or N-Quads in blocks of lines; a block with an error is read again line by line."""
    kind, number = _FORMATS[form], 0
    while block := list(islice(stream, _BLOCK)):
        if number == 0:
            block[0] = block[0].removeprefix(_BOM)
        lines = [(number + i, line) for i, line in enumerate(block, start=1) if _states(line)]
        number += len(block)
        try:
            quads = list(ox.parse(b"".join(line for _, line in lines), format=kind))
        except SyntaxError:
            quads = []
        if len(quads) == len(lines):
            for (at, line), quad in zip(lines, quads, strict=True):
                yield at, quad, line
            continue
        for at, line in lines:
            try:
                for quad in ox.parse(line, format=kind):
                    yield at, quad, line
            except SyntaxError as error:
                yield RowError(name, at, error.offset or 1, _message(error), line)


def _states(line: bytes) -> bool:
    text = line.lstrip()
    return bool(text) and not text.startswith((b"#", b"VERSION", b"version"))


class _LineFeed:
    """Gives a parser one line at a time, so that the line it has come to is that of its last statement."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.line = stream, 0
        self._whole = True

    def read(self, size: int = -1) -> bytes:
        raw = self._stream.readline(size if size > 0 else -1)
        if self._whole:
            self.line += 1
        self._whole = raw.endswith(b"\n")
        return raw.removeprefix(_BOM) if self.line == 1 else raw


def _from_text(stream: IO[bytes], name: str, form: str) -> Iterator[Found | RowError]:
    """Read Turtle or TriG; after a syntax error nothing more can be read, and the error says so."""
    feed = _LineFeed(stream)
    try:
        for quad in ox.parse(cast("IO[bytes]", feed), format=_FORMATS[form]):
            yield feed.line, quad, None
    except SyntaxError as error:
        message = _message(error) + "; what follows was not read"
        if "no scheme found" in message:
            message += "; declare a @base for relative IRIs"
        yield RowError(
            name, error.lineno or feed.line, error.offset or 1, message, (error.text or "\n").encode()
        )


def _from_json(stream: IO[bytes], name: str) -> Iterator[Found | RowError]:
    raw = stream.read().removeprefix(_BOM)
    try:
        document = decode_json(raw)
    except JsonError as error:
        place = ":".join(str(part) for part in (name, error.line, error.column) if part is not None)
        raise InputError(f"{place}: {error.message}") from None
    remote = _remote_context(document)
    if remote is not None:
        raise InputError(
            f"{name}: the context {remote[:200]!r} is elsewhere and is not fetched; write it into the file"
        )
    number = 0
    try:
        for quad in ox.parse(io.BytesIO(raw), format=_FORMATS[".jsonld"]):
            number += 1
            yield -number, quad, None
    except SyntaxError as error:
        raise InputError(f"{name}: not valid JSON-LD: {_message(error)}") from None


def _remote_context(value: Any) -> str | None:
    """Return the address of the first context that is not written out, None where all are."""
    if isinstance(value, list):
        return next((found for item in value if (found := _remote_context(item)) is not None), None)
    if not isinstance(value, dict):
        return None
    contexts = value.get("@context", [])
    for context in contexts if isinstance(contexts, list) else [contexts]:
        if isinstance(context, str):
            return context
        if isinstance(context, dict) and "@import" in context:
            return str(context["@import"])
    return next((found for item in value.values() if (found := _remote_context(item)) is not None), None)


def _message(error: SyntaxError) -> str:
    """Return a parser's message without the place, which ours has in front."""
    text = str(error.msg)
    head, colon, rest = text.partition(": ")
    words = rest if colon and head.startswith("Parser error") else text
    return f"not valid RDF: {words[:1].lower()}{words[1:]}"
