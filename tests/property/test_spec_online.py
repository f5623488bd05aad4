"""Samples fed one at a time give the values of the whole trace, at every moment."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest
from support.formulas import (
    random_formula,
    random_recursion,
    random_signals,
    random_with_statistics,
    text_of,
)

from chronofy_kg.errors import SpecTypeError
from chronofy_kg.spec import Monitor, Trace, TraceError, parse_formula, robustness

COUNT = int(os.environ.get("SOAK_FORMULAS", "80"))
PARTS = ("values", "lower", "upper", "vacuous", "verdicts")


def bounded(tree):
    if tree["op"] in "GFURW" and (tree.get("interval") or [0, None])[1] is None:
        return False
    if tree["op"] in ("median", "lowest", "highest", "quantile") and tree["interval"][1] is None:
        return False
    return all(bounded(one) for one in tree["args"])


def trees(draw):
    while True:
        kind = draw.random()
        if kind < 0.5:
            tree = random_formula(draw, draw.randint(1, 4))
        elif kind < 0.75:
            tree = random_with_statistics(draw, draw.randint(0, 3))
        else:
            tree = random_recursion(draw)
            if tree["args"][0]["op"] == "+":
                tree = {"op": "<", "args": [tree, {"op": "const", "args": [], "value": 1.0}]}
            tree = {"op": draw.choice("FGHO"), "args": [tree], "interval": [draw.randint(0, 2), 3]}
        if bounded(tree):
            return tree


def joined(results):
    return {part: np.concatenate([getattr(one, part) for one in results]) for part in PARTS}


def same(found, expected, text):
    for part in PARTS:
        one, other = found[part], getattr(expected, part)
        if one.dtype == np.float64:
            assert np.allclose(one, other, rtol=1e-9, atol=1e-9), (text, part)
        elif not np.allclose(found["values"], expected.values, rtol=0, atol=0):
            continue  # rounding next to 0 may turn a verdict
        else:
            assert one.tolist() == other.tolist(), (text, part)


def test_fed_one_at_a_time_all_is_as_over_the_whole_trace():
    draw = random.Random(21)
    for _ in range(COUNT):
        tree = trees(draw)
        text = text_of(tree)
        formula, n = parse_formula(text), draw.choice([1, 2, 5, 9, 20])
        signals = random_signals(draw, n)
        monitor, results = Monitor(formula), []
        look = draw.randrange(n)
        for t in range(n):
            results.append(monitor.feed({name: values[t] for name, values in signals.items()}))
            if t == look:
                so_far = {name: values[: t + 1] for name, values in signals.items()}
                same(joined([*results, monitor.pending()]), robustness(formula, Trace(so_far)), text)
        assert sum(len(one.values) for one in results) == monitor.settled == max(0, n - monitor.horizon)
        same(joined([*results, monitor.pending()]), robustness(formula, Trace(signals)), text)


def test_many_samples_may_come_at_once():
    draw = random.Random(22)
    for _ in range(COUNT // 4):
        tree = trees(draw)
        formula, n = parse_formula(text_of(tree)), 40
        signals = {name: np.array(values) for name, values in random_signals(draw, n).items()}
        monitor, results, at = Monitor(formula), [], 0
        while at < n:
            size = draw.randint(1, 9)
            results.append(monitor.feed({name: values[at : at + size] for name, values in signals.items()}))
            at += size
        same(joined([*results, monitor.pending()]), robustness(formula, Trace(signals)), text_of(tree))


def test_long_windows_and_long_traces():
    draw = np.random.default_rng(3)
    x, y = draw.normal(size=(2, 5_000))
    for text in (
        "G[0,700] x > 0", "O[100,900] (x > y)", "x > -2 U[50,600] y > 2", "x > -2 S[50,600] y > 2",
        "H[3,inf] x > -9", "x > -3 S y > 3", "x > mean[0,500](y) + std[10,300](x)",
        "x > median[0,200](y where x > 0, least 5)", "count[0,inf](x where y > 0) > 100",
    ):  # fmt: skip
        formula = parse_formula(text)
        monitor = Monitor(formula)
        results = [monitor.feed({"x": x[at : at + 7], "y": y[at : at + 7]}) for at in range(0, len(x), 7)]
        same(joined([*results, monitor.pending()]), robustness(formula, Trace({"x": x, "y": y})), text)


def test_memory_is_bounded_by_the_horizon():
    monitor = Monitor(parse_formula("G[0,50] (x > 0 -> O[0,20] y > 0)"))
    size = {name: array.nbytes for name, array in _arrays(monitor)}
    for _ in range(1_000):
        monitor.feed({"x": np.ones(100), "y": np.ones(100)})
    assert {name: array.nbytes for name, array in _arrays(monitor)} == size
    assert sum(size.values()) < 100_000


def _arrays(monitor):
    state = monitor._state
    return [(name, getattr(state, name)) for name in ("rings", "marks", "queue", "held", "stacks")]


def test_units_and_steps():
    monitor = Monitor(parse_formula("F[0,30m] x > 0"), step="15m")
    assert monitor.horizon == 2
    with pytest.raises(SpecTypeError, match="not a multiple"):
        Monitor(parse_formula("F[0,20m] x > 0"), step="15m")


@pytest.mark.parametrize(
    ("text", "place"),
    [("x > 0 and G x > 0", 11), ("F[1,inf] x > 0", 1), ("x > 0 until y > 0", 1), ("x > median[0,inf](x)", 5)],
)
def test_what_would_never_settle_is_refused_with_its_place(text, place):
    with pytest.raises(SpecTypeError) as caught:
        Monitor(parse_formula(text))
    (found,) = caught.value.diagnostics
    assert (found.column, found.code) == (place, "interval")


def test_bad_samples_are_refused_and_not_taken():
    monitor = Monitor(parse_formula("x > y"))
    monitor.feed({"x": 1.0, "y": 0.0, "other": 5.0})
    for bad, message in [
        ({"x": 1.0}, "sample 1 has no signal 'y'"),
        ({"x": [1.0, float("nan")], "y": [0.0, 0.0]}, "signal 'x' is NaN at sample 2"),
        ({"x": "much", "y": 0.0}, "signal 'x' is no number at sample 1"),
        ({"x": [1.0, 2.0], "y": 0.0}, "signal 'y' has"),
    ]:
        with pytest.raises(TraceError, match=message):
            monitor.feed(bad)
    assert monitor.feed({"x": 3.0, "y": 1.0}).values.tolist() == [2.0]
    assert monitor.fed == monitor.settled == 2
