"""The OpenAPI document, and the API page drawn from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import TypeAdapter
from starlette.testclient import TestClient

from chronofy_kg.api import create_app, models, replies
from chronofy_kg.api.problems import KINDS
from chronofy_kg.settings import Settings

DOCUMENT = create_app(SimpleNamespace(settings=Settings())).openapi()  # type: ignore[arg-type]
_FORMS = {
    "application/json",
    "application/ld+json",
    "application/x-ndjson",
    "image/png",
    "image/svg+xml",
    "text/plain",
}
OPERATIONS = [(m, p, o) for p, found in DOCUMENT["paths"].items() for m, o in found.items()]


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _refs(item)


def test_its_version_and_references() -> None:
    assert DOCUMENT["openapi"].startswith("3.1")
    schemas = DOCUMENT["components"]["schemas"]
    assert {ref.rpartition("/")[2] for ref in _refs(DOCUMENT)} <= set(schemas)
    assert "HTTPValidationError" not in schemas
    assert "in" in schemas["Place"]["properties"]


@pytest.mark.parametrize(
    ("method", "path", "operation"), OPERATIONS, ids=lambda v: v if isinstance(v, str) else ""
)
def test_every_route_is_described(method: str, path: str, operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["operationId"]
    assert re.fullmatch(r"/metrics|/(v1|healthz)/[a-z{}_/-]+", path)
    found = {
        status: reply for status, reply in operation["responses"].items() if not status.startswith(("2", "3"))
    }
    assert "default" in found
    assert any(status.startswith("4") for status in found)
    for status, reply in found.items():
        content = reply["content"]
        assert set(content) == {"application/problem+json"}
        problem = content["application/problem+json"]
        assert problem["schema"] == {"$ref": "#/components/schemas/Problem"}
        for slug, example in problem["examples"].items():
            assert example["value"]["type"] == KINDS[slug].uri
            assert status in ("default", str(KINDS[slug].status))
    good = operation["responses"]["202" if operation["operationId"] == "start_job" else "200"]["content"]
    assert set(good) <= _FORMS
    if "application/json" in good:
        schema = good["application/json"]["schema"]
        assert all(one["$ref"] for one in schema.get("anyOf", [schema]))
    if "requestBody" in operation:
        assert {"400", "413", "415", "422"} <= set(found)
        assert operation["requestBody"]["required"] is True


def test_models_refuse_what_they_do_not_know() -> None:
    for name in models.__all__:
        model = getattr(models, name)
        if isinstance(model, type):
            assert DOCUMENT["components"]["schemas"][name]["additionalProperties"] is False


@pytest.mark.parametrize("name", ["AssertionIn", "QueryBody", "VerifyBody", "SpecBody", "CypherBody"])
def test_examples_of_bodies_are_good(name: str) -> None:
    examples = DOCUMENT["components"]["schemas"][name]["examples"]
    assert examples
    for example in examples:
        TypeAdapter(getattr(models, name)).validate_python(example)


def test_examples_of_problems_are_problems() -> None:
    for _, _, operation in OPERATIONS:
        for reply in operation["responses"].values():
            for example in (
                reply.get("content", {}).get("application/problem+json", {}).get("examples", {}).values()
            ):
                replies.Problem.model_validate(example["value"], extra="forbid")


def test_the_api_page_lists_every_route(bare: TestClient) -> None:
    page = bare.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for _, path, operation in OPERATIONS:
        assert path in page.text
        assert operation["summary"] in page.text
    assert "patient:17" in page.text
    assert "http://" not in page.text.replace("http://127", "")
    assert "https://" not in page.text
    assert bare.get("/openapi.json").json() == DOCUMENT


def test_the_committed_document_is_that_of_the_application() -> None:
    """After a change that is meant: make openapi"""
    from chronofy_kg.api.__main__ import DOCUMENT as KEPT
    from chronofy_kg.api.__main__ import document_text

    assert KEPT.read_text(encoding="utf-8") == document_text()
