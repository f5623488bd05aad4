"""Blame: against finite differences on random formulas, ties, empty windows, functions."""

import math
import random

import numpy as np
import pytest

from chronofy_kg.spec import Blame, Trace, TraceError, explain, explain_text, parse_formula, robustness


def blamed(text, signals, index=0, **options):
    return [
        (one.signal, one.index, one.derivative)
        for one in explain(parse_formula(text), Trace(signals, **options), index)
    ]


SIGNALS = {"x": [3.0, 1.0, 4.0, -1.0, 5.0], "y": [-2.0, -1.0, 0.0, 7.0, -3.0]}


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        ("x > y", 1, [("x", 1, 1.0), ("y", 1, -1.0)]),
        ("x <= 2", 2, [("x", 2, -1.0)]),
        ("not G x > 0", 0, [("x", 3, -1.0)]),
        ("2*x - y >= 1", 0, [("x", 0, 2.0), ("y", 0, -1.0)]),
        ("x * y > 0", 3, [("x", 3, 7.0), ("y", 3, -1.0)]),
        ("x / y > 0", 3, [("x", 3, 1 / 7), ("y", 3, 1 / 49)]),
        ("x + x > 0", 0, [("x", 0, 2.0)]),
        ("x - x > 0", 0, []),
        ("abs(y) > 0", 4, [("y", 4, -1.0)]),
        ("y == 1", 0, [("y", 0, 1.0)]),
        ("y != 1", 0, [("y", 0, -1.0)]),
        ("sqrt(x) > 0", 2, [("x", 2, 0.25)]),
        ("exp(y) > 0", 2, [("y", 2, 1.0)]),
        ("ln(x) > 0", 2, [("x", 2, 0.25)]),
        ("pow(x, 2) > 0", 2, [("x", 2, 8.0)]),
        ("min(x, y) > 0", 0, [("y", 0, 1.0)]),
        ("max(x, 9) > 0", 0, []),
        ("G[9,9] x > 0", 0, []),
        ("true", 0, []),
        ("X x > 0", 0, [("x", 1, 1.0)]),
        ("X x > 0", 4, []),
        ("Y x > 0", 2, [("x", 1, 1.0)]),
        ("x > 0 xor y > 1", 2, [("y", 2, -1.0)]),
        ("x > 0 U[0,4] y > 0", 0, [("x", 1, 1.0)]),
        ("x > -2 S[0,4] y > 3", 4, [("y", 3, 1.0)]),
        ("x > 0 S[1,3] x > 2", 2, [("x", 0, 1.0)]),
        ("mean[0,2](x) > 1", 2, [("x", 0, 1 / 3), ("x", 1, 1 / 3), ("x", 2, 1 / 3)]),
        ("sum[0,1](x where y > -2) > y", 2, [("x", 1, 1.0), ("x", 2, 1.0), ("y", 2, -1.0)]),
        ("highest[0,4](x where y < 0) > 1", 4, [("x", 4, 1.0)]),
        ("median[0,3](x) > 1", 3, [("x", 0, 0.5), ("x", 1, 0.5)]),
        ("std[0,1](x) > 0", 1, [("x", 0, 0.5), ("x", 1, -0.5)]),
        ("count[0,4](x) > 1", 4, []),
        ("x > mean[0,1](x, least 3)", 4, []),
        ("(let a = x > 4 or prev a)", 3, [("x", 2, 1.0)]),
        ("(let a = x > 2 and wprev not a)", 2, [("x", 1, -1.0)]),
        ("(let s = x + 0.5 * sum[1,1](s)) > 1", 2, [("x", 0, 0.25), ("x", 1, 0.5), ("x", 2, 1.0)]),
    ],
)
def test_the_samples_that_decide(text, index, expected):
    signals = SIGNALS if "sqrt" not in text and "ln" not in text else {"x": [1.0, 1.0, 4.0]}
    found = blamed(text, signals, index)
    assert [one[:2] for one in found] == [one[:2] for one in expected]
    assert [one[2] for one in found] == pytest.approx([one[2] for one in expected], rel=1e-12)


def test_of_equal_samples_the_earliest_is_blamed():
    assert blamed("G x > 0", {"x": [2.0, 1.0, 1.0]}) == [("x", 1, 1.0)]
    assert blamed("x > 0 and y > 0", {"x": [1.0], "y": [1.0]}) == [("x", 0, 1.0)]


