"""How statements look in RDF: the vocabulary, names as IRIs, values as literals. Pure; no RDF library here.

A name that is an absolute IRI stands for itself; any other is percent-encoded below
`urn:chronofy-kg:name:`.
Numbers are xsd:integer or xsd:double, booleans xsd:boolean, text xsd:string or a language-tagged string;
other datatypes keep their text as it was written. The readers and writers of RDF share this.
"""

from __future__ import annotations

import re
from decimal import Decimal

from chronofy_kg.errors import FactFormatError, InputError
from chronofy_kg.facts.model import Value
from chronofy_kg.facts.time import OPEN_US, format_instant, parse_instant, parse_period

__all__ = [
    "ASSERTION",
    "CK",
    "FOREIGN",
    "OWN",
    "RDF",
    "TIME",
    "TIME_LITERALS",
    "TIME_NODES",
    "XSD",
    "datatype_iri",
    "datatype_name",
    "iri_as_name",
    "name_as_iri",
    "number_text",
    "period_text",
    "time_text",
    "value_of_literal",
    "whole_period",
]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
TIME = "http://www.w3.org/2006/time#"
PROV = "http://www.w3.org/ns/prov#"
CK = "urn:chronofy-kg:"
ASSERTION = CK + "assertion:"
_NAME = CK + "name:"

#: What hangs on a reifier, by field of an assertion; these are what the writer writes.
OWN = {
    CK + "during": "during",
    CK + "validFrom": "valid_from",
    CK + "validTo": "valid_to",
    CK + "observedAt": "observed_at",
    CK + "recordedAt": "recorded_at",
    CK + "retiredAt": "retired_at",
    CK + "confidence": "quality",
    CK + "source": "source",
    CK + "unit": "unit",
    CK + "datatype": "datatype",
    CK + "lang": "lang",
    CK + "type": "type",
    CK + "content": "content",
    CK + "meta": "meta",
}
#: Terms of PROV-O, OWL-Time and Dublin Core that are read too, where ours do not say it.
FOREIGN = {
    TIME + "hasTime": "during",
    TIME + "hasBeginning": "valid_from",
    TIME + "hasEnd": "valid_to",
    PROV + "generatedAtTime": "observed_at",
    PROV + "wasAttributedTo": "source",
    PROV + "hadPrimarySource": "source",
    "http://purl.org/dc/terms/source": "source",
}
#: Terms of OWL-Time between the nodes of an interval.
TIME_LITERALS = tuple(
    TIME + name
    for name in ("inXSDDateTimeStamp", "inXSDDateTime", "inXSDDate", "inXSDgYearMonth", "inXSDgYear")
)
TIME_NODES = (TIME + "hasBeginning", TIME + "hasEnd", *TIME_LITERALS)

#: What makes a reifier; as names of data they are encoded, so that nobody takes them for structure.
_STRUCTURE = {RDF + name for name in ("reifies", "subject", "predicate", "object")}

_TZ = r"(?P<tz>Z|[+-]\d\d:\d\d)?"
_TEMPORAL = {
    "dateTime": re.compile(rf"(?P<text>-?\d{{4,}}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?){_TZ}", re.ASCII),
    "dateTimeStamp": re.compile(
        r"(?P<text>-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)(?P<tz>Z|[+-]\d\d:\d\d)", re.ASCII
    ),
    "date": re.compile(rf"(?P<text>-?\d{{4,}}-\d\d-\d\d){_TZ}", re.ASCII),
    "gYearMonth": re.compile(rf"(?P<text>-?\d{{4,}}-\d\d){_TZ}", re.ASCII),
    "gYear": re.compile(rf"(?P<text>-?\d{{4,}}){_TZ}", re.ASCII),
}
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?INF|NaN", re.ASCII)
_INTEGERS = {
    "integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
    "negativeInteger", "unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte",
}  # fmt: skip
#: These merge with the numbers and texts of other forms; the other types are part of the value.
_PLAIN = {"integer", "decimal", "double", "boolean", "string"}
_LONGEST_NUMBER = 400
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_IRI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*:(?:[A-Za-z0-9\-._~:/?#@!$&'()*+,;=]|%[0-9A-Fa-f]{2}|[^\x00-\x7f])*"
)


def name_as_iri(name: str, *, valid: bool = True) -> str:
    """Return the IRI of a name; `valid` = False says that a library refuses the name as one.

    >>> name_as_iri("patient:17"), name_as_iri("Zoë Smith")
    ('patient:17', 'urn:chronofy-kg:name:Zo%C3%AB%20Smith')
    """
    if valid and _IRI.fullmatch(name) and not name.startswith(CK) and name not in _STRUCTURE:
        return name
    octets = name.encode("utf-8", "surrogatepass")
    return _NAME + "".join(chr(o) if chr(o) in _UNRESERVED else f"%{o:02X}" for o in octets)


def iri_as_name(iri: str) -> str:
    """Return the name of an IRI: the inverse of `name_as_iri`.

    >>> iri_as_name("urn:chronofy-kg:name:Zo%C3%AB%20Smith")
    'Zoë Smith'
    """
    if not iri.startswith(_NAME):
        return iri
    encoded = iri[len(_NAME) :].encode("utf-8", "surrogatepass")
    try:
        return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), encoded).decode("utf-8")
    except UnicodeDecodeError:
        return iri  # nobody encoded this


