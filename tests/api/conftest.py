"""Fixtures of the HTTP tests: the application over a stand-in (no engine), and over a real knowledge base."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from starlette.testclient import TestClient

from chronofy_kg.api import create_app
from chronofy_kg.settings import Settings

MOST_BYTES = 200_000


class StandIn:
    """Answers no question: every call raises `error`, which a test sets. Good for what is refused before."""

    def __init__(self) -> None:
        self.settings = Settings(embedder="none", max_body_bytes=MOST_BYTES, default_zone="UTC")
        self.error: Exception = AssertionError("the request should have been refused before")
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.tenant, self.store = "default", self

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append((name, args, kwargs))
            raise self.error

        return call


@pytest.fixture
def stand_in() -> StandIn:
    return StandIn()


@pytest.fixture
def bare(stand_in: StandIn) -> TestClient:
    """A client of the application over the stand-in."""
    return TestClient(create_app(stand_in), raise_server_exceptions=False, follow_redirects=False)


@pytest.fixture(scope="session")
def assert_problem() -> Callable[..., dict[str, Any]]:
    """The one check of the shape of an error, for every route."""

    def check(reply: Any, status: int | tuple[int, ...], slug: str | None = None) -> dict[str, Any]:
        statuses = (status,) if isinstance(status, int) else status
        assert reply.status_code in statuses, reply.text[:500]
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.headers["x-content-type-options"] == "nosniff"
        body: dict[str, Any] = json.loads(reply.content)
        assert set(body) <= {"type", "title", "status", "detail", "errors", "request_id"}
        assert body["status"] == reply.status_code
        assert body["request_id"] == reply.headers["x-request-id"]
        assert body["type"].startswith("/problems/")
        assert body["title"]
        assert body["detail"]
        if slug is not None:
            assert body["type"] == f"/problems/{slug}", body
        for place in body.get("errors", []):
            assert place["detail"]
            assert {"pointer"} <= set(place) or {"line"} <= set(place) or {"in", "name"} <= set(place)
        return body

    return check


@pytest.fixture(scope="session")
def assert_documented() -> Callable[[Any, type[BaseModel]], None]:
    """Check that a reply is just what /openapi.json says: no key missing, none beside."""

    def check(body: Any, model: type[BaseModel]) -> None:
        shown = model.model_validate(body, strict=True)
        assert shown.model_dump(mode="json", exclude_unset=True, by_alias=True) == body

    return check


@pytest.fixture(scope="session")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A knowledge base on the embedded engine, shared by a run; each test has subjects of its own."""
    pytest.importorskip("arcadedb_embedded")
    from chronofy_kg.kb import KnowledgeBase

    settings = Settings(
        data=tmp_path_factory.mktemp("data"), embedder="none", max_body_bytes=MOST_BYTES, default_zone="UTC"
    )
    with KnowledgeBase.open(settings=settings) as opened:
        yield opened


@pytest.fixture(scope="session")
def client(kb: Any) -> Iterator[TestClient]:
    with TestClient(create_app(kb), raise_server_exceptions=False) as started:
        yield started


@pytest.fixture(scope="session")
def load(client: TestClient) -> Callable[..., dict[str, Any]]:
    """Load assertions through the door that users take."""

    def post(*facts: dict[str, Any]) -> dict[str, Any]:
        reply = client.post("/v1/facts", json={"facts": list(facts)})
        assert reply.status_code == 200, reply.text
        loaded: dict[str, Any] = reply.json()
        return loaded

    return post
