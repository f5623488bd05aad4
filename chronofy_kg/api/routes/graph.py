"""Read-only Cypher on the graph itself."""

from __future__ import annotations

from fastapi import APIRouter

from chronofy_kg.api.encode import JsonReply
from chronofy_kg.api.inputs import Kb
from chronofy_kg.api.models import CypherBody
from chronofy_kg.api.problems import documented
from chronofy_kg.api.replies import CypherOut
from chronofy_kg.api.strict import StrictRoute

router = APIRouter(route_class=StrictRoute, tags=["graph"])


@router.post(
    "/v1/cypher",
    summary="Run a read-only Cypher query",
    description="On the whole store, with values as parameters. A query that writes is refused.",
    response_model=CypherOut,
    responses=documented("invalid-json", "read-only", "body-too-large", "unsupported-media-type",
                         "invalid-body", "invalid-query", "limit-exceeded", "store-unavailable"),
)  # fmt: skip
def run_cypher(kb: Kb, body: CypherBody) -> JsonReply:
    """Run a read-only Cypher query."""
    result = kb.cypher(body.query, body.parameters)
    return JsonReply({"columns": result.columns, "rows": result.rows, "truncated": result.truncated})
