"""A knowledge base that records what it is asked and replies as the test sets, and a way to run `main`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chronofy_kg.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class FakeKb:
    """Returns `replies[name]` from the method of that name, or raises it; keeps the calls."""

    def __init__(self) -> None:
        self.replies: dict[str, Any] = {}
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.settings: Any = None
        self.closed = False

    def __enter__(self) -> FakeKb:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in self.replies:
            raise AttributeError(name)

        def call(*args: Any, **keywords: Any) -> Any:
            self.calls.append((name, args, keywords))
            reply = self.replies[name]
            if isinstance(reply, BaseException):
                raise reply
            return reply(*args, **keywords) if callable(reply) else reply

        return call


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("CHRONOFY_KG_") or name in (
            "NO_COLOR",
            "FORCE_COLOR",
            "COLUMNS",
            "TTY_COMPATIBLE",
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CHRONOFY_KG_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def kb(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeKb]:
    fake = FakeKb()

    def open_fake(settings: Any) -> FakeKb:
        fake.settings = settings
        return fake

    monkeypatch.setattr("chronofy_kg.cli.session.open_kb", open_fake)
    yield fake
    assert fake.closed or not fake.calls


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def run_main(*argv: str) -> Ran:
        capsys.readouterr()
        code = main(list(argv))
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_main
