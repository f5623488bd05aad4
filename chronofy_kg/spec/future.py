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

from chronofy_kg.spec.ast import (
    Boolean,
    Compare,
    Interval,
    Logic,
    Name,
    Node,
    Not,
    Number,
    Pair,
    Recursive,
    Step,
    Temporal,
    Timed,
    Window,
)
from chronofy_kg.spec.clocks import Clock, PointClock, UniformClock
from chronofy_kg.spec.machine import Planes, run_recursion
from chronofy_kg.spec.numbers import Span, margin_range, number_range
from chronofy_kg.spec.recursion import evaluation_order, operands_of
from chronofy_kg.spec.trace import Floats, Trace, TraceError

__all__ = ["future_bounds"]

Bounds: TypeAlias = tuple[Floats, Floats]
INFINITY = math.inf
_MOST_SAMPLES = 100_000_000
_SETTLING = frozenset({"lowest", "highest"})
_DRIFT_FOLLOWED = 10_000
"""Unknown samples over which what may drift is followed, where a formula looks no further ahead."""
_RECURSION_FOLLOWED = 16
"""Unknown samples over which a let that refers to itself is followed; after them it may be anything."""


def future_bounds(root: Node, clock: Clock, trace: Trace, values: Floats, whole: bool = False) -> Bounds:
    """Return lower and upper robustness at every sample.

    Args:
        root: a core tree.
        clock: its windows.
        trace: the samples.
        values: the robustness over the samples there are, which is the answer where nothing looks ahead.
        whole: whether samples that do not look ahead can be uncertain too, because numbers are missing.
    """
    if not whole and not any(_ahead(node) for node in evaluation_order(root)):
        return values.copy(), values.copy()
    if isinstance(clock, PointClock):
        return _Open(clock, trace).of(root)
    assert isinstance(clock, UniformClock)
    reach = _reach(root, clock)
    beyond = int(min(reach.ahead, reach.settled + 1))
    if beyond < reach.ahead <= _DRIFT_FOLLOWED and any(
        _drifts(node, clock) for node in evaluation_order(root)
    ):
        beyond = int(reach.ahead)
    # Only samples that look past the end can differ, and they need no more of the trace than they look back.
    n = trace.length
    open_from = 0 if whole else int(max(0, n - reach.ahead))
    start = 0 if whole else int(max(0, open_from - reach.behind))
    lower, upper = values.copy(), values.copy()
    if open_from == n:
        return lower, upper
    part = _Longer(clock, trace.part(start), beyond, beyond < reach.ahead).of(root)
    for whole_end, end in zip((lower, upper), part, strict=True):
        whole_end[..., open_from:] = end[..., open_from - start : n - start]
    return lower, upper


def _drifts(node: Node, clock: UniformClock) -> bool:
    """Whether a node may never settle, though nothing new becomes known."""
    if isinstance(node, Window):
        return clock.offset(node.interval)[1] is None and node.function not in _SETTLING
    return isinstance(node, Recursive)


def samples_ahead(root: Node, clock: UniformClock) -> int | None:
    """Return how many samples after its own decide a value; None: all that come."""
    ahead = _reach(root, clock).ahead
    return None if ahead == INFINITY else int(ahead)


def _ahead(node: Node) -> bool:
    return isinstance(node, Temporal | Pair | Step) and node.operator in ("G", "F", "U", "X", "wnext")


class _Reach(NamedTuple):
    """How far a formula looks, in samples: ahead, behind, and after the end until its past is settled."""

    ahead: float
    behind: float
    settled: float


def _reach(root: Node, clock: UniformClock) -> _Reach:
    found: dict[int, _Reach] = {}
    for node in evaluation_order(root):
        parts = [found[id(child)] for child in operands_of(node)]
        ahead, behind, settled = (
            (max(ends, default=0.0) for ends in zip(*parts, strict=True)) if parts else (0, 0, 0)
        )
        low, high = 0, 0.0
        if isinstance(node, Timed):
            low, end = clock.offset(node.interval)
            high = INFINITY if end is None else end
        elif isinstance(node, Step):
            high = 1.0
        if isinstance(node, Recursive):
            behind, settled = INFINITY, settled + _RECURSION_FOLLOWED
        elif _ahead(node):
            ahead += high
        elif high:
            behind += high
            settled += high if high < INFINITY else low + 1
        found[id(node)] = _Reach(ahead, behind, settled)
    return found[id(root)]


