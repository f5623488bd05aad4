"""A spec put together with its lets and parameters."""

import time

import pytest

from chronofy_kg.errors import SpecError, SpecTypeError
from chronofy_kg.spec import parse_formula, parse_spec

PACK = parse_spec("""
param gamma in [0, 1] = 0.5
param window in [0, 7 d] = 1 d
let late = not fresh                 # uses a let that comes after it
let fresh = validity >= limit
let limit = gamma * 2
spec answer_valid: G[0,window] fresh
label stale when late and fresh
""")


def test_lets_and_parameters_are_put_in():
    assert str(PACK.formula("answer_valid")) == "G[0,1d] validity >= 0.5 * 2"
    assert PACK.formula("answer_valid", params={"gamma": 0.3, "window": "12 h"}) == parse_formula(
        "G[0,12 h] validity >= 0.3 * 2"
    )
    assert str(PACK.formula("stale")) == "not validity >= 0.5 * 2 and validity >= 0.5 * 2"
    assert PACK.formula("fresh").names == ("validity",)


def test_the_canonical_text_of_a_put_together_formula_parses_back():
    pack = parse_spec("let a = x > 0 and y > 0; let n = x - y; spec s: a and -n > n - k; param k = -1")
    formula = pack.formula("s")
    assert parse_formula(str(formula)) == formula


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("answer", {}, "no spec, label or let 'answer'"),
        ("answer_valid", {"gama": 0.3}, "did you mean gamma?"),
        ("answer_valid", {"gamma": 1.5}, r"gamma = 1.5 is not within \[0, 1\]"),
        ("answer_valid", {"gamma": "0.5 d"}, "parameter gamma is a plain number"),
        ("answer_valid", {"window": 3}, "parameter window is a time with a unit"),
        ("answer_valid", {"window": "8 d"}, "not within"),
        ("answer_valid", {"gamma": float("nan")}, "no finite number"),
        ("limit", {}, "is a number, not a formula"),
    ],
)
def test_what_is_refused(name, params, message):
    with pytest.raises(SpecTypeError, match=message):
        PACK.formula(name, params)


def test_intervals_are_checked_again_with_the_values():
    pack = parse_spec("param a = 1; param b = 2\nspec s: G[a,b] x > 0")
    with pytest.raises(SpecTypeError) as caught:
        pack.formula("s", {"a": 3})
    assert [(one.line, one.column, one.code) for one in caught.value.diagnostics] == [(2, 13, "interval")]


def test_a_let_that_refers_to_itself_is_put_in_whole():
    pack = parse_spec("let latch = x > 0 or prev latch\nspec s: G latch\nlet ema = x/2 + mean[1,1](ema)/2")
    assert str(pack.formula("s")) == "G (let latch = x > 0 or Y latch)"
    assert str(pack.formula("latch")) == "(let latch = x > 0 or Y latch)"
    assert pack.formula("s").names == ("x",)
    assert parse_formula(str(pack.formula("s"))) == pack.formula("s")
    assert pack.lets["ema"].is_number


@pytest.mark.parametrize("step", ["a{0} and a{0}", "not a{0}"])
def test_lets_that_grow_without_bound_are_refused_quickly(step):
    lines = ["let a0 = x > 0"] + [f"let a{i} = {step.format(i - 1)}" for i in range(1, 2000)]
    pack = parse_spec("\n".join([*lines, "spec s: a1999"]))
    start = time.process_time()
    with pytest.raises(SpecError) as caught:
        pack.formula("s")
    assert time.process_time() - start < 2
    assert caught.value.diagnostics[0].code == "limit"
