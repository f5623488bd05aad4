from __future__ import annotations

from pathlib import Path

import pytest

from chronofy_kg.errors import SpecError
from chronofy_kg.kb import SpecVersion
from chronofy_kg.spec import parse_spec

GOOD = "param gamma in [0, 1] = 0.5\nspec fresh: G validity >= gamma\n"
BAD = "spec fresh: G validity >= )\nspec other: G (validity >= 0.5\n"


@pytest.fixture(autouse=True)
def _files():
    Path("good.spec").write_text(GOOD)
    Path("bad.spec").write_text(BAD)


def test_check_needs_no_store_and_says_what_a_file_declares(run, kb):
    ran = run("check", "good.spec")
    assert (ran.code, ran.out) == (0, "good.spec: ok, 1 spec, 1 param\n")
    assert ran.err == "1 file, 0 errors\n"
    assert kb.settings is None


def test_check_prints_all_errors_of_all_files(run):
    ran = run("check", "bad.spec", "good.spec")
    assert ran.code == 1
    assert "bad.spec:1:" in ran.out
    assert "bad.spec:2:" in ran.out
    assert "^" in ran.out
    assert "good.spec: ok" in ran.out
    assert "2 files, 2 errors" in ran.err


def test_check_json(run):
    ran = run("--json", "check", "bad.spec", "good.spec")
    assert ran.code == 1
    bad, good = ran.json["files"]
    assert (bad["file"], bad["ok"], len(bad["diagnostics"])) == ("bad.spec", False, 2)
    assert bad["diagnostics"][0]["line"] == 1
    assert (good["ok"], good["specs"], good["params"]) == (True, ["fresh"], ["gamma"])


def test_check_reads_imports_beside_the_file(run, tmp_path):
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs/base.spec").write_text(GOOD)
    (tmp_path / "packs/own.spec").write_text('import "base.spec" as base\nspec s: G base.fresh\n')
    (tmp_path / "packs/lost.spec").write_text('import "nowhere.spec" as base\n')
    ran = run("check", "packs/lost.spec")
    assert ran.code == 1
    assert "packs/lost.spec:1:8" in ran.out
    assert "nowhere.spec" in ran.out


def test_check_refuses_other_encodings_with_the_byte(run):
    Path("latin.spec").write_bytes(b"# caf\xe9\n")
    ran = run("check", "latin.spec")
    assert (ran.code, ran.out) == (1, "latin.spec: not UTF-8 at byte 5\n")
    assert run("check", "latin.spec", "--json").json["files"][0]["ok"] is False


def test_warnings_end_well_unless_strict(run):
    Path("warned.spec").write_text("param p = 3\nspec a: G x > 0 -> y > 0\n")
    ran = run("check", "warned.spec")
    assert (ran.code, ran.err) == (0, "1 file, 0 errors, 2 warnings\n")
    assert "warned.spec:1:7: warning[unused]: nothing uses the parameter p" in ran.out
    assert "warned.spec:2:9: warning[precedence]" in ran.out
    assert ran.out.endswith("warned.spec: ok, 1 spec, 1 param\n")
    strict = run("check", "--strict", "warned.spec", "good.spec")
    assert strict.code == 1
    assert "warned.spec: ok" not in strict.out
    (warned, good) = run("check", "--strict", "--json", "warned.spec", "good.spec").json["files"]
    assert (warned["ok"], good["ok"]) == (False, True)
    assert [one["severity"] for one in warned["diagnostics"]] == ["warning", "warning"]
    assert run("check", "--strict", "good.spec").code == 0


def test_an_import_in_another_encoding_is_an_error_at_the_import(run):
    Path("latin.spec").write_bytes(b"# caf\xe9\n")
    Path("own.spec").write_text('import "latin.spec" as l\nspec s: G x > 0\n')
    ran = run("check", "own.spec")
    assert ran.code == 1
    assert "own.spec:1:8: error[import]: 'latin.spec' cannot be read" in ran.out


def test_wrong_use(run):
    assert run("check", "nowhere.spec").code == 2
    assert run("check").code == 2
    assert run("specs", "put", "name").code == 2
    assert run("specs", "delete", "name").code == 2


STORED = [
    SpecVersion("clinical", 1, "a" * 64, "spec old: G validity >= 0.1\n"),
    SpecVersion("clinical", 2, "b" * 64, GOOD),
    SpecVersion("legal", 1, "c" * 64, GOOD),
]


def test_put_stores_the_text(run, kb):
    kb.replies["put_spec"] = STORED[1]
    ran = run("specs", "put", "clinical", "good.spec")
    assert (ran.code, ran.out) == (0, "stored clinical, version 2\n")
    assert kb.calls == [("put_spec", ("clinical", GOOD), {})]
    ran = run("specs", "put", "clinical", "good.spec", "--json")
    assert ran.json == {"name": "clinical", "version": 2, "hash": "b" * 64}


def test_put_places_errors_in_the_file(run, kb):
    def put(name: str, text: str) -> None:
        parse_spec(text, name)

    kb.replies["put_spec"] = put
    ran = run("specs", "put", "clinical", "bad.spec")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("bad.spec:1:")
    assert "bad.spec:2:" in ran.err
    assert issubclass(SpecError, Exception)


def test_list_shows_the_newest_of_each(run, kb):
    kb.replies["specs"] = STORED
    ran = run("specs", "list")
    assert ran.code == 0
    rows = [line.split() for line in ran.out.splitlines() if line.startswith(("clinical", "legal"))]
    assert rows == [["clinical", "2", "2", "b" * 12], ["legal", "1", "2", "c" * 12]]
    assert [item["version"] for item in run("specs", "list", "--json").json["items"]] == [2, 1]


def test_an_empty_list_says_what_to_do(run, kb):
    kb.replies["specs"] = []
    ran = run("specs", "list")
    assert (ran.code, ran.out) == (0, "")
    assert "specs put NAME FILE" in ran.err


def test_show_prints_the_text_as_it_is(run, kb):
    kb.replies["specs"] = STORED
    assert run("specs", "show", "clinical").out == GOOD
    assert run("specs", "show", "clinical", "--version", "1").out == STORED[0].text
    assert run("specs", "show", "legal", "--json").json["text"] == GOOD


def test_show_of_an_unknown_spec(run, kb):
    kb.replies["specs"] = STORED
    ran = run("specs", "show", "finance")
    assert (ran.code, ran.out, ran.err) == (1, "", "chronofy-kg: no spec 'finance' is stored\n")
    assert "no spec 'legal' version 9 is stored" in run("specs", "show", "legal", "--version", "9").err
