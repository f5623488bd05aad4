"""Composes the answer to a query from the facts that were found: judged singly, the failing ones left out.

Statements that do not derive from one another stand or fall alone. Nothing here reads the store or a clock;
finding the facts is `select`, judging foreign traces `verify`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from chronofy_kg.answer.judge import Bound, Judge, Rho, Ruling, bound_of, ruling
from chronofy_kg.answer.model import Answer, AnswerStep, NamedFact, name_fact, state_fact
from chronofy_kg.answer.reacquire import Target, targets, targets_below_tau, valid_until
from chronofy_kg.answer.trace import Cited, TraceStep
from chronofy_kg.facts.model import Fact, nfc

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
        tau: the knowledge filter that was applied.
        notes: what a reader must know of how the question was read.
    """

    stated: tuple[Cited, ...]
    context: tuple[str, ...]
    removed: tuple[Cited, ...]
    excluded: Mapping[str, int]
    shown: tuple[Fact, ...] = ()
    tau: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Statement:
    """One fact that would answer, judged for itself; below tau it may be named, never told."""

    fact: Fact
    step: TraceStep
    rho: Rho
    bound: Bound
    below_tau: bool

    @staticmethod
    def all_of(cited: Sequence[Cited], judge: Judge, *, below_tau: bool) -> list[_Statement]:
        steps = [TraceStep(state_fact(c.fact), (c,)) for c in cited if c.fact is not None]
        assert len(steps) == len(cited)  # `select` cites facts of a view
        made = []
        for one, step, rho in zip(cited, steps, judge.rho_of_each(steps), strict=True):
            bound = bound_of([step])
            assert one.fact is not None
            assert bound is not None
            made.append(_Statement(one.fact, step, rho, bound, below_tau))
        return made

    @property
    def ruling(self) -> Ruling:
        return "reacquire" if self.below_tau else ruling(self.rho, self.bound)

    @property
    def status(self) -> str:
        return "below_tau" if self.below_tau else "fails" if self.ruling == "reacquire" else self.ruling


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
        notes=found.notes,
    )  # fmt: skip
    stated = _Statement.all_of(found.stated, judge, below_tau=False)
    removed = _Statement.all_of(found.removed, judge, below_tau=True)
    # Each is a trace of one step, so an empty window decides for all of them or for none.
    if not stated + removed or any(s.rho.vacuous for s in stated):
        return base
    flag = (on_fail or judge.on_fail) == "flag"
    return _judged(base, stated + removed, found, judge, lag=lag, flag=flag)


def _judged(
    base: Answer, statements: Sequence[_Statement], found: Found, judge: Judge, *, lag: int, flag: bool
) -> Answer:
    """Return the answer from judged statements: those that fail are left out, unless they are flagged."""
    failing = tuple(i for i, s in enumerate(statements) if s.ruling == "reacquire")
    said = [s for s in statements if s.ruling != "reacquire" or (flag and not s.below_tau)]
    withheld = not said
    left_out = [s for s in statements if not any(s is one for one in said)]
    stands = said or statements
    numbered = [(i, s) for i, s in enumerate(statements) if any(s is one for one in stands)]
    rho = _least(numbered, failing, judge)
    bound = bound_of([s.step for s in stands])
    verdict = "reacquire" if withheld else ruling(rho, bound)
    wanted = [t for i in failing for t in _targets(statements[i], i, judge, lag, found.tau)]
    return replace(
        base,
        verdict=verdict,
        withheld=withheld,
        partial=bool(said and left_out),
        text=None if withheld else _text(said, left_out),
        confidence=0.0 if withheld or bound is None else bound.value,
        valid_until=(
            valid_until([s.step for s in said], judge, base.at, singly=True)
            if verdict == "supported"
            else None
        ),
        steps=tuple(_show(s, told=any(s is one for one in said)) for s in statements),
        facts=_facts(said, left_out, found.shown),
        bound=bound,
        rho=rho,
        reacquire=tuple(sorted(wanted, key=lambda t: (not t.reachable, -t.gain, t.step, t.fact))),
        named={s.fact.id: name_fact(s.fact) for s in left_out}
        | {statements[i].fact.id: name_fact(statements[i].fact) for i in failing},
    )


def _targets(statement: _Statement, number: int, judge: Judge, lag: int, tau: float) -> list[Target]:
    """Return what would make a failing statement sound, as targets of its step."""
    if statement.below_tau:
        found = targets_below_tau(statement.step, judge, lag, tau)
    else:
        found = targets([statement.step], judge, lag)
    return [replace(target, step=number) for target in found]


def _facts(
    said: Sequence[_Statement], left_out: Sequence[_Statement], shown: Sequence[Fact]
) -> tuple[Fact | NamedFact, ...]:
    """Return the facts to list: those told with their history, or the names of those withheld.

    The history of what is left out stays out with it: its values may be the ones that are withheld. What tau
    removed is listed nowhere but among the steps and targets.
    """
    if not said:
        withheld = [s.fact for s in left_out if not s.below_tau]
        return tuple(NamedFact(fact.id, fact.subject, fact.predicate) for fact in withheld)
    silent = {_key(s.fact) for s in left_out}
    return (*(s.fact for s in said), *(fact for fact in shown if _key(fact) not in silent))


def _key(fact: Fact) -> tuple[str, str]:
    return nfc(fact.subject), nfc(fact.predicate)


def _text(said: Sequence[_Statement], left_out: Sequence[_Statement]) -> str:
    lines = [s.step.text + (" [fails the spec]" if s.ruling == "reacquire" else "") for s in said]
    if left_out:
        names = "; ".join(dict.fromkeys(name_fact(s.fact) for s in left_out))
        lines.append(f"Left out, the evidence is too old: {names}")
    return "\n".join(lines)


def _show(statement: _Statement, *, told: bool) -> AnswerStep:
    (cited,) = statement.step.cited
    text = statement.step.text if told else name_fact(statement.fact)
    return AnswerStep(text, (cited.id,), cited.validity, statement.status)


def _least(numbered: Sequence[tuple[int, _Statement]], failing: tuple[int, ...], judge: Judge) -> Rho:
    """Return the robustness of numbered statements that must all hold: the least, its ends likewise."""
    number, least = min(numbered, key=lambda one: one[1].rho.value)
    rhos = [statement.rho for _, statement in numbered]
    why = () if least.rho.vacuous else judge.because([least.step])
    return Rho(
        least.rho.value,
        min(r.low for r in rhos),
        min(r.high for r in rhos),
        failing,
        all(r.vacuous for r in rhos),
        tuple(replace(reason, step=number) for reason in why),
    )
