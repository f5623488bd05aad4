"""From RDF statements to rows: which nodes are reifiers, what they say, and what each statement tells.

`Survey` looks at a whole file first and remembers little: which statements are reified, each reifier's last
statement, and the nodes of OWL-Time. `rows_of` then streams the file and lets go of a reifier with its last
statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyoxigraph as ox

from chronofy_kg.errors import FactFormatError
from chronofy_kg.facts.rdfterms import (
    CK,
    FOREIGN,
    OWN,
    RDF,
    TIME,
    TIME_LITERALS,
    TIME_NODES,
    iri_as_name,
    period_text,
    time_text,
    value_of_literal,
)
from chronofy_kg.facts.readers.base import RowError, Told
from chronofy_kg.facts.rows import TIME_FIELDS, RowRules, check_told
from chronofy_kg.facts.strict_json import JsonError, decode_json

__all__ = ["Names", "Statement", "Survey", "rows_of"]

_REIFIES = RDF + "reifies"
_PARTS = {RDF + "subject": 0, RDF + "predicate": 1, RDF + "object": 2}
_TYPE, _STATEMENT = RDF + "type", RDF + "Statement"
_TIME_TERMS = {
    *TIME_NODES,
    *(term for term, name in {**OWN, **FOREIGN}.items() if name in ("during", *TIME_FIELDS)),
}
Node = ox.NamedNode | ox.BlankNode
Term = Node | ox.Literal | ox.Triple


class Statement(NamedTuple):
    """One statement of a file; a tuple, since there are millions.

    Attributes:
        number: counted from 0.
        line: 1-based line on which it ends; negative, the number of the statement, where there are no lines.
        quad: the statement.
        raw: its line, in forms with one statement a line.
    """

    number: int
    line: int
    quad: ox.Quad
    raw: bytes | None


class Names:
    """Names of terms; blank nodes are named after the file, so that those of two files are not one.

    Args:
        file: name of the file.
        by_label: whether every blank node has a label in the file; else they are numbered as they come.
    """

    def __init__(self, file: str, *, by_label: bool) -> None:
        self._file, self._by_label = file, by_label
        self._numbers: dict[str, int] = {}

    def meet(self, quad: ox.Quad) -> None:
        """Number the blank nodes of a statement; each pass meets all of them, in the order of the file."""
        if not self._by_label:
            self._meet(quad.subject, quad.object, quad.graph_name)

    def _meet(self, *terms: object) -> None:
        for term in terms:
            if isinstance(term, ox.BlankNode):
                self._numbers.setdefault(term.value, len(self._numbers) + 1)
            elif isinstance(term, ox.Triple):
                self._meet(term.subject, term.object)

    def of(self, node: Node) -> str:
        """Return the name of an IRI or blank node."""
        text = node.value
        if type(node) is ox.NamedNode:
            return iri_as_name(text) if text.startswith(CK) else text
        return f"_:{self._file}.{text if self._by_label else self._numbers[text]}"

    def begin(self) -> None:
        """Start a pass: the parser gives nodes without a label another id in each."""
        self._numbers.clear()

    def key(self, triple: ox.Quad | ox.Triple | _Parts) -> int:
        """Return what is equal for equal statements within this process."""
        parts = (triple.subject, triple.predicate, triple.object)
        return hash(tuple(self.of(t) if isinstance(t, ox.BlankNode) else str(t) for t in parts))


@dataclass(frozen=True, slots=True)
class _Parts:
    """A statement put together from an rdf:Statement."""

    subject: Term
    predicate: Term
    object: Term


class Survey:
    """What must be known of a file before its rows can be told.

    Args:
        names: of the terms of the file.

    Attributes:
        reified: keys of the statements that a reifier stands for.
        last: number of the last statement about each reifier.
        times: for each node of OWL-Time what it says, by term; names of nodes as text.
        inner: names of the time nodes that belong to reifiers.
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self.reified: set[int] = set()
        self.last: dict[str, int] = {}
        self.times: dict[str, dict[str, ox.Literal | str]] = {}
        self.inner: set[str] = set()
        self._parts: dict[str, list[Term | None]] = {}
        self._links: dict[str, list[str]] = {}

    def read(self, statements: Iterable[Statement | RowError]) -> None:
        """Take a whole file in."""
        self.names.begin()
        for found in statements:
            if isinstance(found, Statement):
                self._see(found)
        waiting = list(self.last)
        while waiting:
            for node in self._links.get(waiting.pop(), ()):
                if node not in self.inner and node not in self.last:
                    self.inner.add(node)
                    waiting.append(node)

    def _see(self, statement: Statement) -> None:
        quad = statement.quad
        self.names.meet(quad)
        subject, predicate, target = self.names.of(_node(quad.subject)), quad.predicate.value, quad.object
        is_reifier = subject in self.last
        if predicate == _REIFIES and isinstance(target, ox.Triple):
            self.reified.add(self.names.key(target))
            is_reifier = True
        elif predicate in _PARTS:
            self._take_part(subject, _PARTS[predicate], target)
            is_reifier = True
        elif predicate in _TIME_TERMS:
            self._take_time(subject, predicate, target)
        if is_reifier:
            self.last[subject] = statement.number

    def _take_part(self, subject: str, part: int, target: Term) -> None:
        parts = self._parts.setdefault(subject, [None, None, None])
        parts[part] = target
        first, second, third = parts
        if first is not None and second is not None and third is not None:
            self.reified.add(self.names.key(_Parts(first, second, third)))
            del self._parts[subject]

    def _take_time(self, subject: str, predicate: str, target: Term) -> None:
        if isinstance(target, ox.Literal):
            self.times.setdefault(subject, {})[predicate] = target
        elif not isinstance(target, ox.Triple):
            node = self.names.of(target)
            self.times.setdefault(subject, {})[predicate] = node
            self._links.setdefault(subject, []).append(node)


