"""Checks trees: names, numbers against formulas, units, intervals, arguments and depth.

A tree that passes can be put together and evaluated. Values of declarations are checked in `declare`, the
order of lets in `resolve`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from chronofy_kg.spec.ast import (
    Arithmetic,
    Boolean,
    Bound,
    Call,
    Compare,
    Interval,
    Name,
    Negate,
    Node,
    Number,
    Recursive,
    Timed,
    Window,
    is_number,
    postorder,
)
from chronofy_kg.spec.declare import micros
from chronofy_kg.spec.diagnostics import Report, Span, did_you_mean
from chronofy_kg.spec.operators import Table
from chronofy_kg.spec.resolve import find_unguarded
from chronofy_kg.spec.scan import MOST_BRACKETS

__all__ = ["FORMULA", "NUMBER", "UNKNOWN", "Scope", "Type", "check_interval", "check_tree", "deepest_problem"]


class Type(NamedTuple):
    """What a node is; the dimension of a number is None where it cannot be known (a signal)."""

    kind: Literal["number", "formula", "unknown"]
    dimension: Literal["time", "plain"] | None = None


NUMBER, FORMULA, UNKNOWN = Type("number"), Type("formula"), Type("unknown")


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a formula may use.

    Args:
        types: known names: parameters, signals and lets.
        params: the values of those that may stand in an interval.
        open: whether any other name is a signal.
        others: names that are known but no values, with what they are, for the hint.
        aliases: of imports; None: a dot in a name means nothing.
    """

    types: Mapping[str, Type] = field(default_factory=dict)
    params: Mapping[str, Number] = field(default_factory=dict)
    open: bool = True
    others: Mapping[str, str] = field(default_factory=dict)
    aliases: Collection[str] | None = None


def check_tree(root: Node, scope: Scope, report: Report, table: Table, *, number: bool = False) -> Type:
    """Check a tree and report everything that does not fit.

    Args:
        root: the tree.
        scope: the names it may use.
        report: where errors go.
        table: the operator table.
        number: whether the whole may be a number (a let) and not only a formula.

    Returns:
        The type of the whole.
    """
    deep = deepest_problem(root)
    if deep is not None:
        report.error(
            deep, "limit", f"operators are nested more than {MOST_BRACKETS} deep", hint="name a part by let"
        )
        return UNKNOWN
    checker = _Checker(scope, report, table)
    before = len(report.diagnostics)
    types: dict[int, Type] = {}
    for node in postorder(root):
        if isinstance(node, Recursive):
            checker.bound[node.name] = NUMBER if is_number(node.body) else FORMULA
    for node in postorder(root):
        types[id(node)] = checker.type_of(node, [types[id(child)] for child in node.children])
    whole = types[id(root)]
    # Where a part is wrong, what the whole would be is not known.
    if whole.kind == "number" and not number and len(report.diagnostics) == before:
        checker.not_a_formula(root)
    return whole


def check_interval(interval: Interval, scope: Scope, report: Report, table: Table) -> None:
    """Check an interval that stands outside a formula, in a rule."""
    _Checker(scope, report, table).interval(interval)


def deepest_problem(root: Node) -> Span | None:
    """Return the place of the first node that lies too deep, or None."""
    stack: list[tuple[Node, int]] = [(root, 1)]
    seen: dict[int, int] = {}
    while stack:
        node, depth = stack.pop()
        if depth > MOST_BRACKETS:
            return node.span
        if seen.get(id(node), 0) >= depth:
            continue
        seen[id(node)] = depth
        stack.extend((child, depth + 1) for child in reversed(node.children))
    return None


