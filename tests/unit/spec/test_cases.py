"""The reference cases: robustness, blame, intervals, units, precedence, error places and stress."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

from chronofy_kg.errors import SpecError, SpecTypeError
from chronofy_kg.spec import Trace, explain, parse_formula, parse_spec, robustness

CASES = json.loads((Path(__file__).parents[2] / "cases" / "stl_cases.json").read_text(encoding="utf-8"))


def numbers(values):
    return np.array([float(value) for value in values])


def trace_of(case):
    signals = {name: numbers(values) for name, values in case["signals"].items()}
    return Trace(signals, times=case.get("times"), sampling=case.get("sampling", "uniform"))


def ids(case):
    return case.get("id") or case.get("text") or case.get("a")


@pytest.mark.parametrize("case", CASES["robustness"], ids=ids)
def test_robustness(case):
    formula = parse_formula(case["text"], params=case.get("params"))
    result = robustness(formula, trace_of(case))
    np.testing.assert_allclose(result.values, numbers(case["rho"]), rtol=0, atol=1e-9)
    assert float(result.values[0]) == pytest.approx(float(case["rho0"]), abs=1e-9)
    assert parse_formula(str(formula)) == formula


@pytest.mark.parametrize("case", CASES["attribution"], ids=ids)
def test_attribution(case):
    blames = explain(parse_formula(case["text"]), trace_of(case), case["at"])
    found = [{"signal": one.signal, "index": one.index, "d": one.derivative} for one in blames]
    assert found == case["gradient"]


@pytest.mark.parametrize("case", CASES["validity_attribution"], ids=ids)
def test_validity_attribution(case):
    trace = Trace({"validity": [step["v"] for step in case["steps"]]})
    formula = parse_formula(case["spec"])
    assert robustness(formula, trace).values[0] == pytest.approx(case["rho"], abs=1e-12)
    (blame,) = explain(formula, trace)
    assert (blame.index, blame.derivative) == (case["responsible_step"], 1.0)


@pytest.mark.parametrize("case", CASES["interval_robustness"], ids=ids)
def test_interval(case):
    result = robustness(parse_formula(case["text"]), trace_of(case))
    np.testing.assert_array_equal(result.lower, numbers(case["lower"]))
    np.testing.assert_array_equal(result.upper, numbers(case["upper"]))
    assert result.verdicts.tolist() == case["verdict"]


@pytest.mark.parametrize("case", CASES["units"], ids=ids)
def test_units(case):
    trace = Trace({"x": [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]}, step=case["step"])
    formula = parse_formula(case["text"])
    if "error" in case:
        with pytest.raises(SpecTypeError) as caught:
            robustness(formula, trace)
        (found,) = caught.value.diagnostics
        assert (found.line, found.column, found.code) == (case["line"], case["col"], case["kind"])
        assert found.message == case["error"]
    else:
        low, high = case["steps_interval"]
        plain = parse_formula(f"G[{low},{high}] x > 0")
        steps = Trace({"x": trace.signals["x"]})
        assert robustness(formula, trace).values.tolist() == robustness(plain, steps).values.tolist()


@pytest.mark.parametrize("case", CASES["precedence_pairs"], ids=ids)
def test_precedence(case):
    assert (parse_formula(case["a"]) == parse_formula(case["b"])) is case["same_ast"]


@pytest.mark.parametrize("case", CASES["malformed"], ids=ids)
def test_malformed(case):
    parse = parse_formula if case["level"] == "formula" else parse_spec
    with pytest.raises(SpecError) as caught:
        parse(case["text"])
    (found,) = caught.value.diagnostics
    assert [found.line, found.column] in [[case["line"], case["col"]], *case["also_ok"]]
    assert found.code == case["kind"]
    said = " ".join([*found.expected, found.message, found.hint or ""])
    assert not case["expected_any_of"] or any(word in said for word in case["expected_any_of"])


MADE = {
    "T1": "(" * 200 + "x > 0" + ")" * 200,
    "T2": " and ".join(f"x > {i}" for i in range(1000)),
    "T3": "G(" * 40 + "x > 0" + ")" * 40,
    "T4": "not " * 500 + "x > 0",
}


@pytest.mark.parametrize("case", CASES["stress"], ids=ids)
def test_stress(case):
    start = time.process_time()
    try:
        parse_formula(MADE[case["id"]])
        outcome = "parses"
    except SpecError as error:
        outcome = error.diagnostics[0].code
    assert time.process_time() - start < 2
    assert outcome == {"T1": "limit", "T2": "parses", "T3": "parses", "T4": "limit"}[case["id"]]
