"""Lets that refer to their own past: which parts of them do, and the order in which all else is evaluated.

A `Recursive` node is evaluated sample by sample (`machine`); the parts of its body in which it is not named
have values of their own, over the whole trace at once, and are its operands here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chronofy_kg.spec.ast import Name, Node, Recursive, postorder

__all__ = ["evaluation_order", "operands_of", "own_parts"]


def own_parts(node: Recursive) -> dict[int, Node]:
    """Return the nodes of a body that depend on the let itself, operands first, by id."""
    found: dict[int, Node] = {}
    for one in postorder(node.body):
        if (isinstance(one, Name) and one.name == node.name) or any(
            id(child) in found for child in one.children
        ):
            found[id(one)] = one
    return found


def operands_of(node: Node) -> tuple[Node, ...]:
    """Return what has to be evaluated before a node."""
    if not isinstance(node, Recursive):
        return node.children
    own = own_parts(node)
    if id(node.body) not in own:
        return (node.body,)
    outer = {id(child): child for one in own.values() for child in one.children if id(child) not in own}
    return tuple(outer.values())


def evaluation_order(root: Node, operands: Callable[[Node], Sequence[Node]] = operands_of) -> list[Node]:
    """Return the nodes of a tree that are evaluated, operands first, each once.

    Args:
        root: the tree.
        operands: what has to be evaluated before a node; by default over a whole trace.
    """
    found: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(operands(node)))
    return found
