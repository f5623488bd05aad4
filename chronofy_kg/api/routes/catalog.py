"""Fact types and specs: what the facts are judged by."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from chronofy_kg.answer.plot import draw_curve
from chronofy_kg.api.conditional import (
    IfMatch,
    IfNoneMatch,
    alone,
    check_precondition,
    etag,
    matches,
    stored_spec,
)
from chronofy_kg.api.encode import JsonReply
from chronofy_kg.api.inputs import Flag, Kb, NamePath
from chronofy_kg.api.models import SpecBody
from chronofy_kg.api.problems import documented, spec_errors_at
from chronofy_kg.api.replies import FactTypeList, FactTypeShown, SpecDryRunOut, SpecList, SpecOut
from chronofy_kg.api.strict import StrictRoute
from chronofy_kg.errors import InputError, UnknownNameError

_MOST_VERSION = 2**53
router = APIRouter(route_class=StrictRoute, tags=["fact types and specs"])


@router.get(
    "/v1/fact-types",
    summary="List fact types",
    response_model=FactTypeList,
    responses=documented("invalid-parameter", "store-unavailable"),
)
def list_fact_types(kb: Kb) -> JsonReply:
    """List fact types, by name."""
    return JsonReply({"items": kb.fact_types(), "next": None})


_PICTURES = {"png": "image/png", "svg": "image/svg+xml"}


@router.get(
    "/v1/fact-types/{name:path}",
    summary="Show a fact type",
    description="With all its versions, and with its history against the fitted curve where `curve` is true. "
    "`plot` draws that instead (it needs the extra `plot` on the server). The name may hold slashes, as "
    "predicates that are IRIs do.",
    response_model=FactTypeShown,
    responses=documented("not-found", "invalid-parameter", "invalid-input", "store-unavailable")
    | {200: {"content": {media: {} for media in _PICTURES.values()}}},
)
def show_fact_type(
    kb: Kb,
    name: NamePath,
    curve: Annotated[Flag, Query(description="add the points of its history and the fitted curve")] = False,
    plot: Annotated[Literal["png", "svg"] | None, Query(description="a picture of them instead")] = None,
) -> Response:
    """Show a fact type."""
    if not curve and plot is None:
        return JsonReply(kb.fact_type(name))
    row, found = kb.explain_type(name)
    if plot is None:
        return JsonReply(row | {"curve": None if found is None else found.to_dict()})
    if found is None:
        raise InputError(f"fact type {name!r} has no history that could be drawn")
    return Response(draw_curve(row, found, plot), media_type=_PICTURES[plot])


@router.get(
    "/v1/specs",
    summary="List specs",
    response_model=SpecList,
    responses=documented("invalid-parameter", "store-unavailable"),
)
def list_specs(kb: Kb) -> JsonReply:
    """List every version of every stored spec file."""
    return JsonReply({"items": [spec.to_dict() for spec in kb.specs()], "next": None})


@router.get(
    "/v1/specs/{name}",
    summary="Show a spec",
    description="The newest version, or the one asked for. If-None-Match with its ETag is answered by 304.",
    response_model=SpecOut,
    responses=documented("not-found", "invalid-parameter", "store-unavailable")
    | {304: {"description": "Not modified"}},
)
def show_spec(
    kb: Kb,
    name: NamePath,
    version: Annotated[int | None, Query(ge=1, le=_MOST_VERSION)] = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Show a stored spec file."""
    stored = stored_spec(kb, name, version)
    if stored is None:
        which = "" if version is None else f" in version {version}"
        raise UnknownNameError(f"no spec {name!r} is stored{which}")
    tag = {"ETag": etag(stored)}
    return (
        Response(None, 304, tag) if matches(if_none_match, stored) else JsonReply(stored.to_dict(), 200, tag)
    )


@router.put(
    "/v1/specs/{name}",
    summary="Store a spec",
    description="Checks the text and stores it as the next version; the same text again changes nothing. "
    "The fact types that it declares come into force. With If-Match only where the newest version has that "
    "ETag, with If-None-Match: * only where there is none. With `dry_run=true` nothing is written: the reply "
    "says which items differ from the stored version, and how many facts that hold now would get another "
    "verdict.",
    response_model=SpecOut | SpecDryRunOut,
    responses=documented("invalid-json", "conflict", "precondition-failed", "body-too-large",
                         "unsupported-media-type", "invalid-body", "invalid-spec", "invalid-parameter",
                         "store-unavailable"),
)  # fmt: skip
def put_spec(
    kb: Kb,
    body: SpecBody,
    name: Annotated[str, Path(max_length=100, pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")],
    dry_run: Annotated[Flag, Query(description="only say what would change")] = False,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> JsonReply:
    """Store a spec file."""
    with spec_errors_at("/text"):
        if dry_run:
            return JsonReply(kb.dry_run_spec(name, body.text).to_dict())
        with alone(kb, name):
            if if_match is not None or if_none_match is not None:
                check_precondition(stored_spec(kb, name), if_match, if_none_match)
            stored = kb.put_spec(name, body.text, body.author)
            return JsonReply(stored.to_dict(), 200, {"ETag": etag(stored)})
