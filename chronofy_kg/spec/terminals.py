"""The tokens of the grammar as pyparsing elements, and the record of how far a parse came.

pyparsing reports where the last alternative failed; a user wants the first token that fits nowhere. Every
terminal therefore notes its failure, and the furthest one is kept with everything that could have stood there
(the method is "furthest failure", Ford 2002, Packrat Parsing, section 3.2.4). One `Terminals` belongs to one
thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pyparsing as pp

from chronofy_kg.spec.ast import Name, Node, Number
from chronofy_kg.spec.diagnostics import Span
from chronofy_kg.spec.operators import Table

__all__ = ["END", "NUMBER", "WORD", "Failure", "Problem", "Sign", "Terminals"]

NUMBER = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
WORD = r"[^\W\d]\w*"
END = "end"
_BLANKS = " \t\r\n"


class Sign(NamedTuple):
    """An operator or punctuation with its place."""

    text: str
    span: Span


class Failure(NamedTuple):
    """The first place at which nothing fits, and what was tried there (names of terminals)."""

    offset: int
    tried: frozenset[str]


class Problem(NamedTuple):
    """A semantic mistake found inside a token."""

    span: Span
    code: str
    message: str
    hint: str | None


class Terminals:
    """Makes the terminals of one grammar and watches one parse at a time."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.problems: dict[Span, Problem] = {}
        self._base = 0
        self._furthest = 0
        self._tried: set[str] = set()
        reserved = "|".join(sorted(table.reserved, key=lambda word: (-len(word), word)))
        self.free_word = rf"(?!(?:{reserved})\b){WORD}"
        units = "|".join(sorted(table.units, key=len, reverse=True))
        # A unit stands right after its number, or after blanks on the same line if it is a known one: a word
        # on the next line is more likely a misspelt item.
        self._quantity = rf"({NUMBER})(?:({self.free_word}(?:\.\w+)*)|[ \t]+({units})\b)?"

    def run(self, element: pp.ParserElement, text: str, base: int) -> tuple[list[Any] | None, Failure | None]:
        """Parse a piece of text that starts at offset `base` of its source."""
        self._base, self._furthest, self._tried = base, 0, set()
        try:
            return element.parse_string(text).as_list(), None
        except pp.ParseBaseException:
            return None, Failure(base + self._furthest, frozenset(self._tried))

    def note(self, at: int, name: str) -> None:
        """Record that a terminal does not match at an offset in the piece."""
        if at > self._furthest:
            self._furthest, self._tried = at, {name}
        elif at == self._furthest:
            self._tried.add(name)

    def regex(
        self, pattern: str, name: str, action: Callable[[str, int, Any], Any], blanks: str = _BLANKS
    ) -> pp.ParserElement:
        """Return a terminal; the action gets (text, offset in the piece, [match])."""
        element = pp.Regex(pattern, as_match=True)
        element.set_whitespace_chars(blanks)
        element.set_name(name)
        element.set_fail_action(lambda text, at, failed, error: self.note(at, name))
        element.set_parse_action(action)
        return element

    def sign(self, pattern: str, name: str) -> pp.ParserElement:
        """Return a terminal that gives its text and place."""
        return self.regex(pattern, name, self._sign)

    def word(self, *words: str, name: str | None = None) -> pp.ParserElement:
        """Return a terminal for one of some words."""
        return self.sign(rf"(?:{'|'.join(words)})\b", name or _quoted(words))

    def symbol(self, symbol: str) -> pp.ParserElement:
        """Return a terminal for punctuation."""
        return self.sign(re.escape(symbol), f"'{symbol}'")

    def end(self) -> pp.ParserElement:
        """Return a terminal for the end of the piece."""
        return self.regex(r"\Z", END, self._sign).suppress()

    def name(self, name: str, dotted: bool = True) -> pp.ParserElement:
        """Return a terminal for a name that is not reserved; gives a `Name`."""
        return self.regex(self.free_word + (rf"(?:\.{WORD})*" if dotted else r"(?!\.)"), name, self._name)

    def quantity(self, name: str = "a number") -> pp.ParserElement:
        """Return a terminal for an unsigned number with an optional unit; gives a `Number`."""
        return self.regex(self._quantity, name, self._number)

    def span(self, at: int, length: int) -> Span:
        """Return the span of a token at an offset in the piece."""
        return Span(self._base + at, self._base + at + length)

    def _sign(self, text: str, at: int, found: Any) -> Sign:
        word = found[0].group()
        return Sign(word, self.span(at, len(word)))

    def _name(self, text: str, at: int, found: Any) -> Node:
        word = found[0].group()
        return Name(word, span=self.span(at, len(word)))

    def _number(self, text: str, at: int, found: Any) -> Node:
        match = found[0]
        span = self.span(at, len(match.group()))
        value, unit = float(match.group(1)), match.group(2) or match.group(3)
        if value == float("inf"):
            self.problem(span, "value", "this number is too large", None)
        if unit is not None and unit not in self.table.units:
            at = self._base + match.start(2)
            hint = self.table.unit_hints.get(unit)
            if unit.startswith("_"):
                hint = "numbers have no separators: 1000000"
            elif any(char.isdigit() for char in unit):
                hint = "a time is one number with one unit: 90 m, not 1h30m"
            known = ", ".join(self.table.units)
            message = f"{unit!r} is no unit of time"
            self.problem(Span(at, at + len(unit)), "unit", message, hint or f"the units are {known}")
            unit = None
        return Number(value, unit, span=span)

    def problem(self, span: Span, code: str, message: str, hint: str | None) -> None:
        """Record a mistake inside a token; it counts only if the text around it parses."""
        self.problems[span] = Problem(span, code, message, hint)


def _quoted(words: Iterable[str]) -> str:
    return " or ".join(f"'{word}'" for word in words)
