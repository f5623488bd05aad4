"""`fmt` on files."""

from pathlib import Path

UGLY = "param gamma=0.5;spec fresh :G validity>=gamma->F x>0  # why\n"
NEAT = "param gamma = 0.5\nspec fresh: (G validity >= gamma) -> F x > 0  # why\n"


def test_files_are_formatted_in_place(run, kb):
    Path("ugly.spec").write_text(UGLY)
    Path("neat.spec").write_text(NEAT)
    Path("ugly.spec").chmod(0o640)
    ran = run("fmt", "ugly.spec", "neat.spec")
    assert (ran.code, ran.out, ran.err) == (0, "ugly.spec: formatted\n", "1 of 2 changed\n")
    assert Path("ugly.spec").read_text() == NEAT
    assert Path("ugly.spec").stat().st_mode & 0o777 == 0o640
    assert run("fmt", "ugly.spec").out == ""
    assert sorted(one.name for one in Path().iterdir()) == ["neat.spec", "ugly.spec"]
    assert kb.settings is None


def test_check_changes_nothing_and_says_so(run):
    Path("ugly.spec").write_text(UGLY)
    ran = run("fmt", "--check", "ugly.spec")
    assert (ran.code, ran.out) == (1, "ugly.spec: would change\n")
    assert Path("ugly.spec").read_text() == UGLY
    Path("neat.spec").write_text(NEAT)
    assert run("fmt", "--check", "neat.spec").code == 0


def test_a_file_with_errors_is_left_alone_and_the_others_are_not(run):
    Path("bad.spec").write_text("spec a: G )\n")
    Path("latin.spec").write_bytes(b"# caf\xe9\n")
    Path("ugly.spec").write_text(UGLY)
    ran = run("fmt", "bad.spec", "latin.spec", "ugly.spec")
    assert ran.code == 1
    assert "bad.spec:1:11: error[syntax]" in ran.out
    assert "latin.spec: not UTF-8 at byte 5" in ran.out
    assert "ugly.spec: formatted" in ran.out
    assert Path("bad.spec").read_text() == "spec a: G )\n"
    files = run("fmt", "--json", "--check", "bad.spec", "ugly.spec").json["files"]
    assert [(one["changed"], len(one["diagnostics"])) for one in files] == [(False, 1), (False, 0)]


def test_line_ends_and_imports(run, tmp_path):
    Path("packs").mkdir()
    Path("packs/common.spec").write_text("let ok = x > 0\n")
    Path("packs/own.spec").write_bytes(b'import "common.spec"\r\nspec a:common.ok\r\n')
    assert run("fmt", "packs/own.spec").code == 0
    assert Path("packs/own.spec").read_bytes() == b'import "common.spec"\r\nspec a: common.ok\r\n'
