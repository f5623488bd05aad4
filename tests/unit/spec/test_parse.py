"""Formulas from text: what is refused and where, limits, threads, canonical text."""

import random
import subprocess
import sys
import threading
import time

import pytest

from chronofy_kg.errors import SpecError, SpecSyntaxError, SpecTypeError
from chronofy_kg.spec import parse_formula
from chronofy_kg.spec.ast import Logic, Not, Number, Pair, Temporal


def error_of(text, **options):
    with pytest.raises(SpecError) as caught:
        parse_formula(text, **options)
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize(
    ("text", "column", "code"),
    [
        ("x > 0 and", 10, "syntax"),
        ("x > 0 and # more", 10, "syntax"),
        ("(x > 0", 7, "syntax"),
        ("x > 0)", 6, "syntax"),
        ("(x > 0]", 7, "syntax"),
        ("G[0,5(x > 0)", 6, "syntax"),
        ("G[0 5](x > 0)", 5, "syntax"),
        ("G[0,](x > 0)", 5, "syntax"),
        ("x = 0", 3, "syntax"),
        ("x >> 0", 4, "syntax"),
        ("x > 0 y > 0", 7, "syntax"),
        ("x > 0 U y > 0 U x > 1", 15, "syntax"),
        ("not", 4, "syntax"),
        ("x[0] > 0", 2, "syntax"),
        ("X[0,1] x > 0", 2, "syntax"),
        ("abs x > 0", 5, "syntax"),
        ("abs(x > 0) > 1", 7, "syntax"),
        ("max(x, ) > 1", 8, "syntax"),
        ("G > 0", 3, "syntax"),
        ("spec > 0", 1, "syntax"),
        ("x ≥ 0", 3, "lex"),
        ('x > "a', 5, "lex"),
        ("x > 5.", 6, "lex"),
        ("foo(x) > 0", 1, "name"),
        ("evntually x > 0", 1, "name"),
        ("min(x) > 0", 1, "arity"),
        ("pow(x, 2, 3) > 0", 1, "arity"),
        ("G[inf,inf] x > 0", 3, "interval"),
        ("G[5,3] x > 0", 5, "interval"),
        ("G[1h,30m] x > 0", 6, "interval"),
        ("G[1,3h] x > 0", 3, "unit"),
        ("G[0,3months] x > 0", 6, "unit"),
        ("G[0,3 months] x > 0", 7, "unit"),
        ("x > 3 h + 2", 11, "unit"),
        ("not x", 5, "type"),
        ("G x U y > 0", 3, "type"),
        ("-(x > 0) > 1", 2, "type"),
        ("-(x > 0)", 2, "type"),
        ("G[-5,-1] x > 0", 3, "interval"),
        ("'x' > 0", 1, "lex"),
        ("x > 1e999", 5, "value"),
    ],
)
def test_place_and_code_of_errors(text, column, code):
    found = error_of(text)
    assert (found.line, found.column, found.code) == (1, column, code)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("alway[0,5] x > 0", "did you mean always?"),
        ("x > 0 adn y > 0", "did you mean and?"),
        ("sqr(x) > 0", "did you mean sqrt?"),
        ("x = 0", "write == to compare"),
        ("x ≤ 0", "write <="),
        ("(x > 0", "the bracket opened at 1:1 is not closed"),
        ("x > 0)", "this bracket closes nothing"),
        ("x > 0 U y > 0 U x > 1", "put one U in brackets: operators of this kind do not chain"),
        ("G[0,3 days] x > 0", "did you mean d?"),
        ("F[0,1y] x > 0", "years are not a fixed length; write days, e.g. 365 d"),
        ("in > 0", "'in' is a reserved word; choose another name"),
    ],
)
def test_hints(text, hint):
    assert error_of(text).hint == hint


def test_names_are_checked_against_the_signals():
    found = error_of("validty > 0.5", signals=["validity", "age"])
    assert (found.code, found.hint) == ("name", "did you mean validity?")
    assert error_of("G[0,gama] x > 0", params={"gamma": 3}).hint == "did you mean gamma?"
    assert error_of("G[0,x] x > 0", signals=["x"]).code == "name"


def test_all_semantic_errors_of_a_formula_come_at_once():
    with pytest.raises(SpecTypeError) as caught:
        parse_formula("a > (x > 0) and b and G[3,1] min(x) > 0", signals=["x"])
    places = [(one.column, one.code) for one in caught.value.diagnostics]
    assert places == [(1, "name"), (5, "type"), (17, "name"), (27, "interval"), (30, "arity")]


def test_the_leftmost_of_several_syntax_errors_is_reported():
    assert error_of("(x > 0 and (y > )) or > 1").column == 17
    assert error_of("x > > 0 and (y > )").column == 5


