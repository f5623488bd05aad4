"""How the windows of a formula fall on the samples of a trace: uniform sampling, and samples at any instants.

A clock turns an interval into offsets or ranges of samples and applies `windows`. Hold sampling is uniform on
a grid (`hold_grid`). An interval that does not fit the trace is a located `SpecTypeError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.spec.ast import Interval, Node, Number, Pair, Step, Temporal, Window, postorder
from chronofy_kg.spec.declare import micros
from chronofy_kg.spec.diagnostics import Source, Span, raise_diagnostics
from chronofy_kg.spec.format import quantity_text
from chronofy_kg.spec.operators import table
from chronofy_kg.spec.statistics import over_ranges
from chronofy_kg.spec.steps import timed_nodes, whole_steps
from chronofy_kg.spec.trace import Floats, Trace, TraceError
from chronofy_kg.spec.windows import Indices, range_window, shift, until, window

__all__ = ["Clock", "PointClock", "UniformClock", "bound_length", "hold_grid", "refuse"]

INFINITY = float("inf")
_LONGEST_GRID = 50_000_000


class Clock(Protocol):
    """Windows over the samples of a trace; `fill` is the value of an empty window."""

    def window(
        self, values: Floats, interval: Interval | None, past: bool, lowest: bool, fill: float
    ) -> Floats:
        """Minimum or maximum over the window of each sample."""
        ...

    def until(
        self, left: Floats, right: Floats, interval: Interval | None, past: bool, fill: float
    ) -> Floats:
        """Until (or since, in the past)."""
        ...

    def step(self, values: Floats, past: bool, fill: float) -> Floats:
        """The neighbouring sample."""
        ...

    def statistic(self, node: Window, values: Floats, counted: NDArray[np.bool_]) -> Floats:
        """A statistic over the counted samples of the past window of each sample; NaN: too few."""
        ...

    def range(self, at: int, interval: Interval | None, past: bool) -> tuple[int, int]:
        """The samples [first, last) of the window of one sample."""
        ...


def refuse(source: Source, span: Span, message: str, hint: str | None = None) -> NoReturn:
    """Raise the error of a bound that does not fit the trace."""
    raise_diagnostics([source.diagnostic(span, "unit", message, hint=hint)])


def bound_length(bound: Number, trace: Trace, source: Source) -> float:
    """Return a bound in the unit of the trace's times (samples where it has none)."""
    if bound.unit is None or bound.value in (0.0, INFINITY):
        return bound.value
    if trace.step_micros is None:
        refuse(
            source,
            bound.span,
            "the trace does not say how long a step is",
            'give Trace(..., step="15m") or a unit',
        )
    return micros(bound, table()) * trace.step_size / trace.step_micros


def _flip(values: Floats) -> Floats:
    return values[..., ::-1]


