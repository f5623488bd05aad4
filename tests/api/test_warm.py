"""The background thread: it runs at the start and after pokes, and survives what goes wrong."""

from __future__ import annotations

import threading

import pytest

from chronofy_kg.api.warm import Warmer
from chronofy_kg.errors import StoreUnavailableError


class Counting:
    def __init__(self, *errors: Exception) -> None:
        self.errors, self.runs = list(errors), 0
        self.begun, self.go = threading.Semaphore(0), threading.Semaphore(0)

    def warm(self) -> None:
        self.runs += 1
        self.begun.release()
        assert self.go.acquire(timeout=5)
        if self.errors:
            raise self.errors.pop(0)


def test_pokes_during_a_run_are_one_run_more() -> None:
    kb = Counting()
    warmer = Warmer(kb)  # type: ignore[arg-type]
    warmer.start()
    assert kb.begun.acquire(timeout=5)
    for _ in range(3):
        warmer.poke()
    kb.go.release()
    assert kb.begun.acquire(timeout=5)
    kb.go.release()
    assert not kb.begun.acquire(timeout=0.1)
    warmer.stop()
    assert kb.runs == 2


def test_it_goes_on_after_errors(caplog: pytest.LogCaptureFixture) -> None:
    kb = Counting(StoreUnavailableError("no store"), RuntimeError("odd"))
    warmer = Warmer(kb)  # type: ignore[arg-type]
    warmer.start()
    for turn in range(3):
        assert kb.begun.acquire(timeout=5)
        kb.go.release()
        if turn < 2:
            warmer.poke()
    warmer.stop()
    assert kb.runs == 3
    assert "no store" in caplog.text
    assert "odd" in caplog.text


def test_the_end_does_not_wait_for_a_long_run() -> None:
    kb = Counting()
    warmer = Warmer(kb)  # type: ignore[arg-type]
    warmer.start()
    assert kb.begun.acquire(timeout=5)
    warmer.stop(timeout=0.05)
    kb.go.release()
