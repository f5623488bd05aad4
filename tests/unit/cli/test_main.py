"""What holds for every command: help, globals, errors and exit codes, streams."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from chronofy_kg import __version__, errors
from chronofy_kg.cli import main

OPTIONS = {
    "load": ["--on-error", "--reject", "--encoding", "--map", "--restore", "FILE"],
    "export": ["--output", "--rdf-profile"],
    "fit": ["--show", "TYPE"],
    "mine": [],
    "query": ["TEXT", "--subject", "--predicate", "--object", "--at", "--known-at", "--spec", "--param",
              "--tau", "--mode", "--limit", "--on-fail", "--history", "--hindsight"],
    "verify": ["STEPS.json", "--at", "--known-at", "--spec", "--param"],
    "check": ["FILE"],
    "specs put": ["NAME", "FILE"],
    "specs list": [],
    "specs show": ["NAME", "--version"],
    "cypher": ["TEXT|@NAME", "--param"],
    "serve": ["--host", "--port"],
    "demo": ["--once"],
    "config": [],
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_help_names_every_option(run, name):
    ran = run(*name.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    for option in [*OPTIONS[name], "--uri", "--data", "--tenant", "--json", "--debug", "--help"]:
        assert option in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_help_of_the_program(run):
    ran = run("--help")
    assert ran.code == 0
    commands = ran.out.split("Commands:")[1]
    for name in OPTIONS:
        assert f"\n  {name.split()[0]} " in commands
    assert "..." not in commands
    for option in ("--uri", "--data", "--tenant", "--json", "--version"):
        assert option in ran.out
    assert run("-h").out == ran.out


def test_version(run):
    assert run("--version").out == f"chronofy-kg {__version__}\n"


@pytest.mark.parametrize(
    "argv", [[], ["nothing"], ["--nothing"], ["specs"], ["mine", "extra"], ["query", "--json"]]
)
def test_wrong_use_is_exit_code_2(run, argv):
    ran = run(*argv)
    assert ran.code == 2
    assert "Usage: chronofy-kg" in ran.out + ran.err
    assert "Traceback" not in ran.err


def test_globals_stand_before_or_after_and_the_later_wins(run, kb, tmp_path):
    kb.replies["fact_types"] = []
    run(
        "--uri",
        "bolt://one",
        "--tenant",
        "t",
        "--json",
        "fit",
        "--show",
        "--uri",
        "bolt://two",
        "--data",
        "d",
    )
    assert (kb.settings.uri, kb.settings.tenant, kb.settings.data) == ("bolt://two", "t", tmp_path / "d")
    assert run("--json", "fit", "--show").json == {"items": []}
    assert run("fit", "--show", "--json").json == {"items": []}


def test_globals_reach_a_command_of_a_group(run, kb):
    kb.replies["specs"] = []
    assert run("--tenant", "a", "--json", "specs", "list").json == {"items": []}
    assert kb.settings.tenant == "a"
    run("specs", "list", "--tenant", "b")
    assert kb.settings.tenant == "b"


def test_the_flag_wins_over_the_environment(run, kb, monkeypatch):
    monkeypatch.setenv("CHRONOFY_KG_TENANT", "env")
    kb.replies["fact_types"] = []
    run("fit", "--show")
    assert kb.settings.tenant == "env"
    run("fit", "--show", "--tenant", "flag")
    assert kb.settings.tenant == "flag"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.QueryError("no such thing"), 1),
        (errors.FactFormatError("is wrong", file="a.csv", line=3, column=4), 1),
        (errors.TimeFormatError("no time"), 1),
        (errors.ConflictError("held"), 1),
        (errors.FitError("cannot"), 1),
        (errors.StoreUnavailableError("bolt://db:7687 cannot be reached:\n  refused"), 3),
        (errors.StoreAuthError("bolt://db:7687 refuses user neo4j"), 3),
        (errors.MigrationError("the schema is newer"), 3),
    ],
)
def test_an_error_is_one_line_on_stderr(run, kb, error, code):
    kb.replies["mine"] = error
    ran = run("mine")
    assert (ran.code, ran.out) == (code, "")
    assert ran.err == f"mining...\nchronofy-kg: {' '.join(str(error).split())}\n"
    assert (run("mine", "--json").out, kb.closed) == ("", True)


def test_an_unexpected_error_is_one_line_and_debug_shows_the_rest(run, kb):
    def fail() -> None:
        raise ZeroDivisionError("by\nzero")

    kb.replies["mine"] = fail
    ran = run("mine")
    assert ran.code == 70
    assert ran.err == "mining...\nchronofy-kg: unexpected ZeroDivisionError: by zero (--debug shows where)\n"
    ran = run("mine", "--debug")
    assert ran.code == 70
    assert "Traceback" in ran.err
    assert "conftest.py" in ran.err
    assert run("--debug", "mine").err == ran.err


def test_ctrl_c_is_a_short_word(run, kb):
    kb.replies["mine"] = KeyboardInterrupt()
    ran = run("mine")
    assert (ran.code, ran.out, ran.err) == (130, "", "mining...\ninterrupted\n")
    assert kb.closed


@pytest.mark.engine
def test_an_unreachable_store_is_one_line_and_exit_code_3(run):
    ran = run("fit", "--show", "--uri", "bolt://127.0.0.1:1")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.count("\n") == 1
    assert "127.0.0.1:1" in ran.err


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from chronofy_kg.cli import main; main(['query', '--help']); "
        "print(sorted({'numpy', 'scipy', 'numba', 'neo4j', 'fastapi', 'pydantic_settings', 'torch', "
        "'chronofy_kg.kb', 'chronofy_kg.facts', 'chronofy_kg.settings'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == b"[]"


class Stream(io.TextIOWrapper):
    """Stands for stdout: of an encoding, and a terminal or not."""

    def __init__(self, encoding: str = "utf-8", *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.fixture
def shown(monkeypatch):
    def run_on(stream: Stream, *argv: str) -> bytes:
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(argv) == 0
        stream.flush()
        return stream.buffer.getvalue()

    return run_on


def test_text_that_the_stream_cannot_say_is_escaped(shown):
    argv = ("config", "--tenant", "Zoë-東")
    assert "Zoë-\\u6771".encode("latin-1") in shown(Stream("latin-1"), *argv)
    assert b'"Zo\\u00eb-\\u6771"' in shown(Stream("latin-1"), *argv, "--json")
    assert '"Zoë-東"'.encode() in shown(Stream(), *argv, "--json")
    assert "Zoë-東".encode() in shown(Stream(), *argv)


def test_codes_only_on_a_terminal_that_wants_them(shown, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    assert b"\x1b[" in shown(Stream(terminal=True), "config")
    assert b"\x1b[" not in shown(Stream(terminal=True), "config", "--json")
    assert b"\x1b[" not in shown(Stream(), "config")
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b[" not in shown(Stream(terminal=True), "config")


@pytest.mark.parametrize("argv", [["config"], ["config", "--json"], ["--help"], ["specs", "--help"]])
def test_a_reader_that_goes_away_is_no_error(monkeypatch, capfd, argv):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(argv) == 141
    assert "Error" not in capfd.readouterr().err


def test_a_reader_that_goes_away_leaves_the_end_of_the_process_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    argv = [sys.executable, "-m", "chronofy_kg.cli", "config", "--json"]
    done = subprocess.run(argv, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
