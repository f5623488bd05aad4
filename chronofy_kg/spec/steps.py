"""Bounds of intervals in steps of a trace.

A bound with a unit is a time; a bare bound is in the unit in which the trace's times are given, or counts
samples where a trace has no unit. A bound that is no whole number of steps is an error, never rounded.
"""

from __future__ import annotations

from collections.abc import Iterable

from chronofy_kg.spec.ast import Node, Timed, postorder

__all__ = ["timed_nodes", "whole_steps"]


def whole_steps(length: float, step: float) -> int | None:
    """Return length / step if that is a whole number (to one part in 1e9), or None.

    >>> whole_steps(90.0, 30.0), whole_steps(0.3, 0.1), whole_steps(10.0, 7.0)
    (3, 3, None)
    """
    ratio = length / step
    steps = round(ratio)
    return steps if abs(ratio - steps) <= 1e-9 * max(1.0, abs(ratio)) else None


def timed_nodes(root: Node) -> Iterable[Timed]:
    """Return the nodes of a tree that have an interval."""
    return [node for node in postorder(root) if isinstance(node, Timed) and node.interval is not None]
