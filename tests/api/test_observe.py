"""Logs, metrics and CORS: what they say, and what they must not say."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronofy_kg.api import create_app
from chronofy_kg.api.access import KeyRing
from chronofy_kg.api.logs import configure_logs
from chronofy_kg.errors import UnknownFactError
from chronofy_kg.settings import Settings, load_settings
from chronofy_kg.store.keys import ApiKey, digest_of

Check = Callable[..., dict[str, Any]]
SECRET = "x" * 43
KEY = ApiKey("0" * 12, "north", "", ("read",), digest_of(SECRET), 0)


@pytest.fixture
def log() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    stream = io.StringIO()
    handler = configure_logs("info", stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    for name in ("chronofy_kg", "uvicorn"):
        logging.getLogger(name).removeHandler(handler)
        logging.getLogger(name).propagate = True
        logging.getLogger(name).setLevel(logging.NOTSET)


def samples(client: TestClient) -> dict[str, float]:
    text = client.get("/metrics").text
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in text.splitlines() if line[0] != "#")
    }


def test_one_line_for_each_request_and_nothing_secret_in_it(log: Any) -> None:
    kb = SimpleNamespace(tenant="north", fact=_unknown, settings=Settings())
    ring = KeyRing(lambda: [KEY], lambda: 1, required=True)
    client = TestClient(create_app(kb, ring=ring))  # type: ignore[arg-type]
    headers = {"authorization": f"Bearer ck_{KEY.id}_{SECRET}", "x-request-id": "r-1"}
    client.get("/v1/facts/patient-secret", headers=headers)
    client.get("/v1/facts?subject=patient-secret", headers={"x-request-id": "r-2"})
    client.post("/v1/nope/patient-secret", headers=headers, content=b"patient-secret")
    lines = [line for line in log() if line["message"] == "request"]
    shown = [[line[name] for name in ("method", "route", "status", "tenant", "request_id")] for line in lines]
    assert shown == [
        ["GET", "/v1/facts/{fact_id}", 404, "north", "r-1"],
        ["GET", "/v1/facts", 401, None, "r-2"],
        ["POST", None, 404, None, "r-1"],
    ]
    for line in lines:
        assert 0 <= line["ms"] < 10_000
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
        assert "secret" not in json.dumps(line)
        assert SECRET not in json.dumps(line)


def _unknown(*_: Any, **__: Any) -> Any:
    raise UnknownFactError("no such fact")


def test_an_internal_error_has_its_trace_and_id_in_the_log(bare: TestClient, stand_in: Any, log: Any) -> None:
    stand_in.error = RuntimeError("what happened")
    reply = bare.get("/v1/specs")
    assert reply.status_code == 500
    (line,) = [line for line in log() if line["level"] == "error"]
    assert reply.headers["x-request-id"] in line["message"]
    assert "RuntimeError: what happened" in line["exception"]


def test_metrics_have_one_series_for_each_route(bare: TestClient, stand_in: Any) -> None:
    """perdy/starlette-prometheus#7, mozilla-ai/otari#264: raw paths as metric labels."""
    stand_in.error = UnknownFactError("no such fact")
    for number in range(200):
        assert bare.get(f"/v1/facts/f_{number}").status_code == 404
        assert bare.get(f"/nowhere/{number}").status_code == 404
        bare.request(f"VERB{number}", "/v1/facts")
    found = samples(bare)
    counted = {
        name: value for name, value in found.items() if name.startswith("chronofy_kg_http_requests_total")
    }
    name = "chronofy_kg_http_requests_total"
    assert counted == {
        f'{name}{{method="GET",route="/v1/facts/{{fact_id}}",status="404"}}': 200.0,
        f'{name}{{method="GET",route="none",status="404"}}': 200.0,
        f'{name}{{method="other",route="none",status="405"}}': 200.0,
    }
    assert found['chronofy_kg_http_request_seconds_count{method="GET",route="/v1/facts/{fact_id}"}'] == 200.0
    assert found["chronofy_kg_http_requests_in_progress"] == 1.0  # this very one
    assert found["process_resident_memory_bytes"] > 1e6
    assert bare.get("/metrics").headers["content-type"].startswith("text/plain; version=")


def test_metrics_may_be_opened() -> None:
    ring = KeyRing(lambda: [KEY], lambda: 1, required=True)
    kb: Any = SimpleNamespace(tenant="north", settings=Settings())
    kb_open: Any = SimpleNamespace(tenant="north", settings=Settings(metrics_public=True))
    assert TestClient(create_app(kb, ring=ring)).get("/metrics").status_code == 401
    opened = TestClient(create_app(kb_open, ring=ring))
    assert opened.get("/metrics").status_code == 200
    assert opened.get("/v1/specs").status_code == 401


PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}


def test_cors_is_off_by_default(bare: TestClient, assert_problem: Check) -> None:
    origin = {"origin": "https://app.example"}
    assert_problem(bare.options("/v1/query", headers=origin | PREFLIGHT), 405, "method-not-allowed")
    for reply in (bare.get("/healthz/live", headers=origin), bare.options("/v1/query", headers=origin)):
        assert not [name for name in reply.headers if name.startswith("access-control")]


def test_cors_for_the_origins_that_are_named(assert_problem: Check) -> None:
    client = TestClient(create_app(SimpleNamespace(settings=Settings(cors_origins="https://app.example"))))  # type: ignore[arg-type]
    origin = {"origin": "https://app.example"}
    asked = client.options("/v1/query", headers=origin | PREFLIGHT)
    assert (asked.status_code, asked.content) == (204, b"")
    assert asked.headers["access-control-allow-origin"] == "https://app.example"
    assert "Authorization" in asked.headers["access-control-allow-headers"]
    assert "POST" in asked.headers["access-control-allow-methods"]
    assert "access-control-allow-credentials" not in asked.headers
    reply = client.get("/healthz/live", headers=origin)
    assert reply.headers["access-control-allow-origin"] == "https://app.example"
    assert reply.headers["vary"] == "Origin"
    for other in ("https://app.example.evil", "http://app.example", "null", "https://app.example:8443"):
        refused = client.options("/v1/query", headers={"origin": other} | PREFLIGHT)
        assert_problem(refused, 405)
        assert "access-control-allow-origin" not in refused.headers
        plain = client.get("/healthz/live", headers={"origin": other})
        assert "access-control-allow-origin" not in plain.headers
        assert plain.headers["vary"] == "Origin"


@pytest.mark.parametrize("text", ["*", "app.example", "https://app.example/", "https://a.b https://c.d/x"])
def test_origins_are_checked(text: str) -> None:
    from chronofy_kg.errors import InputError

    with pytest.raises(InputError, match="is no origin"):
        load_settings(cors_origins=text)
