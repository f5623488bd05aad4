"""Diagnostics: their text, their dictionary, and did-you-mean."""

import pickle

import pytest

from chronofy_kg.errors import SpecError, SpecSyntaxError, SpecTypeError
from chronofy_kg.spec import Diagnostic, parse_formula
from chronofy_kg.spec.diagnostics import Source, Span, did_you_mean, raise_diagnostics


def test_text_has_place_line_caret_expected_and_hint():
    one = Diagnostic(2, 5, 8, "name", "'foo' is no signal", ("a", "b", "c"), "try a", "f.spec", "G foo bar")
    assert str(one).splitlines() == [
        "f.spec:2:5: error[name]: 'foo' is no signal",
        "    G foo bar",
        "        ^^^",
        "    expected: a, b or c",
        "    hint: try a",
    ]


def test_tabs_stay_under_the_caret_and_control_characters_are_not_printed():
    lines = str(Source("\t\tx \x1b[31m > é", "f").diagnostic(Span(2, 3), "name", "m")).splitlines()
    assert lines[1:] == ["    \t\tx \ufffd[31m > é", "    \t\t^"]


def test_long_lines_are_cut_around_the_place():
    text = str(Source("x" * 5000 + "!" + "y" * 5000).diagnostic(Span(5000, 5001), "lex", "m"))
    line, caret = text.splitlines()[1:3]
    assert len(line) < 200
    assert line[caret.index("^")] == "!"


def test_a_span_over_several_lines_ends_with_its_first():
    one = Source("ab\ncd\r\nef").diagnostic(Span(4, 9), "type", "m")
    assert (one.line, one.column, one.end_column, one.source_line) == (2, 2, 3, "cd")


def test_dictionary_is_json_ready():
    one = Diagnostic(1, 2, 3, "lex", "m", ("x",), None, "f", "line")
    place = {"file": "f", "line": 1, "column": 2, "end_column": 3}
    said = {"severity": "error", "code": "lex", "message": "m", "expected": ["x"], "hint": None}
    assert one.to_dict() == place | said


@pytest.mark.parametrize(
    ("codes", "kind"),
    [(["lex", "syntax"], SpecSyntaxError), (["name", "unit"], SpecTypeError), (["lex", "name"], SpecError)],
)
def test_class_of_the_error_follows_the_codes(codes, kind):
    with pytest.raises(SpecError) as caught:
        raise_diagnostics([Diagnostic(i + 1, 1, 2, code, "m") for i, code in enumerate(codes)])
    assert type(caught.value) is kind


def test_errors_are_in_order_and_each_once():
    one, two = Diagnostic(2, 1, 2, "lex", "m"), Diagnostic(1, 9, 10, "lex", "m")
    with pytest.raises(SpecSyntaxError) as caught:
        raise_diagnostics([one, two, one])
    assert caught.value.diagnostics == [two, one]


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("validty", ["validity", "x"], "validity"),
        ("adn", ["and", "or"], "and"),
        ("And", ["and"], "and"),
        ("eventualy", ["eventually", "finally"], "eventually"),
        ("gamma", ["alpha"], None),
        ("y", ["x"], None),
        ("ab", ["xy"], None),
        ("gamma", ["gamma"], None),
    ],
)
def test_did_you_mean(word, known, meant):
    assert did_you_mean(word, known) == meant


def test_diagnostics_can_be_sent_to_another_process():
    one = Diagnostic(1, 2, 3, "lex", "m", ("x",), None, "f", "line")
    assert pickle.loads(pickle.dumps(one)) == one
    formula = parse_formula("G[0,2] x > 0")
    assert pickle.loads(pickle.dumps(formula)) == formula
