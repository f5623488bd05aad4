"""`query`, `verify`, `explain`: answers with evidence, the verdict on foreign reasoning, one fact."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import typer

from chronofy_kg.cli.options import At, KnownAt, Params, SpecName, spec_name, spec_params
from chronofy_kg.cli.session import Exit, Session
from chronofy_kg.errors import FactFormatError

if TYPE_CHECKING:
    from chronofy_kg.answer.model import Answer
    from chronofy_kg.answer.verify import GivenStep
    from chronofy_kg.kb import SpecChoice

__all__ = ["explain", "query", "verify"]


def query(
    session: Session,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The question in words.")] = None,
    subject: Annotated[
        str | None,
        typer.Option("--subject", metavar="NAME", help="Pattern instead of a question: the subject."),
    ] = None,
    predicate: Annotated[
        str | None, typer.Option("--predicate", metavar="NAME", help="Pattern: the predicate.")
    ] = None,
    related: Annotated[
        str | None, typer.Option("--object", metavar="NAME", help="Pattern: the object.")
    ] = None,
    at: At = None,
    known_at: KnownAt = None,
    spec: SpecName = None,
    param: Params = None,
    tau: Annotated[
        float | None, typer.Option("--tau", min=0, max=1, help="Knowledge filter: no fact of less validity.")
    ] = None,
    mode: Annotated[
        Literal["fresh", "balanced", "relevant", "fused"],
        typer.Option("--mode", help="How a question ranks."),
    ] = "balanced",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most statements in the answer.")] = 10,
    on_fail: Annotated[
        Literal["withhold", "flag"] | None,
        typer.Option("--on-fail", help="What fails the spec: leave it out, or show and mark it."),
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Show ended periods too.")] = False,
    hindsight: Annotated[
        bool, typer.Option("--hindsight", help="Count what was observed only after --at.")
    ] = False,
) -> int:
    """Answer a question or a pattern, with evidence.

    Here a question is answered by words and graph; the server adds vectors. Facts below --tau are never
    shown, whatever --on-fail says. Exit code 4 says that there is no answer: withheld, or
    insufficient evidence.
    """
    from chronofy_kg.answer.model import Pattern

    pattern = Pattern(subject, predicate, related)
    asked = pattern != Pattern()
    if (text is not None) == asked:
        problem = "not both" if asked else "e.g. --subject NAME"
        raise typer.BadParameter(
            f"give a question or a pattern (--subject, --predicate, --object), {problem}"
        )
    how = _how(session, at, known_at, spec, param)
    with session.knowledge_base() as kb:
        answer = kb.query(
            text,
            pattern=pattern if asked else None,
            tau=tau,
            mode=mode,
            limit=limit,
            on_fail=on_fail,
            history=history,
            hindsight=hindsight,
            **how,
        )
    return _show(session, answer)


def verify(
    session: Session,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="STEPS.json",
            help='A list of {"text", "facts": [id], "uses": [index]}, or {"steps": [...]}; - is stdin.',
        ),
    ],
    at: At = None,
    known_at: KnownAt = None,
    spec: SpecName = None,
    param: Params = None,
) -> int:  # fmt: skip
    """Judge steps of reasoning by the facts they cite.

    Exit code 4 says that the trace does not stand: withheld, or insufficient evidence.
    """
    steps, how = _read_steps(file), _how(session, at, known_at, spec, param)
    with session.knowledge_base() as kb:
        answer = kb.verify(steps, **how)
    return _show(session, answer)


def explain(
    session: Session,
    fact_id: Annotated[str, typer.Argument(metavar="FACT_ID", help="A fact, as answers name it.")],
    at: At = None,
    known_at: KnownAt = None,
) -> None:
    """Show what a fact rests on, what ended it, and by which rule."""
    when = {"at": session.instant("--at", at), "known_at": session.instant("--known-at", known_at)}
    with session.knowledge_base() as kb:
        account = kb.explain(fact_id, **when).to_dict()
    if session.as_json:
        session.output.document(account)
    else:
        from chronofy_kg.cli.render import render_account

        render_account(session.output.results, account)


class _How(TypedDict):
    """At which instants, and by which spec."""

    at: int | None
    known_at: int | None
    spec: SpecChoice | None
    params: dict[str, float | str] | None


def _how(
    session: Session, at: str | None, known_at: str | None, spec: str | None, param: list[str] | None
) -> _How:
    from chronofy_kg.kb import SpecChoice

    return {
        "at": session.instant("--at", at),
        "known_at": session.instant("--known-at", known_at),
        "spec": None if spec is None else SpecChoice(*spec_name(spec)),
        "params": spec_params(param),
    }


def _show(session: Session, answer: Answer) -> int:
    """Print an answer; the exit code says whether there is one."""
    from chronofy_kg.answer.shape import answer_as_json

    shown = answer_as_json(answer)
    if session.as_json:
        session.output.document(shown)
    else:
        from chronofy_kg.cli.render import render_answer

        render_answer(session.output.results, shown)
    unanswered = answer.withheld or answer.verdict == "insufficient_evidence"
    return Exit.NO_ANSWER if unanswered else Exit.WELL


def _read_steps(file: Path) -> list[GivenStep]:
    """Return the steps of a file.

    Raises:
        FactFormatError: the file is no JSON, or not of the form; the place is named.
    """
    from chronofy_kg.facts.strict_json import JsonError, decode_json

    name = "<stdin>" if str(file) == "-" else str(file)
    try:
        raw = sys.stdin.buffer.read() if name == "<stdin>" else file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="STEPS.json") from None
    try:
        given = decode_json(raw)
    except JsonError as error:
        raise FactFormatError(error.message, file=name, line=error.line, column=error.column) from None
    at = ""
    if isinstance(given, dict):
        _known_fields(given, ("steps",), name, "")
        given, at = given.get("steps"), "/steps"
    if not isinstance(given, list):
        raise FactFormatError('expected a list of steps, or {"steps": [...]}', file=name)
    return [_step(step, name, f"{at}/{number}") for number, step in enumerate(given)]


def _step(step: Any, name: str, at: str) -> GivenStep:
    from chronofy_kg.answer.verify import GivenStep

    if not isinstance(step, dict):
        raise FactFormatError(f"{at}: a step is a map with text, facts and uses", file=name)
    _known_fields(step, ("text", "facts", "uses"), name, at)
    text, facts, uses = step.get("text", ""), step.get("facts", []), step.get("uses", [])
    if not isinstance(text, str):
        raise FactFormatError(f"{at}/text: must be text", file=name)
    if not isinstance(facts, list) or not all(isinstance(fact, str) for fact in facts):
        raise FactFormatError(f"{at}/facts: must be a list of fact ids", file=name)
    if not isinstance(uses, list) or not all(type(index) is int for index in uses):
        raise FactFormatError(f"{at}/uses: must be a list of numbers of earlier steps, from 0", file=name)
    return GivenStep(text, tuple(facts), tuple(uses))


def _known_fields(given: dict[str, Any], known: tuple[str, ...], name: str, at: str) -> None:
    for field in given:
        if field not in known:
            raise FactFormatError(f"{at}/{field}: unknown field; known are {', '.join(known)}", file=name)
