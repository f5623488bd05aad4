"""The grammar of formulas: a ladder of precedence levels, built from the operator table with pyparsing.

Round brackets are parsed from the inside out, each on its own, so neither nesting nor length can exhaust the
stack; everything else is chains. The items around formulas are in `items`, tokens in `terminals`, the wording
of errors in `mistakes`. pyparsing's process-wide settings are left alone, and packrat is not used (it only
slows this grammar).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyparsing as pp

from chronofy_kg.spec.ast import (
    STEPS,
    Boolean,
    Call,
    Compare,
    Interval,
    Name,
    Negate,
    Node,
    Not,
    Number,
    Pair,
    Recursive,
    Step,
    Temporal,
    Window,
    arithmetic,
    logic,
)
from chronofy_kg.spec.diagnostics import Span
from chronofy_kg.spec.ladder import Chain, Prefix, SignPattern
from chronofy_kg.spec.operators import Level, Table
from chronofy_kg.spec.scan import Group
from chronofy_kg.spec.terminals import END, Failure, Terminals

__all__ = ["FormulaGrammar", "interval_element", "signed_quantity"]

_FAILED = Name("?")
"""Stands for a bracket whose inside has an error, so that what is around it is looked at too."""


class _Inside(NamedTuple):
    """What a bracket holds that is no formula: arguments, the level of a quantile, the parts of a window."""

    parts: tuple[Any, ...]
    end: int


class _Least(NamedTuple):
    samples: int


class FormulaGrammar:
    """Parses formulas; one object belongs to one thread."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.terminals = Terminals(table)
        self._groups: dict[int, tuple[Node | _Inside, int]] = {}
        self._symbols = sorted(
            {word for level in table.levels for one in level.operators for word in one.spellings}, key=len
        )
        ladder: dict[str, pp.ParserElement] = {}
        element = self._primary()
        for level in reversed(table.levels):
            element = ladder[level.name] = self._level(level, element)
        end = self.terminals.end()
        comma = self.terminals.symbol(",").suppress()
        self._formula = element + end
        self._insides = {
            "formula": self._formula,
            "call": ladder["sum"] + pp.ZeroOrMore(comma + ladder["sum"]) + end,
            "level": signed_quantity(self.terminals) + end | self.terminals.name("a parameter") + end,
            "window": self._window_inside(ladder["sum"], element) + end,
            "let": self._named(element) + end,
        }
        for whole in self._insides.values():
            whole.parse_with_tabs()

    def parse(
        self, text: str, start: int, end: int, groups: Sequence[Group]
    ) -> tuple[Node | None, Failure | None]:
        """Parse the formula in text[start:end], where comments are blanked.

        Returns:
            The tree and None, or None and the leftmost failure.
        """
        self._groups, self.terminals.problems = {}, {}
        piece = list(text[start:end])
        failures: list[Failure] = []
        for group in groups:
            inside = slice(group.open + 1 - start, (end if group.close is None else group.close) - start)
            node, failure = self._parse_group("".join(piece[inside]), group)
            failures.extend([failure] if failure else [])
            self._groups[group.open] = (node, group.end)
            piece[inside] = " " * (inside.stop - inside.start)
        found, failure = self.terminals.run(self._formula, "".join(piece), start)
        failures.extend([failure] if failure else [])
        if failures or found is None:
            return None, min(failures)
        return found[0], None

    def _parse_group(self, inside: str, group: Group) -> tuple[Node | _Inside, Failure | None]:
        found, failure = self.terminals.run(self._insides[group.kind], inside, group.open + 1)
        if failure is not None:
            failure = Failure(
                failure.offset, frozenset("')'" if one == END else one for one in failure.tried)
            )
        elif group.close is None:
            failure = Failure(group.end, frozenset({"')'"}))
        if group.kind not in ("formula", "let"):
            return _Inside(tuple(found or ()), group.end), failure
        node = found[0] if found else _FAILED
        # An error about a bracketed operand points at its bracket.
        return replace(node, span=Span(group.open, group.end)), failure

    def _primary(self) -> pp.ParserElement:
        make = self.terminals
        bracket = make.regex(r"\( *\)?", "'('", self._bracket)
        call = make.word(*_longest_first(self.table.functions), name="a function") + bracket
        call.set_parse_action(_call)
        levelled = [name for name, level in self.table.windows.items() if level]
        plain = [name for name in self.table.windows if name not in levelled]
        window = make.word(*_longest_first(plain), name="a function") + interval_element(make) + bracket
        window |= make.word(*levelled, name="a function") + bracket + interval_element(make) + bracket
        window.set_parse_action(_window)
        boolean = make.word("true", "false", name="true or false")
        boolean.add_parse_action(lambda found: Boolean(found[0].text == "true", span=found[0].span))
        return make.name("a name") | make.quantity() | bracket | call | boolean | window

    def _window_inside(self, number: pp.ParserElement, formula: pp.ParserElement) -> pp.ParserElement:
        make = self.terminals
        count = make.regex(
            r"[0-9]{1,9}(?![\w.])", "a whole number", lambda _, at, found: _Least(int(found[0].group()))
        )
        least = make.symbol(",").suppress() + make.word("least").suppress() + count
        return number + pp.Opt(make.word("where").suppress() + formula) + pp.Opt(least)

    def _named(self, formula: pp.ParserElement) -> pp.ParserElement:
        make = self.terminals
        element = make.word("let") + make.name("a name") + make.sign(r"=(?!=)", "'='") + formula
        element.set_parse_action(lambda found: Recursive(found[1].name, found[3]))
        return element

    def _bracket(self, text: str, at: int, found: Any) -> Any:
        return self._groups[self.terminals.span(at, 0).start][0]

    def _level(self, level: Level, operand: pp.ParserElement) -> pp.ParserElement:
        build = _BUILDERS[level.node]
        if level.form == "prefix":
            name = "'-'" if level.node == "sign" else "a formula"
            has_timed = any(one.interval for one in level.operators)
            timed = self._signs(level, name, interval=True) if has_timed else None
            return Prefix(
                operand,
                self._signs(level, name, interval=False),
                build,
                timed,
                pp.Opt(interval_element(self.terminals)),
            )
        timed_chain = any(one.interval for one in level.operators)
        interval = pp.Opt(interval_element(self.terminals)) if timed_chain else None
        return Chain(
            operand,
            self._signs(level, "an operator", timed_chain),
            build,
            interval,
            once=level.form == "single",
        )

    def _signs(self, level: Level, name: str, interval: bool) -> SignPattern:
        texts = {
            spelling: one.operator for spelling, one in level.by_spelling.items() if one.interval is interval
        }
        patterns = [self._pattern(spelling) for spelling in sorted(texts, key=len, reverse=True)]
        return SignPattern("|".join(patterns) or r"(?!)", name, texts, self.terminals)

    def _pattern(self, spelling: str) -> str:
        """The pattern of an operator; one that begins a longer operator must not match inside that."""
        if spelling.isidentifier():
            return rf"{spelling}\b"
        longer = [re.escape(one[len(spelling) :]) for one in self._symbols if one.startswith(spelling)]
        tails = [tail for tail in longer if tail]
        return re.escape(spelling) + (f"(?!{'|'.join(tails)})" if tails else "")


