"""RDF: each assertion as a reifier `urn:chronofy-kg:assertion:ID` of its statement, through pyoxigraph.

`star` reifies with rdf:reifies and a triple term (RDF 1.2), plain with rdf:Statement (RDF 1.1). A statement
that is believed stands in the file by itself too; one that was retired is only reified. The terms are those
of `facts.rdfterms`. Imported only when such a file is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import IO, Any

import pyoxigraph as ox

from chronofy_kg.errors import FactFormatError
from chronofy_kg.facts.model import Value
from chronofy_kg.facts.rdfterms import (
    ASSERTION,
    CK,
    OWN,
    RDF,
    XSD,
    datatype_iri,
    name_as_iri,
    number_text,
    value_of_literal,
    whole_period,
)
from chronofy_kg.facts.table import FactTable
from chronofy_kg.facts.time import OPEN_US
from chronofy_kg.facts.writers.rows import chunks, rows_of

__all__ = ["write_rdf"]

_FORMATS = {
    ".ttl": ox.RdfFormat.TURTLE,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".trig": ox.RdfFormat.TRIG,
    ".jsonld": ox.RdfFormat.JSON_LD,
}
_TRIPLES = (".ttl", ".nt")
_PREFIXES = {"ck": CK, "rdf": RDF, "xsd": XSD}
_TERM_OF = {field: ox.NamedNode(iri) for iri, field in OWN.items()}
_REIFIES, _TYPE, _STATEMENT, _SUBJECT, _PREDICATE, _OBJECT = (
    ox.NamedNode(RDF + name) for name in ("reifies", "type", "Statement", "subject", "predicate", "object")
)
_DATE_TIME, _DOUBLE = ox.NamedNode(XSD + "dateTime"), ox.NamedNode(XSD + "double")
_TIMES = ("valid_from", "valid_to", "observed_at", "recorded_at", "retired_at")
_QUALIFIERS: tuple[str, ...] = ("datatype", "lang")
_TEXTS = ("unit", "type", "content", "meta")


def write_rdf(
    table: FactTable, stream: IO[bytes], form: str, on_row: Callable[[int], None] | None = None, *, star: bool
) -> None:
    """Write a table in one of the forms of RDF.

    Args:
        table: assertions with their transaction times.
        stream: where to.
        form: .ttl, .nt, .nq, .trig or .jsonld.
        on_row: called with the number of rows written so far.
        star: reify as RDF 1.2 does; JSON-LD cannot.
    """
    triples = _triples(table, on_row, star=star)
    prefixes = _PREFIXES if form in (".ttl", ".trig", ".jsonld") else None
    if form in _TRIPLES:
        ox.serialize(triples, stream, _FORMATS[form], prefixes=prefixes)
    else:
        quads = (ox.Quad(t.subject, t.predicate, t.object, ox.DefaultGraph()) for t in triples)
        ox.serialize(quads, stream, _FORMATS[form], prefixes=prefixes)


def _triples(table: FactTable, on_row: Callable[[int], None] | None, *, star: bool) -> Iterator[ox.Triple]:
    for part in chunks(table, on_row):
        for row, fields in enumerate(rows_of(part)):
            told, notes = _stated(fields)
            node = ox.NamedNode(ASSERTION + part.id_of(row).removeprefix("a_"))
            if part.retired_at[row] == OPEN_US:
                yield told
            if star:
                yield ox.Triple(node, _REIFIES, told)
            else:
                yield ox.Triple(node, _TYPE, _STATEMENT)
                yield ox.Triple(node, _SUBJECT, told.subject)
                yield ox.Triple(node, _PREDICATE, told.predicate)
                yield ox.Triple(node, _OBJECT, told.object)
            period = whole_period(int(part.valid_from[row]), int(part.valid_to[row]))
            yield from _notes(node, fields, notes, period)


def _stated(fields: dict[str, Any]) -> tuple[ox.Triple, dict[str, str]]:
    """Return the statement of a row, and what of its value no literal says."""
    subject, predicate = _name(fields["subject"]), _name(fields["predicate"])
    told: dict[str, str] = {name: fields[name] for name in _QUALIFIERS if name in fields}
    if "object" in fields:
        return ox.Triple(subject, predicate, _name(fields["object"])), told
    literal = _literal(fields["value"], told.get("datatype"), told.get("lang"))
    if literal is not None:
        return ox.Triple(subject, predicate, literal), {}
    return ox.Triple(subject, predicate, _plain(fields["value"])), told


def _literal(value: Value, datatype: str | None, lang: str | None) -> ox.Literal | None:
    """Return the literal that alone says value, datatype and lang, None where none does."""
    if datatype is None and lang is None:
        return _plain(value)
    if not isinstance(value, str):
        return _checked(number_text(value)[0], datatype, None, value) if lang is None else None
    return _checked(value, datatype, lang, value)


def _checked(text: str, datatype: str | None, lang: str | None, value: Value) -> ox.Literal | None:
    """Return a literal if the reader takes it for the same value."""
    try:
        if lang is not None:
            tag, _, direction = lang.partition("--")
            way = ox.BaseDirection(direction) if direction else None
            literal = ox.Literal(text, language=tag, direction=way)
            same = datatype is None and literal.language == tag
            return literal if same else None
        iri = datatype_iri(datatype or "")
        if iri is None:
            return None
        literal = ox.Literal(text, datatype=ox.NamedNode(iri))
        read = value_of_literal(literal.value, iri, None)
    except (ValueError, FactFormatError):
        return None
    same = read == (value, datatype, None) and type(read[0]) is type(value)
    return literal if same and repr(read[0]) == repr(value) else None


def _plain(value: Value) -> ox.Literal:
    if isinstance(value, str):
        return ox.Literal(value)
    text, datatype = number_text(value)
    return ox.Literal(text, datatype=ox.NamedNode(datatype))


def _notes(
    node: ox.NamedNode, fields: dict[str, Any], qualifiers: dict[str, str], period: tuple[str, str] | None
) -> Iterator[ox.Triple]:
    """Yield what hangs on a reifier; `qualifiers` are datatype and lang where no literal says them."""
    if period is not None:
        text, datatype = period
        literal = ox.Literal(text, datatype=ox.NamedNode(datatype))
        yield ox.Triple(node, _TERM_OF["during"], literal)
    for name in _TIMES if period is None else _TIMES[2:]:
        if name in fields:
            yield ox.Triple(node, _TERM_OF[name], ox.Literal(fields[name], datatype=_DATE_TIME))
    if "quality" in fields:
        yield ox.Triple(node, _TERM_OF["quality"], ox.Literal(repr(fields["quality"]), datatype=_DOUBLE))
    if "source" in fields:
        yield ox.Triple(node, _TERM_OF["source"], _name(fields["source"]))
    texts = {name: fields[name] for name in _TEXTS if name in fields} | qualifiers
    for name, text in texts.items():
        yield ox.Triple(node, _TERM_OF[name], ox.Literal(text))


@lru_cache(maxsize=65_536)
def _name(name: str) -> ox.NamedNode:
    try:
        return ox.NamedNode(name_as_iri(name))
    except ValueError:
        return ox.NamedNode(name_as_iri(name, valid=False))
