from __future__ import annotations

import getpass
from pathlib import Path

import pytest

from chronofy_kg.answer.dryrun import SpecDryRun, VerdictChange
from chronofy_kg.errors import SpecError
from chronofy_kg.kb import SpecVersion
from chronofy_kg.spec import parse_spec
from chronofy_kg.spec.compare import compare_files

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
    SpecVersion("clinical", 2, "b" * 64, GOOD, "Ada", 1_715_934_600_000_000),
    SpecVersion("legal", 1, "c" * 64, GOOD),
]


def test_put_stores_the_text(run, kb):
    kb.replies["put_spec"] = STORED[1]
    ran = run("specs", "put", "clinical", "good.spec")
    assert (ran.code, ran.out) == (0, "stored clinical, version 2\n")
    assert kb.calls[0][:2] == ("put_spec", ("clinical", GOOD, getpass.getuser()))
    ran = run("specs", "put", "clinical", "good.spec", "--author", "Ada", "--json")
    assert kb.calls[1][1] == ("clinical", GOOD, "Ada")
    assert ran.json == {
        "name": "clinical", "version": 2, "hash": "b" * 64, "author": "Ada",
        "recorded_at": "2024-05-17T08:30:00Z",
    }  # fmt: skip


def test_put_places_errors_in_the_file(run, kb):
    def put(name: str, text: str, author: str) -> None:
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
    assert rows == [
        ["clinical", "2", "2", "b" * 12, "Ada", "2024-05-17T08:30:00Z"], ["legal", "1", "2", "c" * 12],
    ]  # fmt: skip
    assert [item["version"] for item in run("specs", "list", "--json").json["items"]] == [2, 1]


def test_list_of_one_name_shows_its_versions(run, kb):
    kb.replies["specs"] = STORED
    ran = run("specs", "list", "clinical", "--json")
    assert [(one["version"], one["author"]) for one in ran.json["items"]] == [(1, None), (2, "Ada")]
    ran = run("specs", "list", "nothing")
    assert (ran.code, "no spec 'nothing' is stored" in ran.err) == (1, True)


def test_dry_run_says_what_would_change(run, kb):
    kb.replies["dry_run_spec"] = SpecDryRun(
        "clinical", 3, 2, "d" * 64, False, (),
        compare_files(parse_spec(GOOD), parse_spec(GOOD.replace("0.5", "0.7"))), ("egfr",), 3,
        (VerdictChange("fresh", {"supported": 2, "boundary": 0, "reacquire": 1},
                       {"supported": 1, "boundary": 0, "reacquire": 2}, 1),),
    )  # fmt: skip
    ran = run("specs", "dry-run", "clinical", "good.spec")
    assert ran.code == 0
    assert kb.calls == [("dry_run_spec", ("clinical", GOOD), {})]
    assert ran.out.splitlines() == [
        "clinical: would become version 3; compared with version 2",
        "  ~ param gamma in [0, 1] = 0.7",
        "    before: param gamma in [0, 1] = 0.5",
        "  * spec fresh: G validity >= gamma",
        "fact types that would change: egfr",
        "verdicts of the 3 facts that hold now (supported / boundary / reacquire):",
        "  fresh: 2 / 0 / 1 -> 1 / 0 / 2, 1 would change",
    ]
    shown = run("specs", "dry-run", "clinical", "good.spec", "--json").json
    assert shown["items"][1] == {
        "kind": "spec", "name": "fresh", "change": "affected",
        "before": "spec fresh: G validity >= gamma", "after": "spec fresh: G validity >= gamma",
    }  # fmt: skip


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
