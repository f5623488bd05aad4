"""Prometheus metrics of one process, by route template: never by path, tenant or data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

import chronofy_kg

__all__ = ["METRICS_TYPE", "Metrics"]

METRICS_TYPE = CONTENT_TYPE_LATEST
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: The one bucket of paths that no route has.
_NO_ROUTE = "none"


class Metrics:
    """The counters of one application, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        build = Info("chronofy_kg_build", "Version of the server.", registry=self._registry)
        build.info({"version": chronofy_kg.__version__})
        self._requests = Counter(
            "chronofy_kg_http_requests", "Requests answered.", ("method", "route", "status"),
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "chronofy_kg_http_request_seconds", "Time from a request to the end of its reply.",
            ("method", "route"), buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._in_progress = Gauge(
            "chronofy_kg_http_requests_in_progress", "Requests being answered.", registry=self._registry
        )

    @contextmanager
    def in_progress(self) -> Iterator[None]:
        """Count a request as being answered for the length of a block."""
        self._in_progress.inc()
        try:
            yield
        finally:
            self._in_progress.dec()

    def count(self, method: str, template: str | None, status: int | None, seconds: float) -> None:
        """Count a request that was answered.

        Args:
            method: as sent; one that HTTP does not know counts as "other".
            template: of the route, None where no route has the path.
            status: of the reply, None where the client was gone before it.
            seconds: that it took.
        """
        verb, route = method if method in _METHODS else "other", template or _NO_ROUTE
        self._requests.labels(verb, route, str(status) if status else "none").inc()
        self._seconds.labels(verb, route).observe(seconds)

    def exposition(self) -> bytes:
        """Return all metrics in the text format."""
        return generate_latest(self._registry)
