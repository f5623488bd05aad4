"""The reasoning trace: steps, the facts they cite, and the signals that a spec sees.

v(s) is the least V over the facts of step s and over the steps that it uses; a step without evidence has
v = 0, and so has one with a cited fact that does not count. A trace is complete: its only uncertainty is that
of the rates. Pure numbers; where the facts come from is `view`, `compose` and `verify`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.view import View
from chronofy_kg.decay.validity import log_validity
from chronofy_kg.facts.model import Fact, Validity

__all__ = [
    "COUNTING",
    "SIGNALS",
    "Cited",
    "CitedStatus",
    "TraceStep",
    "cite",
    "not_counting",
    "signals",
    "step_validity",
]

CitedStatus = Literal[
    "in_force",
    "restated",
    "unknown",
    "retracted",
    "not_yet_observed",
    "not_yet_valid",
    "superseded",
    "expired",
]
#: Statuses of a cited fact whose validity counts; any other makes the v of its step 0.
COUNTING: tuple[CitedStatus, ...] = ("in_force", "restated")
#: What a spec over a trace may name, one sample a step.
SIGNALS = ("validity", "age_days", "quality")
Floats = NDArray[np.float64]
Bound = Literal["value", "low", "high"]


@dataclass(frozen=True, slots=True)
class Cited:
    """A fact as a step cites it.

    Attributes:
        id: the id that was cited.
        status: whether it counts, and if not why.
        fact: the fact that holds, None where none does.
        quality, age_days: of the assertion that gives V its maximum.
        beta, beta_low, beta_high: per day, with the interval.
    """

    id: str
    status: CitedStatus
    fact: Fact | None = None
    quality: float = 0.0
    age_days: float = 0.0
    beta: float = 0.0
    beta_low: float = 0.0
    beta_high: float = 0.0

    @property
    def counts(self) -> bool:
        """Whether its validity counts."""
        return self.status in COUNTING

    @property
    def validity(self) -> Validity:
        """V with its interval; 0 where the fact does not count."""
        return Validity(*(self.v(0.0, which) for which in ("value", "low", "high")))

    def v(self, later_days: float = 0.0, which: Bound = "value") -> float:
        """Return V some days after `at`, by the rate itself or an end of its interval."""
        if not self.counts:
            return 0.0
        beta = {"value": self.beta, "low": self.beta_high, "high": self.beta_low}[which]
        age = max(self.age_days + later_days, 0.0)
        return float(np.exp(log_validity(self.quality, min(beta, 1e300), age)))


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step: its text, the facts it cites and the earlier steps it uses (0-based)."""

    text: str
    cited: tuple[Cited, ...]
    uses: tuple[int, ...] = ()


def cite(view: View, index: int, cited_id: str | None = None) -> Cited:
    """Return a fact of a view as cited, under its own id or under an older one of the same value."""
    fact, rates = view.fact(index), view.rates
    return Cited(
        id=cited_id or fact.id,
        status="in_force" if cited_id in (None, fact.id) else "restated",
        fact=fact,
        quality=fact.quality,
        age_days=fact.age_days,
        beta=fact.beta_per_day,
        beta_low=float(rates.low[index]),
        beta_high=float(rates.high[index]),
    )


def not_counting(cited_id: str, status: CitedStatus, fact: Fact | None = None) -> Cited:
    """Return a cited fact that does not count."""
    return Cited(id=cited_id, status=status, fact=fact)


def step_validity(steps: Sequence[TraceStep], values: Sequence[Mapping[str, float]]) -> Floats:
    """Return v(s) of each step, float64[n], given the V of each step's facts by id."""
    v = np.zeros(len(steps))
    for number, (step, of) in enumerate(zip(steps, values, strict=True)):
        parts = [of[cited.id] for cited in step.cited] + [float(v[used]) for used in step.uses]
        v[number] = min(parts, default=0.0)
    return v


def signals(
    steps: Sequence[TraceStep],
    *,
    later_days: float = 0.0,
    which: Bound = "value",
    raised: Mapping[str, float] | None = None,
) -> dict[str, Floats]:
    """Return the signals of a trace, float64[n] each, by name (see SIGNALS).

    Args:
        steps: the trace.
        later_days: days after `at`.
        which: by the rates themselves ("value"), or by the ends that make V low or high.
        raised: V of facts that are imagined as re-acquired, by id.
    """
    lifted = raised or {}
    values = [{c.id: lifted.get(c.id, c.v(later_days, which)) for c in step.cited} for step in steps]
    age = [_extreme(step, "age_days", later_days, lifted) for step in steps]
    quality = [min((c.quality for c in step.cited if c.counts), default=0.0) for step in steps]
    return {
        "validity": step_validity(steps, values),
        "age_days": np.asarray(age, dtype=np.float64),
        "quality": np.asarray(quality, dtype=np.float64),
    }


def _extreme(step: TraceStep, name: str, later_days: float, lifted: Mapping[str, float]) -> float:
    """Return the greatest age over the facts of a step; a re-acquired one has age 0."""
    ages = [0.0 if c.id in lifted else getattr(c, name) + later_days for c in step.cited if c.counts]
    return max(ages, default=0.0)
