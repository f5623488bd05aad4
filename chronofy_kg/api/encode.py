"""The one JSON encoder of replies: no NaN or infinity, instants as RFC 3339 in UTC."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from typing import Any

from starlette.responses import Response

__all__ = ["JsonReply", "LinkedDataReply", "encode_json"]


def encode_json(value: Any) -> bytes:
    """Encode a JSON-like value; what JSON cannot say is null.

    >>> encode_json({"a": [1, float("inf")], "b": datetime(2024, 5, 1, tzinfo=UTC)})
    b'{"a":[1,null],"b":"2024-05-01T00:00:00Z"}'
    """
    try:
        text = _dump(value)
    except ValueError:
        text = _dump(_finite(value))
    # A lone surrogate can come out of a query's own string escapes; UTF-8 has no form for it.
    return text.encode("utf-8", "replace")


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_special)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _special(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "iso_format"):  # the temporal types of the graph driver
        return str(value.iso_format()).replace("+00:00", "Z")
    if hasattr(value, "item"):  # a numpy scalar
        return _finite(value.item())
    raise TypeError(f"{type(value).__name__} has no JSON form")


class JsonReply(Response):
    """A reply in JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode the content."""
        return encode_json(content)


class LinkedDataReply(JsonReply):
    """A reply in JSON-LD."""

    media_type = "application/ld+json"
