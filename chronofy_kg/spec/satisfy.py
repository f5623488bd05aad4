"""Whether a formula can hold at all, by simple and sound means; what they do not decide counts as possible.

A formula that holds has a robustness above 0, so each comparison asks for an open half-line of a linear form,
and `x > 3 and x < 3` never holds. Formulas are brought to negation normal form and to a bounded number of
conjunctions of literals; each of these is refuted by an empty interval, a literal beside its negation, or an
operator over a window that must hold somewhere where another must hold everywhere. Only the checker's
warnings rest on this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from chronofy_kg.spec.ast import (
    Arithmetic,
    Boolean,
    Call,
    Compare,
    Interval,
    Logic,
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
    postorder,
)
from chronofy_kg.spec.core import core
from chronofy_kg.spec.declare import MICROS_PER_DAY, micros
from chronofy_kg.spec.operators import table

__all__ = ["Refuter"]

_MOST_CLAUSES = 64
_OPPOSITE = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "==": "!=", "!=": "=="}
_DUAL = {"G": "F", "F": "G", "H": "O", "O": "H", "X": "wnext", "wnext": "X", "Y": "wprev", "wprev": "Y"}

Clause: TypeAlias = tuple[Node, ...]


class _SpentError(Exception):
    """The budget is spent."""


@dataclass(slots=True)
class Refuter:
    """Decides formulas within a budget of steps, after which every formula counts as possible."""

    budget: int = 10_000
    _normal: dict[tuple[int, bool], Node] = field(default_factory=dict)
    _cores: dict[int, Node] = field(default_factory=dict)
    _kept: list[Node] = field(default_factory=list)

    def never(self, *roots: Node) -> bool:
        """Whether no trace makes all of some formulas (with their lets put in) hold at one instant."""
        try:
            return self._refuted([self._normal_form(root) for root in roots])
        except (_SpentError, RecursionError):
            return False

    def _normal_form(self, root: Node) -> Node:
        positive = True
        while isinstance(root, Not):
            root, positive = root.operand, not positive
        if id(root) not in self._cores:
            self._spend(sum(1 for _ in postorder(root)))
            self._kept.append(root)
            self._cores[id(root)] = core(root)
        return self._nnf(self._cores[id(root)], positive)

    def always(self, root: Node) -> bool:
        """Whether no trace makes a formula fail."""
        return self.never(Not(root))

    def _spend(self, steps: int = 1) -> None:
        self.budget -= steps
        if self.budget < 0:
            raise _SpentError

    def _nnf(self, node: Node, positive: bool) -> Node:
        """The negation normal form of a core formula, or of its negation."""
        known = self._normal.get((id(node), positive))
        if known is None:
            self._spend()
            known = self._normal[(id(node), positive)] = self._normalised(node, positive)
            self._kept.append(node)
        return known

    def _normalised(self, node: Node, positive: bool) -> Node:
        match node:
            case Not(operand):
                return self._nnf(operand, not positive)
            case Boolean(value):
                return Boolean(value is positive)
            case Compare(operator):
                return node if positive else replace(node, operator=_OPPOSITE[operator])
            case Logic(operator, operands):
                word = operator if positive else {"and": "or", "or": "and"}[operator]
                return Logic(word, tuple(self._nnf(one, positive) for one in operands))
            case Temporal(operator, operand) | Step(operator, operand):
                return replace(
                    node,
                    operator=operator if positive else _DUAL[operator],
                    operand=self._nnf(operand, positive),
                )
            case _:
                return node if positive else Not(node)

    def _refuted(self, nodes: Sequence[Node]) -> bool:
        """Whether the conjunction of some formulas in normal form never holds."""
        clauses = self._clauses(nodes)
        return clauses is not None and all(self._contradictory(clause) for clause in clauses)

    def _clauses(self, nodes: Sequence[Node]) -> list[Clause] | None:
        """The disjunctive normal form of a conjunction; None: too large."""
        clauses: list[Clause] = [()]
        for node in nodes:
            if isinstance(node, Logic) and node.operator == "and":
                parts = self._clauses(node.operands)
            elif isinstance(node, Logic):
                parts = []
                for one in node.operands:
                    found = self._clauses([one])
                    if found is None:
                        return None
                    parts += found
            else:
                parts = [(node,)]
            if parts is None or len(parts) * len(clauses) > _MOST_CLAUSES:
                return None
            self._spend(len(parts) * len(clauses))
            clauses = [(*one, *other) for one in clauses for other in parts]
        return clauses

    def _contradictory(self, clause: Clause) -> bool:
        literals = self._with_now(clause)
        if any(isinstance(one, Boolean) and not one.value for one in literals):
            return True
        self._spend(len(literals))
        if _empty([one for one in literals if isinstance(one, Compare)]):
            return True
        return any(one.operand in literals for one in literals if isinstance(one, Not)) or self._over_time(
            literals
        )

    def _with_now(self, clause: Clause) -> list[Node]:
        """The literals, and those that hold now because an operator asks for them over a window from now."""
        literals = list(clause)
        for one in literals:
            if isinstance(one, Temporal) and one.operator in "GH" and _reach(one.interval).low == 0:
                inner = self._clauses([one.operand])
                if inner is not None and len(inner) == 1:
                    literals.extend(part for part in inner[0] if part not in literals)
        return literals

    def _over_time(self, literals: list[Node]) -> bool:
        """Whether something must hold at an instant at which others that must hold there rule it out."""
        for one in literals:
            asked = _asked(one)
            if asked is None:
                continue
            where, reach, operand = asked
            everywhere = [
                other.operand
                for other in literals
                if isinstance(other, Temporal)
                and other.operator == {"future": "G", "past": "H"}.get(where)
                and reach.within(_reach(other.interval))
            ]
            if where in ("X", "Y"):
                near = {"X": ("X", "wnext"), "Y": ("Y", "wprev")}[where]
                everywhere = [
                    other.operand
                    for other in literals
                    if isinstance(other, Step) and other.operator in near and other is not one
                ]
            self._spend(len(literals))
            if self._refuted([operand, *everywhere]):
                return True
        return False


def _asked(node: Node) -> tuple[str, _Reach, Node] | None:
    """What a literal asks to hold somewhere: the direction, the window, and the formula."""
    match node:
        case Temporal("F" | "O", operand, interval):
            return ("future" if node.operator == "F" else "past"), _reach(interval), operand
        case Pair("U" | "S", _, right, interval):
            # The right side of core operators may hold a negation, which is no normal form: leave it alone.
            plain = isinstance(right, Compare | Boolean)
            return (
                (("future" if node.operator == "U" else "past"), _reach(interval), right) if plain else None
            )
        case Step("X" | "Y", operand):
            return node.operator, _UNKNOWN, operand
        case _:
            return None


class _Reach(NamedTuple):
    """A window; `kind` says what its bounds are in: time, bare numbers, or None where all are 0 or inf."""

    low: float
    high: float
    kind: str | None

    def within(self, other: _Reach) -> bool:
        """Whether this window lies in another; False where one has units and the other has none."""
        alike = self.kind == other.kind or None in (self.kind, other.kind)
        return alike and other.low <= self.low and self.high <= other.high


_UNKNOWN = _Reach(math.nan, math.nan, None)


def _reach(interval: Interval | None) -> _Reach:
    if interval is None:
        return _Reach(0.0, math.inf, None)
    low, high = interval.low, interval.high
    if not isinstance(low, Number) or not isinstance(high, Number):
        return _UNKNOWN
    kinds = {"time" if one.unit else "bare" for one in (low, high) if one.value and one.value != math.inf}
    if len(kinds) > 1:
        return _UNKNOWN
    return _Reach(micros(low, table()), micros(high, table()), next(iter(kinds), None))


@dataclass(slots=True)
class _Line:
    """What is known of one linear form: it lies strictly between low and high, not below floor."""

    low: float = -math.inf
    high: float = math.inf
    floor: float = -math.inf
    points: set[float] = field(default_factory=set)

    def empty(self) -> bool:
        if len(self.points) > 1 or max(self.low, self.floor) >= self.high:
            return True
        return any(not self.low < one < self.high or one < self.floor for one in self.points)


def _empty(comparisons: Sequence[Compare]) -> bool:
    """Whether some comparisons cannot all hold."""
    lines: dict[tuple[tuple[Node, float], ...], _Line] = {}
    for one in comparisons:
        form = _linear(one)
        if form is None:
            continue
        parts, constant = form
        operator = one.operator
        if not parts:
            if not _CONSTANT[operator](constant):
                return True
            continue
        scale = parts[0][1]
        key = tuple((node, factor / scale) for node, factor in parts)
        at = -constant / scale
        line = lines.setdefault(key, _of(key))
        if operator == "==":
            line.points.add(at)
        elif operator in (">", ">=", "<", "<="):
            if (operator[0] == ">") is (scale > 0):
                line.low = max(line.low, at)
            else:
                line.high = min(line.high, at)
    return any(line.empty() for line in lines.values())


_CONSTANT = {
    ">": lambda value: value > 0,
    ">=": lambda value: value >= 0,
    "<": lambda value: value < 0,
    "<=": lambda value: value <= 0,
    "==": lambda value: value == 0,
    "!=": lambda value: value != 0,
}


def _of(key: tuple[tuple[Node, float], ...]) -> _Line:
    """The line of a form before anything is asked: some functions are never negative."""
    if len(key) == 1:
        node = key[0][0]
        if isinstance(node, Call) and node.function in ("abs", "sqrt", "exp"):
            return _Line(floor=0.0)
        if isinstance(node, Window) and node.function in ("count", "std"):
            return _Line(floor=0.0)
    return _Line()


def _linear(compare: Compare) -> tuple[tuple[tuple[Node, float], ...], float] | None:
    """left - right as a sum of factor times part, and a constant; None: not finite."""
    total: dict[Node, float] = {}
    constant = _gather(compare.left, 1.0, total) + _gather(compare.right, -1.0, total)
    parts = tuple(
        sorted(((node, factor) for node, factor in total.items() if factor), key=lambda one: repr(one[0]))
    )
    values = [constant, *(factor for _, factor in parts)]
    return (parts, constant) if all(map(math.isfinite, values)) else None


def _gather(node: Node, factor: float, total: dict[Node, float]) -> float:
    """Add factor times a number to a sum of parts; returns its constant."""
    match node:
        case Number(value, unit):
            return factor * (micros(node, table()) / MICROS_PER_DAY if unit else value)
        case Negate(operand):
            return _gather(operand, -factor, total)
        case Arithmetic(operators, operands) if operators[0] in "+-":
            constant = _gather(operands[0], factor, total)
            for sign, one in zip(operators, operands[1:], strict=True):
                constant += _gather(one, factor if sign == "+" else -factor, total)
            return constant
        case Arithmetic(operators, operands):
            return _gather_product(node, operators, operands, factor, total)
        case Name() | Call() | Window() | Recursive():
            total[node] = total.get(node, 0.0) + factor
            return 0.0
        case _:
            return math.nan


def _gather_product(
    node: Node, operators: Sequence[str], operands: Sequence[Node], factor: float, total: dict[Node, float]
) -> float:
    rest: list[Node] = []
    outer = factor
    for sign, one in zip(("*", *operators), operands, strict=True):
        if isinstance(one, Number) and (sign == "*" or one.value):
            value = micros(one, table()) / MICROS_PER_DAY if one.unit else one.value
            factor = factor * value if sign == "*" else factor / value
        elif sign == "*":
            rest.append(one)
        else:
            rest = [node]
            break
    if not rest:
        return factor
    if len(rest) == 1 and rest[0] is not node:
        return _gather(rest[0], factor, total)
    total[node] = total.get(node, 0.0) + outer
    return 0.0