def _node(term: object) -> Node:
    """Return a subject as the IRI or blank node that it must be."""
    if isinstance(term, ox.NamedNode | ox.BlankNode):
        return term
    raise FactFormatError("a triple term stands where a name must be")


@dataclass(slots=True)
class _Reifier:
    """What a reifier said so far."""

    line: int
    graph: str | None
    stated: list[ox.Triple] = field(default_factory=list)
    parts: list[Term | None] = field(default_factory=lambda: [None, None, None])
    notes: list[tuple[str, Term]] = field(default_factory=list)


def rows_of(
    statements: Iterable[Statement | RowError],
    survey: Survey,
    name: str,
    rules: RowRules,
    constants: Mapping[str, Any],
) -> Iterator[Told]:
    """Yield what each statement, with what its reifier says, tells, or its error.

    Args:
        statements: of the file, in order; errors pass through.
        survey: of the same file.
        name: name of the file, for errors.
        rules: zone of times without one, and whether transaction times are taken.
        constants: what fills a field that a statement leaves open.
    """
    names, waiting = survey.names, dict[str, _Reifier]()
    names.begin()
    teller = _Teller(survey, name, rules, constants)
    for found in statements:
        if isinstance(found, RowError):
            yield found
            continue
        quad = found.quad
        names.meet(quad)
        subject = names.of(_node(quad.subject))
        if subject in survey.last:
            reifier = waiting.setdefault(subject, _Reifier(found.line, _graph(quad, names)))
            _note(reifier, quad.predicate.value, quad.object)
            if survey.last[subject] == found.number:
                yield from teller.reified(waiting.pop(subject))
        elif subject not in survey.inner and (not survey.reified or names.key(quad) not in survey.reified):
            yield teller.told(quad, (), _graph(quad, names), found.line, found.raw)


def _graph(quad: ox.Quad, names: Names) -> str | None:
    graph = quad.graph_name
    return None if isinstance(graph, ox.DefaultGraph) else names.of(graph)


def _note(reifier: _Reifier, predicate: str, target: Term) -> None:
    if predicate == _REIFIES and isinstance(target, ox.Triple):
        reifier.stated.append(target)
    elif predicate in _PARTS:
        reifier.parts[_PARTS[predicate]] = target
    elif not (predicate == _TYPE and getattr(target, "value", None) == _STATEMENT):
        reifier.notes.append((predicate, target))


