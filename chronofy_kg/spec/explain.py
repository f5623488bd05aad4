"""Which samples a robustness value rests on: the path of minima and maxima, walked back to the signals.

A robustness value is, almost everywhere, a smooth function of the few samples that decide it; `explain` gives
them with the derivative. Of equal candidates the earliest (then the first operand) is taken. From samples to
facts is the work of `answer`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from chronofy_kg.spec.ast import (
    Arithmetic,
    Boolean,
    Call,
    Compare,
    Logic,
    Name,
    Negate,
    Node,
    Not,
    Pair,
    Recursive,
    Step,
    Temporal,
    Window,
)
from chronofy_kg.spec.clocks import Clock
from chronofy_kg.spec.formula import Formula
from chronofy_kg.spec.monitor import Run, prepare
from chronofy_kg.spec.statistics import least_of, level_of
from chronofy_kg.spec.trace import Floats, Trace, TraceError

__all__ = ["Blame", "Cause", "Walk", "explain", "explain_text", "walk_back"]


_State: TypeAlias = tuple[int, int]
Cause: TypeAlias = tuple[Node, int, float]
_MOST_IN_TEXT = 3


@dataclass(frozen=True, slots=True)
class Blame:
    """A sample that decides: the robustness changes by `derivative` times the change of the sample."""

    signal: str
    index: int
    derivative: float

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON-ready values."""
        return {"signal": self.signal, "index": self.index, "derivative": self.derivative}


def explain(formula: Formula, trace: Trace, index: int = 0, row: int | None = None) -> list[Blame]:
    """Return the samples that decide the robustness at one sample of a trace, in order of index and signal.

    Args:
        formula: its names are signals of the trace.
        trace: n samples, or a batch of traces.
        index: the sample, 0..n-1.
        row: which trace of a batch.

    Returns:
        The samples; none where an empty window or a constant decides.

    Raises:
        SpecTypeError, TraceError: as `robustness`; and an index or row that is not there.

    >>> from chronofy_kg.spec import Trace, parse_formula
    >>> explain(parse_formula("G[0,2] x > 0"), Trace({"x": [3.0, 1.0, 4.0]}))
    [Blame(signal='x', index=1, derivative=1.0)]
    """
    return walk_back(formula, trace, index, row)[1]


def explain_text(formula: Formula, trace: Trace, index: int = 0, row: int | None = None) -> str:
    """Return why the robustness at one sample is what it is, in one sentence; arguments as of `explain`.

    >>> from chronofy_kg.spec import Trace, parse_formula
    >>> explain_text(parse_formula("G[0,2] x > 2"), Trace({"x": [3.0, 1.5, 4.0]}))
    'rho = -0.5 at sample 0 because x = 1.5 at sample 1'
    """
    value, blames = walk_back(formula, trace, index, row)
    start = f"rho = {value:.6g} at sample {index}"
    if not blames:
        return f"{start} because an empty window or a constant decides"
    single = trace.row(row)
    foremost = sorted(blames, key=lambda one: (-abs(one.derivative), one.index, one.signal))
    shown = sorted(foremost[:_MOST_IN_TEXT], key=lambda one: (one.index, one.signal))
    parts = [
        f"{one.signal} = {single.arrays[one.signal][one.index]:.6g} at sample {one.index}" for one in shown
    ]
    more = len(blames) - len(shown)
    return f"{start} because {' and '.join(parts)}{f' and {more} more' if more else ''}"


def walk_back(
    formula: Formula,
    trace: Trace,
    index: int,
    row: int | None,
    kind: Callable[[Clock, Run], Walk] | None = None,
) -> tuple[float, list[Blame]]:
    """Return the robustness at one sample, and what a kind of walk blames for it."""
    single = trace.row(row)
    if not 0 <= index < single.length:
        raise TraceError(f"index is one of 0..{single.length - 1}, not {index}")
    root, clock, grid, samples = prepare(formula, single)
    run = Run(clock, grid, keep=True)
    run.of(root)
    walk = (kind or Walk)(clock, run)
    start = index if samples is None else int(samples[index])
    found: dict[tuple[int, str], float] = {}
    slopes: dict[_State, float] = {(id(root), start): 1.0}
    for node, at, causes in walk.order(root, start):
        slope = slopes.get((id(node), at), 0.0)
        if isinstance(node, Name) and node.name not in run.own:
            place = at if samples is None else int(np.searchsorted(samples, at, side="right")) - 1
            found[place, node.name] = found.get((place, node.name), 0.0) + slope
        for operand, there, by in causes if slope else ():
            state = id(operand), there
            slopes[state] = slopes.get(state, 0.0) + slope * by
    blames = [Blame(signal, at, slope) for (at, signal), slope in sorted(found.items()) if slope]
    return walk.value(root, start), blames


