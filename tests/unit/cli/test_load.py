from __future__ import annotations

from pathlib import Path

import pytest

from chronofy_kg.errors import ConflictError, InputError
from chronofy_kg.facts.readers import RowError
from chronofy_kg.kb import LoadReport


def report(rows=2, added=2, errors=(), written=True, **more) -> LoadReport:
    return LoadReport(
        rows=rows,
        added=added,
        unchanged=0,
        corrected=0,
        errors=tuple(errors),
        written=written,
        sequence=1,
        **more,
    )


def bad(line: int, file: str = "a.jsonl", raw: bytes = b"{}\n") -> RowError:
    return RowError(file, line, 3, "subject is missing", raw)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("{}\n")
    return ["a.jsonl", "b.jsonl"]


def test_row_10_reports_each_file_and_the_rate(run, kb, files):
    kb.replies["load"] = report(rows=1234, added=1234)
    ran = run("load", *files)
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "a.jsonl: 1,234 rows: 1,234 added, 0 unchanged, 0 corrected",
        "b.jsonl: 1,234 rows: 1,234 added, 0 unchanged, 0 corrected",
    ]
    assert "2,468 rows in" in ran.err
    assert "rows/s" in ran.err
    name, args, keywords = kb.calls[0]
    assert (name, args) == ("load", (Path("a.jsonl"),))
    assert (keywords["on_error"], keywords["encoding"]) == ("abort", "utf-8")


def test_a_bad_row_stops_the_load_and_names_what_was_not_read(run, kb, files):
    kb.replies["load"] = report(rows=3, added=0, errors=[bad(2)], written=False)
    ran = run("load", *files)
    assert ran.code == 1
    assert ran.out == "a.jsonl: 3 rows, 1 bad row: nothing stored\n"
    assert ran.err.splitlines()[0] == "a.jsonl:2:3: subject is missing"
    assert ran.err.splitlines()[-1] == "not loaded: b.jsonl"
    assert len(kb.calls) == 1


def test_skipped_rows_still_end_in_exit_code_1(run, kb, files):
    kb.replies["load"] = report(rows=3, errors=[bad(2)])
    ran = run("load", "a.jsonl", "--on-error", "skip", "--encoding", "cp1252")
    assert ran.code == 1
    assert ran.out == "a.jsonl: 3 rows: 2 added, 0 unchanged, 0 corrected, 1 bad row skipped\n"
    assert (kb.calls[0][2]["on_error"], kb.calls[0][2]["encoding"]) == ("skip", "cp1252")


def test_at_most_20_errors_are_shown_over_all_files(run, kb, files):
    kb.replies["load"] = report(rows=15, added=0, errors=[bad(n) for n in range(15)])
    ran = run("load", *files, "--on-error", "skip")
    assert ran.err.count("subject is missing") == 20
    assert "... and 10 more bad rows\n" in ran.err


def test_the_reject_file_holds_the_bad_rows_verbatim(run, kb, files, tmp_path):
    replies = iter([
        report(errors=[bad(1, raw=b'{"subject": "\xff"}\r\n'), bad(2, raw=b"last, without line end")]),
        report(errors=[bad(1, raw=b"other file\n")]),
    ])  # fmt: skip
    kb.replies["load"] = lambda *_, **__: next(replies)
    assert run("load", *files, "--on-error", "skip", "--reject", "bad.txt").code == 1
    assert (tmp_path / "bad.txt").read_bytes() == (
        b'{"subject": "\xff"}\r\nlast, without line end\nother file\n'
    )


def test_the_reject_file_is_emptied_where_no_row_is_bad(run, kb, files, tmp_path):
    (tmp_path / "bad.txt").write_text("of an earlier run")
    kb.replies["load"] = report()
    assert run("load", "a.jsonl", "--reject", "bad.txt").code == 0
    assert (tmp_path / "bad.txt").read_bytes() == b""


@pytest.mark.parametrize("reject", ["a.jsonl", "./a.jsonl", "nowhere/bad.txt", "."])
def test_a_reject_file_that_cannot_be_is_refused_before_anything_is_stored(run, kb, files, tmp_path, reject):
    ran = run("load", "a.jsonl", "--reject", reject)
    assert ran.code == 2
    assert "--reject" in ran.err
    assert (tmp_path / "a.jsonl").read_text() == "{}\n"
    assert kb.calls == []


