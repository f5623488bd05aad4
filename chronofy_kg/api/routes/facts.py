"""Loading, listing and showing facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from chronofy_kg.answer.listing import FactPage
from chronofy_kg.answer.shape import fact_as_json
from chronofy_kg.api.batch import batch_from_json, batch_from_ndjson, check_rows
from chronofy_kg.api.encode import JsonReply, encode_json
from chronofy_kg.api.inputs import AtQuery, Flag, Here, Kb, KnownAtQuery, Limit, NamePath, NameQuery, instants
from chronofy_kg.api.models import AssertionIn, RetractBody
from chronofy_kg.api.problems import ProblemError, documented
from chronofy_kg.api.replies import FactList, FactOut, LoadOut, PeriodList, RetractOut
from chronofy_kg.api.strict import JSON_TYPE, NDJSON_TYPE, StrictRequest, StrictRoute, accepts

router = APIRouter(route_class=StrictRoute, tags=["facts"])

# Each page looks at all rows once; a page of facts as JSON takes some megabytes.
_STREAM_PAGE = 5_000
_EXAMPLE = AssertionIn.model_config["json_schema_extra"]["examples"][0]  # type: ignore[index]
_BODY = {
    "required": True,
    "content": {
        JSON_TYPE: {
            "schema": {
                "oneOf": [
                    {"$ref": "#/components/schemas/FactBatch"},
                    {"$ref": "#/components/schemas/AssertionIn"},
                ]
            },
            "examples": {"batch": {"value": {"facts": [_EXAMPLE]}}, "one": {"value": _EXAMPLE}},
        },
        NDJSON_TYPE: {"schema": {"type": "string", "description": "one assertion a line"}},
    },
}


@dataclass(frozen=True, slots=True)
class _Raw:
    data: bytes
    lines: bool


async def _raw(request: Request) -> _Raw:
    assert isinstance(request, StrictRequest)
    data = await request.body_of(JSON_TYPE, NDJSON_TYPE)
    return _Raw(data, request.content_type == NDJSON_TYPE)


@router.post(
    "/v1/facts",
    summary="Load facts",
    description="A bad row refuses them all; with on_error=skip the good rows are stored and the bad ones "
    "listed. More than 5,000 rows are written in several transactions; sending them again is safe. "
    "Loading the same again changes nothing.",
    response_model=LoadOut,
    openapi_extra={"requestBody": _BODY},
    responses=documented("invalid-json", "body-too-large", "unsupported-media-type", "invalid-facts",
                         "invalid-body", "invalid-parameter", "limit-exceeded", "store-unavailable"),
)  # fmt: skip
def add_facts(
    here: Here,
    raw: Annotated[_Raw, Depends(_raw)],
    on_error: Annotated[Literal["abort", "skip"], Query(description="what a bad row does")] = "abort",
) -> JsonReply:
    """Load facts."""
    read = batch_from_ndjson if raw.lines else batch_from_json
    batch = read(raw.data, here.kb.settings.default_zone)
    check_rows(batch, here.kb.settings.max_rows)
    if batch.errors and on_error == "abort":
        bad, all_rows = len(batch.errors), len(batch.errors) + len(batch.rows)
        detail = f"{bad:,} of {all_rows:,} row(s) are no assertions; nothing was stored"
        raise ProblemError("invalid-facts", detail, errors=batch.errors)
    report = here.kb.load(batch.rows)
    here.warmer.poke()
    return JsonReply(
        {
            "added": report.added,
            "unchanged": report.unchanged,
            "corrected": report.corrected,
            "errors": batch.errors,
            "facts": list(report.facts),
            "sequence": report.sequence,
        }
    )


@router.get(
    "/v1/facts",
    summary="List facts",
    description="In force at `at` as known at `known_at`, by start, then identity. A cursor keeps both. With "
    "`Accept: application/x-ndjson` all of them (or `limit`) as one stream, a fact a line.",
    response_model=FactList,
    responses=documented("invalid-parameter", "invalid-instant", "store-unavailable")
    | {200: {"content": {NDJSON_TYPE: {"schema": {"type": "string", "description": "one fact a line"}}}}},
)
def list_facts(
    kb: Kb,
    request: Request,
    subject: NameQuery = None,
    predicate: NameQuery = None,
    object: NameQuery = None,  # noqa: A002 - the word of the model
    type: NameQuery = None,  # noqa: A002
    source: NameQuery = None,
    at: AtQuery = None,
    known_at: KnownAtQuery = None,
    history: Annotated[Flag, Query(description="ended periods too")] = False,
    limit: Limit = 100,
    cursor: Annotated[str | None, Query(max_length=500, description="`next` of the page before")] = None,
) -> Response:
    """List facts."""
    moment = instants(kb, {"at": at, "known_at": known_at})

    def pages(most: int, after: str | None) -> FactPage:
        return kb.facts(
            subject=subject, predicate=predicate, object=object, type=type, source=source, history=history,
            limit=most, cursor=after, **moment,
        )  # fmt: skip

    if accepts(request.headers, NDJSON_TYPE):
        most = limit if "limit" in request.query_params else None
        first = pages(most or _STREAM_PAGE, cursor)
        return StreamingResponse(_lines(pages, first, endless=most is None), media_type=NDJSON_TYPE)
    page = pages(limit, cursor)
    items: list[dict[str, Any]] = [fact_as_json(fact) for fact in page.items]
    return JsonReply({"items": items, "next": page.next})


def _lines(pages: Callable[[int, str | None], FactPage], page: FactPage, *, endless: bool) -> Iterator[bytes]:
    """Yield facts page by page, each a line; the first cursor has pinned the moment of all."""
    while True:
        yield b"".join(encode_json(fact_as_json(fact)) + b"\n" for fact in page.items)
        if page.next is None or not endless:
            return
        page = pages(_STREAM_PAGE, page.next)


@router.get(
    "/v1/facts/{fact_id}",
    summary="Show a fact",
    response_model=FactOut,
    responses=documented("unknown-fact", "invalid-parameter", "invalid-instant", "store-unavailable"),
)
def show_fact(kb: Kb, fact_id: NamePath, at: AtQuery = None, known_at: KnownAtQuery = None) -> JsonReply:
    """Show a fact, whether it holds at `at` or not."""
    return JsonReply(fact_as_json(kb.fact(fact_id, **instants(kb, {"at": at, "known_at": known_at}))))


@router.get(
    "/v1/facts/{fact_id}/history",
    summary="Show the history of a fact",
    description="All periods of its key by start, each with the fact that ended it and the rule in words. "
    "Where a key may have many values, the periods of this value.",
    response_model=PeriodList,
    responses=documented("unknown-fact", "invalid-parameter", "invalid-instant", "store-unavailable"),
)
def show_history(kb: Kb, fact_id: NamePath, at: AtQuery = None, known_at: KnownAtQuery = None) -> JsonReply:
    """Show all periods of a fact's key."""
    periods = kb.fact_history(fact_id, **instants(kb, {"at": at, "known_at": known_at}))
    return JsonReply({"items": [fact_as_json(f) | {"policy": why} for f, why in periods], "next": None})


@router.post(
    "/v1/facts/{fact_id}/retract",
    summary="Retract a fact",
    description="Stops believing all that the fact rests on, or what one source states of it. Nothing is "
    "deleted: `known_at` before it still knows. The same again changes nothing.",
    response_model=RetractOut,
    responses=documented("invalid-json", "unknown-fact", "body-too-large", "unsupported-media-type",
                         "invalid-body", "invalid-query", "store-unavailable"),
)  # fmt: skip
def retract_fact(here: Here, body: RetractBody, fact_id: NamePath) -> JsonReply:
    """Retract a fact."""
    changed, retired = here.kb.retract_counted(fact_id, body.source)
    if retired:
        here.warmer.poke()
    return JsonReply({"changed": changed, "retired": retired, "sequence": here.kb.ready()["sequence"]})
