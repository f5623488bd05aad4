"""Two pyparsing elements for the levels of the ladder: chains of operands, and prefixes before one.

They do what `And` and `ZeroOrMore` would do, with one result per level in place of four and no exception
where an operator is simply absent, which makes the grammar four times as fast. Once an operator was read,
its operand has to follow. What the levels are is in `grammar`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pyparsing as pp

from chronofy_kg.spec.ast import Node
from chronofy_kg.spec.terminals import Sign, Terminals

__all__ = ["Chain", "Prefix", "SignPattern"]

_BLANK = re.compile(r"[ \t\r\n]*")


class SignPattern:
    """Matches the operators of a level; gives the canonical text."""

    def __init__(self, pattern: str, name: str, texts: Mapping[str, str], terminals: Terminals) -> None:
        self._match = re.compile(pattern).match
        self._name = name
        self._texts = texts
        self._terminals = terminals

    def read(self, text: str, at: int) -> tuple[int, Sign] | None:
        """Return the end and the operator at an offset, after blanks, or None and note the failure."""
        start = _BLANK.match(text, at).end()  # type: ignore[union-attr]
        found = self._match(text, start)
        if found is None:
            self._terminals.note(start, self._name)
            return None
        word = found.group()
        return found.end(), Sign(self._texts[word], self._terminals.span(start, len(word)))


class Level(pp.ParseElementEnhance):
    """One level of the ladder; levels hand nodes to each other directly."""

    def __init__(self, operand: pp.ParserElement, build: Callable[[list[Any]], Node]) -> None:
        super().__init__(operand)
        self._operand = operand
        self._read_operand = operand.read if isinstance(operand, Level) else self._parse_operand
        self._build = build

    def parseImpl(self, instring: str, loc: int, do_actions: bool = True) -> Any:  # noqa: N802 (pyparsing's name)
        """Parse the level; pyparsing's hook for subclasses."""
        loc, node = self.read(instring, loc)
        return loc, [node]

    def read(self, text: str, at: int) -> tuple[int, Node]:
        """Return the end and the tree of what stands at an offset; raises pyparsing's exception."""
        raise pp.ParseException(text, at, "a level has no reading of its own")

    def _parse_operand(self, text: str, at: int) -> tuple[int, Node]:
        at, found = self._operand._parse(text, at)
        return at, found[0]


class Chain(Level):
    """`operand { sign [interval] operand }`, or at most one sign with `once`."""

    def __init__(
        self,
        operand: pp.ParserElement,
        sign: SignPattern,
        build: Callable[[list[Any]], Node],
        interval: pp.ParserElement | None = None,
        once: bool = False,
    ) -> None:
        super().__init__(operand, build)
        self._sign, self._interval, self._once = sign, interval, once

    def read(self, text: str, at: int) -> tuple[int, Node]:
        """Read the chain."""
        at, node = self._read_operand(text, at)
        read = self._sign.read(text, at)
        if read is None:
            return at, node
        parts: list[Any] = [node]
        while read is not None:
            at, sign = read
            parts.append(sign)
            if self._interval is not None:
                at, found = self._interval._parse(text, at)
                parts.extend(found)
            at, node = self._read_operand(text, at)
            parts.append(node)
            read = None if self._once else self._sign.read(text, at)
        return at, self._build(parts)


class Prefix(Level):
    """`{ sign [interval] } operand`; only the signs of `timed` take an interval."""

    def __init__(
        self,
        operand: pp.ParserElement,
        plain: SignPattern,
        build: Callable[[list[Any]], Node],
        timed: SignPattern | None = None,
        interval: pp.ParserElement | None = None,
    ) -> None:
        super().__init__(operand, build)
        self._plain, self._timed, self._interval = plain, timed, interval

    def read(self, text: str, at: int) -> tuple[int, Node]:
        """Read the signs and the operand."""
        parts: list[Any] = []
        while True:
            timed = self._timed.read(text, at) if self._timed else None
            read = timed or self._plain.read(text, at)
            if read is None:
                break
            at, sign = read
            parts.append(sign)
            if timed and self._interval is not None:
                at, found = self._interval._parse(text, at)
                parts.extend(found)
        at, node = self._read_operand(text, at)
        if not parts:
            return at, node
        parts.append(node)
        return at, self._build(parts)
