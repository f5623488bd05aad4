"""Puts values in the place of names: parameters become numbers, lets become their trees.

Also the order in which lets can be put in, and whether a let that refers to itself does so only in the past.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from chronofy_kg.spec.ast import Bound, Interval, Name, Node, Number, Pair, Step, Temporal, postorder, rebuild
from chronofy_kg.spec.diagnostics import Diagnostic, Span
from chronofy_kg.spec.operators import Table
from chronofy_kg.spec.terminals import NUMBER, WORD

__all__ = [
    "MOST_NODES",
    "Extent",
    "Order",
    "extent",
    "names_in",
    "order_lets",
    "place_at",
    "quantity_of",
    "substitute",
]

MOST_NODES = 100_000
"""Nodes of one formula after its lets were put in."""

_QUANTITY = re.compile(rf"\s*(-?)\s*({NUMBER})\s*({WORD})?\s*")


def names_in(root: Node) -> set[str]:
    """Return all names in a tree, those in intervals too."""
    names: set[str] = set()
    for node in postorder(root):
        if isinstance(node, Name):
            names.add(node.name)
        elif isinstance(node, Temporal | Pair) and node.interval is not None:
            bounds = (node.interval.low, node.interval.high)
            names.update(bound.name for bound in bounds if isinstance(bound, Name))
    return names


def substitute(root: Node, values: Mapping[str, Node]) -> Node:
    """Return a tree with values in the place of names; names without a value stay."""
    done: dict[int, Node] = {}
    for node in postorder(root):
        if isinstance(node, Name):
            value = values.get(node.name, node)
            done[id(node)] = replace(value, span=node.span) if isinstance(value, Number) else value
            continue
        new = rebuild(node, tuple(done[id(child)] for child in node.children))
        if isinstance(new, Temporal | Pair) and new.interval is not None:
            new = replace(new, interval=_interval(new.interval, values))
        done[id(node)] = new
    return done[id(root)]


def _interval(interval: Interval, values: Mapping[str, Node]) -> Interval:
    def bound(one: Bound) -> Bound:
        value = values.get(one.name) if isinstance(one, Name) else None
        return replace(value, span=one.span) if isinstance(value, Number) else one

    return replace(interval, low=bound(interval.low), high=bound(interval.high))


def place_at(root: Node, span: Span) -> Node:
    """Return a tree whose nodes all stand at one place: where another file's let is named."""
    done: dict[int, Node] = {}
    for node in postorder(root):
        new = rebuild(replace(node, span=span), tuple(done[id(child)] for child in node.children))
        if isinstance(new, Temporal | Pair) and new.interval is not None:
            low, high = (replace(bound, span=span) for bound in (new.interval.low, new.interval.high))
            new = replace(new, interval=Interval(low, high, span=span))
        done[id(node)] = new
    return done[id(root)]


class Extent(NamedTuple):
    """How large a tree would be, written out (shared parts count each time), and how deep."""

    size: int
    depth: int


def extent(root: Node, values: Mapping[str, Extent]) -> Extent:
    """Return the extent of a tree once names have their values, without putting them in."""
    done: dict[int, Extent] = {}
    for node in postorder(root):
        if isinstance(node, Name):
            done[id(node)] = values.get(node.name, Extent(1, 1))
            continue
        parts = [done[id(child)] for child in node.children]
        size, depth = sum(part.size for part in parts), max((part.depth for part in parts), default=0)
        done[id(node)] = Extent(1 + size, 1 + depth)
    return done[id(root)]


@dataclass(frozen=True, slots=True)
class Order:
    """Lets, each after those it refers to; those that refer to themselves; those that cannot be ordered."""

    names: tuple[str, ...]
    recursive: frozenset[str]
    unguarded: Mapping[str, Span]
    cyclic: Mapping[str, Span]


def order_lets(lets: Mapping[str, Node]) -> Order:
    """Order lets by their references."""
    needs = {name: names_in(root) & lets.keys() for name, root in lets.items()}
    recursive = frozenset(name for name, used in needs.items() if name in used)
    unguarded: dict[str, Span] = {}
    for name in recursive:
        place = _unguarded(lets[name], name)
        if place is not None:
            unguarded[name] = place
        needs[name] = needs[name] - {name}
    ready = [name for name in lets if not needs[name]]
    users: dict[str, list[str]] = {name: [] for name in lets}
    for name, used in needs.items():
        for one in used:
            users[one].append(name)
    left = {name: len(used) for name, used in needs.items()}
    order: list[str] = []
    while ready:
        name = ready.pop()
        order.append(name)
        for user in users[name]:
            left[user] -= 1
            if not left[user]:
                ready.append(user)
    stuck = lets.keys() - set(order)
    cyclic = {name: _reference(lets[name], stuck) for name in lets if name in stuck}
    return Order(tuple(order), recursive, unguarded, {name: span for name, span in cyclic.items() if span})


def _reference(root: Node, names: Iterable[str]) -> Span | None:
    wanted = set(names)
    return next(
        (node.span for node in postorder(root) if isinstance(node, Name) and node.name in wanted), None
    )


def _unguarded(root: Node, name: str) -> Span | None:
    """The place of a reference that is not under a strictly past operator, or None."""
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Name) and node.name == name:
            return node.span
        if isinstance(node, Step) and node.operator in ("Y", "wprev"):
            continue
        if isinstance(node, Temporal | Pair) and node.operator in "HOST" and _starts_late(node.interval):
            stack.extend(node.children[:-1])
            continue
        stack.extend(node.children)
    return None


def _starts_late(interval: Interval | None) -> bool:
    return interval is not None and isinstance(interval.low, Number) and interval.low.value > 0


def quantity_of(name: str, value: float | str, table: Table) -> Number | Diagnostic:
    """Return a parameter's value, given as a number or as text with a unit, or what is wrong with it."""
    message = f"the value of parameter {name} is no finite number"
    if isinstance(value, str):
        match = _QUANTITY.fullmatch(value)
        if match is None:
            return _bad(value, f"the value of parameter {name} is no number with a unit", 'such as "3 d"')
        unit = match.group(3)
        if unit is not None and unit not in table.units:
            hint = table.unit_hints.get(unit, f"the units are {', '.join(table.units)}")
            return _bad(value, f"{unit!r} in the value of parameter {name} is no unit of time", hint)
        number = float(match.group(1) + match.group(2))
    else:
        try:
            number, unit = float(value), None
        except (TypeError, ValueError, OverflowError):
            return _bad(str(value), message, None)
    if number - number != 0:
        return _bad(str(value), message, None)
    return Number(number, unit)


def _bad(text: str, message: str, hint: str | None) -> Diagnostic:
    return Diagnostic(1, 1, max(2, len(text) + 1), "value", message, (), hint, "<params>", text)
