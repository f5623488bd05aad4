"""Judges a trace by a spec: robustness rho with its interval, the failing steps, the weakest-link bound.

The bound is C_out <= min V over all facts of the trace ("Chronofy", Theorem 1). rho is the robustness of the
spec on the step signals at the instant that the spec names (`eval`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.trace import SIGNALS, Cited, TraceStep, signals
from chronofy_kg.errors import QueryError
from chronofy_kg.facts.model import Validity
from chronofy_kg.spec import Formula, SpecFile, Trace, explain, parse_spec, robustness

__all__ = ["DEFAULT_SPEC", "Bound", "Judge", "Rho", "bound_of", "default_judge", "judge_from"]

Floats = NDArray[np.float64]
DEFAULT_SPEC = "answer_valid"
_DEFAULT_TEXT = """param gamma in [0, 1] = 0.5
spec answer_valid: G validity >= gamma
"""


@dataclass(frozen=True, slots=True)
class Rho:
    """Robustness of a spec on a trace, with the interval that comes from the rates."""

    value: float
    low: float
    high: float
    failing_steps: tuple[int, ...]
    vacuous: bool


@dataclass(frozen=True, slots=True)
class Bound:
    """The weakest link: no answer from this trace may claim more confidence."""

    value: float
    low: float
    high: float
    weakest: str


@dataclass(frozen=True, slots=True)
class Judge:
    """One spec, ready to judge traces.

    Attributes:
        name: of the spec; `version` where it is a stored one.
        formula: params and lets resolved; names only signals of a trace.
        evaluate: which step's robustness counts: the first, the last, or the least of all (each).
        on_fail: what the spec itself asks for when it fails.
    """

    name: str
    formula: Formula
    version: int | None = None
    evaluate: Literal["first", "last", "each"] = "first"
    on_fail: Literal["withhold", "flag"] = "withhold"

    def value(self, step_signals: Mapping[str, Floats]) -> tuple[float, bool]:
        """Return rho and whether it is vacuous, for signals of at least one step."""
        result = robustness(self.formula, Trace({name: step_signals[name] for name in SIGNALS}))
        values, vacuous = np.atleast_1d(result.values), np.atleast_1d(result.vacuous)
        index = {"first": 0, "last": -1, "each": int(np.argmin(values))}[self.evaluate]
        return float(values[index]), bool(vacuous[index])

    def rho(self, steps: Sequence[TraceStep]) -> Rho:
        """Judge a trace of at least one step."""
        middle, vacuous = self.value(signals(steps))
        low, _ = self.value(signals(steps, which="low"))
        high, _ = self.value(signals(steps, which="high"))
        failing = self.failing(steps) if middle < 0 else ()
        return Rho(middle, min(low, middle), max(high, middle), failing, vacuous)

    def failing(self, steps: Sequence[TraceStep]) -> tuple[int, ...]:
        """Return the steps that make the spec fail: those to blame for rho, and those that fail alone."""
        step_signals = signals(steps)
        trace = Trace({name: step_signals[name] for name in SIGNALS})
        at = {"first": 0, "last": len(steps) - 1, "each": self._worst(step_signals)}[self.evaluate]
        blamed = {blame.index for blame in explain(self.formula, trace, at)}
        for number in range(len(steps)):
            alone = {name: values[number : number + 1] for name, values in step_signals.items()}
            if self.value(alone)[0] < 0:
                blamed.add(number)
        return tuple(sorted(blamed))

    def _worst(self, step_signals: Mapping[str, Floats]) -> int:
        return int(
            np.argmin(robustness(self.formula, Trace({name: step_signals[name] for name in SIGNALS})).values)
        )


def judge_from(
    file: SpecFile,
    name: str | None = None,
    params: Mapping[str, float] | None = None,
    version: int | None = None,
) -> Judge:
    """Return the judge of a spec of a file: the one named, or the only or last one.

    Raises:
        QueryError: there is no such spec or param, or it names signals that a trace does not have.
    """
    if not file.specs:
        raise QueryError("the spec file declares no spec; add one, like: spec fresh: G validity >= 0.5")
    if name is not None and name not in file.specs:
        raise QueryError(f"no spec {name!r} in this file; it has {', '.join(file.specs)}")
    spec = file.specs[name] if name is not None else list(file.specs.values())[-1]
    unknown = sorted(set(params or {}) - set(file.params))
    if unknown:
        names = ", ".join(file.params) or "none"
        raise QueryError(f"the spec has no param {unknown[0]!r}; it has {names}")
    formula = file.formula(spec.name, dict(params or {}))
    foreign = sorted(set(formula.names) - set(SIGNALS))
    if foreign:
        raise QueryError(f"spec {spec.name!r} names {foreign[0]!r}; a trace has {', '.join(SIGNALS)}")
    return Judge(spec.name, formula, version, spec.evaluate, spec.on_fail)


def default_judge(gamma: float = 0.5) -> Judge:
    """Return the judge of the usual spec, G validity >= gamma."""
    return judge_from(parse_spec(_DEFAULT_TEXT, "default.spec"), DEFAULT_SPEC, {"gamma": gamma})


def bound_of(steps: Sequence[TraceStep]) -> Bound | None:
    """Return the weakest link over all facts of a trace, None where it cites none.

    A fact that does not count bounds the trace by 0.
    """
    cited: list[Cited] = [c for step in steps for c in step.cited]
    if not cited:
        return None
    validity: list[Validity] = [c.validity for c in cited]
    weakest = min(range(len(cited)), key=lambda i: (validity[i].value, cited[i].id))
    return Bound(
        validity[weakest].value,
        min(v.low for v in validity),
        min(v.high for v in validity),
        cited[weakest].id,
    )
