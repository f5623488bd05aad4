"""Rules of the house that no linter holds: sizes, purity, the public surface."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import chronofy_kg

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "chronofy_kg"
FILES = sorted(
    path
    for folder in ("chronofy_kg", "deploy", "benchmarks", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
PURE = sorted(
    path for name in ("facts", "decay", "spec", "rules", "answer") for path in (PACKAGE / name).rglob("*.py")
)
CLOCKS = {"now", "utcnow", "today", "time", "time_ns", "monotonic"}


def test_no_file_is_longer_than_600_lines() -> None:
    assert FILES
    long = {
        str(path.relative_to(ROOT)): count
        for path in FILES
        if (count := len(path.read_text().splitlines())) > 600
    }
    assert long == {}


def test_no_function_of_the_package_is_longer_than_80_lines() -> None:
    long = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                begin = node.body[1].lineno if ast.get_docstring(node) and len(node.body) > 1 else node.lineno
                if (node.end_lineno or 0) - begin > 80:
                    long.append(f"{path.relative_to(ROOT)}:{node.name}")
    assert long == []


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_pure_code_reads_no_clock_and_draws_no_numbers(path: Path) -> None:
    """Instants and random generators are arguments there."""
    tree = ast.parse(path.read_text())
    imported = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        (node.module or "").split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level
    }
    assert imported & {"random", "secrets", "socket", "time", "urllib", "uuid", "http"} == set()
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    clocks = [
        c.attr
        for c in calls
        if c.attr in CLOCKS and isinstance(c.value, ast.Name) and c.value.id in ("datetime", "date", "time")
    ]
    assert clocks == []


def test_the_public_names_are_there_sorted_and_complete() -> None:
    assert chronofy_kg.__all__ == sorted(chronofy_kg.__all__)
    for name in chronofy_kg.__all__:
        assert getattr(chronofy_kg, name) is not None
    assert set(dir(chronofy_kg)) == set(chronofy_kg.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = chronofy_kg.nothing