class _Teller:
    """Turns statements and what their reifiers say into rows."""

    def __init__(self, survey: Survey, name: str, rules: RowRules, constants: Mapping[str, Any]) -> None:
        self._names, self._times, self._name = survey.names, survey.times, name
        self._rules, self._constants = rules, constants

    def reified(self, reifier: _Reifier) -> Iterator[Told]:
        """Yield a row for each statement of a reifier."""
        stated: list[ox.Triple | _Parts] = [*reifier.stated]
        first, second, third = reifier.parts
        if first is not None and second is not None and third is not None:
            stated.append(_Parts(first, second, third))
        elif reifier.parts != [None, None, None]:
            lacks = "an rdf:Statement needs rdf:subject, rdf:predicate and rdf:object"
            yield self._error(lacks, reifier.line)
        for triple in stated:
            yield self.told(triple, reifier.notes, reifier.graph, reifier.line, None)

    def told(
        self,
        triple: ox.Quad | ox.Triple | _Parts,
        notes: Iterable[tuple[str, Term]],
        graph: str | None,
        line: int,
        raw: bytes | None,
    ) -> Told:
        """Return the row of a statement, or its error."""
        try:
            fields = self._stated(triple) | self._noted(notes)
            if graph is not None:
                fields.setdefault("source", graph)
            covered = {"valid_from", "valid_to"} if "during" in fields else set[str]()
            for name, value in self._constants.items():
                if name not in covered:
                    fields.setdefault(name, value)
            return check_told(fields, self._rules)
        except FactFormatError as error:
            message = error.message
            if error.pointer == "/valid_from" and "missing" in message:
                message += "; annotate the statement, or give a constant in a mapping (--map)"
            text = f"{triple.subject} {triple.predicate} {triple.object} .\n"
            return self._error(message, line, raw if raw is not None else text.encode())

    def _error(self, message: str, line: int, raw: bytes = b"\n") -> RowError:
        if line < 0:
            return RowError(self._name, -line, 1, message, raw, place="row")
        return RowError(self._name, line, 1, message, raw)

    def _stated(self, triple: ox.Quad | ox.Triple | _Parts) -> dict[str, Any]:
        target = triple.object
        fields: dict[str, Any] = {
            "subject": self._names.of(_node(triple.subject)),
            "predicate": self._names.of(_node(triple.predicate)),
        }
        if not isinstance(target, ox.Literal):
            return fields | {"object": self._names.of(_node(target))}
        value, datatype, lang = value_of_literal(target.value, target.datatype.value, _lang(target))
        told: dict[str, Any] = {"value": value, "datatype": datatype, "lang": lang}
        return fields | {name: part for name, part in told.items() if part is not None}

    def _noted(self, notes: Iterable[tuple[str, Term]]) -> dict[str, Any]:
        """Return the fields that a reifier gives; what is no known term goes to meta."""
        own: dict[str, Any] = {}
        foreign: dict[str, Any] = {}
        meta: dict[str, list[Any]] = {}
        for predicate, target in notes:
            if predicate in OWN:
                _put(own, OWN[predicate], self._field(OWN[predicate], target))
            elif predicate in FOREIGN:
                for name, value in self._foreign(FOREIGN[predicate], target).items():
                    _put(foreign, name, value)
            else:
                meta.setdefault(iri_as_name(predicate), []).append(self._plain(target))
        if "valid_from" in own or "during" in own:
            foreign = {n: v for n, v in foreign.items() if n not in ("valid_from", "valid_to", "during")}
        fields = foreign | own
        if meta:
            extra = {name: values[0] if len(values) == 1 else values for name, values in meta.items()}
            fields["meta"] = extra | fields.get("meta", {})
        return fields

    def _field(self, name: str, target: Term) -> Any:
        if not isinstance(target, ox.Literal):
            node = self._names.of(_node(target))
            return self._instant(node, name) if name in ("during", *TIME_FIELDS) else node
        lexical, datatype = target.value, target.datatype.value
        try:
            if name == "during":
                return period_text(lexical, datatype)
            if name in TIME_FIELDS:
                return time_text(lexical, datatype)
            if name == "meta":
                return decode_json(lexical)
        except JsonError as error:
            raise FactFormatError(f"meta: {error.message}", pointer="/meta") from None
        except FactFormatError as error:
            raise FactFormatError(f"{name}: {error.message}", pointer=f"/{name}") from None
        return value_of_literal(lexical, datatype, None)[0] if name == "quality" else lexical

    def _foreign(self, name: str, target: Term) -> dict[str, Any]:
        """Return the fields that a term of another vocabulary gives; an interval gives its ends."""
        if name != "during" or isinstance(target, ox.Literal):
            return {name: self._field(name, target)}
        node = self._names.of(_node(target))
        parts, found = self._times.get(node, {}), {}
        for end, term in (("valid_from", TIME + "hasBeginning"), ("valid_to", TIME + "hasEnd")):
            part = parts.get(term)
            if part is not None:
                found[end] = self._instant(part, end) if isinstance(part, str) else self._field(end, part)
        return found or {"during": self._instant(node, "during")}

    def _instant(self, node: str, name: str) -> Any:
        """Return the literal of a time node as text."""
        parts = self._times.get(node, {})
        for predicate in TIME_LITERALS:
            part = parts.get(predicate)
            if isinstance(part, ox.Literal):
                return self._field(name, part)
        raise FactFormatError(f"{name}: {node} has no time:inXSD… of its own", pointer=f"/{name}")

    def _plain(self, target: Term) -> Any:
        if isinstance(target, ox.Triple):
            return str(target)
        if not isinstance(target, ox.Literal):
            return self._names.of(target)
        return value_of_literal(target.value, target.datatype.value, _lang(target))[0]


def _lang(literal: ox.Literal) -> str | None:
    """Return the language tag of a literal, with the base direction of RDF 1.2."""
    tag, direction = literal.language, literal.direction
    return f"{tag}--{direction!s}" if tag is not None and direction is not None else tag


def _put(fields: dict[str, Any], name: str, value: Any) -> None:
    if name in fields and fields[name] != value:
        raise FactFormatError(f"gives two {name}: {fields[name]!r} and {value!r}", pointer=f"/{name}")
    fields[name] = value