@dataclass(frozen=True, slots=True)
class UniformClock:
    """Equal distances: windows are offsets. `fill` None lets the last sample go on for ever."""

    offsets: Mapping[int, tuple[int, int | None]]
    length: int

    @classmethod
    def of(cls, root: Node, trace: Trace, source: Source) -> UniformClock:
        """Return the clock for the intervals of a tree."""
        offsets: dict[int, tuple[int, int | None]] = {}
        for node in timed_nodes(root):
            interval = node.interval
            assert interval is not None
            low, high = (_steps(bound, trace, source) for bound in (interval.low, interval.high))
            assert low is not None
            offsets[id(interval)] = (low, high)
        return cls(offsets, trace.length)

    def offset(self, interval: Interval | None) -> tuple[int, int | None]:
        """Return the first and last offset of an interval; None: no end."""
        return (0, None) if interval is None else self.offsets[id(interval)]

    def window(
        self, values: Floats, interval: Interval | None, past: bool, lowest: bool, fill: float | None
    ) -> Floats:
        """Minimum or maximum over the window of each sample."""
        low, high = self.offset(interval)
        if past:
            return _flip(window(_flip(values), low, high, lowest, fill))
        return window(values, low, high, lowest, fill)

    def until(
        self, left: Floats, right: Floats, interval: Interval | None, past: bool, fill: float | None
    ) -> Floats:
        """Until (or since, in the past)."""
        low, high = self.offset(interval)
        if past:
            return _flip(until(_flip(left), _flip(right), low, high, fill))
        return until(left, right, low, high, fill)

    def step(self, values: Floats, past: bool, fill: float | None) -> Floats:
        """The neighbouring sample."""
        return _flip(shift(_flip(values), 1, fill)) if past else shift(values, 1, fill)

    def statistic(self, node: Window, values: Floats, counted: NDArray[np.bool_]) -> Floats:
        """A statistic over the past window of each sample."""
        low, high = self.offset(node.interval)
        here = np.arange(values.shape[-1])
        first = np.zeros_like(here) if high is None else np.maximum(here - high, 0)
        return over_ranges(node, values, counted, first, np.maximum(here - low + 1, first))

    def range(self, at: int, interval: Interval | None, past: bool) -> tuple[int, int]:
        """The samples [first, last) of the window of one sample."""
        low, high = self.offset(interval)
        if past:
            return (0 if high is None else max(0, at - high)), max(0, at - low + 1)
        return min(at + low, self.length), self.length if high is None else min(self.length, at + high + 1)


def _steps(bound: Node, trace: Trace, source: Source) -> int | None:
    assert isinstance(bound, Number)
    length = bound_length(bound, trace, source)
    if length == INFINITY:
        return None
    steps = whole_steps(length, trace.step_size)
    if steps is None:
        text = quantity_text(bound.value, bound.unit)
        refuse(source, bound.span, f"bound {text} is not a multiple of the step {_step_text(trace)}")
    return steps


def _step_text(trace: Trace) -> str:
    return trace.step.strip() if isinstance(trace.step, str) else quantity_text(trace.step_size, trace.unit)


