"""The JSON form of facts and answers: one shape for HTTP, the command line and stored answers.

Instants are RFC 3339 text in UTC, an open end is null, and no number is infinite. A withheld answer tells
which statements it is about, never what they say.
"""

from __future__ import annotations

import math
from typing import Any

from chronofy_kg.answer.because import Reason, sentence
from chronofy_kg.answer.model import Answer, AnswerStep, NamedFact
from chronofy_kg.answer.reacquire import Target
from chronofy_kg.facts.model import Fact, Validity
from chronofy_kg.facts.time import format_instant

__all__ = ["answer_as_json", "fact_as_json", "finite"]


def finite(number: float | None) -> float | None:
    """Return a number, or None for what JSON cannot say."""
    return None if number is None or not math.isfinite(number) else float(number)


def fact_as_json(fact: Fact) -> dict[str, Any]:
    """Return a fact coming out."""
    shown: dict[str, Any] = {"id": fact.id, "subject": fact.subject, "predicate": fact.predicate}
    if fact.object is not None:
        shown["object"] = fact.object
    else:
        shown["value"] = fact.value
    for name in ("unit", "datatype", "lang"):
        if getattr(fact, name) is not None:
            shown[name] = getattr(fact, name)
    return shown | {
        "type": fact.type,
        "content": fact.content,
        "meta": dict(fact.meta),
        "valid_from": format_instant(fact.valid_from),
        "valid_to": format_instant(fact.valid_to),
        "observed_at": format_instant(fact.observed_at),
        "recorded_at": format_instant(fact.recorded_at),
        "quality": finite(fact.quality),
        "superseded_by": fact.superseded_by,
        "contradicts": [other.id for other in fact.contradicts],
        "contradictions": [
            {"id": other.id, "said": other.said, "sources": list(other.sources)} for other in fact.contradicts
        ],
        "sources": [
            {"id": s.id, "observed_at": format_instant(s.observed_at), "quality": finite(s.quality)}
            for s in fact.sources
        ],
        "age_days": finite(fact.age_days),
        "beta_per_day": finite(fact.beta_per_day),
        "beta_from": fact.beta_from,
        "decay": fact.decay,
        "type_version": fact.type_version,
        "validity": _interval(fact.validity),
    }


def answer_as_json(answer: Answer) -> dict[str, Any]:
    """Return an answer in the shape that queries and verifications share."""
    rho, bound = answer.rho, answer.bound
    spec = {"name": answer.spec, "version": answer.spec_version}
    return {
        "id": answer.id,
        "at": format_instant(answer.at),
        "known_at": format_instant(answer.known_at),
        "verdict": answer.verdict,
        "withheld": answer.withheld,
        "partial": answer.partial,
        "answer": answer.text,
        "confidence": finite(answer.confidence),
        "valid_until": None if answer.valid_until is None else format_instant(answer.valid_until),
        "steps": [_step(step, answer) for step in answer.steps],
        "facts": [_fact(fact, answer.withheld) for fact in answer.facts],
        "context": list(answer.context),
        "bound": bound
        and {"value": bound.value, "low": bound.low, "high": bound.high, "weakest": bound.weakest},
        "robustness": rho
        and {
            "value": finite(rho.value),
            "low": finite(rho.low),
            "high": finite(rho.high),
            "spec": spec,
            "failing_steps": list(rho.failing_steps),
            "because": sentence(rho.value, rho.because),
            "blame": [_reason(one) for one in rho.because],
        },
        "reacquire": [_target(target, answer) for target in answer.reacquire],
        "excluded": dict(answer.excluded),
        "notes": list(answer.notes),
        "provenance": f"/v1/answers/{answer.id}/provenance",
    }


def _reason(one: Reason) -> dict[str, Any]:
    return {
        "step": one.step,
        "signal": one.signal,
        "derivative": finite(one.derivative),
        "fact": one.fact,
        "about": one.about,
        "status": one.status,
        "age_days": finite(one.age_days),
        "half_life_days": finite(one.half_life_days),
    }


def _step(step: AnswerStep, answer: Answer) -> dict[str, Any]:
    text = step.text
    if answer.withheld:
        text = "; ".join(answer.named[fact] for fact in step.facts if fact in answer.named)
    shown: dict[str, Any] = {
        "text": text,
        "facts": list(step.facts),
        "validity": _interval(step.validity),
        "status": step.status,
    }
    return shown | ({"uses": list(step.uses)} if step.uses else {})


def _fact(fact: Fact | NamedFact, withheld: bool) -> dict[str, Any]:
    if withheld or isinstance(fact, NamedFact):
        return {"id": fact.id, "subject": fact.subject, "predicate": fact.predicate}
    return fact_as_json(fact)


def _target(target: Target, answer: Answer) -> dict[str, Any]:
    return {
        "fact": target.fact,
        "about": answer.named.get(target.fact),
        "step": target.step,
        "sources": list(target.sources),
        "needed_validity": finite(target.needed_validity),
        "gain": finite(target.gain),
        "reachable": target.reachable,
        "reason": None if target.reachable else "unreachable",
    }


def _interval(validity: Validity) -> dict[str, float | None]:
    return {"value": finite(validity.value), "low": finite(validity.low), "high": finite(validity.high)}