class Walk:
    """Walks from a value back to what decides it; `causes` says what decides a node at a sample."""

    def __init__(self, clock: Clock, run: Run) -> None:
        self.clock, self.run = clock, run

    def order(self, root: Node, start: int) -> list[tuple[Node, int, list[Cause]]]:
        """Return all that can decide, with its causes, each node at a sample once and before these."""
        done: list[tuple[Node, int, list[Cause]]] = []
        seen: set[_State] = set()
        stack: list[tuple[Node, int, list[Cause] | None]] = [(root, start, None)]
        while stack:
            node, at, causes = stack.pop()
            if causes is not None:
                done.append((node, at, causes))
            elif (id(node), at) not in seen:
                seen.add((id(node), at))
                causes = list(self.causes(node, at, 1.0))
                stack.append((node, at, causes))
                stack.extend((operand, there, None) for operand, there, by in causes if by)
        return done[::-1]

    def value(self, node: Node, at: int) -> float:
        """Return the value of a node at a sample."""
        value = self.run.values[id(node)]
        return float(value) if np.ndim(value) == 0 else float(np.asarray(value)[at])

    def samples(self, node: Node, first: int, last: int) -> Floats:
        """Return the values of a node at the samples [first, last)."""
        value = self.run.values[id(node)]
        return np.full(last - first, value) if np.ndim(value) == 0 else np.asarray(value)[first:last]

    def causes(self, node: Node, at: int, slope: float) -> Iterable[tuple[Node, int, float]]:
        """The operands, with their sample and derivative, that decide a node at a sample."""
        match node:
            case Not(operand) | Negate(operand):
                return [(operand, at, -slope)]
            case Logic(operator, operands):
                values = [self.value(one, at) for one in operands]
                return [(operands[_extreme(values, operator == "and")], at, slope)]
            case Compare():
                return self._compare(node, at, slope)
            case Temporal():
                return self._window(node, at, slope)
            case Pair():
                return self._until(node, at, slope)
            case Step(operator, operand):
                there = at - 1 if operator in ("Y", "wprev") else at + 1
                return [(operand, there, slope)] if 0 <= there < self.run.trace.length else []
            case Arithmetic() | Call() | Window():
                return self._number(node, at, slope)
            case Recursive(_, body):
                return [(body, at, slope)]
            case Name(name) if name in self.run.own:
                return [(self.run.own[name].body, at, slope)]
            case _:
                assert isinstance(node, Boolean) or not node.children
                return []

    def _number(self, node: Arithmetic | Call | Window, at: int, slope: float) -> list[Cause]:
        match node:
            case Arithmetic():
                return self._arithmetic(node, at, slope)
            case Call():
                return self._call(node, at, slope)
            case Window():
                return [(node.value, there, slope * by) for there, by in self._statistic(node, at)]

    def _window(self, node: Temporal, at: int, slope: float) -> list[Cause]:
        first, last = self.clock.range(at, node.interval, node.operator in "HO")
        if first >= last:
            return []
        there = first + _extreme(self.samples(node.operand, first, last), node.operator in "GH")
        return [(node.operand, there, slope)]

    def _compare(self, node: Compare, at: int, slope: float) -> list[Cause]:
        left, right = node.left, node.right
        if math.isnan(self.value(left, at)) or math.isnan(self.value(right, at)):
            return []
        sign = slope * self._compare_slope(node.operator, left, right, at)
        return [(left, at, sign), (right, at, -sign)]

    def _compare_slope(self, operator: str, left: Node, right: Node, at: int) -> float:
        if operator in ("==", "!="):
            sign = float(np.sign(self.value(left, at) - self.value(right, at)))
            return sign if operator == "!=" else -sign
        return 1.0 if operator in (">", ">=") else -1.0

    def _statistic(self, node: Window, at: int) -> list[tuple[int, float]]:
        """The samples of a window with the derivatives of its statistic."""
        first, last = self.clock.range(at, node.interval, True)
        values = self.samples(node.value, first, last)
        counted = ~np.isnan(values)
        if node.where is not None:
            counted &= self.samples(node.where, first, last) > 0
        places, values = first + np.flatnonzero(counted), values[counted]
        count = len(values)
        if node.function == "count" or count < max(least_of(node), 1):
            return []
        if node.function in ("sum", "mean"):
            return [(int(there), 1.0 if node.function == "sum" else 1 / count) for there in places]
        if node.function == "std":
            apart = values - values.mean()
            spread = float(np.sqrt(np.mean(apart**2)))
            return (
                [
                    (int(there), float(one) / (count * spread))
                    for there, one in zip(places, apart, strict=True)
                ]
                if spread
                else []
            )
        order = np.argsort(values, kind="stable")
        place = level_of(node) * (count - 1)
        low = int(place)
        share = place - low
        weights = [(order[low], 1 - share), *([(order[low + 1], share)] if share else [])]
        return [(int(places[one]), float(weight)) for one, weight in weights]

    def _until(self, node: Pair, at: int, slope: float) -> list[tuple[Node, int, float]]:
        past = node.operator == "S"
        first, last = self.clock.range(at, node.interval, past)
        if first >= last:
            return []
        # The past is walked from `at` backwards, so that both directions read alike: offsets from `at`.
        near, far = (at - last + 1, at - first) if past else (first - at, last - 1 - at)
        if past:
            left, right = (
                self.samples(node.left, at - far + 1, at + 1)[::-1],
                self.samples(node.right, first, last)[::-1],
            )
        else:
            left, right = self.samples(node.left, at, at + far), self.samples(node.right, first, last)
        held = np.minimum.accumulate(np.concatenate([[math.inf], left]))[near:]
        reached = _extreme(np.minimum(right, held), False)
        sign = -1 if past else 1
        if right[reached] <= held[reached]:
            return [(node.right, at + sign * (near + reached), slope)]
        return [(node.left, at + sign * _extreme(left[: near + reached], True), slope)]

    def _arithmetic(self, node: Arithmetic, at: int, slope: float) -> list[tuple[Node, int, float]]:
        signs = ("+" if node.operators[0] in "+-" else "*", *node.operators)
        if signs[0] == "+":
            return [
                (one, at, slope if sign == "+" else -slope)
                for sign, one in zip(signs, node.operands, strict=True)
            ]
        values = [self.value(one, at) for one in node.operands]
        factors = [value if sign == "*" else 1 / value if value else math.inf
                   for sign, value in zip(signs, values, strict=True)]  # fmt: skip
        causes = []
        for place, (sign, one) in enumerate(zip(signs, node.operands, strict=True)):
            rest = math.prod(factors[:place] + factors[place + 1 :])
            own = 1.0 if sign == "*" else -(factors[place] ** 2)
            causes.append((one, at, _finite(slope * rest * own)))
        return causes

    def _call(self, node: Call, at: int, slope: float) -> list[tuple[Node, int, float]]:
        values = [self.value(one, at) for one in node.arguments]
        x = values[0]
        match node.function:
            case "min" | "max":
                return [(node.arguments[_extreme(values, node.function == "min")], at, slope)]
            case "abs":
                slopes = [float(np.sign(x))]
            case "sqrt":
                slopes = [0.5 / math.sqrt(x) if x else 0.0]
            case "exp":
                slopes = [math.exp(min(x, 700.0))]
            case "ln":
                slopes = [1 / x if x else 0.0]
            case _:
                power, result = values[1], self.value(node, at)
                slopes = [power * result / x if x else 0.0, result * math.log(x) if x > 0 else 0.0]
        return [(one, at, _finite(slope * by)) for one, by in zip(node.arguments, slopes, strict=True)]


def _finite(slope: float) -> float:
    """Where an expression has no derivative (a division by 0) none is given."""
    return slope if math.isfinite(slope) else 0.0


def _extreme(values: Floats | list[float], lowest: bool) -> int:
    return int(np.argmin(values) if lowest else np.argmax(values))
