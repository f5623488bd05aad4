"""Why rho is what it is: the steps that decide it and, behind each, the fact that gives the step its signal.

From the samples to blame (`spec.explain`) to facts: a step's validity is that of its weakest fact, its age
that of the oldest, its quality that of the least. Names say which statement a fact is about, never what it
says, so they may be told of a withheld answer too. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chronofy_kg.answer.trace import Cited, Evidence
from chronofy_kg.spec import Blame

__all__ = ["Reason", "reasons", "sentence"]

Floats = NDArray[np.float64]
_MOST_SAID = 3


@dataclass(frozen=True, slots=True)
class Reason:
    """A step that decides rho, and the fact that it leans on.

    Attributes:
        step: its number, from 0.
        signal: the signal of it that decides: validity, age_days or quality.
        derivative: how rho changes with that signal.
        fact: the id of the fact behind it; None where the step has no evidence.
        about: subject and predicate of the fact, where they are known.
        status: of the fact: in_force or restated where it counts.
        age_days: since it was observed, where it counts.
        half_life_days: None where it does not decay, or does not count.
    """

    step: int
    signal: str
    derivative: float
    fact: str | None = None
    about: str | None = None
    status: str = "no_evidence"
    age_days: float | None = None
    half_life_days: float | None = None


def reasons(
    evidence: Evidence, own: Mapping[str, Floats], by_step: Mapping[str, Floats], blames: Iterable[Blame]
) -> tuple[Reason, ...]:
    """Return the reasons for a robustness, the heaviest first.

    Args:
        evidence: of the trace.
        own: the signals of its facts.
        by_step: the signals of its steps.
        blames: the samples that decide; a sample is a step.
    """
    found = []
    for blame in blames:
        behind = evidence.behind([blame.index])
        deciding = behind[own[blame.signal][behind] == by_step[blame.signal][blame.index]]
        if not len(deciding):
            found.append(Reason(blame.index, blame.signal, blame.derivative))
            continue
        found.append(_reason(blame, evidence.cited[int(deciding[0])]))
    return tuple(sorted(found, key=lambda one: (-abs(one.derivative), one.step, one.signal)))


def _reason(blame: Blame, cited: Cited) -> Reason:
    return Reason(
        step=blame.index,
        signal=blame.signal,
        derivative=blame.derivative,
        fact=cited.id,
        about=f"{cited.fact.subject} {cited.fact.predicate}" if cited.fact else None,
        status=cited.status,
        age_days=max(cited.age_days, 0.0) if cited.counts else None,
        half_life_days=math.log(2) / cited.beta if cited.counts and cited.beta > 0 else None,
    )


def sentence(value: float, why: Sequence[Reason]) -> str:
    """Return why rho has a value, in one sentence.

    >>> old = Reason(2, "validity", 1.0, "f:9", "patient:17 egfr", "in_force", 41.2, 12.0)
    >>> sentence(-0.07, [old])
    'rho = -0.07 because step 2 leans on patient:17 egfr (observed 41 days ago, half-life 12 d)'
    >>> sentence(-0.5, [Reason(0, "validity", 1.0)])
    'rho = -0.5 because step 0 has no evidence'
    """
    if not why:
        return f"rho = {value:.3g} because no step decides it"
    parts = list(dict.fromkeys(_said(one) for one in why))
    more = f" and {len(parts) - _MOST_SAID} more" if len(parts) > _MOST_SAID else ""
    return f"rho = {value:.3g} because {' and '.join(parts[:_MOST_SAID])}{more}"


def _said(one: Reason) -> str:
    if one.fact is None:
        return f"step {one.step} has no evidence"
    start = f"step {one.step} leans on {one.about or one.fact}"
    if one.age_days is None:
        return f"{start} ({one.status.replace('_', ' ')})"
    fading = f"half-life {_number(one.half_life_days)} d" if one.half_life_days else "does not decay"
    quality = ", by its quality" if one.signal == "quality" else ""
    return f"{start} (observed {_number(one.age_days)} days ago, {fading}{quality})"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