@pytest.mark.parametrize(
    ("text", "params", "canonical"),
    [
        ("always(validity>=gamma)", {"gamma": 0.5}, "G validity >= 0.5"),
        ("G[0,w] x > 0", {"w": "3 d"}, "G[0,3d] x > 0"),
        ("x > -k", {"k": 2}, "x > -2"),
        ("x > -k", {"k": -2}, "x > 2"),
        ("x - k > 0", {"k": -2}, "x - -2 > 0"),
        ("x > --3", {}, "x > --3"),
        ("-x*y > -(x+1)", {}, "-x * y > -(x + 1)"),
        ("(x-y)-1 > x-(y-1)", {}, "x - y - 1 > x - (y - 1)"),
        ("x/(y*2) > x*y/2", {}, "x / (y * 2) > x * y / 2"),
        ("a>0 -> (b>0 -> c>0)", {}, "a > 0 -> b > 0 -> c > 0"),
        ("(a>0 -> b>0) -> c>0", {}, "(a > 0 -> b > 0) -> c > 0"),
        ("a>0 && (b>0 || !c>0)", {}, "a > 0 and (b > 0 or not c > 0)"),
        ("0 <= x < 3", {}, "0 <= x and x < 3"),
        ("G F[0:inf] !x>0", {}, "G F[0,inf] not x > 0"),
        ("(a>0 U b>0) U[1,2] G c>0", {}, "(a > 0 U b > 0) U[1,2] G c > 0"),
        ("G (a>0 and b>0)", {}, "G (a > 0 and b > 0)"),
        ("x<-3", {}, "x < -3"),
        ("x > 1.50e-7 or true", {}, "x > 1.5e-07 or true"),
        ("d > 3 d and one > 2h", {}, "d > 3d and one > 2h"),
    ],
)
def test_canonical_text_parses_back(text, params, canonical):
    formula = parse_formula(text, params=params)
    assert str(formula) == canonical
    assert parse_formula(canonical) == formula


def test_tree_of_a_formula():
    root = parse_formula("not G[1,2] x > 0 and y > 0 S z > 0").root
    assert isinstance(root, Logic)
    negated, since = root.operands
    assert isinstance(negated, Not)
    assert isinstance(negated.operand, Temporal)
    assert negated.operand.interval.low == Number(1.0)
    assert isinstance(since, Pair)
    assert since.operator == "S"


def test_an_error_shows_line_caret_expected_and_hint():
    text = str(error_of("x > 0 and\n  G[0,5x](y > 0)"))
    assert text.splitlines() == [
        "<formula>:2:8: error[unit]: 'x' is no unit of time",
        "      G[0,5x](y > 0)",
        "           ^",
        "    hint: the units are us, ms, s, m, h, d, w",
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "3 months", "many", ""])
def test_bad_parameter_values_are_refused(value):
    with pytest.raises(SpecTypeError, match="k"):
        parse_formula("x > k", params={"k": value})


@pytest.mark.parametrize(
    "text",
    [
        "(" * 101 + "x > 0" + ")" * 101,
        "[" * 10_000,
        "(" * 60_000,
        "not " * 10_000 + "x > 0",
        "-" * 60_000 + "x > 0",
        "x > 0 -> " * 6_000 + "x > 0",
        "abs(" * 99 + "x" + ")" * 99 + " > 0 and " * 3_000 + "x > 0",
        "x" * 70_000,
        "≥" * 60_000,
        "\x00\ud800\u2028\ufeff",
        "x > " + "9" * 50_000,
    ],
    ids=range(11),
)
def test_any_text_is_refused_in_two_seconds_with_a_place(text):
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        parse_formula(text)
    assert time.process_time() - start < 2
    assert all(one.line == 1 and one.column >= 1 for one in caught.value.diagnostics)
    assert len(str(caught.value)) < 20_000


def test_brackets_a_hundred_deep_parse():
    assert str(parse_formula("(" * 100 + "x > 0" + ")" * 100)) == "x > 0"


def test_random_texts_give_formulas_or_spec_errors():
    draw = random.Random(7)
    words = [
        "x",
        "x",
        "x",
        "y",
        "0",
        "1.5",
        ">",
        ">",
        ">",
        "3",
        "d",
        "5q",
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        "->",
        "<->",
        "<-",
        "-",
        "+",
        "*",
        "/",
        "<=",
        ">",
        "==",
        "!=",
        "=",
        "!",
        "&",
        "|",
        "and",
        "xor",
        "not",
        "G",
        "F",
        "O",
        "X",
        "U",
        "S",
        "abs(",
        "min(",
        "true",
        "inf",
        "spec",
        "?",
        "≥",
    ]
    parsed = 0
    for _ in range(3000):
        text = " ".join(draw.choice(words) for _ in range(draw.randint(1, 12)))
        try:
            formula = parse_formula(text)
        except SpecError:
            continue
        parsed += 1
        assert parse_formula(str(formula)) == formula
    assert parsed > 5


def test_threads_parse_independently():
    texts = [f"G[0,{i}] (x > {i} and abs(y - {i}) < 2) -> z{i} > 0" for i in range(40)]
    wrong: list[object] = []

    def work():
        for i, text in enumerate(texts):
            if str(parse_formula(text)) != f"G[0,{i}] (x > {i} and abs(y - {i}) < 2) -> z{i} > 0":
                wrong.append(text)
            if error_of(f"x > {'1 + ' * i} )").column != 5 + 4 * i + 1:
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_importing_builds_no_grammar_and_changes_no_setting_of_pyparsing():
    code = (
        "import pyparsing as pp; before = pp.ParserElement.DEFAULT_WHITE_CHARS;"
        "from chronofy_kg.spec import parse_formula, parser;"
        "assert not hasattr(parser._THREAD, 'parser');"
        "parse_formula('x > 0');"
        "assert pp.ParserElement.DEFAULT_WHITE_CHARS == before and not pp.ParserElement._packratEnabled"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_strange_default_whitespace_of_pyparsing_does_not_matter():
    code = (
        "import pyparsing as pp; pp.ParserElement.set_default_whitespace_chars('#');"
        "from chronofy_kg.spec import parse_formula;"
        "assert str(parse_formula('G [0, 2] ( x  >\\n\\t0 ) # c')) == 'G[0,2] x > 0'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_kinds_of_errors_have_their_classes():
    with pytest.raises(SpecSyntaxError):
        parse_formula("x >")
    with pytest.raises(SpecTypeError):
        parse_formula("x")