def test_json_holds_every_error(run, kb, files):
    kb.replies["load"] = report(rows=30, added=0, errors=[bad(n) for n in range(30)], written=False)
    ran = run("load", *files, "--json")
    assert ran.code == 1
    assert ran.json["not_loaded"] == ["b.jsonl"]
    (one,) = ran.json["files"]
    assert (one["file"], one["rows"], one["written"], len(one["errors"])) == ("a.jsonl", 30, False, 30)
    assert one["errors"][2] == {"line": 2, "column": 3, "message": "subject is missing"}


def test_control_characters_of_a_row_do_not_reach_the_terminal(run, kb, files):
    error = RowError("a.jsonl", 1, 1, "value is '\x1b[2Jx'", b"\n")
    kb.replies["load"] = report(errors=[error])
    assert "\x1b" not in run("load", "a.jsonl", "--on-error", "skip").err


def test_a_file_that_cannot_be_read_stops_the_load_and_keeps_the_report(run, kb, files, tmp_path):
    (tmp_path / "b.txt").write_text("")

    def load(file: Path, **_: object) -> LoadReport:
        if file.suffix == ".txt":
            raise InputError(f"{file}: unknown ending .txt")
        return report()

    kb.replies["load"] = load
    ran = run("load", "a.jsonl", "b.txt", "b.jsonl")
    assert (ran.code, ran.out) == (1, "a.jsonl: 2 rows: 2 added, 0 unchanged, 0 corrected\n")
    assert ran.err.splitlines()[0] == "chronofy-kg: b.txt: unknown ending .txt"
    assert ran.err.splitlines()[-1] == "not loaded: b.jsonl"
    shown = run("load", "a.jsonl", "b.txt", "b.jsonl", "--json").json
    assert [file["written"] for file in shown["files"]] == [True, False]
    assert shown["files"][1]["error"] == "b.txt: unknown ending .txt"
    assert shown["not_loaded"] == ["b.jsonl"]


def test_a_mapping_is_read_once_and_passed_on(run, kb, files, tmp_path):
    (tmp_path / "m.toml").write_text("[fields]\nsubject = 'who'\n")
    kb.replies["load"] = report()
    assert run("load", *files, "--map", "m.toml").code == 0
    mappings = [keywords["mapping"] for _, _, keywords in kb.calls]
    assert mappings[0].fields == {"subject": "who"}
    assert mappings[0] is mappings[1]
    assert [keywords["restore"] for _, _, keywords in kb.calls] == [False, False]


def test_a_mistake_in_the_mapping_stops_before_the_store_is_opened(run, kb, files, tmp_path):
    (tmp_path / "m.toml").write_text("[fields]\nsubjct = 'who'\n")
    ran = run("load", "a.jsonl", "--map", "m.toml")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "chronofy-kg: m.toml:2:1: unknown field 'subjct'; did you mean 'subject'?\n"
    assert kb.settings is None


def test_restore_takes_one_file(run, kb, files):
    kb.replies["load"] = report()
    assert run("load", "a.jsonl", "--restore").code == 0
    assert kb.calls[0][2]["restore"] is True
    ran = run("load", *files, "--restore")
    assert ran.code == 2
    assert "one export at a time" in ran.err


def test_a_tenant_that_is_not_empty_is_no_place_for_a_restore(run, kb, files):
    kb.replies["load"] = ConflictError("a restore needs an empty tenant")
    ran = run("load", "a.jsonl", "--restore")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "chronofy-kg: a restore needs an empty tenant\n"


def test_the_beginning_of_a_bad_row_is_shown(run, kb, files):
    kb.replies["load"] = report(errors=[bad(1, raw=b'{"subject": ' + b"x" * 200 + b"\n")])
    shown = run("load", "a.jsonl", "--on-error", "skip").err.splitlines()
    assert shown[:2] == ["a.jsonl:1:3: subject is missing", "    " + '{"subject": ' + "x" * 68]


def test_rows_of_forms_without_lines_are_numbered(run, kb, files):
    error = RowError("a.parquet", 7, 1, "subject is missing", b"{}\n", place="row")
    kb.replies["load"] = report(errors=[error])
    assert run("load", "a.jsonl", "--on-error", "skip").err.startswith(
        "a.parquet:row 7: subject is missing\n"
    )
    shown = run("load", "a.jsonl", "--on-error", "skip", "--json").json
    assert shown["files"][0]["errors"] == [{"row": 7, "column": 1, "message": "subject is missing"}]


@pytest.mark.parametrize(
    "argv",
    [
        ["nowhere.jsonl"],
        [],
        ["."],
        ["a.jsonl", "--on-error", "ignore"],
        ["a.jsonl", "--map", "nowhere.toml"],
    ],
)
def test_wrong_use(run, kb, files, argv):
    ran = run("load", *argv)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage: chronofy-kg load" in ran.err