def test_blame_is_the_derivative_on_random_formulas():
    draw = random.Random(5)
    numeric = ["x", "y", "x * y", "x - 2 * y", "abs(x)", "max(x, y)", "exp(x / 9)", "x / (3 + abs(y))"]
    shapes = ["G{s} ({a} -> F{s} {b})", "({a}) U{s} ({b})", "H{s} ({a}) <-> ({b})", "({a}) S{s} O ({b})"]
    shapes += ["({a}) R{s} ({b})", "({a}) W{s} (X {b})", "({a}) T{s} not ({b})"]
    shapes += [
        "mean{s}(x) > y",
        "std[0,4](x) > 0.1",
        "median[0,3](x) > mean{s}(y)",
        "quantile(0.3){s}(x) < y",
    ]
    shapes += ["(let c = ({a}) and (wprev c or {b}))", "(let c = x + 0.5 * sum[1,2](c)) > y"]
    shapes += ["(let c = (H[1,2] not c) xor ({a}))", "highest{s}(x where y > 0, least 2) > y"]
    for _ in range(250):
        n = 9
        signals = {name: np.array([draw.uniform(-5, 5) for _ in range(n)]) for name in "xy"}
        a, b = (f"{draw.choice(numeric)} > {draw.uniform(-3, 3):.3f}" for _ in range(2))
        low = draw.randint(0, 2)
        span = f"[{low},{low + draw.randint(0, 3)}]"
        text = draw.choice(shapes)
        formula, index = parse_formula(text.format(a=a, b=b, s=span)), draw.randint(0, n - 1)
        result = robustness(formula, Trace(signals))
        value = result.values[index]
        found = {(one.signal, one.index): one.derivative for one in explain(formula, Trace(signals), index)}
        if math.isinf(value) or result.vacuous[index]:
            assert found == {}
            continue
        places = [(name, at) for name in "xy" for at in range(n)]
        moved = {name: np.tile(array, (len(places), 1)) for name, array in signals.items()}
        for row, (name, at) in enumerate(places):
            moved[name][row, at] += 1e-6
        slopes = (robustness(formula, Trace(moved)).values[:, index] - value) / 1e-6
        assert [found.get(place, 0.0) for place in places] == pytest.approx(slopes.tolist(), abs=1e-4), text


def test_rows_of_a_batch_and_other_samplings():
    batch = Trace({"x": [[1.0, 2.0], [5.0, 4.0]]})
    assert explain(parse_formula("G x > 0"), batch, row=1) == [Blame("x", 1, 1.0)]
    times = {"times": [0.0, 1.0, 4.0, 5.0], "sampling": "pointwise"}
    assert blamed("G[2,4] x > 0", {"x": [3.0, -1.0, 4.0, 2.0]}, **times) == [("x", 2, 1.0)]
    times["sampling"] = "hold"
    assert blamed("G[2,4] x > 0", {"x": [3.0, -1.0, 4.0, 2.0]}, **times) == [("x", 1, 1.0)]


@pytest.mark.parametrize("index", [-1, 5])
def test_an_index_outside_the_trace_is_refused(index):
    with pytest.raises(TraceError, match=r"index is one of 0\.\.4"):
        blamed("x > 0", SIGNALS, index)


def test_the_text_names_the_samples_that_weigh_most():
    trace = Trace({"x": [3.0, 1.0, 4.0], "y": [0.0, 0.5, 9.0]})
    text = explain_text(parse_formula("x + 2 * y >= 1"), trace, 1)
    assert text == "rho = 1 at sample 1 because x = 1 at sample 1 and y = 0.5 at sample 1"
    text = explain_text(parse_formula("mean[0,9](x) + y > 0"), Trace({"x": [1.0] * 9, "y": [0.0] * 9}), 8)
    assert text.endswith("because x = 1 at sample 0 and x = 1 at sample 1 and y = 0 at sample 8 and 7 more")
    assert explain_text(parse_formula("true"), trace) == (
        "rho = inf at sample 0 because an empty window or a constant decides"
    )
    assert Blame("x", 1, -2.0).to_dict() == {"signal": "x", "index": 1, "derivative": -2.0}


def test_a_number_that_refers_to_itself_twice_is_explained_in_little_time():
    blames = explain(
        parse_formula("(let s = x + 0.25 * sum[1,2](s)) > 1"), Trace({"x": np.ones(2_000)}), 1_999
    )
    assert blames[-1] == Blame("x", 1_999, 1.0)
