"""Asking, verifying, and the answers kept."""

from __future__ import annotations

from fastapi import APIRouter

from chronofy_kg.answer.model import Pattern
from chronofy_kg.answer.shape import answer_as_json
from chronofy_kg.answer.verify import GivenStep
from chronofy_kg.api.encode import JsonReply, LinkedDataReply
from chronofy_kg.api.inputs import Kb, NamePath, instants
from chronofy_kg.api.models import PatternBody, QueryBody, SpecChoiceBody, VerifyBody
from chronofy_kg.api.problems import documented, spec_errors_at
from chronofy_kg.api.replies import AnswerOut
from chronofy_kg.api.strict import StrictRoute
from chronofy_kg.kb import SpecChoice

router = APIRouter(route_class=StrictRoute, tags=["answers"])

_BODY_PROBLEMS = ("invalid-json", "body-too-large", "unsupported-media-type", "invalid-body",
                  "invalid-instant", "invalid-spec", "invalid-query", "store-unavailable")  # fmt: skip


@router.post(
    "/v1/query",
    summary="Ask a question",
    description="By words or by pattern. What fails the spec is withheld (or flagged), and listed in "
    "`reacquire`.",
    response_model=AnswerOut,
    responses=documented(*_BODY_PROBLEMS),
)
def ask(kb: Kb, body: QueryBody) -> JsonReply:
    """Ask a question."""
    moment = instants(kb, {"at": body.at, "known_at": body.known_at}, in_body=True)
    with spec_errors_at(_spec_pointer(body.spec)):
        answer = kb.query(
            body.question,
            pattern=_pattern(body.pattern),
            **moment,
            spec=_choice(body.spec),
            params=body.params,
            tau=body.tau,
            mode=body.mode,
            limit=body.limit,
            on_fail=body.on_fail,
            history=body.history,
            hindsight=body.hindsight,
        )
    return JsonReply(answer_as_json(answer))


@router.post(
    "/v1/verify",
    summary="Verify a trace",
    description="Judges the steps of somebody else's reasoning by the facts that they cite. "
    "What cannot be judged is never supported.",
    response_model=AnswerOut,
    responses=documented(*_BODY_PROBLEMS),
)
def check_trace(kb: Kb, body: VerifyBody) -> JsonReply:
    """Verify a trace."""
    moment = instants(kb, {"at": body.at, "known_at": body.known_at}, in_body=True)
    steps = [GivenStep(step.text, tuple(step.facts), tuple(step.uses)) for step in body.steps]
    with spec_errors_at(_spec_pointer(body.spec)):
        answer = kb.verify(steps, **moment, spec=_choice(body.spec), params=body.params)
    return JsonReply(answer_as_json(answer))


@router.get(
    "/v1/answers/{answer_id}",
    summary="Show an answer",
    description="As it was given.",
    response_model=AnswerOut,
    responses=documented("not-found", "invalid-parameter", "store-unavailable"),
)
def show_answer(kb: Kb, answer_id: NamePath) -> JsonReply:
    """Show a stored answer."""
    return JsonReply(kb.answer(answer_id))


@router.get(
    "/v1/answers/{answer_id}/provenance",
    summary="Show where an answer comes from",
    description="W3C PROV-O as JSON-LD.",
    response_class=LinkedDataReply,
    responses=documented("not-found", "invalid-parameter", "store-unavailable"),
)
def show_provenance(kb: Kb, answer_id: NamePath) -> LinkedDataReply:
    """Show the provenance of a stored answer."""
    return LinkedDataReply(kb.provenance(answer_id))


def _pattern(pattern: PatternBody | None) -> Pattern | None:
    return None if pattern is None else Pattern(pattern.subject, pattern.predicate, pattern.object)


def _choice(spec: SpecChoiceBody | None) -> SpecChoice | None:
    return None if spec is None else SpecChoice(spec.name, spec.version, spec.text)


def _spec_pointer(spec: SpecChoiceBody | None) -> str:
    """Return where the body says the spec: a stored one may have come to have errors, too."""
    return "/spec/name" if spec is not None and spec.name is not None else "/spec/text"
