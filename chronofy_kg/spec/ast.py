"""The tree of a formula: frozen nodes with their places in the text.

Places are no part of equality: two texts that mean the same tree are equal. Chains of one operator are one
node with many operands, so a formula of a thousand terms is still shallow. Every walk here is a loop, not a
recursion. The printer is in `format`, `Formula` in `formula`, types in `check`, meaning in `monitor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from chronofy_kg.spec.diagnostics import Span

__all__ = [
    "STEPS",
    "Arithmetic",
    "Boolean",
    "Bound",
    "Call",
    "Compare",
    "Interval",
    "Logic",
    "Name",
    "Negate",
    "Node",
    "Not",
    "Number",
    "Pair",
    "Recursive",
    "Step",
    "Temporal",
    "Timed",
    "Window",
    "arithmetic",
    "is_number",
    "logic",
    "postorder",
    "rebuild",
]

STEPS = frozenset({"X", "Y", "wnext", "wprev"})
"""Operators of the neighbouring sample."""

_NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Node:
    """Base of all nodes; `span` is where the node stands in its text."""

    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)

    @property
    def children(self) -> tuple[Node, ...]:
        """The operands, in order."""
        return ()


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A literal number, with its unit of time if it has one; infinity only stands in an interval."""

    value: float
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A signal, parameter or let, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """Operands joined by + and -, or by * and /, taken from the left; one operator fewer than operands."""

    operators: tuple[str, ...]
    operands: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The operands."""
        return self.operands


@dataclass(frozen=True, slots=True)
class Negate(Node):
    """Minus a number."""

    operand: Node

    @property
    def children(self) -> tuple[Node, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function of numbers."""

    function: str
    arguments: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The arguments."""
        return self.arguments


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """One comparison of two numbers; a chain is a conjunction of these."""

    operator: str
    left: Node
    right: Node

    @property
    def children(self) -> tuple[Node, ...]:
        """Both sides."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Not(Node):
    """Negation of a formula."""

    operand: Node

    @property
    def children(self) -> tuple[Node, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """Formulas joined by one of and, or, xor, iff (from the left) or implies (from the right)."""

    operator: str
    operands: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The operands."""
        return self.operands


Bound: TypeAlias = Number | Name


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval of time, relative to now."""

    low: Bound
    high: Bound
    span: Span = field(default=_NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Temporal(Node):
    """G, F, H or O; no interval means all of the future or past."""

    operator: str
    operand: Node
    interval: Interval | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Step(Node):
    """X, Y, wnext or wprev: the neighbouring sample."""

    operator: str
    operand: Node

    @property
    def children(self) -> tuple[Node, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Pair(Node):
    """U, R, W, S or T: a temporal operator of two formulas."""

    operator: str
    left: Node
    right: Node
    interval: Interval | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        """Both sides."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Window(Node):
    """A number taken over a window of the past: `mean[0,4](x where y > 0, least 3)`.

    Args:
        function: mean, median, std, sum, count, lowest, highest or quantile.
        interval: how far back from now the window reaches.
        value: the number at each sample.
        where: only samples at which this holds count (robustness above 0); None: all do.
        least: with fewer such samples in the window there is no value.
        level: of a quantile, in [0, 1], or a parameter; None for the others.
    """

    function: str
    interval: Interval
    value: Node
    where: Node | None = None
    least: int | None = None
    level: Bound | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        """The value and, if there is one, the condition."""
        return (self.value,) if self.where is None else (self.value, self.where)


@dataclass(frozen=True, slots=True)
class Recursive(Node):
    """A let that refers to its own past, put in: within `body`, `Name(name)` is this node's earlier value.

    `name` is that of the let (`alias.name` where it was imported), so it is no signal. Every reference lies
    under a strictly past operator and under no future one, so values can be computed from the first sample
    on. The whole is a number if its body is one, else a formula. It is printed as `(let name = body)`.
    """

    name: str
    body: Node

    @property
    def children(self) -> tuple[Node, ...]:
        """The body."""
        return (self.body,)


Timed: TypeAlias = Temporal | Pair | Window
"""Nodes that can have an interval."""


def is_number(node: Node) -> bool | None:
    """Whether a node is a number rather than a formula, by its form; None for a name, which may be either."""
    if isinstance(node, Recursive):
        return is_number(node.body)
    return None if isinstance(node, Name) else isinstance(node, Number | Arithmetic | Negate | Call | Window)


def postorder(root: Node) -> Iterator[Node]:
    """Yield every distinct node object, operands before what they belong to."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(node.children))


def rebuild(node: Node, children: tuple[Node, ...]) -> Node:
    """Return the node with other operands, itself if they are the same objects."""
    if all(new is old for new, old in zip(children, node.children, strict=True)):
        return node
    return _REBUILD[type(node)](node, children)


def logic(operator: str, operands: tuple[Node, ...], span: Span = _NOWHERE) -> Node:
    """Join formulas; a chain that is already joined by the operator on its binding side is taken in.

    So `(a and b) and c` is `a and b and c`, and `a -> (b -> c)` is `a -> b -> c`, but not the other way
    round.
    """
    edge = operands[-1] if operator == "implies" else operands[0]
    if isinstance(edge, Logic) and edge.operator == operator:
        operands = operands[:-1] + edge.operands if operator == "implies" else edge.operands + operands[1:]
    return Logic(operator, operands, span=span)


_SUM = frozenset("+-")


def arithmetic(operators: tuple[str, ...], operands: tuple[Node, ...], span: Span = _NOWHERE) -> Node:
    """Join numbers by operators of one level; a chain of that level at the left is taken in."""
    edge = operands[0]
    if isinstance(edge, Arithmetic) and (edge.operators[0] in _SUM) == (operators[0] in _SUM):
        operators, operands = edge.operators + operators, edge.operands + operands[1:]
    return Arithmetic(operators, operands, span=span)


_REBUILD: dict[type[Node], Callable[..., Node]] = {
    Arithmetic: lambda node, new: arithmetic(node.operators, new, node.span),
    # The parser folds a minus into the number after it, so substitution has to do the same.
    Negate: lambda node, new: (
        replace(new[0], value=-new[0].value, span=node.span)
        if isinstance(new[0], Number)
        else replace(node, operand=new[0])
    ),
    Call: lambda node, new: replace(node, arguments=new),
    Compare: lambda node, new: replace(node, left=new[0], right=new[1]),
    Not: lambda node, new: replace(node, operand=new[0]),
    Logic: lambda node, new: logic(node.operator, new, node.span),
    Temporal: lambda node, new: replace(node, operand=new[0]),
    Step: lambda node, new: replace(node, operand=new[0]),
    Pair: lambda node, new: replace(node, left=new[0], right=new[1]),
    Window: lambda node, new: replace(node, value=new[0], where=new[1] if len(new) > 1 else None),
    Recursive: lambda node, new: replace(node, body=new[0]),
}
