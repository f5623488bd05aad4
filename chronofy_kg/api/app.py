"""Puts the HTTP interface together: routes, errors and the layer around every request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

import chronofy_kg
from chronofy_kg.api import pages
from chronofy_kg.api.access import KeyRing
from chronofy_kg.api.metrics import Metrics
from chronofy_kg.api.middleware import Envelope
from chronofy_kg.api.openapi import Api
from chronofy_kg.api.problems import ProblemError, on_error
from chronofy_kg.api.routes import answers, catalog, facts, graph, health, jobs
from chronofy_kg.api.routes import metrics as metrics_routes
from chronofy_kg.api.strict import explain_validation
from chronofy_kg.api.tenants import Tenants
from chronofy_kg.errors import ChronofyError
from chronofy_kg.kb import KnowledgeBase

__all__ = ["create_app"]

_ROUTERS: Sequence[APIRouter] = (
    facts.router,
    answers.router,
    catalog.router,
    jobs.router,
    graph.router,
    health.router,
    metrics_routes.router,
    pages.router,
)
_DESCRIPTION = (
    "A knowledge graph for facts that go stale. Times are RFC 3339; rates are per day; every error is "
    "application/problem+json with a type listed under /problems."
)


def create_app(
    kb: KnowledgeBase,
    *,
    hosts: Collection[str] | None = None,
    ring: KeyRing | None = None,
) -> Api:
    """Return the application over an open knowledge base; the caller closes that.

    Args:
        kb: serves all requests without a key, and opens the knowledge bases of the keys' tenants.
        hosts: host names that requests may name; None takes any. See `middleware.Envelope`.
        ring: the keys; None asks for none.
    """
    tenants, metrics, settings = Tenants(kb), Metrics(), kb.settings

    @asynccontextmanager
    async def lifespan(app: Api) -> AsyncIterator[None]:
        tenants.start()
        yield
        tenants.stop()

    app = Api(
        title="chronofy-kg",
        version=chronofy_kg.__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
        middleware=[
            Middleware(Envelope, metrics=metrics, hosts=hosts, origins=settings.cors_origins.split())
        ],
    )
    app.state.opened = frozenset({"/metrics"} if settings.metrics_public else ())
    app.state.max_body_bytes, app.state.timeout_s = settings.max_body_bytes, settings.request_timeout_s
    app.state.tenants, app.state.ring, app.state.metrics = tenants, ring, metrics
    for router in _ROUTERS:
        app.include_router(router)
    app.add_exception_handler(ChronofyError, on_error)
    # Starlette's class, not FastAPI's: 404 and 405 are raised as that one.
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    return app


async def _on_http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, ProblemError) and isinstance(error, HTTPException):
        path = request.scope["path"]
        if error.status_code == 405:
            # The framework's own Allow has the methods of one route of the path only.
            allow = ", ".join(_methods(path))
            error = ProblemError("method-not-allowed", f"{path} takes {allow}", headers={"Allow": allow})
        elif error.status_code == 404:
            error = ProblemError("not-found", f"there is no {path[:200]}; /docs lists the paths")
    return await on_error(request, error)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return await on_error(request, explain_validation(error))


def _methods(path: str) -> list[str]:
    routes = [route for router in _ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    found = {method for route in routes if route.path_regex.match(path) for method in route.methods or ()}
    return sorted(found | ({"HEAD"} if "GET" in found else set()))
