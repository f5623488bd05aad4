"""The short form of the fuzzing of `make soak`: every operation of the document, on every engine."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from chronofy_kg.kb import KnowledgeBase
from chronofy_kg.settings import Settings
from chronofy_kg.store import StoreAddress

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def http_fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_http_fuzz", ROOT / "benchmarks" / "http_fuzz.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.engine
def test_no_reply_is_other_than_the_document_says(
    address: StoreAddress, http_fuzz: ModuleType, tmp_path: Path
) -> None:
    where = {"data": address.data_dir} if address.is_embedded else {"uri": address.uri, "data": tmp_path}
    login = {"user": address.user, "password": address.password}
    settings = Settings(**where, **login, embedder="none", tenant="fuzz", default_zone="UTC")  # type: ignore[arg-type]
    with KnowledgeBase.open(settings=settings) as kb:
        report = http_fuzz.fuzz(kb, 250, 1)
    assert report["failures"] == {"checks": {}, "replies": {}}
    assert report["by_schema"] + report["by_bytes"] >= 250
    assert {200, 400, 404, 422} <= set(report["statuses"])


def test_the_judge_finds_what_is_wrong(http_fuzz: ModuleType) -> None:
    class Reply:
        def __init__(self, status: int, content: bytes, kind: str = "application/json") -> None:
            self.status_code, self.content, self.headers = status, content, {"content-type": kind}

    operation = {"responses": {"200": {}, "default": {}}}
    assert http_fuzz.judge(Reply(200, b"{}"), operation) == []
    assert http_fuzz.judge(Reply(500, b"{}"), operation) == ["status 500"]
    assert http_fuzz.judge(Reply(418, b"{}"), operation) == ["status 418 is not documented"]
    assert http_fuzz.judge(Reply(200, b"{"), operation) == ["the body is no JSON"]
    assert http_fuzz.judge(Reply(200, b'{"a": NaN}'), operation) == ["the body has NaN"]
