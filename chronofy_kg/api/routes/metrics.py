"""The metrics, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from chronofy_kg.api.metrics import METRICS_TYPE, Metrics
from chronofy_kg.api.problems import documented
from chronofy_kg.api.strict import StrictRoute

router = APIRouter(route_class=StrictRoute, tags=["health"])


@router.get(
    "/metrics",
    summary="Show metrics",
    description="In the text format of Prometheus, by route template. They count all tenants, so a key with "
    "the scope admin is needed, unless the setting metrics_public opens them.",
    response_class=PlainTextResponse,
    responses=documented("invalid-parameter"),
)
async def show_metrics(request: Request) -> Response:
    """Show the metrics of this process."""
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.exposition(), media_type=METRICS_TYPE)
