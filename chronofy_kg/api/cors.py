"""Which web pages may call the API: none, unless the setting cors_origins names their origins.

A preflight of an origin that is not named gets what any OPTIONS gets: 405, and no permission.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders

__all__ = ["Cors"]

_METHODS = "GET, HEAD, POST, PUT"
_REQUEST_HEADERS = (
    "Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id"
)
_REPLY_HEADERS = "ETag, Idempotency-Replayed, Location, Retry-After, WWW-Authenticate, X-Request-Id"
_MAX_AGE_S = 600


class Cors:
    """The origins that are let in.

    Args:
        origins: such as https://app.example.org; compared as they are.
    """

    def __init__(self, origins: Collection[str]) -> None:
        self._origins = frozenset(origins)

    def grants(self, headers: Headers) -> bool:
        """Whether the page of a request is let in."""
        return headers.get("origin") in self._origins

    def is_preflight(self, method: str, headers: Headers) -> bool:
        """Whether a request is the question of a browser before the real one, and may be granted."""
        return method == "OPTIONS" and "access-control-request-method" in headers and self.grants(headers)

    def preflight_headers(self) -> dict[str, str]:
        """Return what a granted preflight says, beside what every reply says."""
        return {
            "Access-Control-Allow-Methods": _METHODS,
            "Access-Control-Allow-Headers": _REQUEST_HEADERS,
            "Access-Control-Max-Age": str(_MAX_AGE_S),
        }

    def add_to(self, reply: MutableHeaders, headers: Headers) -> None:
        """Let the page read the reply. Credentials stay off: keys are sent by scripts, not by browsers."""
        if not self._origins:
            return
        reply.add_vary_header("Origin")
        if self.grants(headers):
            reply["Access-Control-Allow-Origin"] = headers["origin"]
            reply["Access-Control-Expose-Headers"] = _REPLY_HEADERS