class _Checker:
    def __init__(self, scope: Scope, report: Report, table: Table) -> None:
        self.scope, self.report, self.table = scope, report, table
        self.bound: dict[str, Type] = {}

    def type_of(self, node: Node, operands: list[Type]) -> Type:
        match node:
            case Number(value, unit):
                return Type("number", "time" if unit else "plain" if value else None)
            case Name():
                return self._name(node)
            case Boolean():
                return FORMULA
            case Arithmetic():
                return self._arithmetic(node, operands)
            case Negate(operand):
                self._numbers((operand,), operands, "-")
                return Type("number", operands[0].dimension)
            case Call():
                return self._call(node, operands)
            case Window():
                return self._window(node, operands)
            case Recursive():
                return self._recursive(node, operands)
            case Compare(operator, left, right):
                self._numbers((left, right), operands, operator)
                self._same_dimension((left, right), operands)
                return FORMULA
            case _:
                self._formulas(node, operands)
                return FORMULA

    def not_a_formula(self, node: Node) -> None:
        self.report.error(
            node.span, "type", "this is a number, not a formula", expected=["a comparison", "a formula"],
            hint="compare it, e.g. x > 0",
        )  # fmt: skip

    def _formulas(self, node: Node, operands: list[Type]) -> None:
        for child, kind in zip(node.children, operands, strict=True):
            if kind.kind == "number":
                self.not_a_formula(child)
        if isinstance(node, Timed) and node.interval is not None:
            self.interval(node.interval)

    def _window(self, node: Window, types: list[Type]) -> Type:
        self._numbers((node.value,), types[:1], node.function)
        if node.where is not None and types[1].kind == "number":
            self.not_a_formula(node.where)
        self.interval(node.interval, "a window looks back already: [0, 5] is from 5 steps ago to now")
        if node.least == 0:
            self.report.error(node.span, "value", "least counts samples: 1 or more")
        if node.level is not None:
            level = self._bound(node.level)
            if level is not None and (level.unit is not None or not 0 <= level.value <= 1):
                self.report.error(
                    node.level.span, "value", "a quantile lies within [0, 1]", hint="such as quantile(0.9)"
                )
        return Type("number", "plain" if node.function == "count" else types[0].dimension)

    def _recursive(self, node: Recursive, types: list[Type]) -> Type:
        place = find_unguarded(node.body, node.name, {})
        if place is not None:
            self.report.error(place[0], "name", f"{node.name} refers to itself {place[1]}")
        return types[0]

    def _numbers(self, nodes: Collection[Node], types: list[Type], operator: str) -> None:
        for node, kind in zip(nodes, types, strict=True):
            if kind.kind == "formula":
                self.report.error(
                    node.span,
                    "type",
                    f"{operator} takes numbers, and this is a formula",
                    expected=["a number"],
                )

    def _same_dimension(self, nodes: Collection[Node], types: list[Type]) -> None:
        known = {kind.dimension for kind in types} - {None}
        if len(known) < 2:
            return
        plain = next(node for node, kind in zip(nodes, types, strict=True) if kind.dimension == "plain")
        self.report.error(
            plain.span, "unit", "a plain number meets a time", hint="give it a unit, such as 3 h"
        )

    def _arithmetic(self, node: Arithmetic, types: list[Type]) -> Type:
        self._numbers(node.operands, types, node.operators[0])
        if node.operators[0] in "+-":
            self._same_dimension(node.operands, types)
            return Type("number", _common(types))
        power: int | None = 0
        for sign, kind in zip(("*", *node.operators), types, strict=True):
            if kind.dimension is None:
                power = None
            elif power is not None and kind.dimension == "time":
                power += 1 if sign == "*" else -1
        return Type("number", {0: "plain", 1: "time"}.get(power) if power is not None else None)  # type: ignore[arg-type]

    def _call(self, node: Call, types: list[Type]) -> Type:
        arity = self.table.functions[node.function]
        count = len(node.arguments)
        if count < arity.least or (arity.most is not None and count > arity.most):
            name = Span(node.span.start, node.span.start + len(node.function))
            self.report.error(name, "arity", f"{node.function} takes {arity}, not {count}")
        self._numbers(node.arguments, types, node.function)
        if node.function in ("min", "max", "abs"):
            self._same_dimension(node.arguments, types)
            return Type("number", _common(types))
        return NUMBER

    def _name(self, node: Name) -> Type:
        known = self.bound.get(node.name) or self.scope.types.get(node.name)
        if known is not None:
            return known
        alias, _, rest = node.name.partition(".")
        if self.scope.types.get(alias) == UNKNOWN:
            return UNKNOWN
        dotted = rest and self.scope.aliases is not None
        if self.scope.open and not dotted and node.name not in self.scope.others:
            return NUMBER
        if node.name in self.scope.others:
            what = self.scope.others[node.name]
            self.report.error(
                node.span, "name", f"{node.name!r} is {what} and cannot stand in a formula",
                hint="name the formula by let and use that",
            )  # fmt: skip
            return UNKNOWN
        meant = did_you_mean(node.name, self.scope.types)
        hint = f"did you mean {meant}?" if meant else _known(self.scope.types)
        if dotted and alias not in (self.scope.aliases or ()):
            hint = f"no file is imported as {alias}"
        self.report.error(node.span, "name", f"{node.name!r} is no signal, parameter or let", hint=hint)
        return UNKNOWN

    def interval(self, interval: Interval, past: str = "for the past use H, O, S or T") -> None:
        low, high = self._bound(interval.low), self._bound(interval.high)
        if low is None or high is None:
            return
        if low.value == float("inf"):
            self.report.error(
                interval.low.span,
                "interval",
                "an interval cannot start at inf",
                expected=["a number", "a parameter"],
            )
            return
        negative = [bound for bound in (interval.low, interval.high) if self._value(bound) < 0]
        for bound in negative[:1]:
            self.report.error(bound.span, "interval", "a bound of an interval is not negative", hint=past)
        if negative or high.value == float("inf"):
            return
        if (low.unit and not high.unit and high.value) or (high.unit and not low.unit and low.value):
            bare = interval.high if low.unit else interval.low
            self.report.error(bare.span, "unit", "one bound has a unit and the other has none")
        elif micros(high, self.table) < micros(low, self.table):
            self.report.error(interval.high.span, "interval", "this interval ends before it starts")

    def _value(self, bound: Bound) -> float:
        number = bound if isinstance(bound, Number) else self.scope.params[bound.name]
        return number.value

    def _bound(self, bound: Bound) -> Number | None:
        if isinstance(bound, Number):
            return bound
        if bound.name in self.scope.params:
            return self.scope.params[bound.name]
        if UNKNOWN in (self.scope.types.get(bound.name), self.scope.types.get(bound.name.partition(".")[0])):
            return None
        meant = did_you_mean(bound.name, self.scope.params)
        hint = f"did you mean {meant}?" if meant else _known(self.scope.params)
        self.report.error(
            bound.span,
            "name",
            f"{bound.name!r} is no parameter",
            expected=["a number", "a parameter", "inf"],
            hint=hint,
        )
        return None


def _common(types: list[Type]) -> Literal["time", "plain"] | None:
    dimensions = [kind.dimension for kind in types]
    return dimensions[0] if all(one == dimensions[0] for one in dimensions) else None


def _known(names: Collection[str]) -> str | None:
    if not names:
        return None
    shown = sorted(names)[:6]
    return f"known names: {', '.join(shown)}{', ...' if len(names) > 6 else ''}"
