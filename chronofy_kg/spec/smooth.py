"""The gradient of a smoothed robustness: for tuning signals or parameters, never for a verdict.

Every minimum and maximum hands its derivative down to all of its operands, in shares that fall off with their
distance from the one that decides, softmax(-(v - min) / temperature) (Pant, Abbas, Mangharam 2017, Smooth
Operator, Section III). A smoothed value may accept what fails and reject what holds, so none is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from chronofy_kg.spec.ast import Logic, Node, Pair, Temporal
from chronofy_kg.spec.clocks import Clock
from chronofy_kg.spec.explain import Blame, Cause, Walk, walk_back
from chronofy_kg.spec.formula import Formula
from chronofy_kg.spec.monitor import Run
from chronofy_kg.spec.trace import Floats, Trace, TraceError

__all__ = ["smooth_gradient"]


def smooth_gradient(
    formula: Formula, trace: Trace, temperature: float, index: int = 0, row: int | None = None
) -> list[Blame]:
    """Return the derivatives of a smoothed robustness by all samples that take part, by index and signal.

    Args:
        formula: its names are signals of the trace.
        trace: n samples, or a batch of traces.
        temperature: above 0, in the unit of the robustness: how far from the deciding value others count.
            Towards 0 the gradient is that of `explain`.
        index: the sample, 0..n-1.
        row: which trace of a batch.

    Raises:
        SpecTypeError, TraceError: as `explain`; a temperature that is not above 0.

    >>> from chronofy_kg.spec import Trace, parse_formula
    >>> found = smooth_gradient(parse_formula("G[0,2] x > 0"), Trace({"x": [1.0, 1.0, 9.0]}), 0.1)
    >>> [(one.index, round(one.derivative, 3)) for one in found]
    [(0, 0.5), (1, 0.5), (2, 0.0)]
    """
    if not 0 < temperature < float("inf"):
        raise TraceError(f"temperature is a number above 0, not {temperature}")
    return walk_back(formula, trace, index, row, partial(_SoftWalk, temperature))[1]


class _SoftWalk(Walk):
    """A walk in which each operand of a minimum or maximum has its share."""

    def __init__(self, temperature: float, clock: Clock, run: Run) -> None:
        super().__init__(clock, run)
        self.temperature = temperature

    def causes(self, node: Node, at: int, slope: float) -> Iterable[Cause]:
        """The operands, with their sample and derivative."""
        match node:
            case Logic(operator, operands):
                values = np.asarray([self.value(one, at) for one in operands])
                parts = self._shares(values, operator == "and")
                return [(one, at, slope * part) for one, part in zip(operands, parts, strict=True)]
            case Temporal(operator, operand, interval):
                first, last = self.clock.range(at, interval, operator in "HO")
                shares = self._shares(self.samples(operand, first, last), operator in "GH")
                return [(operand, first + place, slope * share) for place, share in enumerate(shares)]
            case Pair():
                return self._soft_until(node, at, slope)
            case _:
                return super().causes(node, at, slope)

    def _soft_until(self, node: Pair, at: int, slope: float) -> list[Cause]:
        past = node.operator == "S"
        first, last = self.clock.range(at, node.interval, past)
        ways = []
        for reached in range(first, last):
            held = range(reached + 1, at + 1) if past else range(at, reached)
            way = [self.value(node.right, reached), *(self.value(node.left, there) for there in held)]
            ways.append((reached, held, np.asarray(way)))
        chosen = self._shares(np.asarray([values.min() for _, _, values in ways]), False)
        found: list[Cause] = []
        for (reached, held, values), share in zip(ways, chosen, strict=True):
            right, *lefts = (share * slope * one for one in self._shares(values, True))
            found.append((node.right, reached, right))
            found.extend((node.left, there, one) for there, one in zip(held, lefts, strict=True))
        return found

    def _shares(self, values: Floats, lowest: bool) -> list[float]:
        if not len(values):
            return []
        extreme = values.min() if lowest else values.max()
        with np.errstate(invalid="ignore"):
            apart = np.where(values == extreme, 0.0, np.abs(values - extreme))
        weights = np.exp(-np.minimum(apart / self.temperature, 700.0))
        return [float(one) for one in weights / weights.sum()]
