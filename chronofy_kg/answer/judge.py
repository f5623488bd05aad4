"""Judges a trace by a spec: robustness rho with its interval, the failing steps, the weakest-link bound.

The bound is C_out <= min V over all facts of the trace ("Chronofy", Theorem 1). rho is the robustness of the
spec on the step signals at the instant that the spec names (`eval`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.because import Reason, reasons
from chronofy_kg.answer.trace import SIGNALS, Cited, Evidence, TraceStep
from chronofy_kg.errors import QueryError
from chronofy_kg.facts.model import Validity
from chronofy_kg.spec import Blame, Formula, SpecFile, Trace, explain, parse_spec, robustness
from chronofy_kg.spec.ast import Logic, Not, Pair, Temporal, postorder
from chronofy_kg.spec.core import core
from chronofy_kg.spec.monitor import Run, prepare

__all__ = [
    "DEFAULT_SPEC",
    "Bound",
    "Judge",
    "Rho",
    "Ruling",
    "bound_of",
    "default_judge",
    "judge_from",
    "ruling",
]

Floats = NDArray[np.float64]
Ruling = Literal["supported", "boundary", "reacquire"]
DEFAULT_SPEC = "answer_valid"
_DEFAULT_TEXT = """param gamma in [0, 1] = 0.5
spec answer_valid: G validity >= gamma
"""
_PERFECT = {"validity": 1.0, "age_days": 0.0, "quality": 1.0}
_MOST_SAMPLES = 1_000_000  # of a batch at once: 8 MB a signal


@dataclass(frozen=True, slots=True)
class Rho:
    """Robustness of a spec on a trace, with the interval that comes from the rates, and why it is that."""

    value: float
    low: float
    high: float
    failing_steps: tuple[int, ...]
    vacuous: bool
    because: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Bound:
    """The weakest link: no answer from this trace may claim more confidence."""

    value: float
    low: float
    high: float
    weakest: str


def ruling(rho: Rho, bound: Bound | None) -> Ruling:
    """Return what a spec that is not vacuous says of a trace.

    On the boundary something must be left of the evidence: gamma = 0 makes no answer of V = 0.
    """
    if rho.value > 0:
        return "supported"
    return "boundary" if rho.value == 0 and bound is not None and bound.value > 0 else "reacquire"


@dataclass(frozen=True, slots=True)
class Judge:
    """One spec, ready to judge traces.

    Attributes:
        name: of the spec; `version` where it is a stored one.
        formula: params and lets resolved; names only signals of a trace.
        evaluate: which step's robustness counts: the first, the last, or the least of all (each).
        on_fail: what the spec itself asks for when it fails.
        names: what the formula names.
        reads: the signals that the formula reads; at least one, so that there is a trace.
    """

    name: str
    formula: Formula
    version: int | None = None
    evaluate: Literal["first", "last", "each"] = "first"
    on_fail: Literal["withhold", "flag"] = "withhold"
    names: tuple[str, ...] = field(init=False, compare=False)
    reads: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Look once at what the formula reads: an answer asks for it many times."""
        names = self.formula.names
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "reads", tuple(n for n in SIGNALS if n in names) or SIGNALS[:1])

    def value(self, step_signals: Mapping[str, Floats]) -> float:
        """Return rho for signals of at least one step, float64[n] each."""
        return float(self.values({name: one[np.newaxis] for name, one in step_signals.items()})[0])

    def values(self, step_signals: Mapping[str, Floats]) -> Floats:
        """Return rho for a batch of traces, float64[b], given signals of shape [b, n].

        The future beyond the last step is of no interest: a trace is complete.
        """
        read = self.reads
        count, length = step_signals[read[0]].shape
        rows = max(1, _MOST_SAMPLES // length)
        parts = [
            self._part({name: step_signals[name][low : low + rows] for name in read})
            for low in range(0, count, rows)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _part(self, step_signals: Mapping[str, Floats]) -> Floats:
        root, clock, trace, _ = prepare(self.formula, Trace(step_signals))
        samples = Run(clock, trace).of(root)
        rho: Floats = samples.min(axis=-1) if self.evaluate == "each" else samples[..., self._place]
        return rho

    @property
    def _place(self) -> int:
        return -1 if self.evaluate == "last" else 0

    def rho(self, steps: Sequence[TraceStep]) -> Rho:
        """Judge a trace of at least one step.

        It is vacuous where an empty window or a constant decides: then the evidence has no say.
        """
        evidence = Evidence.of(steps)
        ends = [evidence.signals(which=which) for which in ("value", "low", "high")]
        middle, *others = self.values({name: np.stack([e[name] for e in ends]) for name in SIGNALS}).tolist()
        at = self._decides(ends[0])
        trace = Trace({name: ends[0][name] for name in self.reads})
        vacuous = bool(robustness(self.formula, trace).vacuous[at])
        vacuous = vacuous or not np.isfinite(middle) or not self.names
        failing = self.failing(evidence) if middle < 0 else ()
        why = () if vacuous else self._reasons(evidence, ends[0])
        return Rho(middle, min(middle, *others), max(middle, *others), failing, vacuous, why)

    def _reasons(self, evidence: Evidence, step_signals: Mapping[str, Floats]) -> tuple[Reason, ...]:
        blames = self.blames(step_signals)
        return reasons(evidence, evidence.by_fact(), step_signals, blames)

    def because(self, steps: Sequence[TraceStep]) -> tuple[Reason, ...]:
        """Return why the robustness of a trace that is not vacuous is what it is."""
        evidence = Evidence.of(steps)
        return self._reasons(evidence, evidence.signals())

    def rho_of_each(self, steps: Sequence[TraceStep]) -> list[Rho]:
        """Judge steps that each are a trace of their own, as `rho` judges one, but for the reasons."""
        if not steps:
            return []
        traces = [Evidence.of([step]) for step in steps]
        ends = [
            {name: np.concatenate([one[name] for one in found])[:, np.newaxis] for name in SIGNALS}
            for found in ([e.signals(which=which) for e in traces] for which in ("value", "low", "high"))
        ]
        rho = self.values({name: np.concatenate([end[name] for end in ends]) for name in SIGNALS})
        middle, *others = rho.reshape(3, -1)
        batch = Trace({name: ends[0][name] for name in self.reads})
        vacuous = robustness(self.formula, batch).vacuous[:, self._place]
        vacuous |= ~np.isfinite(middle) | (not self.names)
        low, high = np.minimum(middle, np.minimum(*others)), np.maximum(middle, np.maximum(*others))
        return [
            Rho(value, least, most, self.failing(evidence) if value < 0 else (), is_vacuous)
            for value, least, most, is_vacuous, evidence in zip(
                middle.tolist(), low.tolist(), high.tolist(), vacuous.tolist(), traces, strict=True
            )
        ]

    @property
    def all_must_hold(self) -> bool:
        """Whether the formula is a conjunction over steps: then only the steps to blame can raise rho."""
        nodes = list(postorder(core(self.formula.root)))
        alternatives = [
            n for n in nodes if isinstance(n, Not | Pair) or (isinstance(n, Logic) and n.operator != "and")
        ]
        return not alternatives and all(n.operator in "GH" for n in nodes if isinstance(n, Temporal))

    def blamed(self, step_signals: Mapping[str, Floats]) -> set[int]:
        """Return the steps whose signals decide rho."""
        return {blame.index for blame in self.blames(step_signals)}

    def blames(self, step_signals: Mapping[str, Floats]) -> list[Blame]:
        """Return the signals and steps that decide rho."""
        trace = Trace({name: step_signals[name] for name in self.reads})
        at = self._decides(step_signals) % trace.length
        return explain(self.formula, trace, at)

    def failing(self, evidence: Evidence) -> tuple[int, ...]:
        """Return the steps that make the spec fail.

        They are those to blame for rho, and those with which it would fail though all others were perfect.
        """
        step_signals = evidence.signals()
        blamed, count = self.blamed(step_signals), len(evidence.uses)
        perfect = {name: np.full((1, count), best) for name, best in _PERFECT.items()}
        if self.values(perfect)[0] < 0:
            return tuple(sorted(blamed))
        rows = max(1, _MOST_SAMPLES // count)
        for low in range(0, count, rows):
            own = np.arange(low, min(low + rows, count))
            batch = {name: np.repeat(one, len(own), axis=0) for name, one in perfect.items()}
            for name, one in batch.items():
                one[np.arange(len(own)), own] = step_signals[name][own]
            blamed.update(own[self.values(batch) < 0].tolist())
        return tuple(sorted(blamed))

    def _decides(self, step_signals: Mapping[str, Floats]) -> int:
        """Return the sample that gives rho."""
        if self.evaluate != "each":
            return self._place
        trace = Trace({name: step_signals[name] for name in self.reads})
        root, clock, _, _ = prepare(self.formula, trace)
        return int(np.argmin(Run(clock, trace).of(root)))


def judge_from(
    file: SpecFile,
    name: str | None = None,
    params: Mapping[str, float | str] | None = None,
    version: int | None = None,
) -> Judge:
    """Return the judge of a spec of a file: the one named, else the only one, else `answer_valid`.

    Raises:
        QueryError: there is no such spec or param, several to choose from, or signals that a trace does not
            have.
    """
    if not file.specs:
        raise QueryError("the spec file declares no spec; add one, like: spec fresh: G validity >= 0.5")
    if name is not None and name not in file.specs:
        raise QueryError(f"no spec {name!r} in this file; it has {', '.join(file.specs)}")
    if name is None and len(file.specs) > 1 and DEFAULT_SPEC not in file.specs:
        raise QueryError(f"the file has several specs; name one of {', '.join(file.specs)}, like PACK.SPEC")
    usual = DEFAULT_SPEC if DEFAULT_SPEC in file.specs else next(iter(file.specs))
    spec = file.specs[usual if name is None else name]
    unknown = sorted(set(params or {}) - set(file.parameter_names()))
    if unknown:
        names = ", ".join(file.parameter_names()) or "none"
        raise QueryError(f"the spec has no param {unknown[0]!r}; it has {names}")
    formula = file.formula(spec.name, dict(params or {}))
    foreign = sorted(set(formula.names) - set(SIGNALS))
    if foreign:
        raise QueryError(f"spec {spec.name!r} names {foreign[0]!r}; a trace has {', '.join(SIGNALS)}")
    return Judge(spec.name, formula, version, spec.evaluate, spec.on_fail)


@lru_cache(maxsize=64)
def default_judge(gamma: float = 0.5) -> Judge:
    """Return the judge of the usual spec, G validity >= gamma."""
    return judge_from(parse_spec(_DEFAULT_TEXT, "default.spec"), DEFAULT_SPEC, {"gamma": gamma})


def bound_of(steps: Sequence[TraceStep]) -> Bound | None:
    """Return the weakest link over all facts of a trace, None where it cites none.

    A fact that does not count bounds the trace by 0, and so does a step without any evidence.
    """
    cited: list[Cited] = [c for step in steps for c in step.cited]
    if not cited:
        return None
    validity: list[Validity] = [c.validity for c in cited]
    weakest = min(range(len(cited)), key=lambda i: (validity[i].value, cited[i].id))
    if any(not step.cited and not step.uses for step in steps):
        return Bound(0.0, 0.0, 0.0, cited[weakest].id)
    return Bound(
        validity[weakest].value,
        min(v.low for v in validity),
        min(v.high for v in validity),
        cited[weakest].id,
    )
