"""Headers, request ids, HEAD and hosts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from chronofy_kg.api import create_app
from chronofy_kg.api.encode import encode_json
from chronofy_kg.settings import Settings

Check = Callable[..., dict[str, Any]]


def test_request_ids(bare: TestClient) -> None:
    assert (
        bare.get("/healthz/live", headers={"x-request-id": "abc-1.2_3:4"}).headers["x-request-id"]
        == "abc-1.2_3:4"
    )
    for bad in ("a b", "x" * 129, "a<b>", ""):
        assert re.fullmatch(
            r"[0-9a-f]{32}", bare.get("/nope", headers={"x-request-id": bad}).headers["x-request-id"]
        )
    first, second = (bare.get("/healthz/live").headers["x-request-id"] for _ in range(2))
    assert first != second


def test_security_headers(bare: TestClient) -> None:
    reply = bare.get("/v1/nope")
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["content-security-policy"].startswith("default-src 'none';")
    assert "style-src" not in reply.headers["content-security-policy"]
    page = bare.get("/docs")
    assert "style-src 'sha256-" in page.headers["content-security-policy"]
    assert "cache-control" not in page.headers
    assert "script" not in page.text


def test_head_is_get_without_a_body(bare: TestClient) -> None:
    reply = bare.head("/healthz/live")
    assert (reply.status_code, reply.content) == (200, b"")
    assert reply.headers["content-length"] == str(len(b'{"status":"ok"}'))
    assert bare.head("/v1/query").status_code == 405
    assert bare.head("/nope").status_code == 404


@pytest.mark.parametrize("host", ["localhost", "localhost:8765", "127.0.0.1:1", "[::1]:8765", "LOCALHOST"])
def test_hosts_that_are_its_own(host: str) -> None:
    client = TestClient(
        create_app(SimpleNamespace(settings=Settings()), hosts={"localhost", "127.0.0.1", "::1"})
    )  # type: ignore[arg-type]
    assert client.get("/healthz/live", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "localhost.evil.example", "127.0.0.1.evil", ""]
)
def test_other_hosts_are_refused(assert_problem: Check, host: str) -> None:
    client = TestClient(
        create_app(SimpleNamespace(settings=Settings()), hosts={"localhost", "127.0.0.1", "::1"})
    )  # type: ignore[arg-type]
    assert_problem(client.get("/healthz/live", headers={"host": host}), 421, "misdirected")


def test_the_root_leads_to_the_api_page(bare: TestClient) -> None:
    assert bare.get("/").headers["location"] == "/docs"


class _DriverTime:
    def iso_format(self) -> str:
        return "2024-05-01T00:00:00.000000000+00:00"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([float("nan"), float("inf"), (1.5, {"a": -float("inf")})], b'[null,null,[1.5,{"a":null}]]'),
        (datetime(2024, 5, 1, 1, tzinfo=UTC), b'"2024-05-01T01:00:00Z"'),
        (date(2024, 5, 1), b'"2024-05-01"'),
        (_DriverTime(), b'"2024-05-01T00:00:00.000000000Z"'),
        ([np.float64(0.5), np.int64(3), np.bool_(True), np.float64("nan")], b"[0.5,3,true,null]"),
        ("é\ud800", b'"\xc3\xa9?"'),
    ],
)
def test_encoder(value: Any, text: bytes) -> None:
    assert encode_json(value) == text


def test_encoder_refuses_what_it_does_not_know() -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        encode_json({"a": object()})