class _Bounds(ABC):
    """Pairs of lower and upper values of numbers and formulas, over `length` samples."""

    def __init__(self, clock: Clock, trace: Trace, beyond: int = 0) -> None:
        self.clock, self.trace = clock, trace
        self.beyond, self.length = beyond, trace.length + beyond

    def of(self, root: Node) -> Bounds:
        pairs: dict[int, Span] = {}
        for node in evaluation_order(root):
            pairs[id(node)] = self._pair(node, [pairs[id(child)] for child in operands_of(node)])
        lower, upper = (
            np.broadcast_to(end, (*self.trace.shape[:-1], self.length)) for end in pairs[id(root)]
        )
        return lower, upper

    def _pair(self, node: Node, operands: list[Span]) -> Span:
        match node:
            case Boolean(value):
                amount = INFINITY if value else -INFINITY
                return amount, amount
            case Compare(operator):
                return margin_range(operator, *operands)
            case Not():
                return -operands[0][1], -operands[0][0]
            case Logic(operator):
                join = np.minimum if operator == "and" else np.maximum
                return reduce(join, [low for low, _ in operands]), reduce(
                    join, [high for _, high in operands]
                )
            case Temporal() | Pair() | Step():
                return self.temporal(node, [self._arrays(one) for one in operands])
            case Name(name):
                return self._signal(self.trace.arrays[name])
            case Window():
                return self._statistic(node, [self._arrays(one) for one in operands])
            case Recursive():
                return self.recursive(node, [self._arrays(one) for one in operands])
            case _:
                return number_range(node, operands)

    def _arrays(self, pair: Span) -> Bounds:
        low, high = (np.full(self.length, end) if np.ndim(end) == 0 else np.asarray(end) for end in pair)
        return low, high

    def _signal(self, known: Floats) -> Span:
        if not self.beyond:
            return known, known
        shape = (*known.shape[:-1], self.beyond)
        low, high = (np.concatenate([known, np.full(shape, end)], axis=-1) for end in (-INFINITY, INFINITY))
        return low, high

    def _statistic(self, node: Window, operands: list[Bounds]) -> Span:
        """A statistic is known where every number of its window is, and whether it counts."""
        low, high = operands[0]
        unsure = (low != high) & ~np.isnan(low)
        counted = ~np.isnan(low)
        if len(operands) > 1:
            may, must = operands[1][1] > 0, operands[1][0] > 0
            unsure, counted = (unsure & may) | (may & ~must & counted), counted & must
        known = self.clock.statistic(node, np.where(unsure, 0.0, low), counted)
        unknown = self.clock.statistic(_counting(node.interval), np.zeros(self.length), unsure) > 0
        floor = 0.0 if node.function in ("std", "count") else -INFINITY
        return np.where(unknown, floor, known), np.where(unknown, INFINITY, known)

    def recursive(self, node: Recursive, operands: list[Bounds]) -> Bounds:
        """Return the bounds of a let that refers to itself."""
        low, high = run_recursion(node, operands, self.clock, self.length, Planes(2, lower=0, upper=1))
        return low, high

    @abstractmethod
    def temporal(self, node: Temporal | Pair | Step, operands: list[Bounds]) -> Bounds:
        """Return the bounds of a temporal operator over those of its operands."""


def _counting(interval: Interval) -> Window:
    return Window("count", interval, Number(0.0))


class _Longer(_Bounds):
    """Uniform sampling: the trace with unknown samples behind it.

    `endless`: they are too few for all that is looked at, so from some sample on nothing may change any more.
    """

    clock: UniformClock

    def __init__(self, clock: UniformClock, trace: Trace, beyond: int, endless: bool) -> None:
        super().__init__(clock, trace, beyond)
        self.endless = endless
        if self.length * math.prod(trace.shape[:-1]) > _MOST_SAMPLES:
            raise TraceError(
                f"the formula depends on {beyond} samples after the trace; shorten its intervals"
            )

    def _statistic(self, node: Window, operands: list[Bounds]) -> Span:
        """A statistic of all the past may drift for ever: of an endless future nothing is known."""
        low, high = super()._statistic(node, operands)
        if self.endless and _drifts(node, self.clock):
            start = self.trace.length + int(_reach(node, self.clock).settled)
            low, high = np.array(low), np.array(high)
            low[..., start:], high[..., start:] = -INFINITY, INFINITY
        return low, high

    def recursive(self, node: Recursive, operands: list[Bounds]) -> Bounds:
        """Return the bounds; after some samples of an endless future nothing is known of what it will be."""
        low, high = super().recursive(node, operands)
        if self.endless:
            settled = int(max((_reach(one, self.clock).settled for one in operands_of(node)), default=0))
            low[..., self.trace.length + settled + _RECURSION_FOLLOWED :] = -INFINITY
            high[..., self.trace.length + settled + _RECURSION_FOLLOWED :] = INFINITY
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
                left, right = np.broadcast_arrays(*parts)
                ends.append(self.clock.until(left, right, node.interval, past, fill))
        return ends[0], ends[1]


class _Open(_Bounds):
    """Samples at any instants: windows that reach past the end are open."""

    clock: PointClock

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
                left, right = np.broadcast_arrays(*parts)
                ends.append(self.clock.until(left, right, node.interval, past, fill))
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
