"""The tree of a rule: `head <- literal, literal, ...` over facts and their periods.

Frozen nodes with their places, which are no part of equality. The grammar is in `rulegrammar`, what must hold
in `rulecheck`; the engine that runs rules is in the package `rules`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from chronofy_kg.spec.ast import Interval, Name, Number
from chronofy_kg.spec.diagnostics import Span
from chronofy_kg.spec.format import bound_text, interval_text, name_text, quoted

__all__ = [
    "Atom",
    "Comparison",
    "Literal",
    "Premise",
    "Relation",
    "RuleDecl",
    "Term",
    "Text",
    "Variable",
    "atoms_of",
]

_NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Variable:
    """`?name`; `?_` is another variable each time it stands."""

    name: str
    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        return f"?{self.name}"


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text: an entity or a value as it is in the data, or an instant where periods are compared."""

    value: str
    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        return quoted(self.value)


Term: TypeAlias = Variable | Text | Number | Name
"""A `Name` is a parameter."""


@dataclass(frozen=True, slots=True)
class Atom:
    """`predicate(term, ...)`: facts of a predicate or fact type, subject first."""

    predicate: str
    terms: tuple[Term, ...]
    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        return f"{name_text(self.predicate)}({', '.join(map(term_text, self.terms))})"


@dataclass(frozen=True, slots=True)
class Premise:
    """An atom in a rule's body.

    Args:
        atom: the facts it matches.
        negated: it holds where no fact matches.
        operator: O (a fact held at some instant of the window) or H (throughout it); None: a fact holds now.
        interval: the window, back from now; None: all of the past.
        period: the variable that stands for the period of the fact that matched, or None.
    """

    atom: Atom
    negated: bool = False
    operator: str | None = None
    interval: Interval | None = None
    period: Variable | None = None
    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        window = interval_text(self.interval)
        past = f"{self.operator}{window} " if self.operator else ""
        return (
            f"{'not ' if self.negated else ''}{past}{self.atom}{f' as {self.period}' if self.period else ''}"
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """`?x >= 3`: two terms compared; only == and != compare texts."""

    left: Term
    operator: str
    right: Term
    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        return f"{term_text(self.left)} {self.operator} {term_text(self.right)}"


@dataclass(frozen=True, slots=True)
class Relation:
    """`?p before ?q`: a relation of Allen's interval algebra (1983) between two periods or instants."""

    left: Variable | Text
    relation: str
    right: Variable | Text
    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


Literal: TypeAlias = Premise | Comparison | Relation


@dataclass(frozen=True, slots=True)
class RuleDecl:
    """A rule: its head holds over the intersection of the periods of its body, as sure as the least sure
    part.

    `weight` in (0, 1] scales that confidence.
    """

    name: str
    head: Atom
    body: tuple[Literal, ...]
    weight: float = 1.0
    span: Span = field(default=_NOWHERE, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.head} <- {', '.join(map(str, self.body))}"

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The atoms of the body."""
        return tuple(one for one in self.body if isinstance(one, Premise))


def atoms_of(rule: RuleDecl) -> Iterator[Atom]:
    """Yield the head and the atoms of the body."""
    yield rule.head
    for premise in rule.premises:
        yield premise.atom


def term_text(term: Term) -> str:
    """Return a term as it is written.

    >>> term_text(Variable("x")), term_text(Text("drug:1")), term_text(Number(3.0, "d"))
    ('?x', '"drug:1"', '3d')
    """
    return bound_text(term) if isinstance(term, Number | Name) else str(term)
