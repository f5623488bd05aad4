"""Robustness against an independent evaluator written from the definitions, on random formulas and traces.

`make soak` runs 10,000 of each kind (SOAK_FORMULAS); here a hundred.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from support.formulas import (
    grid_of,
    past_reach,
    random_formula,
    random_recursion,
    random_signals,
    random_with_statistics,
    text_of,
)
from support.semantics import Definition, Future

from chronofy_kg.spec import Trace, parse_formula, robustness

COUNT = int(os.environ.get("SOAK_FORMULAS", "100"))
CASES = json.loads((Path(__file__).parents[1] / "cases" / "stl_cases.json").read_text(encoding="utf-8"))
LONGEST = [1, 2, 3, 5, 8, 13]
WORDS = np.array(["false", "unknown", "true"])


def drawn(seed, **options):
    draw = random.Random(seed)
    for _ in range(COUNT):
        yield draw, random_formula(draw, draw.randint(1, 4), **options)


def verdicts(bounds):
    return ["true" if low > 0 else "false" if high < 0 else "unknown" for low, high in bounds]


@pytest.mark.parametrize("case", CASES["robustness"], ids=lambda case: case["id"])
def test_the_evaluator_itself_meets_the_reference_cases(case):
    signals = {name: [float(one) for one in values] for name, values in case["signals"].items()}
    tree, times = case["ast"], case.get("times")
    if case["sampling"] == "hold":
        held, places = grid_of(signals, times)
        whole = Definition(held).values(_full(tree))
        found = [whole[place] for place in places]
    else:
        found = Definition(signals, times).values(_full(tree))
    assert found == pytest.approx([float(one) for one in case["rho"]], abs=1e-9)


@pytest.mark.parametrize("case", CASES["interval_robustness"], ids=lambda case: case["id"])
def test_the_evaluator_itself_meets_the_reference_intervals(case):
    tree = _full(case["ast"])
    bounds = Future(case["signals"], past_reach(tree) + 1).bounds(tree)
    assert bounds == [(float(a), float(b)) for a, b in zip(case["lower"], case["upper"], strict=True)]
    assert verdicts(bounds) == case["verdict"]


def _full(tree):
    return {**tree, "args": [_full(one) for one in tree.get("args", [])], "interval": tree.get("interval")}


def test_uniform_samples():
    for draw, tree in drawn(11):
        n = draw.choice(LONGEST)
        signals = random_signals(draw, n)
        text = text_of(tree, draw)
        found = robustness(parse_formula(text), Trace(signals))
        expected = Definition(signals).values(tree)
        assert found.values.tolist() == expected, text
        bounds = Future(signals, past_reach(tree) + 1).bounds(tree)
        assert list(zip(found.lower.tolist(), found.upper.tolist(), strict=True)) == bounds, text
        assert found.verdicts.tolist() == verdicts(bounds), text
        changed = Definition(signals, empty=0.0).values(tree)
        empty = [abs(a) == np.inf and a != b for a, b in zip(expected, changed, strict=True)]
        assert found.vacuous.tolist() == empty, text


def instants(draw, n):
    return np.cumsum([draw.randint(1, 3) for _ in range(n)]).tolist()


def test_samples_at_any_instants():
    for draw, tree in drawn(12):
        n = draw.choice(LONGEST)
        signals, times = random_signals(draw, n), instants(draw, n)
        found = robustness(parse_formula(text_of(tree)), Trace(signals, times=times, sampling="pointwise"))
        expected = Definition(signals, times).values(tree)
        assert found.values.tolist() == expected, text_of(tree)
        finite = np.isfinite(found.values)
        assert (found.lower <= found.values)[finite].all(), text_of(tree)
        assert (found.upper >= found.values)[finite].all(), text_of(tree)


HOLDING = ["and", "or", "xor", "implies", "iff", "not", "G", "F", "H", "O", "U", "R", "W", "S", "T"]


def test_samples_that_hold():
    for draw, tree in drawn(13, ops=HOLDING):
        n = draw.choice(LONGEST)
        signals, times = random_signals(draw, n), instants(draw, n)
        # The grid is as fine as the bounds ask for: a bound of 1 makes it that of the definition.
        text = f"({text_of(tree)}) and F[0,1] true"
        found = robustness(parse_formula(text), Trace(signals, times=times, sampling="hold"))
        held, places = grid_of(signals, times)
        whole = Definition(held).values(tree)
        assert found.values.tolist() == [whole[place] for place in places], text


def test_batches():
    for draw, tree in drawn(14):
        n, rows = draw.choice(LONGEST), 3
        signals = [random_signals(draw, n) for _ in range(rows)]
        batch = Trace({name: np.array([one[name] for one in signals]) for name in "xy"})
        found = robustness(parse_formula(text_of(tree)), batch).values.tolist()
        assert found == [Definition(one).values(tree) for one in signals], text_of(tree)


def near(found, expected):
    return np.allclose(found, np.array(expected), rtol=1e-9, atol=1e-9)


def check(tree, signals, *, exact=True):
    """Everything a result says of uniform samples, against the definitions."""
    text = text_of(tree)
    found = robustness(parse_formula(text), Trace(signals))
    expected = Definition(signals).values(tree)
    assert near(found.values, expected), text
    bounds = Future(signals, past_reach(tree) + 20).bounds(tree)
    if exact:
        assert near(found.lower, [low for low, _ in bounds]), text
        assert near(found.upper, [high for _, high in bounds]), text
    assert (found.lower <= np.array([low for low, _ in bounds]) + 1e-9).all(), text
    assert (found.upper >= np.array([high for _, high in bounds]) - 1e-9).all(), text
    others = [
        Definition(signals, empty=0.0),
        Definition(signals, missing=1.0),
        Definition(signals, missing=-1.0),
    ]
    empty, better, worse = (one.values(tree) for one in others)
    vacuous = [
        (abs(value) == np.inf and value != empty[t]) or (value == 0 and (better[t] != 0 or worse[t] != 0))
        for t, value in enumerate(expected)
    ]
    near_zero = np.abs(np.array(expected)) < 1e-9
    assert (found.vacuous == vacuous)[~near_zero | (np.array(expected) == found.values)].all(), text


def of_all_the_past(tree):
    """Whether a statistic may drift for ever, so that no finite future tells its bounds."""
    return ("least" in tree and tree["interval"][1] is None) or any(
        of_all_the_past(one) for one in tree["args"]
    )


def test_statistics_over_windows():
    draw = random.Random(15)
    for _ in range(COUNT):
        tree = random_with_statistics(draw, draw.randint(0, 3))
        exact = not (unbounded(tree) and of_all_the_past(tree))
        check(tree, random_signals(draw, draw.choice(LONGEST)), exact=exact)


def test_statistics_at_any_instants():
    draw = random.Random(16)
    for _ in range(COUNT):
        tree = random_with_statistics(draw, draw.randint(0, 3))
        n = draw.choice(LONGEST)
        signals, times = random_signals(draw, n), instants(draw, n)
        found = robustness(parse_formula(text_of(tree)), Trace(signals, times=times, sampling="pointwise"))
        assert near(found.values, Definition(signals, times).values(tree)), text_of(tree)


def with_recursion(draw):
    tree = random_recursion(draw)
    if tree["args"][0]["op"] == "+":
        tree = {"op": ">", "args": [tree, {"op": "const", "args": [], "value": 1.0}]}
    kind = draw.choice(["plain", "F", "G", "H", "not"])
    if kind == "plain":
        return tree
    low = draw.randint(0, 2)
    return {"op": kind, "args": [tree], "interval": [low, low + draw.randint(0, 4)]}


def unbounded(tree):
    return (tree["op"] in "GFURW" and (tree.get("interval") or [0, None])[1] is None) or any(
        unbounded(one) for one in tree["args"]
    )


def test_lets_that_refer_to_their_own_past():
    draw = random.Random(17)
    for _ in range(COUNT):
        tree = with_recursion(draw)
        check(tree, random_signals(draw, draw.choice(LONGEST)), exact=not unbounded(tree))


def test_recursion_at_any_instants_and_in_batches():
    draw = random.Random(18)
    for _ in range(COUNT):
        tree = with_recursion(draw)
        n, rows = draw.choice(LONGEST), 2
        times = instants(draw, n)
        signals = [random_signals(draw, n) for _ in range(rows)]
        batch = {name: np.array([one[name] for one in signals]) for name in "xy"}
        formula = parse_formula(text_of(tree))
        found = robustness(formula, Trace(batch, times=times, sampling="pointwise")).values
        assert near(found, [Definition(one, times).values(tree) for one in signals]), text_of(tree)
        found = robustness(formula, Trace(batch)).values
        assert near(found, [Definition(one).values(tree) for one in signals]), text_of(tree)
