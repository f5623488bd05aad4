"""Verifies a trace that somebody else's reasoning produced. It never fails open.

A step with any cited fact that is unknown, superseded, expired, retracted, not yet valid or not yet observed
has v = 0; so has a step without facts that uses no earlier step. An id whose key and value are in force under
another id counts as that one, `restated`. No steps, or a vacuous spec: insufficient_evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chronofy_kg.answer.judge import Judge, bound_of, ruling
from chronofy_kg.answer.model import Answer, AnswerStep, name_fact
from chronofy_kg.answer.reacquire import Target, targets, valid_until
from chronofy_kg.answer.trace import Cited, Evidence, TraceStep
from chronofy_kg.errors import QueryError
from chronofy_kg.facts.model import Validity

__all__ = ["GivenStep", "verify"]

_MAX_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class GivenStep:
    """A step as it was sent: its text, the ids of the facts it cites, the earlier steps it uses (0-based)."""

    text: str
    facts: tuple[str, ...] = ()
    uses: tuple[int, ...] = ()


def verify(
    given: Sequence[GivenStep],
    resolve: Callable[[Sequence[str]], dict[str, Cited]],
    judge: Judge,
    *,
    answer_id: str,
    at: int,
    known_at: int,
    lag: int,
) -> Answer:
    """Return the verdict on a foreign trace, in the shape of an answer.

    Args:
        given: the steps.
        resolve: returns each fact id as cited at (at, known_at).
        judge: the spec.
        answer_id, at, known_at: identity and instants of the verdict.
        lag: lag window of the re-acquisition, in steps.

    Raises:
        QueryError: a step uses itself, a later step, or one that does not exist.
    """
    _check(given)
    base = Answer(
        id=answer_id, at=at, known_at=known_at, verdict="insufficient_evidence", withheld=True, partial=False,
        text=None, confidence=None, valid_until=None, steps=(), facts=(), context=(), bound=None, rho=None,
        spec=judge.name, spec_version=judge.version, reacquire=(),
    )  # fmt: skip
    if not given:
        return base
    cited = resolve(sorted({fact for step in given for fact in step.facts}))
    steps = [TraceStep(s.text, tuple(cited[f] for f in dict.fromkeys(s.facts)), s.uses) for s in given]
    rho = judge.rho(steps)
    shown = _shown(steps, rho.failing_steps)
    if rho.vacuous or not cited:
        return replace(base, steps=shown)
    bound = bound_of(steps)
    verdict = ruling(rho, bound)
    fails = verdict == "reacquire"
    withheld = fails and judge.on_fail == "withhold"
    held = {c.fact.id: c.fact for s in steps for c in s.cited if c.fact and c.counts}
    return replace(
        base,
        verdict=verdict,
        withheld=withheld,
        text=None if withheld else "\n".join(step.text for step in steps if step.text),
        confidence=None if bound is None else bound.value,
        valid_until=valid_until(steps, judge, at) if verdict == "supported" else None,
        steps=shown,
        facts=() if withheld else tuple(held.values()),
        bound=bound,
        rho=rho,
        reacquire=_mendable(steps, judge, lag) if fails else (),
        excluded=_excluded(cited),
        named={c.id: name_fact(c.fact) for c in cited.values() if c.fact},
    )


def _mendable(steps: Sequence[TraceStep], judge: Judge, lag: int) -> tuple[Target, ...]:
    """Return what to acquire again; where a step that nothing mends blocks all, what mends the others."""
    whole = targets(steps, judge, lag)
    if whole:
        return whole
    alone = [(i, [TraceStep(s.text, s.cited)]) for i, s in enumerate(steps) if s.cited]
    found = [
        replace(t, step=i) for i, step in alone if judge.rho(step).value < 0 for t in targets(step, judge, 1)
    ]
    return tuple({t.fact: t for t in reversed(found)}.values())[::-1]


def _check(given: Sequence[GivenStep]) -> None:
    if len(given) > _MAX_STEPS:
        raise QueryError(f"a trace of {len(given)} steps; at most {_MAX_STEPS:,} are verified at once")
    for number, step in enumerate(given):
        for used in step.uses:
            if not 0 <= used < number:
                raise QueryError(f"step {number} uses step {used}; a step may use earlier steps only, from 0")


def _shown(steps: Sequence[TraceStep], failing: Sequence[int]) -> tuple[AnswerStep, ...]:
    evidence = Evidence.of(steps)
    ends = [evidence.signals(which=which)["validity"] for which in ("value", "low", "high")]
    return tuple(
        AnswerStep(
            step.text,
            tuple(c.id for c in step.cited),
            Validity(float(ends[0][i]), float(ends[1][i]), float(ends[2][i])),
            _status(step, fails=i in failing),
            step.uses,
        )
        for i, step in enumerate(steps)
    )


def _status(step: TraceStep, *, fails: bool) -> str:
    """Return the status of a step: the first fact that does not count, else whether it fails or restates."""
    for cited in step.cited:
        if not cited.counts:
            return cited.status
    if fails and (step.cited or step.uses):
        return "fails"
    if any(cited.status == "restated" for cited in step.cited):
        return "restated"
    return "in_force" if step.cited else "derived" if step.uses else "no_evidence"


def _excluded(cited: dict[str, Cited]) -> dict[str, int]:
    names = ("retracted", "not_yet_observed", "not_yet_valid", "superseded", "expired", "below_tau")
    return {name: sum(c.status == name for c in cited.values()) for name in names}
