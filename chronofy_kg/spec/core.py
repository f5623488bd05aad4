"""Rewrites a formula into the few operators that have a meaning of their own.

and, or, not, G, F, H, O, U, S and the steps stay; the rest is said with them: a -> b is not a or b, R and T
are the duals of U and S, L W[a,b] R is G[0,b] L or L U[a,b] R. Shared parts stay shared.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from chronofy_kg.spec.ast import Interval, Logic, Node, Not, Number, Pair, Temporal, postorder, rebuild

__all__ = ["core"]


def core(root: Node) -> Node:
    """Return an equal formula in core operators."""
    done: dict[int, Node] = {}
    for node in postorder(root):
        operands = tuple(done[id(child)] for child in node.children)
        done[id(node)] = _core(node, operands)
    return done[id(root)]


def _core(node: Node, operands: tuple[Node, ...]) -> Node:
    match node:
        case Logic("implies"):
            *premises, last = operands
            return _join("or", (*(_negated(one) for one in premises), last), node)
        case Logic("xor"):
            return reduce(lambda a, b: _either(a, b, node), operands)
        case Logic("iff"):
            return reduce(lambda a, b: _negated(_either(a, b, node)), operands)
        case Logic(operator):
            return _join(operator, operands, node)
        case Pair("W", interval=interval):
            high = interval.high if interval else Number(float("inf"))
            whole = Interval(Number(0.0), high, span=interval.span) if interval else None
            holds = Temporal("G", operands[0], whole, span=node.span)
            return _join(
                "or", (holds, replace(node, operator="U", left=operands[0], right=operands[1])), node
            )
        case Pair("R" | "T"):
            operator = "U" if node.operator == "R" else "S"
            left, right = (_negated(one) for one in operands)
            return Not(replace(node, operator=operator, left=left, right=right), span=node.span)
        case _:
            return rebuild(node, operands)


def _join(operator: str, operands: tuple[Node, ...], node: Node) -> Node:
    return Logic(operator, operands, span=node.span)


def _negated(node: Node) -> Node:
    return node.operand if isinstance(node, Not) else Not(node, span=node.span)


def _either(left: Node, right: Node, node: Node) -> Node:
    one = _join("and", (left, _negated(right)), node)
    other = _join("and", (_negated(left), right), node)
    return _join("or", (one, other), node)