def interval_element(make: Terminals) -> pp.ParserElement:
    """Return an element for `[low, high]`; gives an `Interval`."""
    infinity = make.word("inf")
    infinity.add_parse_action(lambda found: Number(float("inf"), span=found[0].span))
    bound = signed_quantity(make) | infinity | make.name("a parameter")
    separator = make.sign("[,:]", "','").suppress()
    element = make.sign(r"\[", "an interval") + bound + separator + bound + make.symbol("]")
    element.set_parse_action(_interval)
    return element


def signed_quantity(make: Terminals) -> pp.ParserElement:
    """Return an element for `[-] NUM [UNIT]`; gives a `Number`."""
    element = pp.Opt(make.symbol("-")) + make.quantity()
    element.set_parse_action(_signed)
    return element


def _longest_first(words: Iterable[str]) -> list[str]:
    return sorted(words, key=len, reverse=True)


def _call(found: Any) -> Node:
    function, inside = found
    return Call(function.text, inside.parts, span=Span(function.span.start, inside.end))


def _window(found: Any) -> Node:
    function, *level, interval, inside = found
    least = next((one.samples for one in inside.parts if isinstance(one, _Least)), None)
    value, *where = [one for one in inside.parts if isinstance(one, Node)] or [_FAILED]
    return Window(
        function.text,
        interval,
        value,
        where[0] if where else None,
        least,
        level[0].parts[0] if level and level[0].parts else None,
        span=Span(function.span.start, inside.end),
    )


def _signed(found: Any) -> Node:
    number: Node = found[-1]
    if len(found) == 1:
        return number
    assert isinstance(number, Number)
    return replace(number, value=-number.value, span=Span(found[0].span.start, number.span.end))


def _interval(found: Any) -> Interval:
    opened, low, high, closed = found
    return Interval(low, high, span=Span(opened.span.start, closed.span.end))


def _between(first: Node, last: Node) -> Span:
    return Span(first.span.start, last.span.end)


def _build_sign(found: list[Any]) -> Node:
    node: Node = found[-1]
    signs = found[:-1]
    # The minus of a literal is part of it, as it is when a parameter's value is put in.
    if isinstance(node, Number):
        node = replace(node, value=-node.value, span=Span(signs.pop().span.start, node.span.end))
    for sign in reversed(signs):
        node = Negate(node, span=Span(sign.span.start, node.span.end))
    return node


def _build_arithmetic(found: list[Any]) -> Node:
    operands = tuple(found[0::2])
    operators = tuple(sign.text for sign in found[1::2])
    return arithmetic(operators, operands, _between(operands[0], operands[-1]))


def _build_compare(found: list[Any]) -> Node:
    links = [
        Compare(found[at].text, found[at - 1], found[at + 1], span=_between(found[at - 1], found[at + 1]))
        for at in range(1, len(found), 2)
    ]
    return links[0] if len(links) == 1 else logic("and", tuple(links), _between(links[0], links[-1]))


def _build_logic(found: list[Any]) -> Node:
    operands = tuple(found[0::2])
    return logic(found[1].text, operands, _between(operands[0], operands[-1]))


def _build_pair(found: list[Any]) -> Node:
    interval = found[2] if len(found) == 4 else None
    return Pair(found[1].text, found[0], found[-1], interval, span=_between(found[0], found[-1]))


def _build_prefix(found: list[Any]) -> Node:
    node: Node = found[-1]
    interval: Interval | None = None
    for part in reversed(found[:-1]):
        if isinstance(part, Interval):
            interval = part
            continue
        span = Span(part.span.start, node.span.end)
        if part.text == "not":
            node = Not(node, span=span)
        elif part.text in STEPS:
            node = Step(part.text, node, span=span)
        else:
            node = Temporal(part.text, node, interval, span=span)
        interval = None
    return node


_BUILDERS: dict[str, Callable[[list[Any]], Node]] = {
    "sign": _build_sign,
    "arithmetic": _build_arithmetic,
    "compare": _build_compare,
    "prefix": _build_prefix,
    "pair": _build_pair,
    "logic": _build_logic,
}
