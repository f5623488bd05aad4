"""The OpenAPI 3.1 document: the framework's, with the schemas that only problems and loads refer to."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from chronofy_kg.api.access import scope_of
from chronofy_kg.api.idempotency import KEY_PATTERN
from chronofy_kg.api.models import AssertionIn, FactBatch
from chronofy_kg.api.problems import add_documented
from chronofy_kg.api.replies import Problem
from chronofy_kg.store.keys import Scope

__all__ = ["Api"]

_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "ck_ID_SECRET",
    "description": "A key of `chronofy-kg keys create`. A server whose store has no keys asks for none.",
}
_KEY_HEADER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "the same request again under the same key is answered with its first reply",
    "schema": {"type": "string", "pattern": KEY_PATTERN},
}
_REF = "#/components/schemas/{model}"


class Api(FastAPI):
    """The application, with its document completed."""

    def openapi(self) -> dict[str, Any]:
        """Return the document; it is built once."""
        if self.openapi_schema is None:
            document = super().openapi()
            models = [(Problem, "serialization"), (FactBatch, "validation"), (AssertionIn, "validation")]
            _, extra = models_json_schema(models, ref_template=_REF)  # type: ignore[arg-type]
            document.setdefault("components", {}).setdefault("schemas", {}).update(extra["$defs"])
            document["components"]["securitySchemes"] = {"key": _SCHEME}
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    _say_access(operation, scope_of(method.upper(), path))
            self.openapi_schema = document
        return self.openapi_schema


def _say_access(operation: dict[str, Any], scope: Scope | None) -> None:
    """Add to an operation who may call it, how it refuses others, and what any operation may answer."""
    add_documented(operation["responses"], "bad-request", "uri-too-long", "misdirected")
    if any(parameter["in"] == "path" for parameter in operation.get("parameters", [])):
        add_documented(operation["responses"], "not-found")
    if scope is None:
        operation["security"] = []
        return
    operation["security"] = [{"key": []}]
    operation["x-scope"] = scope
    if scope == "write":
        operation.setdefault("parameters", []).append(_KEY_HEADER)
        add_documented(operation["responses"], "idempotency-pending", "idempotency-mismatch")
    slow = ("request-timeout", "timed-out") if "requestBody" in operation else ("timed-out",)
    add_documented(operation["responses"], "missing-key", "missing-scope", *slow)
