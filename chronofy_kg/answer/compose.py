"""Composes the answer to a query from the facts that were found: judged singly, the failing ones left out.

Statements that do not derive from one another stand or fall alone. Nothing here reads the store or a clock;
finding the facts is `select`, judging foreign traces `verify`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from chronofy_kg.answer.judge import Judge, Rho, bound_of
from chronofy_kg.answer.model import Answer, AnswerStep, Verdict, name_fact, state_fact
from chronofy_kg.answer.reacquire import Target, targets, valid_until
from chronofy_kg.answer.trace import Cited, TraceStep
from chronofy_kg.facts.model import Fact

__all__ = ["Found", "compose"]

OnFail = Literal["withhold", "flag"]


@dataclass(frozen=True, slots=True)
class Found:
    """What a query found.

    Attributes:
        stated: facts that answer it, best first; they pass tau.
        context: ids of the facts that passed the filter with them, and cannot change rho.
        removed: facts that would answer it but lie below tau, best first.
        excluded: how many matches were left out, by reason.
        shown: further facts to list, such as the ended ones of a history.
    """

    stated: tuple[Cited, ...]
    context: tuple[str, ...]
    removed: tuple[Cited, ...]
    excluded: Mapping[str, int]
    shown: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class _Statement:
    step: TraceStep
    rho: Rho


def compose(found: Found, judge: Judge, *, answer_id: str, at: int, known_at: int, lag: int,
            on_fail: OnFail | None = None) -> Answer:  # fmt: skip
    """Return the answer to a query.

    Args:
        found: the facts.
        judge: the spec.
        answer_id, at, known_at: identity and instants of the answer.
        lag: lag window of the re-acquisition, in steps.
        on_fail: withhold or flag what fails; None leaves it to the spec.
    """
    base = Answer(
        id=answer_id, at=at, known_at=known_at, verdict="insufficient_evidence", withheld=True, partial=False,
        text=None, confidence=None, valid_until=None, steps=(), facts=(), context=found.context, bound=None,
        rho=None, spec=judge.name, spec_version=judge.version, reacquire=(), excluded=found.excluded,
    )  # fmt: skip
    if not found.stated:
        return _without_evidence(base, found, judge, lag)
    steps = [TraceStep(state_fact(cited.fact), (cited,)) for cited in found.stated if cited.fact]
    statements = [_Statement(step, judge.rho([step])) for step in steps]
    if all(statement.rho.vacuous for statement in statements):
        return base
    flag = (on_fail or judge.on_fail) == "flag"
    kept = [s for s in statements if s.rho.value >= 0]
    failed = [s for s in statements if s.rho.value < 0]
    return _judged(base, statements, kept, failed, flag=flag, judge=judge, lag=lag, shown=found.shown)


def _without_evidence(base: Answer, found: Found, judge: Judge, lag: int) -> Answer:
    """Return the answer where nothing may be stated: all removed by tau, or nothing there."""
    if not found.removed:
        return base
    steps = [TraceStep(name_fact(cited.fact), (cited,)) for cited in found.removed if cited.fact]
    rhos = [judge.rho([step]) for step in steps]
    shown = tuple(_show(step, "below_tau") for step in steps)
    wanted = tuple(replace(t, step=i) for i, step in enumerate(steps) for t in targets([step], judge, lag))
    return replace(
        base,
        verdict="reacquire",
        steps=shown,
        bound=bound_of(steps),
        rho=_least(rhos, tuple(range(len(steps)))),
        confidence=0.0,
        reacquire=_best_first(wanted),
        named={c.id: name_fact(c.fact) for c in found.removed if c.fact},
    )


def _judged(base: Answer, statements: Sequence[_Statement], kept: Sequence[_Statement],
            failed: Sequence[_Statement], *, flag: bool, judge: Judge, lag: int,
            shown: tuple[Fact, ...]) -> Answer:  # fmt: skip
    """Return the answer from judged statements."""
    stands = [*kept, *failed] if flag or not kept else list(kept)
    traces = [statement.step for statement in stands]
    withheld = not kept and not flag
    failing = tuple(i for i, s in enumerate(statements) if s.rho.value < 0)
    rho = _least([s.rho for s in stands], failing)
    bound = bound_of(traces)
    said = statements if flag else kept
    ends = [valid_until([s.step], judge, base.at) for s in kept if s.rho.value > 0]
    wanted = tuple(replace(t, step=i) for i in failing for t in targets([statements[i].step], judge, lag))
    verdict: Verdict = "reacquire" if rho.value < 0 else "boundary" if rho.value == 0 else "supported"
    stated = {id(s) for s in said}
    return replace(
        base,
        verdict=verdict,
        withheld=withheld,
        partial=bool(kept and failed and not flag),
        text=None if withheld else _text(said, failed, flag),
        confidence=0.0 if withheld or bound is None else bound.value,
        valid_until=min((e for e in ends if e is not None), default=None) if verdict == "supported" else None,
        steps=tuple(_show(s.step, _status(s.rho), named=id(s) not in stated) for s in statements),
        facts=tuple(c.fact for s in said for c in s.step.cited if c.fact) + (() if withheld else shown),
        bound=bound,
        rho=rho,
        reacquire=_best_first(wanted),
        named={c.id: name_fact(c.fact) for s in failed for c in s.step.cited if c.fact},
    )


def _text(said: Sequence[_Statement], failed: Sequence[_Statement], flag: bool) -> str:
    lines = [s.step.text + (" [fails the spec]" if s.rho.value < 0 else "") for s in said]
    if failed and not flag:
        names = "; ".join(name_fact(c.fact) for s in failed for c in s.step.cited if c.fact)
        lines.append(f"Left out, the evidence is too old: {names}")
    return "\n".join(lines)


def _status(rho: Rho) -> str:
    return "fails" if rho.value < 0 else "boundary" if rho.value == 0 else "supported"


def _show(step: TraceStep, status: str, *, named: bool = False) -> AnswerStep:
    cited = step.cited[0]
    text = name_fact(cited.fact) if named and cited.fact else step.text
    return AnswerStep(text, tuple(c.id for c in step.cited), cited.validity, status)


def _least(rhos: Sequence[Rho], failing: tuple[int, ...]) -> Rho:
    """Return the robustness of statements that must all hold: the least, its ends likewise."""
    return Rho(
        min(r.value for r in rhos),
        min(r.low for r in rhos),
        min(r.high for r in rhos),
        failing,
        all(r.vacuous for r in rhos),
    )


def _best_first(wanted: tuple[Target, ...]) -> tuple[Target, ...]:
    """Return targets with the reachable ones first, then by gain."""
    return tuple(sorted(wanted, key=lambda t: (not t.reachable, -t.gain, t.step, t.fact)))
