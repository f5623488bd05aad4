"""The processes behind an embedded store, as its folder tells them."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chronofy_kg.store import keeper

__all__ = ["end_engine", "endpoint", "is_kept", "wait_until"]


def endpoint(folder: Path) -> dict[str, Any]:
    """Return what the keeper of a data folder tells of itself."""
    told: dict[str, Any] = json.loads((folder / "engine" / keeper.ENDPOINT_FILE).read_text())
    return told


def is_kept(folder: Path) -> bool:
    """Whether a keeper holds the lock of a data folder."""
    with (folder / "engine" / keeper.ENGINE_LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def wait_until(condition: Callable[[], bool], seconds: float = 45.0) -> bool:
    """Wait until a condition holds; return whether it came to that."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def end_engine(folder: Path) -> None:
    """End the engine of a data folder, if it runs, without waiting for its linger time."""
    if (folder / "engine" / keeper.ENDPOINT_FILE).exists() and is_kept(folder):
        os.kill(endpoint(folder)["keeper"], signal.SIGTERM)
        assert wait_until(lambda: not is_kept(folder))
