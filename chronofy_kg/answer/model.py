"""The answer as data, and the words in which it states facts. Its JSON form is `shape`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from chronofy_kg.answer.judge import Bound, Rho
from chronofy_kg.answer.reacquire import Target
from chronofy_kg.facts.model import Fact, Validity
from chronofy_kg.facts.table import show_value
from chronofy_kg.facts.time import format_instant

__all__ = ["EXCLUSIONS", "Answer", "AnswerStep", "NamedFact", "Pattern", "Verdict", "name_fact", "state_fact"]

Verdict = Literal["supported", "boundary", "reacquire", "insufficient_evidence"]
#: Why a match was left out; each match counts once, for the first that applies.
EXCLUSIONS = ("retracted", "not_yet_observed", "not_yet_valid", "superseded", "expired", "below_tau")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A statement with any part left open."""

    subject: str | None = None
    predicate: str | None = None
    object: str | None = None


@dataclass(frozen=True, slots=True)
class NamedFact:
    """A withheld fact: what it is about, not what it says."""

    id: str
    subject: str
    predicate: str


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """One step as an answer shows it."""

    text: str
    facts: tuple[str, ...]
    validity: Validity
    status: str
    uses: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is known at (at, known_at), how far it can be trusted, and what would make it better.

    `text` is None where the answer is withheld, and its facts are named only; bound, rho and confidence are
    None where there is no evidence. `named` says of every cited fact, by id, what it is about.
    """

    id: str
    at: int
    known_at: int
    verdict: Verdict
    withheld: bool
    partial: bool
    text: str | None
    confidence: float | None
    valid_until: int | None
    steps: tuple[AnswerStep, ...]
    facts: tuple[Fact | NamedFact, ...]
    context: tuple[str, ...]
    bound: Bound | None
    rho: Rho | None
    spec: str
    spec_version: int | None
    reacquire: tuple[Target, ...]
    excluded: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(EXCLUSIONS, 0))
    named: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def name_fact(fact: Fact) -> str:
    """Return which statement a fact is about, without what it says."""
    return f"{fact.subject} {fact.predicate}"


def state_fact(fact: Fact) -> str:
    """Return a fact as a sentence with its date and whatever a reader must know before using it."""
    said = fact.object if fact.object is not None else show_value(fact.value)
    unit = f" {fact.unit}" if fact.unit else ""
    parts = [f"seen {_day(fact.observed_at)}"]
    if not fact.type_declared and fact.beta_from == "prior":
        parts.append(f"type {fact.type} is undeclared: prior rate")
    if fact.contradicts:
        others = "; ".join(f"{c.said} by {', '.join(c.sources) or 'no source'}" for c in fact.contradicts)
        parts.append(f"contradicted by: {others}")
    link = " " if fact.object is not None else ": "
    return f"{fact.subject} {fact.predicate}{link}{said}{unit} ({', '.join(parts)})"


def _day(us: int) -> str:
    return (format_instant(us) or "")[:10]
