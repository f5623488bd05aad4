"""`export`: where the rows go, and what is refused before the store is opened."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from chronofy_kg.cli.output import Output
from chronofy_kg.cli.progress import progress
from chronofy_kg.cli.session import Session


def test_rows_go_to_stdout_as_json_lines(run, kb):
    def export(target, **keywords):
        target.write(b'{"subject": "s"}\n')
        return 1

    kb.replies["export"] = export
    ran = run("export")
    assert (ran.code, ran.out) == (0, '{"subject": "s"}\n')
    assert ran.err == "stdout: 1 assertions written\n"


def test_rows_go_to_a_file(run, kb):
    kb.replies["export"] = 1234
    ran = run("export", "--output", "out.ttl", "--rdf-profile", "plain")
    assert (ran.code, ran.out, ran.err) == (0, "", "out.ttl: 1,234 assertions written\n")
    name, args, keywords = kb.calls[0]
    assert (name, args, keywords["profile"]) == ("export", (Path("out.ttl"),), "plain")
    assert run("export", "-o", "out.csv", "--json").json == {"file": "out.csv", "rows": 1234}


@pytest.mark.parametrize(
    ("argv", "part"),
    [
        (["--output", "out.xlsx"], "unknown ending .xlsx"),
        (["--output", "out.parquet.gz"], "unknown ending"),
        (["--output", "out.csv", "--rdf-profile", "plain"], "applies to RDF only"),
        (["--rdf-profile", "plain"], "applies to RDF only"),
        (["--output", "out.jsonld", "--rdf-profile", "star"], "JSON-LD has no reifiers"),
        (["--output", "out.ttl", "--rdf-profile", "stars"], "stars"),
        (["--json"], "--output"),
        (["--output", "."], "directory"),
    ],
)
def test_wrong_use(run, kb, argv, part):
    ran = run("export", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert part in ran.err
    assert kb.settings is None


def test_the_moving_line_has_rate_and_time_left(monkeypatch):
    session = Session({}, output=Output())
    shown = io.StringIO()
    with progress(session, "a.csv") as tell:
        assert tell is None  # not a terminal
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stderr", shown)
    session = Session({}, output=Output())
    with progress(session, "a.csv") as tell:
        tell("read", 1_000, 4_000)
        tell("read", 2_000, 4_000)
        tell("write", 10, 2_000)
    text = shown.getvalue()
    assert "a.csv: read" in text
    assert "a.csv: write" in text
    assert "rows" in text
    assert "left" in text