@dataclass(frozen=True, slots=True)
class PointClock:
    """Samples at any instants, and nothing between them: windows are ranges of samples."""

    ranges: Mapping[tuple[int, bool], tuple[Indices, Indices]]
    late: Mapping[int, NDArray[np.bool_]]
    length: int

    @classmethod
    def of(cls, root: Node, trace: Trace, source: Source) -> PointClock:
        """Return the clock for the intervals of a tree."""
        times = trace.instants
        assert times is not None
        ranges: dict[tuple[int, bool], tuple[Indices, Indices]] = {}
        late: dict[int, NDArray[np.bool_]] = {}
        for node in timed_nodes(root):
            interval = node.interval
            past = isinstance(node, Window) or node.operator in "HOST"
            assert interval is not None
            assert isinstance(interval.low, Number)
            assert isinstance(interval.high, Number)
            low, high = (bound_length(bound, trace, source) for bound in (interval.low, interval.high))
            ends = (times - high, times - low) if past else (times + low, times + high)
            # Rounding of t + a must not move a sample over the edge of its window.
            slack = 1e-9 * np.maximum(1.0, np.abs(times))
            first = np.searchsorted(times, ends[0] - slack, side="left")
            last = np.searchsorted(times, ends[1] + slack, side="right")
            ranges[id(interval), past] = (first, np.maximum(first, last))
            late[id(interval)] = times + high > times[-1] + slack
        return cls(ranges, late, trace.length)

    def reaches_past_end(self, node: Temporal | Pair | Step) -> NDArray[np.bool_]:
        """Whether the future window of each sample reaches past the last one."""
        if isinstance(node, Step):
            return np.asarray(np.arange(self.length) == self.length - 1)
        return (
            self.late[id(node.interval)]
            if node.interval is not None
            else np.ones(self.length, dtype=np.bool_)
        )

    def _ranges(self, interval: Interval | None, past: bool) -> tuple[Indices, Indices]:
        if interval is not None:
            return self.ranges[id(interval), past]
        here = np.arange(self.length)
        return (np.zeros_like(here), here + 1) if past else (here, np.full_like(here, self.length))

    def window(
        self, values: Floats, interval: Interval | None, past: bool, lowest: bool, fill: float
    ) -> Floats:
        """Minimum or maximum over the window of each sample."""
        return range_window(values, *self._ranges(interval, past), lowest, fill)

    def until(
        self, left: Floats, right: Floats, interval: Interval | None, past: bool, fill: float
    ) -> Floats:
        """Until (or since).

        It is the least of: R at best in the window, L at worst before the window, and L U R from the window's
        first sample on (Donzé, Ferrère, Maler 2013, Efficient Robust Monitoring for STL, Lemma 3).
        """
        first, last = self._ranges(interval, past)
        if past:
            n = self.length
            first, last = (n - last)[::-1], (n - first)[::-1]
            left, right = _flip(left), _flip(right)
        start = np.minimum(first, self.length - 1)
        result = range_window(right, first, last, False, -INFINITY)
        result = np.minimum(result, range_window(left, np.arange(self.length), first, True, INFINITY))
        result = np.minimum(result, until(left, right, 0, None, -INFINITY)[..., start])
        result[..., first >= last] = fill
        return _flip(result) if past else result

    def step(self, values: Floats, past: bool, fill: float) -> Floats:
        """The neighbouring sample."""
        return _flip(shift(_flip(values), 1, fill)) if past else shift(values, 1, fill)

    def statistic(self, node: Window, values: Floats, counted: NDArray[np.bool_]) -> Floats:
        """A statistic over the past window of each sample."""
        return over_ranges(node, values, counted, *self.past_ranges(node.interval))

    def past_ranges(self, interval: Interval | None) -> tuple[Indices, Indices]:
        """The samples [first, last) of the past window of each sample."""
        return self._ranges(interval, True)

    def range(self, at: int, interval: Interval | None, past: bool) -> tuple[int, int]:
        """The samples [first, last) of the window of one sample."""
        first, last = self._ranges(interval, past)
        return int(first[at]), int(last[at])


def hold_grid(root: Node, trace: Trace, source: Source) -> tuple[Trace, Indices]:
    """Return the trace on the finest grid on which all its times and all bounds of a tree lie.

    Each sample holds until the next one; the trace ends at its last instant.

    Returns:
        The uniform trace, and the index of each sample on it.
    """
    times = trace.instants
    assert times is not None
    intervals = [node.interval for node in timed_nodes(root) if node.interval is not None]
    bounds = [bound for one in intervals for bound in (one.low, one.high) if isinstance(bound, Number)]
    lengths = [bound_length(bound, trace, source) for bound in bounds]
    for node in postorder(root):
        if isinstance(node, Step):
            message = f"{node.operator} has no meaning where samples hold"
            raise_diagnostics([source.diagnostic(node.span, "type", message, hint="use an interval")])
    spans = np.array([*(times - times[0])[1:], *(one for one in lengths if 0 < one < INFINITY)])
    grid = _common_step(spans) if spans.size else 1.0
    at = np.rint((times - times[0]) / grid).astype(np.intp)
    if at[-1] >= _LONGEST_GRID:
        raise TraceError(
            f"the common grid of the times and intervals has {int(at[-1])} points, more than {_LONGEST_GRID}"
        )
    held = np.searchsorted(at, np.arange(at[-1] + 1), side="right") - 1
    arrays = {name: array[..., held] for name, array in trace.arrays.items()}
    return Trace(arrays or {"": np.zeros(len(held))}, step=grid, unit=trace.unit), at


def _common_step(spans: Floats) -> float:
    """The largest number of which all spans are multiples, by whole microparts of the shortest one."""
    scale = float(spans.min()) / 1e6
    whole = np.rint(spans / scale)
    if whole.max() >= 2**62:
        raise TraceError("the times and intervals have no common grid")
    step = int(np.gcd.reduce(whole.astype(np.int64)))
    return step * scale
