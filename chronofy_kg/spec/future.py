"""The interval of robustness over what the future beyond a trace may bring.

The trace is made longer by samples at which signals can be anything, each value is a pair (lower, upper), and
every operator works on both ends. How many samples are needed: no more than the formula looks ahead, and no
more than it takes its past operators to forget the trace, for then nothing changes any more and the last
value goes on for ever. For samples at any instants no such samples can be placed; there a window that reaches
past the last instant is open on its side, which is safe but wider than it need be.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import reduce
from typing import NamedTuple, TypeAlias

import numpy as np

from chronofy_kg.spec.ast import Boolean, Compare, Logic, Node, Not, Pair, Step, Temporal, postorder
from chronofy_kg.spec.clocks import Clock, PointClock, UniformClock
from chronofy_kg.spec.numbers import Amount, Range, margin, number_value, unknown_range
from chronofy_kg.spec.trace import Floats, Trace, TraceError

__all__ = ["future_bounds"]

Bounds: TypeAlias = tuple[Floats, Floats]
INFINITY = math.inf
_MOST_SAMPLES = 100_000_000


def future_bounds(root: Node, clock: Clock, trace: Trace, values: Floats) -> Bounds:
    """Return lower and upper robustness at every sample.

    Args:
        root: a core tree.
        clock: its windows.
        trace: the samples.
        values: the robustness over the samples there are, which is the answer where nothing looks ahead.
    """
    if not any(_ahead(node) for node in postorder(root)):
        return values.copy(), values.copy()
    if isinstance(clock, PointClock):
        return _Open(clock, trace).of(root)
    assert isinstance(clock, UniformClock)
    reach = _reach(root, clock)
    beyond = int(min(reach.ahead, reach.settled + 1))
    # Only samples that look past the end can differ, and they need no more of the trace than they look back.
    n = trace.length
    open_from = int(max(0, n - reach.ahead))
    start = int(max(0, open_from - reach.behind))
    lower, upper = values.copy(), values.copy()
    if open_from == n:
        return lower, upper
    part = _Longer(clock, trace.part(start), beyond).of(root)
    for whole, end in zip((lower, upper), part, strict=True):
        whole[..., open_from:] = end[..., open_from - start : n - start]
    return lower, upper


def _ahead(node: Node) -> bool:
    return isinstance(node, Temporal | Pair | Step) and node.operator in ("G", "F", "U", "X", "wnext")


class _Reach(NamedTuple):
    """How far a formula looks, in samples: ahead, behind, and after the end until its past is settled."""

    ahead: float
    behind: float
    settled: float


def _reach(root: Node, clock: UniformClock) -> _Reach:
    found: dict[int, _Reach] = {}
    for node in postorder(root):
        parts = [found[id(child)] for child in node.children]
        ahead, behind, settled = (
            (max(ends, default=0.0) for ends in zip(*parts, strict=True)) if parts else (0, 0, 0)
        )
        low, high = 0, 0.0
        if isinstance(node, Temporal | Pair):
            low, end = clock.offset(node.interval)
            high = INFINITY if end is None else end
        elif isinstance(node, Step):
            high = 1.0
        if _ahead(node):
            ahead += high
        elif high:
            behind += high
            settled += high if high < INFINITY else low + 1
        found[id(node)] = _Reach(ahead, behind, settled)
    return found[id(root)]


class _Bounds(ABC):
    """Pairs of lower and upper values; how atoms and windows get them is in the subclasses."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.numbers: dict[int, Amount] = {}
        self.ranges: dict[int, Range] = {}

    def of(self, root: Node) -> Bounds:
        pairs: dict[int, Bounds] = {}
        for node in postorder(root):
            if isinstance(node, Boolean | Compare | Logic | Not | Temporal | Pair | Step):
                pairs[id(node)] = self._pair(
                    node, [pairs[id(child)] for child in node.children if id(child) in pairs]
                )
                continue
            signals, children = self.trace.arrays, node.children
            self.numbers[id(node)] = number_value(node, [self.numbers[id(one)] for one in children], signals)
            self.ranges[id(node)] = unknown_range(node, [self.ranges[id(one)] for one in children], signals)
        return pairs[id(root)]

    def _pair(self, node: Node, operands: list[Bounds]) -> Bounds:
        match node:
            case Boolean(value):
                amount = np.full(self.trace.shape, INFINITY if value else -INFINITY)
                return self.atom(amount, (float(amount.flat[0]),) * 2)
            case Compare(operator, left, right):
                sides = (self.numbers[id(left)], self.numbers[id(right)])
                amount = np.array(np.broadcast_to(margin(operator, *sides, node), self.trace.shape))
                return self.atom(
                    amount, _margin_range(operator, self.ranges[id(left)], self.ranges[id(right)])
                )
            case Not():
                lower, upper = operands[0]
                return -upper, -lower
            case Logic(operator):
                join = np.minimum if operator == "and" else np.maximum
                return reduce(join, [low for low, _ in operands]), reduce(
                    join, [high for _, high in operands]
                )
            case _:
                assert isinstance(node, Temporal | Pair | Step)
                return self.temporal(node, operands)

    @abstractmethod
    def atom(self, known: Floats, unknown: Range) -> Bounds:
        """Return the bounds of a comparison, known over the trace and anything in a range after it."""

    @abstractmethod
    def temporal(self, node: Temporal | Pair | Step, operands: list[Bounds]) -> Bounds:
        """Return the bounds of a temporal operator over those of its operands."""


