"""The grammar of rules: `rule NAME (options) : head <- literal, literal, ...`.

It gives the parts that `declare_rule` turns into a `RuleDecl`. The words of relations and comparisons come
from the operator table; of the operators only once and historically have a meaning over facts.
"""

from __future__ import annotations

from typing import Any

import pyparsing as pp

from chronofy_kg.spec.ast import Interval
from chronofy_kg.spec.clauses import Atom, Comparison, Premise, Relation, Text, Variable
from chronofy_kg.spec.diagnostics import Span
from chronofy_kg.spec.grammar import interval_element, signed_quantity
from chronofy_kg.spec.operators import Level, Table
from chronofy_kg.spec.terminals import WORD, Sign, Terminals

__all__ = ["rule_element"]

PAST = frozenset({"O", "H"})
"""Operators that have a meaning over facts."""


def rule_element(make: Terminals, text: pp.ParserElement, options: pp.ParserElement) -> pp.ParserElement:
    """Return the element for a whole rule, given those for a quoted text and for options in brackets."""
    rules = _Rules(make, text)
    comma = make.symbol(",").suppress()
    return (
        make.word("rule")
        + make.name("a name", dotted=False)
        + pp.Opt(options)
        + make.symbol(":")
        + rules.atom
        + make.symbol("<-")
        + rules.literal
        + pp.ZeroOrMore(comma + rules.literal)
        + make.end()
    )


class _Rules:
    def __init__(self, make: Terminals, text: pp.ParserElement) -> None:
        self.make = make
        self.variable = make.regex(rf"\?{WORD}", "a variable", self._variable)
        self.term = self.variable | text | signed_quantity(make) | make.name("a parameter")
        self.atom = self._atom(text)
        levels = {level.name: level for level in make.table.levels}
        compare = make.sign(_either(levels["comparison"], make.table), "a comparison sign")
        comparison = self.term + compare + self.term
        comparison.set_parse_action(_comparison)
        period = self.variable | text
        relation = period + make.word(*_longest(make.table.relations), name="a relation") + period
        relation.set_parse_action(_relation)
        self.literal = comparison | relation | self._premise(levels["prefix"])

    def _variable(self, text: str, at: int, found: Any) -> Variable:
        word = found[0].group()
        return Variable(word[1:], span=self.make.span(at, len(word)))

    def _atom(self, text: pp.ParserElement) -> pp.ParserElement:
        make = self.make
        name = make.name("an atom") | text
        comma = make.symbol(",").suppress()
        element = name + make.symbol("(") + self.term + pp.ZeroOrMore(comma + self.term) + make.symbol(")")
        element.set_parse_action(_atom)
        return element

    def _premise(self, prefixes: Level) -> pp.ParserElement:
        make = self.make
        negations = [one for op in prefixes.operators if op.operator == "not" for one in op.spellings]
        past = {word: op.operator for word, op in prefixes.by_spelling.items() if op.operator in PAST}
        signs = "|".join(rf"{word}\b" if word.isidentifier() else rf"{word}(?!=)" for word in negations)
        negation = make.sign(signs, "'not'")
        operator = make.word(*_longest(past), name="a past operator")
        operator.add_parse_action(lambda found: Sign(past[found[0].text], found[0].span))
        window = operator + pp.Opt(interval_element(make))
        period = make.word("as").suppress() + self.variable
        element = pp.Opt(negation) + pp.Opt(window) + self.atom + pp.Opt(period)
        element.set_parse_action(_premise)
        return element


def _longest(words: Any) -> list[str]:
    return sorted(words, key=len, reverse=True)


def _either(level: Level, table: Table) -> str:
    """The pattern of the comparison signs; `<` of an arrow `<-` is none."""
    return "|".join(f"{sign}(?!-)" if sign == "<" else sign for sign in _longest(level.by_spelling))


def _between(first: Any, last: Any) -> Span:
    return Span(first.span.start, last.span.end)


def _atom(found: Any) -> Atom:
    name, _, *terms, closed = found
    predicate = name.value if isinstance(name, Text) else name.name
    return Atom(predicate, tuple(terms), span=_between(name, closed))


def _comparison(found: Any) -> Comparison:
    left, sign, right = found
    return Comparison(left, sign.text, right, span=_between(left, right))


def _relation(found: Any) -> Relation:
    left, sign, right = found
    return Relation(left, sign.text, right, span=_between(left, right))


def _premise(found: Any) -> Premise:
    parts = list(found)
    atom = next(one for one in parts if isinstance(one, Atom))
    signs = [one for one in parts if isinstance(one, Sign)]
    operator = next((one.text for one in signs if one.text in PAST), None)
    return Premise(
        atom,
        negated=any(one.text not in PAST for one in signs),
        operator=operator,
        interval=next((one for one in parts if isinstance(one, Interval)), None),
        period=next((one for one in parts if isinstance(one, Variable)), None),
        span=_between(parts[0], parts[-1]),
    )
