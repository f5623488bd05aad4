"""A short form of the crash rounds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.engine


def test_kill_9_of_loader_and_engine_loses_tears_and_doubles_nothing() -> None:
    pytest.importorskip("arcadedb_embedded")
    command = [sys.executable, str(ROOT / "benchmarks" / "crash_rounds.py")]
    ran = subprocess.run(
        [*command, "--rounds", "2", "--engines", "embedded"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[-2_000:]
    found = json.loads(ran.stdout)["embedded"]
    assert [found[name] for name in ("lost", "torn", "duplicates", "missing")] == [0, 0, 0, 0]
    assert found["acknowledged"] > 0