def datatype_name(iri: str) -> str | None:
    """Return how a datatype is named in an assertion: None for plain text, xsd:NAME, or the IRI.

    >>> datatype_name(XSD + "gYear")
    'xsd:gYear'
    """
    if iri == XSD + "string":
        return None
    return "xsd:" + iri.removeprefix(XSD) if iri.startswith(XSD) else iri


def datatype_iri(name: str) -> str | None:
    """Return the IRI of a datatype's name, None where it has none."""
    if re.fullmatch(r"xsd:[A-Za-z]+", name):
        return XSD + name.removeprefix("xsd:")
    return name if _IRI.fullmatch(name) else None


def value_of_literal(lexical: str, datatype: str, lang: str | None) -> tuple[Value, str | None, str | None]:
    """Return value, datatype and lang of a literal, as an assertion has them.

    Args:
        lexical: its text.
        datatype: IRI of its datatype.
        lang: its language tag, with the base direction of RDF 1.2 as in "ar--rtl", or None.

    Raises:
        FactFormatError: the text does not fit the datatype, or is no number that a double holds exactly.

    >>> value_of_literal("2002", XSD + "gYear", None)
    ('2002', 'xsd:gYear', None)
    """
    if lang is not None:
        return lexical, None, lang
    name = datatype.removeprefix(XSD) if datatype.startswith(XSD) else ""
    told = None if name in _PLAIN else datatype_name(datatype)
    if name == "boolean":
        if lexical not in _BOOLEANS:
            raise _ill_typed(lexical, name)
        return _BOOLEANS[lexical], told, None
    if name in _INTEGERS:
        if not _INTEGER.fullmatch(lexical) or len(lexical) > _LONGEST_NUMBER:
            raise _ill_typed(lexical, name)
        return int(lexical), told, None
    if name in ("double", "float", "decimal"):
        return _real(lexical, name), told, None
    if name in _TEMPORAL:
        time_text(lexical, datatype)
    return lexical, told, None


def _real(lexical: str, name: str) -> float:
    if not (_DECIMAL if name == "decimal" else _DOUBLE).fullmatch(lexical) or len(lexical) > _LONGEST_NUMBER:
        raise _ill_typed(lexical, name)
    number = float(lexical.replace("INF", "inf"))
    if name == "decimal" and Decimal(repr(number)) != Decimal(lexical):
        raise FactFormatError(
            f"value {lexical} has more digits than a number here holds; send it as text", pointer="/value"
        )
    return number


def _ill_typed(lexical: str, name: str) -> FactFormatError:
    return FactFormatError(f"{lexical[:60]!r} is no xsd:{name}", pointer="/value")


def number_text(value: float) -> tuple[str, str]:
    """Return text and datatype IRI of a number or boolean.

    >>> number_text(0.1)[0], number_text(True)[0]
    ('0.1', 'true')
    """
    if isinstance(value, bool):
        return ("true" if value else "false"), XSD + "boolean"
    return repr(value), XSD + ("integer" if isinstance(value, int) else "double")


def time_text(lexical: str, datatype: str) -> str:
    """Return a literal as text for the parser of instants; one of a day or longer is its beginning.

    Raises:
        FactFormatError: the text does not fit the datatype, or lies outside years 1 to 9999.
    """
    name = datatype.removeprefix(XSD)
    if name not in _TEMPORAL:
        if name in _INTEGERS or name in ("decimal", "double", "float"):
            raise FactFormatError(f"{lexical} is a bare number, not a time", pointer="/valid_from")
        return lexical
    match = _TEMPORAL[name].fullmatch(lexical)
    if match is None:
        raise _ill_typed(lexical, name)
    text, offset = match["text"], match["tz"] or ""
    try:
        start = parse_instant(text)
        if offset and "T" not in text:
            text = (format_instant(start.us) or text).removesuffix("Z")
        parse_instant(text + offset)
    except InputError as error:
        raise FactFormatError(str(error), pointer="/value") from None
    return text + offset


def period_text(lexical: str, datatype: str) -> str:
    """Return a literal as text for the parser of periods.

    >>> period_text("2002", XSD + "gYear")
    '2002'
    """
    text = time_text(lexical, datatype)
    offset = re.search(r"(Z|[+-]\d\d:\d\d)$", lexical) if datatype.startswith(XSD) else None
    if offset is None or "T" in lexical or datatype == XSD + "string":
        return text
    period = parse_period(lexical[: offset.start()])
    if period.end >= OPEN_US:
        return f"{text}/.."
    return f"{text}/{(format_instant(period.end) or '').removesuffix('Z')}{offset[0]}"


def whole_period(start: int, end: int) -> tuple[str, str] | None:
    """Return text and datatype of a period that is exactly a year, month or day in UTC, else None.

    >>> whole_period(1009843200000000, 1041379200000000)
    ('2002', 'http://www.w3.org/2001/XMLSchema#gYear')
    """
    first = format_instant(start)
    if first is None or end >= OPEN_US or not first.endswith("T00:00:00Z"):
        return None
    for length, name in ((4, "gYear"), (7, "gYearMonth"), (10, "date")):
        period = parse_period(first[:length])
        if (period.start, period.end) == (start, end):
            return first[:length], XSD + name
    return None