def _margin_range(operator: str, left: Range, right: Range) -> Range:
    (a, b), (c, d) = left, right
    if operator in ("<", "<="):
        (a, b), (c, d) = (c, d), (a, b)
    low, high = a - d, b - c
    low, high = (-INFINITY if math.isnan(low) else low), (INFINITY if math.isnan(high) else high)
    if operator in ("==", "!="):
        least, most = max(0.0, low, -high), max(abs(low), abs(high))
        return (-most, -least) if operator == "==" else (least, most)
    return low, high


class _Longer(_Bounds):
    """Uniform sampling: the trace with unknown samples behind it."""

    def __init__(self, clock: UniformClock, trace: Trace, beyond: int) -> None:
        super().__init__(trace)
        self.clock, self.beyond = clock, beyond
        if (trace.length + beyond) * math.prod(trace.shape[:-1]) > _MOST_SAMPLES:
            raise TraceError(
                f"the formula depends on {beyond} samples after the trace; shorten its intervals"
            )

    def atom(self, known: Floats, unknown: Range) -> Bounds:
        shape = (*known.shape[:-1], self.beyond)
        low, high = (np.concatenate([known, np.full(shape, end)], axis=-1) for end in unknown)
        return low, high

    def temporal(self, node: Temporal | Pair | Step, operands: list[Bounds]) -> Bounds:
        past = not _ahead(node)
        lowest = node.operator in ("G", "H", "wprev")
        fill = None if not past else INFINITY if lowest else -INFINITY
        ends = []
        for end in (0, 1):
            parts = [pair[end] for pair in operands]
            if isinstance(node, Step):
                ends.append(self.clock.step(parts[0], past, fill))
            elif isinstance(node, Temporal):
                ends.append(self.clock.window(parts[0], node.interval, past, lowest, fill))
            else:
                ends.append(self.clock.until(parts[0], parts[1], node.interval, past, fill))
        return ends[0], ends[1]


class _Open(_Bounds):
    """Samples at any instants: windows that reach past the end are open."""

    def __init__(self, clock: PointClock, trace: Trace) -> None:
        super().__init__(trace)
        self.clock = clock

    def atom(self, known: Floats, unknown: Range) -> Bounds:
        return known, known

    def temporal(self, node: Temporal | Pair | Step, operands: list[Bounds]) -> Bounds:
        past, lowest = not _ahead(node), node.operator in ("G", "H", "wnext", "wprev")
        fill = INFINITY if lowest else -INFINITY
        ends = []
        for end in (0, 1):
            parts = [pair[end] for pair in operands]
            if isinstance(node, Step):
                ends.append(self.clock.step(parts[0], past, fill))
            elif isinstance(node, Temporal):
                ends.append(self.clock.window(parts[0], node.interval, past, lowest, fill))
            else:
                ends.append(self.clock.until(parts[0], parts[1], node.interval, past, fill))
        lower, upper = ends
        if past:
            return lower, upper
        late = self.clock.reaches_past_end(node)
        if isinstance(node, Step):
            return np.where(late, -INFINITY, lower), np.where(late, INFINITY, upper)
        if isinstance(node, Pair):
            held = self.clock.window(operands[0][1], None, False, True, INFINITY)
            return lower, np.where(late, np.maximum(upper, held), upper)
        return (
            (np.where(late, -INFINITY, lower), upper) if lowest else (lower, np.where(late, INFINITY, upper))
        )
