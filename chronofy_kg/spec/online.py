"""Online monitoring: samples come one at a time, values are those of `robustness` over the whole trace.

A value is settled once nothing that comes can change it: as many samples after its own as the formula looks
ahead. Each sample costs O(1), amortised (median and quantile of k numbers move up to k of them); what is
remembered is as long as the formula looks back and ahead, however long the trace.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from chronofy_kg.spec.ast import Name, Node, Pair, Temporal, Window, postorder
from chronofy_kg.spec.clocks import UniformClock
from chronofy_kg.spec.diagnostics import raise_diagnostics
from chronofy_kg.spec.formula import Formula
from chronofy_kg.spec.machine import Planes, State, compile_tree
from chronofy_kg.spec.monitor import Robustness, prepare
from chronofy_kg.spec.trace import Floats, Trace, TraceError

__all__ = ["Monitor"]

INFINITY = float("inf")


class Monitor:
    """Robustness of a formula over samples at equal distances that are fed as they come.

    Args:
        formula: its future operators have intervals with an end.
        step: the distance of samples, as of a `Trace`.
        unit: the unit of a number step and of bounds without a unit, as of a `Trace`.

    Raises:
        SpecTypeError: a bound is no multiple of the step, a future operator without an end, or a median or
            quantile of all the past; with its place.

    >>> from chronofy_kg.spec import parse_formula
    >>> monitor = Monitor(parse_formula("F[0,1] x > 2"))
    >>> [monitor.feed({"x": x}).values.tolist() for x in (1.0, 4.0, 0.0)]
    [[], [2.0], [2.0]]
    >>> rest = monitor.pending()
    >>> rest.values.tolist(), rest.lower.tolist(), rest.upper.tolist(), rest.verdicts.tolist()
    ([-2.0], [-2.0], [inf], ['unknown'])
    """

    def __init__(self, formula: Formula, step: float | str | None = None, unit: str | None = None) -> None:
        self.names = formula.names
        first = Trace({name: [0.0] for name in self.names} or {"": [0.0]}, step=step, unit=unit)
        root, clock, _, _ = prepare(formula, first)
        assert isinstance(clock, UniformClock)
        _refuse_endless(root, formula, clock)
        by_name = {name: slot for slot, name in enumerate(self.names)}
        leaves = [node for node in postorder(root) if isinstance(node, Name) and node.name in by_name]
        program = compile_tree(root, {id(node): by_name[node.name] for node in leaves}, clock.offset)
        statistics = any(isinstance(node, Window) for node in postorder(root))
        planes = Planes(6 if statistics else 4, lower=1, upper=2, empty=3)
        if statistics:
            planes = Planes(6, lower=1, upper=2, empty=3, better=4, worse=5)
        self._state = State(program, planes)
        self._one = np.zeros((planes.count, max(len(self.names), 1), 1))
        self._horizon = program.delay

    @property
    def horizon(self) -> int:
        """How many samples after its own a value is settled."""
        return self._horizon

    @property
    def fed(self) -> int:
        """How many samples have been fed."""
        return self._state.ticks

    @property
    def settled(self) -> int:
        """How many values are settled: those of the samples 0 .. settled - 1 have been returned."""
        return max(0, self.fed - self.horizon)

    def feed(self, samples: Mapping[str, ArrayLike]) -> Robustness:
        """Take the next sample of each signal, or several, and return the values that are settled by them.

        Args:
            samples: a number for each signal of the formula, or arrays of one length; others are ignored.

        Returns:
            The values that follow those returned before; often one, at first none.

        Raises:
            TraceError: a signal is missing, NaN, or of another length; nothing is taken then.
        """
        inputs = self._one if self._take_one(samples) else self._inputs(samples)
        early = self._horizon - self._state.ticks
        out = self._state.feed(inputs)
        if early > 0:
            out = out[:, early:]
        return _results(out, self._state.planes)

    def pending(self) -> Robustness:
        """Return the values that are not settled, as they are if the trace ends here.

        `lower`, `upper` and the verdicts say what samples still to come can make of them. Nothing changes:
        more can be fed.
        """
        planes, ahead, count = self._state.planes, self.horizon, self.fed
        blank = np.zeros((planes.count, max(len(self.names), 1), ahead))
        out = self._state.copy().feed(blank, end=count)
        blank[planes.lower], blank[planes.upper] = -INFINITY, INFINITY
        unknown = self._state.copy().feed(blank)
        for plane in (planes.lower, planes.upper):
            out[plane] = unknown[plane]
        return _results(out[:, max(0, ahead - count) :], planes)

    def _take_one(self, samples: Mapping[str, ArrayLike]) -> bool:
        """Put plain numbers into the input of one sample; False: they are none, or something is wrong."""
        for slot, name in enumerate(self.names):
            value: object = samples.get(name)
            if not isinstance(value, float) or math.isnan(value):
                return False
            self._one[:, slot] = value
        return bool(self.names)

    def _inputs(self, samples: Mapping[str, ArrayLike]) -> Floats:
        inputs: Floats | None = None
        for slot, name in enumerate(self.names):
            try:
                values = np.atleast_1d(np.asarray(samples[name], dtype=np.float64))
            except KeyError:
                raise TraceError(f"sample {self.fed} has no signal {name!r}") from None
            except (TypeError, ValueError) as error:
                raise TraceError(f"signal {name!r} is no number at sample {self.fed}: {error}") from error
            if inputs is None:
                inputs = np.empty((self._state.planes.count, len(self.names), values.shape[-1]))
            if values.shape != inputs.shape[2:]:
                raise TraceError(f"signal {name!r} has {values.shape} samples, others {inputs.shape[2:]}")
            missing = np.isnan(values)
            if missing.any():
                raise TraceError(f"signal {name!r} is NaN at sample {self.fed + int(np.argmax(missing))}")
            inputs[:, slot] = values
        if inputs is None:
            lengths = [np.atleast_1d(np.asarray(one)).shape[-1] for one in samples.values()]
            inputs = np.zeros((self._state.planes.count, 1, lengths[0] if lengths else 1))
        return inputs


def _results(out: Floats, planes: Planes) -> Robustness:
    values, lower, upper, empty = out[:4]
    vacuous = values != empty
    if vacuous.any():
        vacuous &= np.isinf(values)
    if planes.better >= 0:
        vacuous |= (values == 0) & ((out[planes.better] != 0) | (out[planes.worse] != 0))
    return Robustness(values, lower, upper, vacuous)


def _refuse_endless(root: Node, formula: Formula, clock: UniformClock) -> None:
    """Refuse what would have to remember all samples."""
    found = []
    for node in postorder(root):
        endless = isinstance(node, Temporal | Pair | Window) and clock.offset(node.interval)[1] is None
        if endless and isinstance(node, Temporal | Pair) and node.operator in ("G", "F", "U"):
            message = "without an end this is never settled while samples come"
            found.append(
                formula.source.diagnostic(
                    node.span, "interval", message, hint="give it an interval with an end"
                )
            )
        elif endless and isinstance(node, Window) and node.function not in _FORGETFUL:
            message = f"{node.function} of all the past would have to remember all samples"
            found.append(
                formula.source.diagnostic(node.span, "interval", message, hint="give its interval an end")
            )
    if found:
        raise_diagnostics(found)


_FORGETFUL = frozenset({"sum", "count", "mean", "std"})
