"""The editor grammar and the railroad diagrams follow from the operator table and the EBNF."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from chronofy_kg.spec.operators import table

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy"))
from grammar_files import files, textmate  # noqa: E402


@pytest.mark.parametrize("name", ["chronofy.tmLanguage.json", "railroad.html"])
def test_the_file_is_up_to_date(name):
    shipped = (ROOT / "grammar" / name).read_text(encoding="utf-8")
    assert shipped == files()[name], "run: make grammar"


def kinds(line):
    """The words of a line with their scopes, as an editor would colour them."""
    patterns = [
        (one["name"].removesuffix(".chronofy"), re.compile(one["match"])) for one in textmate()["patterns"]
    ]
    found, at = [], 0
    while at < len(line):
        for name, pattern in patterns:
            match = pattern.match(line, at)
            if match and match.end() > at:
                found.append((match.group(), name))
                at = match.end()
                break
        else:
            plain = re.compile(r"[^\W\d]\w*|.").match(line, at)
            at = plain.end()
    return found


def test_a_line_is_coloured():
    line = 'rule r: p(?x) <- "q s"(?x), ?a during ?b  # why'
    assert kinds(line) == [
        ("rule", "keyword.declaration"), ("?x", "variable.parameter"), ("<-", "keyword.operator"),
        ('"q s"', "string.quoted.double"), ("?x", "variable.parameter"), ("?a", "variable.parameter"),
        ("during", "keyword.other.relation"), ("?b", "variable.parameter"),
        ("# why", "comment.line.number-sign"),
    ]  # fmt: skip
    assert kinds("let m = mean[0,4 h](x where G y >= 0.5) -> inf") == [
        ("let", "keyword.declaration"), ("mean", "support.function"), ("0", "constant.numeric"),
        ("4 h", "constant.numeric"), ("where", "keyword.other"), ("G", "keyword.operator.word"),
        (">=", "keyword.operator"), ("0.5", "constant.numeric"), ("->", "keyword.operator"),
        ("inf", "constant.language"),
    ]  # fmt: skip


def test_every_word_of_the_language_has_a_scope_of_its_own():
    words = table()
    spellings = {
        one: "keyword.operator" for level in words.levels for op in level.operators for one in op.spellings
    }
    expected = spellings | dict.fromkeys(words.items, "keyword.declaration")
    for word, scope in expected.items():
        (found,) = kinds(word)
        assert found[0] == word
        assert found[1].startswith(scope)
    for word in (*words.functions, *words.windows):
        assert kinds(f"{word}(")[0] == (word, "support.function")


def test_the_diagrams_show_every_rule_of_the_grammar():
    page = (ROOT / "grammar" / "railroad.html").read_text(encoding="utf-8")
    ebnf = (ROOT / "grammar" / "chronofy.ebnf").read_text(encoding="utf-8")
    names = re.findall(r"^(\w+)\s*=", ebnf, re.MULTILINE)
    assert len(names) > 25
    assert re.findall(r'<h2 id="(\w+)">', page) == names
    assert page.count("<svg") == len(names)
    json.loads((ROOT / "grammar" / "chronofy.tmLanguage.json").read_text(encoding="utf-8"))
