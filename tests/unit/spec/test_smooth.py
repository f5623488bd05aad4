"""The smoothed gradient: shares, its limit, and what it refuses."""

import random

import pytest

from chronofy_kg.spec import Trace, TraceError, explain, parse_formula, smooth_gradient

X, Y = [3.0, 1.0, 4.0, -1.5, 5.0], [-2.0, -1.2, 0.5, 7.0, -3.0]
TRACE = Trace({"x": X, "y": Y})


def shares(text, temperature, index=0):
    return {
        (one.signal, one.index): one.derivative
        for one in smooth_gradient(parse_formula(text), TRACE, temperature, index)
    }


@pytest.mark.parametrize(
    "text",
    [
        "G x > 0",
        "F[0,3] y > 0",
        "x > 0 and y > 0",
        "x > 0 U y > 0",
        "not (x > 0 S[0,2] y > -1)",
        "G F[0,1] x > y",
    ],
)
@pytest.mark.parametrize("index", [0, 4])
def test_cold_it_is_the_blame(text, index):
    blames = {(one.signal, one.index): one.derivative for one in explain(parse_formula(text), TRACE, index)}
    found = {place: share for place, share in shares(text, 1e-3, index).items() if abs(share) > 1e-6}
    assert found == pytest.approx(blames)


def test_the_shares_of_a_minimum_fall_off_with_the_distance_and_add_up_to_1():
    found = shares("G[0,2] x > 0", 1.0)
    assert sum(found.values()) == pytest.approx(1.0)
    assert found["x", 1] > found["x", 0] > found["x", 2] > 0
    assert found["x", 0] / found["x", 1] == pytest.approx(2.718281828**-2, rel=1e-6)


def test_all_derivatives_of_formulas_over_one_signal_add_up():
    draw = random.Random(1)
    for text in (
        "G[0,2] F[1,2] x > 0",
        "x > 0 U[0,3] x > 2",
        "x > 0 S[0,3] x > 2",
        "H x > 0 or O[1,2] x > 1",
    ):
        found = shares(text, draw.uniform(0.1, 3.0), 0 if text[0] == "G" else 2)
        assert sum(found.values()) == pytest.approx(1.0), text


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("inf"), float("nan")])
def test_a_temperature_is_above_0(temperature):
    with pytest.raises(TraceError, match="temperature"):
        smooth_gradient(parse_formula("G x > 0"), TRACE, temperature)
