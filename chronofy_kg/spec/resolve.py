"""Puts values in the place of names: parameters become numbers, lets become their trees.

Also the order in which lets can be put in, and whether a let that refers to itself does so only in the past.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from chronofy_kg.spec.ast import (
    Bound,
    Interval,
    Name,
    Node,
    Number,
    Pair,
    Recursive,
    Step,
    Temporal,
    Timed,
    Window,
    postorder,
    rebuild,
)
from chronofy_kg.spec.diagnostics import Diagnostic, Span
from chronofy_kg.spec.operators import Table
from chronofy_kg.spec.terminals import NUMBER, WORD

__all__ = [
    "MOST_NODES",
    "Extent",
    "Order",
    "extent",
    "find_unguarded",
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
    """Return all names in a tree, those in intervals too, but not those of recursive lets put in."""
    names: set[str] = set()
    bound: set[str] = set()
    for node in postorder(root):
        if isinstance(node, Name):
            names.add(node.name)
        elif isinstance(node, Recursive):
            bound.add(node.name)
        elif isinstance(node, Timed):
            names.update(one.name for one in _bounds(node) if isinstance(one, Name))
    return names - bound


def _bounds(node: Timed) -> list[Bound]:
    interval = [node.interval.low, node.interval.high] if node.interval is not None else []
    return [*interval, node.level] if isinstance(node, Window) and node.level is not None else interval


def substitute(root: Node, values: Mapping[str, Node]) -> Node:
    """Return a tree with values in the place of names; names without a value stay."""
    done: dict[int, Node] = {}
    for node in postorder(root):
        if isinstance(node, Name):
            value = values.get(node.name, node)
            done[id(node)] = replace(value, span=node.span) if isinstance(value, Number) else value
            continue
        new = rebuild(node, tuple(done[id(child)] for child in node.children))
        done[id(node)] = _each_bound(new, lambda bound: _bound(bound, values))
    return done[id(root)]


def _bound(bound: Bound, values: Mapping[str, Node]) -> Bound:
    value = values.get(bound.name) if isinstance(bound, Name) else None
    return replace(value, span=bound.span) if isinstance(value, Number) else bound


def _each_bound(node: Node, change: Callable[[Bound], Bound], span: Span | None = None) -> Node:
    """Return a node with other bounds in its interval (and level), and the interval at another place."""
    if not isinstance(node, Timed) or node.interval is None:
        return node
    old = node.interval
    interval = Interval(change(old.low), change(old.high), span=span or old.span)
    if isinstance(node, Window) and node.level is not None:
        return replace(node, interval=interval, level=change(node.level))
    return replace(node, interval=interval)


def place_at(root: Node, span: Span, prefix: str = "") -> Node:
    """Return a tree whose nodes all stand at one place: where another file's let is named.

    Names of recursive lets get the prefix, so that they are no names of the file they come into.
    """
    done: dict[int, Node] = {}
    bound = {node.name for node in postorder(root) if isinstance(node, Recursive)}
    for node in postorder(root):
        new = rebuild(replace(node, span=span), tuple(done[id(child)] for child in node.children))
        if isinstance(new, Recursive) or (isinstance(new, Name) and new.name in bound):
            new = replace(new, name=prefix + new.name)
        done[id(node)] = _each_bound(new, lambda one: replace(one, span=span), span)
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
    """Lets, each after those it refers to; those that refer to themselves; those that cannot be ordered.

    `unguarded` has, by let, the place of a reference to itself that is not in the past, and why it is not.
    """

    names: tuple[str, ...]
    recursive: frozenset[str]
    unguarded: Mapping[str, tuple[Span, str]]
    cyclic: Mapping[str, tuple[Span, tuple[str, ...]]]


def order_lets(lets: Mapping[str, Node], least: Mapping[str, float] = MappingProxyType({})) -> Order:
    """Order lets by their references; `least` has the least value of each parameter with a range."""
    needs = {name: names_in(root) & lets.keys() for name, root in lets.items()}
    recursive = frozenset(name for name, used in needs.items() if name in used)
    unguarded: dict[str, tuple[Span, str]] = {}
    for name in lets:
        if name in recursive:
            place = find_unguarded(lets[name], name, least)
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
    stuck = {name: needs[name] - set(order) for name in lets if name not in set(order)}
    cyclic: dict[str, tuple[Span, tuple[str, ...]]] = {}
    for name in stuck:
        circle = _circle(name, stuck)
        span = _reference(lets[name], circle[1:2]) if circle else None
        if span is not None:
            cyclic[name] = (span, circle)
    return Order(tuple(order), recursive, unguarded, cyclic)


def _circle(start: str, needs: Mapping[str, set[str]]) -> tuple[str, ...]:
    """The shortest way from a name back to itself, with the name at both ends; empty where there is none."""
    came: dict[str, str] = {}
    front = [start]
    while front:
        found: list[str] = []
        for name in front:
            for one in sorted(needs.get(name, ())):
                if one == start:
                    way = [start, name]
                    while way[-1] != start:
                        way.append(came[way[-1]])
                    return tuple(reversed(way))
                if one not in came:
                    came[one] = name
                    found.append(one)
        front = found
    return ()


def _reference(root: Node, names: Iterable[str]) -> Span | None:
    wanted = set(names)
    return next(
        (node.span for node in postorder(root) if isinstance(node, Name) and node.name in wanted), None
    )


_FUTURE = frozenset({"G", "F", "U", "R", "W", "X", "wnext"})


def find_unguarded(root: Node, name: str, least: Mapping[str, float]) -> tuple[Span, str] | None:
    """Return the place of a reference to a let within itself that is not in the past, and why.

    Within one of G F U R W X wnext it may be in the future, whatever stands around it; else it needs prev,
    wprev, or the operand (of S and T the right one) of an operator or window of the past that starts after
    now.
    """
    stack: list[tuple[Node, bool, str]] = [(root, False, "")]
    while stack:
        node, past, future = stack.pop()
        if isinstance(node, Name):
            if node.name == name and (future or not past):
                return node.span, f"in the future, under {future}" if future else "now"
            continue
        operator = node.operator if isinstance(node, Temporal | Pair | Step) else ""
        if operator in _FUTURE:
            future = future or operator
        children = [(child, past, future) for child in node.children]
        if operator in ("Y", "wprev"):
            children = [(child, True, future) for child in node.children]
        elif (isinstance(node, Window) or (operator and operator in "HOST")) and _starts_late(node, least):
            # The left side of S and T is looked at now, too.
            first = 1 if isinstance(node, Pair) else 0
            children[first:] = [(child, True, future) for child in node.children[first:]]
        stack.extend(reversed(children))
    return None


def _starts_late(node: Node, least: Mapping[str, float]) -> bool:
    if not isinstance(node, Timed) or node.interval is None:
        return False
    low = node.interval.low
    return (low.value if isinstance(low, Number) else least.get(low.name, 0.0)) > 0


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
