"""Structured logs: one JSON object a line, and one line for each request.

A line of a request has its method, the template of its route, status, milliseconds, tenant and request id.
Never the path as sent (it may hold data), a key, a query string or a body.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import IO, Any

__all__ = ["JsonLines", "configure_logs", "log_request"]

_LOG = logging.getLogger("chronofy_kg.request")
_FIELDS = ("method", "route", "status", "ms", "tenant", "request_id", "job")


def log_request(
    method: str, template: str | None, status: int, seconds: float, state: Mapping[str, Any]
) -> None:
    """Write the line of a request that was answered.

    Args:
        method: as sent.
        template: of the route, None where no route has the path.
        status: of the reply.
        seconds: that it took.
        state: of the request: `request_id`, and the `caller` where one was admitted.
    """
    if not _LOG.isEnabledFor(logging.INFO):
        return
    caller = state.get("caller")
    fields = {
        "method": method[:20], "route": template, "status": status, "ms": round(seconds * 1_000, 2),
        "tenant": getattr(caller, "tenant", None), "request_id": state["request_id"],
    }  # fmt: skip
    _LOG.info("request", extra=fields)


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": moment.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True, default=str)


def configure_logs(level: str, stream: IO[str] | None = None) -> logging.Handler:
    """Send what this package and the server log to a stream (stderr by default) as lines of JSON.

    Args:
        level: debug, info, warning or error.
        stream: where to.

    Returns:
        The handler, for who wants to take it off again.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("chronofy_kg", "uvicorn"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level.upper())
        logger.propagate = False
    return handler
