"""The stand-alone Neo4j: what it needs and how it refuses. The fixtures start a real one."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest


def test_a_missing_jdk_says_what_to_install(deploy: ModuleType) -> None:
    with pytest.raises(deploy.DeployError, match=r"no JDK 3 .* install openjdk-3"):
        deploy.find_java(range(3, 4))
    with pytest.raises(deploy.DeployError, match=r"no JDK 90 or newer .* install openjdk-90"):
        deploy.find_java(range(90, 100))


def test_each_line_takes_only_the_java_that_runs_it(
    deploy: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for major in (17, 25):
        java = tmp_path / str(major) / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.touch()
    monkeypatch.setattr(deploy, "_java_major", lambda java: int(java.parents[1].name))
    lines = {"5.26": ("17", "25"), "2026.08": ("25", "17")}
    assert set(deploy.RELEASES) == set(lines)
    for line, (right, wrong) in lines.items():
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / right))
        assert deploy.find_java(deploy.RELEASES[line].java) == tmp_path / right / "bin" / "java"
        assert int(wrong) not in deploy.RELEASES[line].java


def test_a_missing_maven_is_told(deploy: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(deploy.DeployError, match=r"Maven \(mvn\) is not on the PATH"):
        deploy.fetch_jars(deploy.RELEASES["5.26"])


def test_the_cache_is_the_users(deploy: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    release = deploy.RELEASES[deploy.DEFAULT_LINE]
    assert deploy.cache_folder(release) == tmp_path / "chronofy-kg" / "neo4j" / release.version


def test_a_home_without_a_server(
    deploy: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy.main(["status", "--home", str(tmp_path)]) == 1
    assert deploy.main(["stop", "--home", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no server runs\nno server ran\n"


def test_a_process_that_got_the_number_of_a_server_is_not_taken_for_it(
    deploy: ModuleType, tmp_path: Path
) -> None:
    server = deploy.Server(str(tmp_path), os.getpid(), 1, 2, "secret", "5.26.30")
    deploy._write_state(server)
    assert deploy.read_state(tmp_path) == server
    assert not deploy.is_alive(server)
    assert deploy.stop(tmp_path) is False
    assert (tmp_path / "server.json").stat().st_mode & 0o777 == 0o600


def test_a_home_stays_with_its_line(deploy: ModuleType, tmp_path: Path) -> None:
    deploy._write_state(deploy.Server(str(tmp_path), 0, 1, 2, "secret", "5.26.30"))
    with pytest.raises(
        deploy.DeployError, match=r"holds data of Neo4j 5\.26\.30; give 2026\.08 a home of its"
    ):
        deploy.start(tmp_path, line="2026.08")
