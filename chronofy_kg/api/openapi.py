"""The OpenAPI 3.1 document: the framework's, with the schemas that only problems and loads refer to."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from chronofy_kg.api.models import AssertionIn, FactBatch
from chronofy_kg.api.replies import Problem

__all__ = ["Api"]

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
            self.openapi_schema = document
        return self.openapi_schema
