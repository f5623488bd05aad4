"""One error shape: a walk over all routes with all that can be wrong, and each class of error."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from chronofy_kg import errors
from chronofy_kg.api import create_app
from chronofy_kg.api.problems import BY_CLASS, KINDS
from chronofy_kg.facts.strict_json import JsonError
from chronofy_kg.settings import Settings
from chronofy_kg.spec.diagnostics import Diagnostic

Check = Callable[..., dict[str, Any]]

DOCUMENT = create_app(SimpleNamespace(settings=Settings())).openapi()  # type: ignore[arg-type]
PATHS = sorted(DOCUMENT["paths"])
OPERATIONS = [(method.upper(), path) for path in PATHS for method in DOCUMENT["paths"][path]]
WITH_BODY = [
    (method, path) for method, path in OPERATIONS if "requestBody" in DOCUMENT["paths"][path][method.lower()]
]
WITHOUT_BODY = [(method, path) for method, path in OPERATIONS if method == "GET"]
STORE_ROUTES = [(method, path) for method, path in OPERATIONS if path not in ("/healthz/live", "/metrics")]
GOOD: dict[str, Any] = {
    "/v1/facts": {"subject": "s", "predicate": "p", "value": 1, "observed_at": "2024-01-01"},
    "/v1/facts/{fact_id}/retract": {},
    "/v1/query": {"pattern": {"subject": "s"}},
    "/v1/verify": {"steps": [{"text": "t", "facts": ["f_1"]}]},
    "/v1/specs/{name}": {"text": "spec fresh: G validity >= 0.5"},
    "/v1/cypher": {"query": "RETURN 1"},
    "/v1/jobs": {"kind": "mine"},
}
BAD_JSON = {
    "syntax": b'{"a": }',
    "empty text": b" ",
    "two values": b"{} {}",
    "duplicate key": b'{"a": 1, "a": 2}',
    "duplicate key below": b'{"a": {"b": [{"c": 1, "c": 2}]}}',
    "NaN": b'{"a": NaN}',
    "infinity": b'{"a": -Infinity}',
    "out of range": b'{"a": 1e999}',
    "endless integer": b'{"a": ' + b"9" * 5_000 + b"}",
    "lone surrogate": rb'{"a": "\ud800"}',
    "byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "Latin-1": '{"a": "é"}'.encode("latin-1"),
    "deep": b'{"a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "NUL after it": b"{}\x00",
}


def url(path: str) -> str:
    return re.sub(r"\{\w+\}", "thing", path)


def send(client: TestClient, method: str, path: str, **changes: Any) -> Any:
    """Send a good request, changed in one way."""
    arguments: dict[str, Any] = {"json": GOOD[path]} if path in GOOD and method != "GET" else {}
    if "content" in changes:
        arguments = {"headers": {"content-type": "application/json"}}
    return client.request(method, changes.pop("url", url(path)), **(arguments | changes))


def test_the_walk_covers_every_route() -> None:
    assert len(OPERATIONS) == 22
    assert set(GOOD) == {path for _, path in WITH_BODY}


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
@pytest.mark.parametrize("case", sorted(BAD_JSON))
def test_bad_json(bare: TestClient, assert_problem: Check, method: str, path: str, case: str) -> None:
    reply = send(bare, method, path, content=BAD_JSON[case])
    body = assert_problem(reply, 400, "invalid-json")
    if case == "duplicate key below":
        assert body["errors"] == [{"pointer": "/a/b/0/c", "detail": "duplicate key"}]
    if case == "syntax":
        assert (body["errors"][0]["line"], body["errors"][0]["column"]) == (1, 7)


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
def test_bodies_of_the_wrong_kind(bare: TestClient, assert_problem: Check, method: str, path: str) -> None:
    for content in (b"[]", b"null", b"1", b'"text"'):
        assert_problem(send(bare, method, path, content=content), 422, "invalid-body")
    unknown = send(bare, method, path, json=GOOD[path] | {"x~/y": 1})
    body = assert_problem(unknown, 422)
    assert [place["pointer"] for place in body["errors"]] == ["/x~0~1y"]
    assert "unknown field" in body["errors"][0]["detail"]
    if GOOD[path]:  # where every field is optional, an empty object is a good body
        assert_problem(send(bare, method, path, json={}), 422)
    empty = bare.request(method, url(path))
    assert_problem(empty, (400, 422))


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/xml"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json; charset=latin-1"},
        {"content-type": "json"},
        {"content-type": ""},
        {"content-type": "application/json", "content-encoding": "gzip"},
    ],
)
def test_media_types(
    bare: TestClient, assert_problem: Check, method: str, path: str, headers: dict[str, str]
) -> None:
    reply = bare.request(method, url(path), content=b"{}", headers=headers)
    assert_problem(reply, 415, "unsupported-media-type")
    assert "application/json" in reply.headers["accept"]


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
def test_too_large(bare: TestClient, assert_problem: Check, method: str, path: str) -> None:
    content = b'{"a": "' + b"x" * 200_001 + b'"}'
    assert_problem(send(bare, method, path, content=content), 413, "body-too-large")
    chunked = send(bare, method, path, content=iter([content[:100_000], content[100_000:]]))
    assert_problem(chunked, 413, "body-too-large")


@pytest.mark.parametrize("path", [*PATHS, "/openapi.json", "/docs", "/problems"])
def test_wrong_method(bare: TestClient, assert_problem: Check, path: str) -> None:
    allowed = {method for method, other in OPERATIONS if other == path} or {"GET"}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"} - allowed:
        reply = bare.request(method, url(path))
        assert_problem(reply, 405, "method-not-allowed")
        wanted = allowed | ({"HEAD"} if "GET" in allowed else set())
        assert set(reply.headers["allow"].split(", ")) == wanted


@pytest.mark.parametrize(
    "path",
    ["/nope", "/v1", "/v1/", "/v1/facts/", "/v1/facts/a/b", "/healthz", "/problems/nope", "//v1/facts"],
)
def test_unknown_path(bare: TestClient, assert_problem: Check, path: str) -> None:
    assert_problem(bare.get(path), 404, "not-found")


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_unknown_and_repeated_parameters(
    bare: TestClient, assert_problem: Check, method: str, path: str
) -> None:
    body = assert_problem(send(bare, method, path, url=url(path) + "?nope=1"), 422, "invalid-parameter")
    assert body["errors"] == [{"in": "query", "name": "nope", "detail": "unknown parameter"}]
    for parameter in DOCUMENT["paths"][path][method.lower()].get("parameters", []):
        name = parameter["name"]
        if parameter["in"] != "query":
            continue
        twice = send(bare, method, path, url=f"{url(path)}?{name}=1&{name}=1")
        body = assert_problem(twice, 422, "invalid-parameter")
        assert body["errors"] == [{"in": "query", "name": name, "detail": "given more than once"}]
        for value in ("%00", "%ff", "%ED%A0%80", "x" * 3_000):
            assert_problem(send(bare, method, path, url=f"{url(path)}?{name}={value}"), 422)
        assert_problem(
            send(bare, method, path, url=f"{url(path)}?{name}={'x' * 40_000}"), 414, "uri-too-long"
        )


@pytest.mark.parametrize(("method", "path"), [(m, p) for m, p in OPERATIONS if "{" in p])
def test_bad_paths(bare: TestClient, assert_problem: Check, method: str, path: str) -> None:
    for part, slug in (("%00", "bad-request"), ("%ff", "bad-request"), ("a%ED%A0%80", "bad-request")):
        assert_problem(send(bare, method, path, url=re.sub(r"\{\w+\}", part, path)), 400, slug)
    assert_problem(
        send(bare, method, path, url=re.sub(r"\{\w+\}", "x" * 3_000, path)), 422, "invalid-parameter"
    )
    assert_problem(send(bare, method, path, url=re.sub(r"\{\w+\}", "x" * 20_000, path)), 414, "uri-too-long")


BAD_INSTANTS = [
    "",
    "yesterday",
    "1704067200",
    "05/06/2024",
    "2024-02-30",
    "2024-01-01T25:00Z",
    "9999-12-31",
    "1" * 100,
]


@pytest.mark.parametrize("text", BAD_INSTANTS)
def test_bad_instants(bare: TestClient, assert_problem: Check, text: str) -> None:
    for path in ("/v1/facts", "/v1/facts/f_1"):
        for name in ("at", "known_at"):
            body = assert_problem(bare.get(path, params={name: text}), 422)
            assert (body["errors"][0]["in"], body["errors"][0]["name"]) == ("query", name)
    for path in ("/v1/query", "/v1/verify"):
        body = assert_problem(bare.post(path, json=GOOD[path] | {"at": text, "known_at": text}), 422)
        assert [place["pointer"] for place in body["errors"]] == ["/at", "/known_at"]
    for number in (1704067200, 1.5, True):
        body = assert_problem(bare.post("/v1/query", json=GOOD["/v1/query"] | {"at": number}), 422)
        assert body["errors"] == [{"pointer": "/at", "detail": "must be text"}]


@pytest.mark.parametrize(
    ("name", "text"),
    [("limit", "0"), ("limit", "1001"), ("limit", "1.0"), ("limit", " 5"), ("limit", "1_0"), ("limit", "+5"),
     ("limit", "٣"), ("limit", ""), ("limit", "9" * 5_000),
     ("history", "1"), ("history", "TRUE"), ("history", ""),
     ("subject", ""), ("subject", " "), ("cursor", "x" * 501)],
)  # fmt: skip
def test_bad_parameters(bare: TestClient, assert_problem: Check, name: str, text: str) -> None:
    body = assert_problem(bare.get("/v1/facts", params={name: text}), 422, "invalid-parameter")
    assert [(place["in"], place["name"]) for place in body["errors"]] == [("query", name)]


DIAGNOSTIC = Diagnostic(
    2, 5, 9, "syntax", "unexpected word", ("a formula",), "write G", "p.spec", "spec oops"
)
RAISED: list[tuple[Exception, int, str]] = [
    (errors.InputError("no such zone"), 422, "invalid-input"),
    (errors.FactFormatError("bad", pointer="/x"), 422, "invalid-facts"),
    (errors.TimeFormatError("no time"), 422, "invalid-instant"),
    (errors.AmbiguousTimeError("twice"), 422, "invalid-instant"),
    (errors.FileEncodingError("byte 3"), 422, "invalid-input"),
    (JsonError("bad", line=1, column=2), 400, "invalid-json"),
    (errors.SpecError([DIAGNOSTIC]), 422, "invalid-spec"),
    (errors.SpecTypeError([DIAGNOSTIC]), 422, "invalid-spec"),
    (errors.UnknownFactError("no fact"), 404, "unknown-fact"),
    (errors.UnknownNameError("no type"), 404, "not-found"),
    (errors.CursorError("not mine"), 422, "invalid-parameter"),
    (errors.ReadOnlyError("it writes"), 403, "read-only"),
    (errors.LimitError("too long"), 422, "limit-exceeded"),
    (errors.QueryError("neither"), 422, "invalid-query"),
    (errors.ConflictError("other"), 409, "conflict"),
    (errors.FitError("flat"), 422, "fit-impossible"),
    (errors.StoreUnavailableError("no store at bolt://127.0.0.1:7687"), 503, "store-unavailable"),
    (errors.StoreAuthError("user secret-user at bolt://"), 503, "store-error"),
    (errors.MigrationError("newer"), 503, "store-error"),
    (errors.StoreError("odd"), 503, "store-error"),
    (errors.ChronofyError("secret-user"), 500, "internal-error"),
    (RuntimeError("secret-user"), 500, "internal-error"),
]


@pytest.mark.parametrize(("error", "status", "slug"), RAISED, ids=lambda value: type(value).__name__)
def test_each_class_has_its_problem(
    bare: TestClient, stand_in: Any, assert_problem: Check, error: Exception, status: int, slug: str
) -> None:
    stand_in.error = error
    reply = bare.post("/v1/cypher", json={"query": "RETURN 1"})
    body = assert_problem(reply, status, slug)
    assert "secret-user" not in reply.text
    assert ("retry-after" in reply.headers) == (slug == "store-unavailable")
    if slug == "invalid-spec":
        place = body["errors"][0]
        assert (place["line"], place["column"], place["code"]) == (2, 5, "syntax")
        assert place["hint"] == "write G"


def test_every_class_is_mapped() -> None:
    for name in errors.__all__:
        cls = getattr(errors, name)
        assert any(base in BY_CLASS for base in cls.__mro__)
    assert set(BY_CLASS.values()) <= set(KINDS)
    raised = {type(error) for error, _, _ in RAISED}
    assert set(BY_CLASS) <= raised


def test_internal_errors_are_logged_with_their_id(
    bare: TestClient, stand_in: Any, assert_problem: Check, caplog: pytest.LogCaptureFixture
) -> None:
    stand_in.error = RuntimeError("what happened")
    body = assert_problem(bare.get("/v1/specs"), 500, "internal-error")
    assert body["request_id"] in caplog.text
    assert "what happened" in caplog.text


@pytest.mark.parametrize(("method", "path"), STORE_ROUTES)
def test_the_store_goes_away(
    bare: TestClient, stand_in: Any, assert_problem: Check, method: str, path: str
) -> None:
    stand_in.error = errors.StoreUnavailableError("no store at bolt://127.0.0.1:7687")
    body = assert_problem(send(bare, method, path), 503, "store-unavailable")
    assert "bolt://127.0.0.1:7687" in body["detail"]
    assert bare.get("/healthz/live").json() == {"status": "ok"}


def test_unknown_names_are_404(bare: TestClient, stand_in: Any, assert_problem: Check) -> None:
    stand_in.error = errors.UnknownNameError("no such thing is known")
    for path in ("/v1/fact-types/a", "/v1/answers/a", "/v1/answers/a/provenance"):
        assert assert_problem(bare.get(path), 404, "not-found")["detail"] == "no such thing is known"


def test_long_lists_of_errors_are_cut(bare: TestClient, assert_problem: Check) -> None:
    reply = bare.post("/v1/facts", json={"facts": [1] * 1_500})
    body = assert_problem(reply, 422, "invalid-facts")
    assert len(body["errors"]) == 1_000
    assert "1,500 of 1,500 row(s)" in body["detail"]
    assert body["errors"][999]["pointer"] == "/facts/999"


def test_pages_of_the_problem_types(bare: TestClient) -> None:
    listed = bare.get("/problems").text
    for kind in KINDS.values():
        assert kind.uri in listed
        page = bare.get(kind.uri)
        assert page.status_code == 200
        assert str(kind.status) in page.text


def test_too_many_rows(assert_problem: Check) -> None:
    small = SimpleNamespace(settings=Settings(max_rows=3), tenant="default")
    client = TestClient(create_app(small))  # type: ignore[arg-type]
    lines = b'{"subject": 1}\n' * 4
    ndjson = {"content-type": "application/x-ndjson"}
    for reply in (
        client.post("/v1/facts", json={"facts": [{"subject": "s"}] * 4}),
        client.post("/v1/facts?on_error=skip", content=lines, headers=ndjson),
    ):
        assert "4 rows at once" in assert_problem(reply, 422, "limit-exceeded")["detail"]


def test_what_takes_too_long_is_told_so(assert_problem: Check) -> None:
    go = threading.Event()
    slow = SimpleNamespace(
        settings=Settings(request_timeout_s=0.2),
        tenant="default",
        specs=lambda: go.wait(10) and [],
        warm=lambda: None,
    )
    with TestClient(create_app(slow)) as client:  # type: ignore[arg-type]
        try:
            assert_problem(client.get("/v1/specs"), 504, "timed-out")
            assert client.get("/healthz/live").status_code == 200
        finally:
            go.set()
