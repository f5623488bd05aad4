"""Robustness of a formula over a trace: how far it is from changing its truth, at every sample.

Values follow Donzé, Maler 2010 (Robust Satisfaction of Temporal Logic over Real-Valued Signals, Section 3)
with closed windows clipped to the trace. With each value comes the interval [lower, upper] that it can still
take once the future beyond the last sample is known (Deshmukh et al. 2017, Robust Online Monitoring of STL,
Section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.spec.ast import (
    Boolean,
    Compare,
    Logic,
    Name,
    Node,
    Not,
    Pair,
    Recursive,
    Step,
    Temporal,
    Window,
    postorder,
)
from chronofy_kg.spec.clocks import Clock, PointClock, UniformClock, hold_grid
from chronofy_kg.spec.core import core
from chronofy_kg.spec.diagnostics import did_you_mean, raise_diagnostics
from chronofy_kg.spec.formula import Formula
from chronofy_kg.spec.future import future_bounds, samples_ahead
from chronofy_kg.spec.machine import Planes, run_recursion
from chronofy_kg.spec.numbers import Amount, margin, number_value
from chronofy_kg.spec.recursion import evaluation_order, operands_of, own_parts
from chronofy_kg.spec.trace import Floats, Trace, TraceError

__all__ = ["Robustness", "Run", "horizon", "prepare", "robustness"]

INFINITY = float("inf")
_VERDICTS = np.array(["false", "unknown", "true"])


@dataclass(frozen=True, slots=True, eq=False)
class Robustness:
    """Robustness at every sample, each array of shape [n] or [b, n].

    Args:
        values: over the samples there are; infinite where only empty windows decide.
        lower: the least value that the future beyond the trace can bring.
        upper: the greatest one.
        vacuous: whether an empty window decides the value.
    """

    values: Floats
    lower: Floats
    upper: Floats
    vacuous: NDArray[np.bool_]

    @property
    def verdicts(self) -> NDArray[np.str_]:
        """true where lower > 0, false where upper < 0, else unknown (so a value of exactly 0 is unknown)."""
        return _VERDICTS[1 + (self.lower > 0).astype(np.int8) - (self.upper < 0).astype(np.int8)]

    @property
    def provisional(self) -> NDArray[np.bool_]:
        """Whether samples still to come can change the value."""
        return np.asarray(self.lower < self.upper)


def horizon(formula: Formula, trace: Trace) -> int | None:
    """Return how many samples after its own decide a value; None: all that come.

    Values, and labels, of that many samples at the end of a trace are provisional. Samples that hold are
    counted on their common grid.

    Raises:
        SpecTypeError: as `robustness`.
        TraceError: samples at any instants; there `Robustness.provisional` says which values can change.

    >>> from chronofy_kg.spec import Trace, parse_formula
    >>> trace = Trace({"x": [0.0]}, step="15m")
    >>> [horizon(parse_formula(text), trace) for text in ("F[0,1h] G[0,30m] x > 0", "H x > 0", "G x > 0")]
    [6, 0, None]
    """
    root, clock, _, _ = prepare(formula, trace)
    if not isinstance(clock, UniformClock):
        raise TraceError("how many samples will come in a time is not known where they come at any instants")
    return samples_ahead(root, clock)


def robustness(formula: Formula, trace: Trace) -> Robustness:
    """Return the robustness of a formula at every sample of a trace.

    Args:
        formula: its names are signals of the trace.
        trace: n samples, or a batch of b traces.

    Raises:
        SpecTypeError: a name is no signal, or a bound is no multiple of the step; with its place.
        TraceError: an expression has no value at some sample.

    >>> from chronofy_kg.spec import Trace, parse_formula
    >>> result = robustness(parse_formula("F[0,1] x > 2"), Trace({"x": [1.0, 4.0, 0.0]}))
    >>> result.values.tolist(), result.lower.tolist(), result.upper.tolist(), result.verdicts.tolist()
    ([2.0, 2.0, -2.0], [2.0, 2.0, -2.0], [2.0, 2.0, inf], ['true', 'true', 'unknown'])
    """
    root, clock, grid, samples = prepare(formula, trace)
    run = Run(clock, grid)
    values = run.of(root)
    lower, upper = future_bounds(root, clock, grid, values, run.missing_met)
    vacuous = _vacuous(root, clock, grid, values, run.missing_met)
    if samples is not None:
        values, lower, upper = (array[..., samples] for array in (values, lower, upper))
        vacuous = vacuous[..., samples]
    return Robustness(values, lower, upper, vacuous)


def prepare(formula: Formula, trace: Trace) -> tuple[Node, Clock, Trace, NDArray[np.intp] | None]:
    """Return the core tree, the clock, the trace to evaluate on, and their indices on a grid."""
    for node in postorder(formula.root):
        if isinstance(node, Recursive) and any(
            isinstance(one, Recursive) for one in own_parts(node).values()
        ):
            message = f"within {node.name} another let that refers to itself may not refer to {node.name}"
            raise_diagnostics([formula.source.diagnostic(node.span, "name", message)])
    own = {node.name for node in postorder(formula.root) if isinstance(node, Recursive)}
    for node in postorder(formula.root):
        if isinstance(node, Name) and node.name not in trace.arrays and node.name not in own:
            meant = did_you_mean(node.name, trace.arrays)
            hint = (
                f"did you mean {meant}?" if meant else f"its signals are {', '.join(trace.arrays) or 'none'}"
            )
            message = f"the trace has no signal {node.name!r}"
            raise_diagnostics([formula.source.diagnostic(node.span, "name", message, hint=hint)])
    root, source = core(formula.root), formula.source
    if trace.sampling == "pointwise":
        return root, PointClock.of(root, trace, source), trace, None
    if trace.sampling == "hold":
        grid, samples = hold_grid(root, trace, source)
        return root, UniformClock.of(root, grid, source), grid, samples
    return root, UniformClock.of(root, trace, source), trace, None


def _vacuous(root: Node, clock: Clock, trace: Trace, values: Floats, missing_met: bool) -> NDArray[np.bool_]:
    """Where an infinite value changes once empty windows count as 0, an empty window decides it.

    Where a value of 0 changes once missing numbers decide for or against, they decide it.
    """
    vacuous = np.isinf(values)
    if vacuous.any():
        vacuous &= Run(clock, trace, empty=0.0).of(root) != values
    if missing_met:
        for missing in (1.0, -1.0):
            vacuous |= (values == 0) & (Run(clock, trace, missing=missing).of(root) != 0)
    return np.asarray(vacuous)


class Run:
    """Evaluates the nodes of one core tree, operands first.

    Args:
        clock: the windows.
        trace: the samples.
        empty: the value of empty windows; None for that of the semantics, infinity of either sign.
        keep: whether the values of all nodes stay in `values` (by node id); those of lets that refer to
            themselves are in `own` then.
        missing: the margin of a comparison of which a side has no value.
    """

    def __init__(
        self, clock: Clock, trace: Trace, empty: float | None = None, keep: bool = False, missing: float = 0.0
    ) -> None:
        self.clock, self.trace, self.empty, self.keep, self.missing = clock, trace, empty, keep, missing
        self.values: dict[int, Amount] = {}
        self.signals: dict[str, Floats] = dict(trace.arrays)
        self.own: dict[str, Recursive] = {}
        self.missing_met = False

    def of(self, root: Node) -> Floats:
        """Return the values of a formula."""
        nodes = evaluation_order(root)
        uses: dict[int, int] = {}
        for node in nodes:
            for child in operands_of(node):
                uses[id(child)] = uses.get(id(child), 0) + 1
        for node in nodes:
            operands = operands_of(node)
            self.values[id(node)] = self._value(node, [self.values[id(child)] for child in operands])
            for child in () if self.keep else operands:
                uses[id(child)] -= 1
                if not uses[id(child)]:
                    del self.values[id(child)]
        return np.array(np.broadcast_to(self.values[id(root)], self.trace.shape))

    def _fill(self, lowest: bool) -> float:
        return self.empty if self.empty is not None else INFINITY if lowest else -INFINITY

    def _value(self, node: Node, operands: list[Amount]) -> Amount:
        match node:
            case Boolean(value):
                return INFINITY if value else -INFINITY
            case Compare(operator):
                return margin(operator, operands[0], operands[1], node, self.missing)
            case Not():
                return -operands[0]
            case Logic(operator):
                return reduce(np.minimum if operator == "and" else np.maximum, operands)
            case Temporal(operator, _, interval):
                lowest = operator in "GH"
                values = self._array(operands[0])
                return self.clock.window(values, interval, operator in "HO", lowest, self._fill(lowest))
            case Pair(operator, _, _, interval):
                left, right = np.broadcast_arrays(*map(self._array, operands))
                return self.clock.until(left, right, interval, operator == "S", self._fill(False))
            case Step(operator):
                weak = operator in ("wnext", "wprev")
                return self.clock.step(self._array(operands[0]), operator in ("Y", "wprev"), self._fill(weak))
            case Window():
                return self._statistic(node, [self._array(one) for one in operands])
            case Recursive():
                return self._recursive(node, [self._array(one) for one in operands])
            case _:
                return number_value(node, operands, self.signals)

    def _statistic(self, node: Window, operands: list[Floats]) -> Floats:
        counted = ~np.isnan(operands[0])
        values, counted = np.broadcast_arrays(
            operands[0], counted & (operands[1] > 0 if len(operands) > 1 else True)
        )
        found = self.clock.statistic(node, values, counted)
        self.missing_met = self.missing_met or bool(np.isnan(found).any())
        return found

    def _recursive(self, node: Recursive, operands: list[Floats]) -> Floats:
        planes = Planes(1, empty=-1 if self.empty is None else 0, missing=self.missing)
        (found,) = run_recursion(node, [[one] for one in operands], self.clock, self.trace.length, planes)
        self.missing_met = self.missing_met or any(
            isinstance(one, Window) for one in own_parts(node).values()
        )
        if self.keep:
            # With its own past at hand the body is evaluated like any formula.
            self.signals[node.name], self.own[node.name] = found, node
            self.of(node.body)
        return found

    def _array(self, value: Amount) -> Floats:
        return np.full(self.trace.length, value) if np.ndim(value) == 0 else np.asarray(value)
