"""Fact types and specs: what the facts are judged by."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from chronofy_kg.api.encode import JsonReply
from chronofy_kg.api.inputs import Flag, Kb, NamePath
from chronofy_kg.api.models import SpecBody
from chronofy_kg.api.problems import documented, spec_errors_at
from chronofy_kg.api.replies import FactTypeList, FactTypeOut, SpecDryRunOut, SpecList, SpecOut
from chronofy_kg.api.strict import StrictRoute

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


@router.get(
    "/v1/fact-types/{name:path}",
    summary="Show a fact type",
    description="The name may hold slashes, as predicates that are IRIs do.",
    response_model=FactTypeOut,
    responses=documented("not-found", "invalid-parameter", "store-unavailable"),
)
def show_fact_type(kb: Kb, name: NamePath) -> JsonReply:
    """Show a fact type."""
    return JsonReply(kb.fact_type(name))


@router.get(
    "/v1/specs",
    summary="List specs",
    response_model=SpecList,
    responses=documented("invalid-parameter", "store-unavailable"),
)
def list_specs(kb: Kb) -> JsonReply:
    """List every version of every stored spec file."""
    return JsonReply({"items": [spec.to_dict() for spec in kb.specs()], "next": None})


@router.put(
    "/v1/specs/{name}",
    summary="Store a spec",
    description="Checks the text and stores it as the next version; the same text again changes nothing. "
    "The fact types that it declares come into force. With `dry_run=true` nothing is written: the reply says "
    "which items differ from the stored version, and how many facts that hold now would get another verdict.",
    response_model=SpecOut | SpecDryRunOut,
    responses=documented("invalid-json", "body-too-large", "unsupported-media-type", "invalid-body",
                         "invalid-spec", "invalid-parameter", "store-unavailable"),
)  # fmt: skip
def put_spec(
    kb: Kb,
    body: SpecBody,
    name: Annotated[str, Path(max_length=100, pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")],
    dry_run: Annotated[Flag, Query(description="only say what would change")] = False,
) -> JsonReply:
    """Store a spec file."""
    with spec_errors_at("/text"):
        if dry_run:
            return JsonReply(kb.dry_run_spec(name, body.text).to_dict())
        return JsonReply(kb.put_spec(name, body.text, body.author).to_dict())
