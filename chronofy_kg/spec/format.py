"""The canonical text of a tree: one spelling of each operator, brackets only where the levels need them.

The text parses back to an equal tree. The words and levels come from the table in `operators`.
"""

from __future__ import annotations

import json

from chronofy_kg.spec.ast import (
    Arithmetic,
    Boolean,
    Bound,
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
from chronofy_kg.spec.operators import Table, table

__all__ = ["bound_text", "interval_text", "name_text", "node_text", "number_text", "quantity_text", "quoted"]


def node_text(root: Node) -> str:
    """Return the canonical text of a tree."""
    words = table()
    texts: dict[int, tuple[str, int]] = {}
    for node in postorder(root):
        texts[id(node)] = _text(node, texts, words)
    return texts[id(root)][0]


def number_text(value: float) -> str:
    """Return the shortest text that reads back as the number.

    >>> number_text(3.0), number_text(0.1), number_text(float("inf"))
    ('3', '0.1', 'inf')
    """
    if value == int(value) if abs(value) < 1e15 else False:
        return str(int(value)) if value or str(value)[0] != "-" else "-0"
    return repr(value)


def quantity_text(value: float, unit: str | None) -> str:
    """Return a number with its unit, as it is written in a spec."""
    return f"{number_text(value)}{unit or ''}"


def quoted(text: str) -> str:
    """Return a text in double quotes, with the escapes of JSON.

    >>> quoted('a "b"')
    '"a \\\\"b\\\\""'
    """
    return json.dumps(text, ensure_ascii=False)


def name_text(name: str) -> str:
    """Return the name of a fact type or predicate as it is written: in quotes where it is no plain name.

    >>> name_text("egfr"), name_text("has part"), name_text("sum")
    ('egfr', '"has part"', '"sum"')
    """
    parts = name.split(".")
    plain = all(part.isidentifier() and part not in table().reserved for part in parts)
    return name if plain else quoted(name)


def _text(node: Node, texts: dict[int, tuple[str, int]], words: Table) -> tuple[str, int]:
    """The text of a node and its level, given those of its operands."""
    atom = len(words.levels)

    def operand(child: Node, least: int) -> str:
        text, rank = texts[id(child)]
        return text if rank >= least else f"({text})"

    match node:
        case Number() | Name():
            return bound_text(node), atom
        case Boolean(value):
            return ("true" if value else "false"), atom
        case Call(function, arguments):
            return f"{function}({', '.join(operand(one, 0) for one in arguments)})", atom
        case Window():
            return _window(node, texts), atom
        case Recursive(name, body):
            return f"(let {name} = {operand(body, 0)})", atom
        case Arithmetic(operators, operands):
            rank = words.ranks[operators[0]]
            parts = [operand(operands[0], rank + 1)]
            for sign, one in zip(operators, operands[1:], strict=True):
                parts += [sign, operand(one, rank + 1)]
            return " ".join(parts), rank
        case Logic(operator, operands):
            rank = words.ranks[operator]
            joined = f" {words.texts[operator]} ".join(operand(one, rank + 1) for one in operands)
            return joined, rank
        case Compare(operator, left, right):
            rank = words.ranks[operator]
            return f"{operand(left, rank + 1)} {operator} {operand(right, rank + 1)}", rank
        case Pair(operator, left, right, interval):
            rank = words.ranks[operator]
            sign = operator + interval_text(interval)
            return f"{operand(left, rank + 1)} {sign} {operand(right, rank + 1)}", rank
        case _:
            return _prefixed(node, texts, words)


def _window(node: Window, texts: dict[int, tuple[str, int]]) -> str:
    level = f"({bound_text(node.level)})" if node.level is not None else ""
    where = f" where {texts[id(node.where)][0]}" if node.where is not None else ""
    least = f", least {node.least}" if node.least is not None else ""
    return f"{node.function}{level}{interval_text(node.interval)}({texts[id(node.value)][0]}{where}{least})"


def _prefixed(node: Node, texts: dict[int, tuple[str, int]], words: Table) -> tuple[str, int]:
    match node:
        case Negate(child):
            sign, rank = "-", words.ranks["neg"]
        case Not(child):
            sign, rank = "not ", words.ranks["not"]
        case Step(operator, child):
            sign, rank = f"{operator} ", words.ranks[operator]
        case Temporal(operator, child, interval):
            sign, rank = f"{operator}{interval_text(interval)} ", words.ranks[operator]
        case _:
            raise TypeError(f"no text for {type(node).__name__}")
    text, child_rank = texts[id(child)]
    return f"{sign}{text if child_rank >= rank else f'({text})'}", rank


def interval_text(interval: Interval | None) -> str:
    """Return an interval as it is written, empty for None."""
    return f"[{bound_text(interval.low)},{bound_text(interval.high)}]" if interval else ""


def bound_text(bound: Bound) -> str:
    """Return a bound of an interval as it is written."""
    return bound.name if isinstance(bound, Name) else quantity_text(bound.value, bound.unit)
