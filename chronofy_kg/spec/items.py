"""The grammar of items: what stands before the formula of a let, spec or label, and items without one.

`ItemGrammar.parse` gives the parts of one item as they were read; `parse` puts items and formulas together,
and `declarations` turns parts into declarations. A new item is an entry of `_items` here, its word in the
operator table, and its declaration.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pyparsing as pp

from chronofy_kg.spec.ast import Name, Number
from chronofy_kg.spec.clauses import Text
from chronofy_kg.spec.grammar import signed_quantity
from chronofy_kg.spec.rulegrammar import rule_element
from chronofy_kg.spec.terminals import Failure, Sign, Terminals

__all__ = ["Argument", "Attribute", "Family", "Header", "ItemGrammar", "Option"]


class Argument(NamedTuple):
    """A named number, which may be per a unit of time: `scale = 30 d`, `rate = 0.1 / d`."""

    name: Name
    value: Number
    per: Sign | None


class Family(NamedTuple):
    """A family of decay with its arguments: `weibull(shape = 2, scale = 30 d)`."""

    name: Name
    arguments: tuple[Argument, ...]


class Attribute(NamedTuple):
    """One attribute of a fact type: a word, perhaps with a quantity, a rate, or a family of decay."""

    name: Name
    value: Number | None = None
    per: Sign | None = None
    family: Family | None = None


class Option(NamedTuple):
    """One option of a spec."""

    name: Name
    value: Name | Text | Number


class Range(NamedTuple):
    """The range of a parameter."""

    low: Number
    high: Number


class Step(NamedTuple):
    """The step of signals."""

    value: Number


class Priority(NamedTuple):
    """The priority of a label."""

    value: int


class Header(NamedTuple):
    """What was read of an item: its parts, and where its formula starts (None: it has none)."""

    parts: list[Any]
    body: int | None


class ItemGrammar:
    """Parses the items of a file, without their formulas."""

    def __init__(self, terminals: Terminals) -> None:
        self.terminals = terminals
        self._equals = terminals.sign(r"=(?!=)", "'='")
        self._elements = {word: element.parse_with_tabs() for word, element in self._items().items()}

    def parse(self, keyword: str, text: str, start: int) -> tuple[Header | None, Failure | None]:
        """Parse the item whose masked text starts at offset `start` of its source."""
        self.terminals.problems = {}
        found, failure = self.terminals.run(self._elements[keyword], text, start)
        if found is None:
            return None, failure
        parts = [part for part in found[1:] if not isinstance(part, Sign)]
        opener = found[-1] if isinstance(found[-1], Sign) and keyword in ("let", "spec", "label") else None
        return Header(parts, opener.span.end if opener else None), None

    def _items(self) -> dict[str, pp.ParserElement]:
        make, equals, end = self.terminals, self._equals, self.terminals.end()
        name, comma, colon = make.name("a name", dotted=False), make.symbol(","), make.symbol(":")
        number = signed_quantity(make)
        limits = make.symbol("[") + number + comma + number + make.symbol("]")
        limits.set_parse_action(lambda found: Range(found[1], found[3]))
        step = make.word("step") + number
        step.set_parse_action(lambda found: Step(found[1]))
        priority = make.word("priority") + make.regex(r"[0-9]{1,9}(?![\w.])", "a whole number", _integer)
        priority.set_parse_action(lambda found: found[1])
        attribute = self._attribute(number)
        option = self._option(number)
        options = make.symbol("(") + option + pp.ZeroOrMore(comma + option) + make.symbol(")")
        return {
            "import": make.word("import") + self._text() + pp.Opt(make.word("as") + name) + end,
            "param": make.word("param") + name + pp.Opt(make.word("in") + limits) + equals + number + end,
            "signal": make.word("signal") + name + pp.ZeroOrMore(comma + name) + pp.Opt(step) + end,
            "facttype": make.word("facttype")
            + (make.name("a name") | self._text())
            + colon
            + attribute
            + pp.ZeroOrMore(comma + attribute)
            + end,
            "let": make.word("let") + name + equals,
            "spec": make.word("spec") + name + pp.Opt(options) + colon,
            "rule": rule_element(make, self._text(), options),
            "label": make.word("label") + name + pp.Opt(priority) + make.word("when"),
        }

    def _attribute(self, number: pp.ParserElement) -> pp.ParserElement:
        make = self.terminals
        per = make.symbol("/") + make.sign(make.free_word, "a unit")
        amount = number + pp.Opt(per)
        argument = make.name("an argument", dotted=False) + self._equals + amount
        argument.set_parse_action(
            lambda found: Argument(found[0], found[2], found[4] if len(found) > 3 else None)
        )
        comma = make.symbol(",").suppress()
        family = make.name("a family of decay", dotted=False) + make.symbol("(")
        family += argument + pp.ZeroOrMore(comma + argument) + make.symbol(")")
        family.set_parse_action(lambda found: Family(found[0], tuple(found[2:-1])))
        element = make.name("an attribute", dotted=False) + pp.Opt(self._equals + (amount | family))
        element.set_parse_action(_attribute)
        return element

    def _option(self, number: pp.ParserElement) -> pp.ParserElement:
        make = self.terminals
        value = make.name("a word", dotted=False) | self._text() | number
        element = make.name("an option", dotted=False) + self._equals + value
        element.set_parse_action(lambda found: Option(found[0], found[2]))
        return element

    def _text(self) -> pp.ParserElement:
        return self.terminals.regex(r'"(?:[^"\\\n]|\\.)*"', "a text in double quotes", self._unquoted)

    def _unquoted(self, text: str, at: int, found: Any) -> Text:
        raw = found[0].group()
        span = self.terminals.span(at, len(raw))
        try:
            value = json.loads(raw, strict=False)
            value.encode("utf-8")
            return Text(value, span=span)
        except UnicodeEncodeError:
            self.terminals.problem(span, "lex", "this text has half of a surrogate pair", None)
            return Text("?", span=span)
        except ValueError:
            self.terminals.problem(span, "lex", "this text has an escape that JSON does not know", None)
            return Text(raw[1:-1], span=span)


def _attribute(found: Any) -> Attribute:
    name, *rest = found
    if len(rest) > 1 and isinstance(rest[1], Family):
        return Attribute(name, family=rest[1])
    return Attribute(name, rest[1] if rest else None, rest[3] if len(rest) > 2 else None)


def _integer(text: str, at: int, found: Any) -> Priority:
    return Priority(int(found[0].group()))
