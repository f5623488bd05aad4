"""Traces: what is refused, and how long a step is."""

import numpy as np
import pytest

from chronofy_kg.errors import InputError, SpecTypeError
from chronofy_kg.spec import Trace, TraceError, parse_formula, robustness


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"signals": {"x": [1.0, np.nan]}}, "signal 'x' is NaN at index 1"),
        ({"signals": {"x": [[1.0, 2.0], [3.0, np.nan]]}}, "NaN at row 1, index 1"),
        ({"signals": {"x": []}}, "at least one sample"),
        ({"signals": {}}, "at least one sample"),
        ({"signals": {"x": [1.0], "y": [1.0, 2.0]}}, "x has 1, y has 2"),
        ({"signals": {"x": [[1.0]], "y": [[1.0], [2.0]]}}, r"different numbers of traces: \[1, 2\]"),
        ({"signals": {"x": np.zeros((1, 1, 1))}}, "3 axes"),
        ({"signals": {"x": ["a"]}}, "no array of numbers"),
        ({"signals": {"x": [1.0, 2.0]}, "times": [0, 0]}, "do not increase at index 1"),
        ({"signals": {"x": [1.0, 2.0, 3.0]}, "times": [0, 1, 3]}, "not uniform at index"),
        ({"signals": {"x": [1.0]}, "sampling": "hold"}, "needs times"),
        ({"signals": {"x": [1.0]}, "sampling": "dense"}, "uniform, pointwise or hold"),
        ({"signals": {"x": [1.0]}, "step": "15"}, "no positive number with a unit"),
        ({"signals": {"x": [1.0]}, "step": 0}, "a positive number"),
        ({"signals": {"x": [1.0]}, "unit": "mo"}, "no unit of time"),
        ({"signals": {"x": [1.0]}, "times": [0], "step": 1}, "not both"),
        (
            {"signals": {"x": [1.0]}, "times": np.array(["NaT"], dtype="datetime64[s]")},
            "no instant at index 0",
        ),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(TraceError, match=message) as caught:
        Trace(**options)
    assert isinstance(caught.value, InputError)


X = [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("text", "options", "steps"),
    [
        ("G[0,3] x > 0", {}, 3),
        ("G[0,3] x > 0", {"step": 1.5}, 2),
        ("G[0,3] x > 0", {"step": "15m"}, 3),
        ("G[0,45m] x > 0", {"step": "15m"}, 3),
        ("G[0,0.5h] x > 0", {"step": "15 m"}, 2),
        ("G[0,30] x > 0", {"step": "15m", "unit": "m"}, 2),
        ("G[0,1h] x > 0", {"step": 30, "unit": "m"}, 2),
        ("G[0,0.3] x > 0", {"step": 0.1}, 3),
        ("G[0,4] x > 0", {"times": [0, 2, 4, 6, 8, 10]}, 2),
        ("G[0,2d] x > 0", {"times": np.arange("2026-01-01", "2026-01-07", dtype="datetime64[D]")}, 2),
        ("G[0,2] x > 0", {"times": np.arange("2026-01-01", "2026-01-07", dtype="datetime64[D]")}, 2),
        ("G[0,12h] x > 0", {"times": np.arange(6) * 0.25, "unit": "d"}, 2),
        ("G[0,0] x > 0", {"step": 7.0}, 0),
        ("G[0,inf] x > 0", {"step": 7.0}, 5),
    ],
)
def test_bounds_in_steps(text, options, steps):
    found = robustness(parse_formula(text), Trace({"x": X}, **options)).values
    assert found.tolist() == [max(0.0, value - steps) for value in X]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("G[0,2] x > 0", {"step": 1.5}, "bound 2 is not a multiple of the step 1.5"),
        ("G[0,2.5] x > 0", {}, "bound 2.5 is not a multiple of the step 1"),
        ("G[0,20m] x > 0", {"step": "15m"}, "bound 20m is not a multiple of the step 15m"),
        ("G[0,20m] x > 0", {}, "does not say how long a step is"),
    ],
)
def test_bounds_that_do_not_fit(text, options, message):
    with pytest.raises(SpecTypeError, match=message) as caught:
        robustness(parse_formula(text), Trace({"x": X}, **options))
    assert (caught.value.diagnostics[0].column, caught.value.diagnostics[0].code) == (5, "unit")


def test_rows_of_a_batch():
    trace = Trace({"x": [[1.0, 2.0], [3.0, 4.0]], "y": [5.0, 6.0]})
    assert trace.shape == (2, 2)
    assert {name: array.tolist() for name, array in trace.row(1).arrays.items()} == {
        "x": [3.0, 4.0],
        "y": [5.0, 6.0],
    }
    for row in (None, 2):
        with pytest.raises(TraceError, match="row is one of"):
            trace.row(row)
    with pytest.raises(TraceError, match="no batch"):
        Trace({"x": [1.0]}).row(0)
