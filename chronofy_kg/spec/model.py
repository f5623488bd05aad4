"""What a spec file holds: declarations by kind, as frozen values.

They are read from text in `declare` and gathered in `specfile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from chronofy_kg.spec.ast import Number
from chronofy_kg.spec.diagnostics import Span
from chronofy_kg.spec.formula import Formula

__all__ = [
    "Cardinality",
    "DecayDecl",
    "Evaluate",
    "FactTypeDecl",
    "Kind",
    "LabelDecl",
    "LetDecl",
    "OnFail",
    "ParamDecl",
    "SignalDecl",
    "SpecDecl",
]

Kind: TypeAlias = Literal["numeric", "categorical", "event", "static"]
Cardinality: TypeAlias = Literal["one", "many"]
OnFail: TypeAlias = Literal["withhold", "flag"]
Evaluate: TypeAlias = Literal["first", "last", "each"]


def _span() -> Span:
    return Span(0, 0)


@dataclass(frozen=True, slots=True)
class ParamDecl:
    """A parameter with its default and, where declared, the closed range of its values."""

    name: str
    default: Number
    low: Number | None = None
    high: Number | None = None
    span: Span = field(default_factory=_span, compare=False, repr=False)

    @property
    def value(self) -> float:
        """The default as it was written, in `unit`."""
        return self.default.value

    @property
    def unit(self) -> str | None:
        """The unit of time of the default, or None."""
        return self.default.unit


@dataclass(frozen=True, slots=True)
class SignalDecl:
    """A signal, with its step where one is declared."""

    name: str
    step: Number | None = None
    span: Span = field(default_factory=_span, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DecayDecl:
    """A family of decay other than the exponential one: `weibull`, `linear` or `power`.

    `arguments` are those of the class of `chronofy_kg.decay` (Weibull, Linear, PowerLaw), times in days.
    """

    family: str
    arguments: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class FactTypeDecl:
    """A declared fact type.

    Args:
        name: as it is in the data.
        kind: numeric, categorical, event or static; None where it is not declared.
        cardinality: one (functional) or many; None where it is not declared.
        beta_per_day: the declared rate, ln(2) / half-life where a half-life was given; None where it is not
            declared.
        decay: another family of decay than the exponential one, or None.
        fitted: whether the rate is to be learned.
        tolerance: the spread up to which a value still serves, in the values' unit, or None.
        quality: the quality in (0, 1] of statements that do not state theirs, or None.
    """

    name: str
    kind: Kind | None = None
    cardinality: Cardinality | None = None
    beta_per_day: float | None = None
    decay: DecayDecl | None = None
    fitted: bool = False
    tolerance: float | None = None
    quality: float | None = None
    span: Span = field(default_factory=_span, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LetDecl:
    """A named part of formulas: a formula or a number; `recursive` if it refers to itself in the past."""

    name: str
    formula: Formula
    is_number: bool = False
    recursive: bool = False
    span: Span = field(default_factory=_span, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SpecDecl:
    """A named requirement; `evaluate` says at which steps of the trace it has to hold."""

    name: str
    formula: Formula
    severity: str | None = None
    on_fail: OnFail = "withhold"
    evaluate: Evaluate = "first"
    span: Span = field(default_factory=_span, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LabelDecl:
    """A name for what a trace shows; of those that hold, the first by priority (then by place) is given."""

    name: str
    formula: Formula
    priority: int | None = None
    span: Span = field(default_factory=_span, compare=False, repr=False)
