"""The wheel is whole: built, installed into a fresh environment, it runs the demo from another folder.

Nothing is fetched: the dependencies come from uv's cache, which the set-up of this checkout has filled.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UV = Path(sys.executable).with_name("uv")
pytestmark = [pytest.mark.wheel, pytest.mark.demo, pytest.mark.engine, pytest.mark.model]


def run(*command: str | Path, cwd: Path, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")
    }
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_every_data_file_and_nothing_else_of_the_checkout(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "cypher", "grammar", "rules", "chronofy_kg"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.split()
    wanted = {n if n.startswith("chronofy_kg/") else f"chronofy_kg/_data/{n}" for n in tracked}
    assert tracked
    assert sorted(wanted - names) == []
    outside = {n.split("/")[0] for n in names} - {"chronofy_kg"}
    assert len(outside) == 1
    assert outside.pop().endswith(".dist-info")


def test_the_demo_runs_from_a_fresh_environment_in_another_folder(wheel: Path, tmp_path: Path) -> None:
    if not UV.exists():
        pytest.skip("uv is not beside this Python: the environment was not made by make")
    made = run(UV, "venv", "--python", sys.executable, tmp_path / "env", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    python = tmp_path / "env" / "bin" / "python"
    installed = run(
        UV, "pip", "install", "--offline", "--python", python, "--constraint", ROOT / "constraints.txt",
        f"{wheel}[all]", cwd=tmp_path,
    )  # fmt: skip
    if installed.returncode and not os.environ.get("CI"):
        pytest.skip(f"uv's cache lacks a dependency: {installed.stderr.strip().splitlines()[-1]}")
    assert installed.returncode == 0, installed.stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    demo = run(tmp_path / "env" / "bin" / "chronofy-kg", "demo", "--once", cwd=elsewhere, timeout=600)
    assert demo.returncode == 0, demo.stderr
    assert "exploitation: active" in demo.stdout
    assert "reacquire" in demo.stdout
    assert "7.3 %" in demo.stdout
    assert (elsewhere / "chronofy-data").is_dir()
    again = run(tmp_path / "env" / "bin" / "chronofy-kg", "demo", "--once", cwd=elsewhere, timeout=120)
    assert again.returncode == 0, again.stderr
    assert " 0 new" in again.stdout
    shutil.rmtree(tmp_path / "env")
