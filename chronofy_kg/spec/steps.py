"""Bounds of intervals in steps of a trace.

A bound with a unit is a time; a bare bound is in the unit in which the trace's times are given, or counts
samples where a trace has no unit. A bound that is no whole number of steps is an error, never rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chronofy_kg.spec.ast import Name, Node, Number, Timed, postorder
from chronofy_kg.spec.declare import micros
from chronofy_kg.spec.diagnostics import Report
from chronofy_kg.spec.format import quantity_text
from chronofy_kg.spec.model import SignalDecl
from chronofy_kg.spec.operators import Table

__all__ = ["check_steps", "timed_nodes", "whole_steps"]


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


def check_steps(
    roots: Iterable[Node], signals: Mapping[str, SignalDecl], report: Report, table: Table
) -> None:
    """Report bounds with a unit that are no multiple of the declared step of a signal read under them."""
    steps = {name: decl.step for name, decl in signals.items() if decl.step is not None and decl.step.unit}
    if not steps:
        return
    for root in roots:
        for node in timed_nodes(root):
            assert node.interval is not None
            names = {one.name for one in postorder(node) if isinstance(one, Name)}
            step = next((steps[name] for name in sorted(names & steps.keys())), None)
            for bound in (node.interval.low, node.interval.high):
                if step is None or not isinstance(bound, Number) or bound.unit is None:
                    continue
                if whole_steps(micros(bound, table), micros(step, table)) is None:
                    text, whole = (quantity_text(one.value, one.unit) for one in (bound, step))
                    report.error(bound.span, "unit", f"bound {text} is not a multiple of the step {whole}")
