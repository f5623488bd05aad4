"""Whether the process is up, and whether its parts work."""

from __future__ import annotations

from fastapi import APIRouter, Request

from chronofy_kg.api.access import KeyRing
from chronofy_kg.api.encode import JsonReply
from chronofy_kg.api.inputs import Kb
from chronofy_kg.api.problems import documented
from chronofy_kg.api.replies import Ready, Up
from chronofy_kg.api.strict import StrictRoute

router = APIRouter(route_class=StrictRoute, tags=["health"], prefix="/healthz")


@router.get(
    "/live", summary="Is the process up?", response_model=Up, responses=documented("invalid-parameter")
)
async def live() -> JsonReply:
    """Answer as long as the process is up; the store is not asked."""
    return JsonReply({"status": "ok"})


@router.get(
    "/ready",
    summary="Do its parts work?",
    description="503 while the store does not answer. A model that still loads does not hold it up.",
    response_model=Ready,
    responses=documented("invalid-parameter", "store-unavailable", "store-error"),
)
def ready(kb: Kb, request: Request) -> JsonReply:
    """Ask the store."""
    told = kb.ready()
    ring: KeyRing | None = request.app.state.ring
    if ring is not None:
        ring.refresh()
        if ring.is_required:  # how far a tenant is may be known to its keys only
            told["sequence"] = None
    return JsonReply(told)
